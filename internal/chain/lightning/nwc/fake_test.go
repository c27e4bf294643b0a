package nwc

import (
	"context"
	"crypto/tls"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/btcsuite/btcd/btcec/v2"
	"github.com/btcsuite/btcd/btcec/v2/schnorr"
	"github.com/coder/websocket"

	"chequer/internal/chain/lightning/lightningtest"
	"chequer/internal/clocktest"
	"chequer/internal/guard"
)

// filter is a filter of a subscription. See NIP-01.
type filter struct {
	Kinds   []int
	Authors []string
	P       []string `json:"#p"`
	Since   int64
	Limit   int
}

func (f filter) matches(e *event) bool {
	return slices.Contains(f.Kinds, e.Kind) && (f.Authors == nil || slices.Contains(f.Authors, e.Author)) &&
		(f.P == nil || slices.Contains(f.P, e.tag("p"))) && e.CreatedAt >= f.Since
}

// relayServer is a relay. It stores info events, and passes ephemeral events to the subscriptions that match.
type relayServer struct {
	mu      sync.Mutex
	stored  []*event
	clients map[*client]bool
	reqs    []filter // all filters so far
	refusal string   // text of CLOSED for subscriptions
	verdict string   // text of OK false for events
	silent  bool     // sends no OK
	date    time.Time
}

// client is a connection to a relay.
type client struct {
	conn    *websocket.Conn
	filters []filter
	wallet  func(e *event) // receives events in this process, instead of conn
}

func newRelay() *relayServer { return &relayServer{clients: map[*client]bool{}} }

func (r *relayServer) set(change func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change()
}

func (r *relayServer) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	r.mu.Lock()
	if !r.date.IsZero() {
		w.Header().Set("Date", r.date.UTC().Format(http.TimeFormat))
	}
	r.mu.Unlock()
	conn, err := websocket.Accept(w, request, nil)
	if err != nil {
		return
	}
	c := &client{conn: conn}
	r.set(func() { r.clients[c] = true })
	defer r.set(func() { delete(r.clients, c) })
	for {
		_, message, err := conn.Read(request.Context())
		if err != nil {
			return
		}
		r.handle(c, message)
	}
}

func (r *relayServer) handle(c *client, message []byte) {
	var parts []json.RawMessage
	var kind string
	if json.Unmarshal(message, &parts) != nil || json.Unmarshal(parts[0], &kind) != nil {
		return
	}
	switch kind {
	case "REQ":
		r.subscribe(c, parts)
	case "EVENT":
		var e event
		if json.Unmarshal(parts[1], &e) != nil {
			return
		}
		ok, text := r.publish(&e)
		r.mu.Lock()
		silent := r.silent
		r.mu.Unlock()
		if !silent {
			c.send("OK", e.ID, ok, text)
		}
	}
}

func (r *relayServer) subscribe(c *client, parts []json.RawMessage) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var id string
	_ = json.Unmarshal(parts[1], &id)
	if r.refusal != "" {
		c.send("CLOSED", id, r.refusal)
		return
	}
	for _, part := range parts[2:] {
		var f filter
		_ = json.Unmarshal(part, &f)
		c.filters = append(c.filters, f)
	}
	r.reqs = append(r.reqs, c.filters...)
	for _, e := range r.stored {
		if slices.ContainsFunc(c.filters, func(f filter) bool { return f.matches(e) }) {
			c.send("EVENT", id, e)
		}
	}
	c.send("EOSE", id)
}

// publish passes an event on.
func (r *relayServer) publish(e *event) (ok bool, text string) {
	r.mu.Lock()
	var matching []*client
	for c := range r.clients {
		if slices.ContainsFunc(c.filters, func(f filter) bool { return f.matches(e) }) {
			matching = append(matching, c)
		}
	}
	verdict := r.verdict
	if e.Kind == kindInfo {
		r.stored = append(r.stored, e)
	}
	r.mu.Unlock()
	switch {
	case e.verify() != nil:
		return false, "invalid: wrong signature"
	case verdict != "" && e.Kind == kindRequest:
		return false, verdict
	case len(matching) == 0 && e.Kind != kindInfo:
		return false, "mute: no one was listening for this" // as khatru 0.19
	}
	for _, c := range matching {
		if c.wallet != nil {
			go c.wallet(e)
		} else {
			c.send("EVENT", subscription, e)
		}
	}
	return true, fmt.Sprintf("broadcasted to %d listeners", len(matching))
}

// drop closes the connections of clients.
func (r *relayServer) drop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for c := range r.clients {
		if c.conn != nil {
			_ = c.conn.CloseNow()
		}
	}
}

func (c *client) send(parts ...any) {
	text, err := json.Marshal(parts)
	if err != nil {
		panic(err)
	}
	_ = c.conn.Write(context.Background(), websocket.MessageText, text) // the client may be gone
}

// service is the wallet service of NIP-47 before a simulated wallet.
type service struct {
	*lightningtest.Wallet
	key    *btcec.PrivateKey
	public string
	pair   pair
	relays []*relayServer
	clock  *clocktest.Clock

	mu        sync.Mutex
	requests  []*event
	methods   []string // of get_info
	only      encryption
	delay     chan struct{}                               // replies wait for it, if it is not nil
	asleep    bool                                        // requests are received, and not answered
	change    func(method string, reply map[string]any)   // changes replies
	intercept func(request *event, reply *event) []*event // replaces replies
}

func (s *service) set(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

var receiving = []string{"make_invoice", "lookup_invoice", "get_info", "list_transactions", "notifications"}

// announce publishes an info event.
func (s *service) announce(t *testing.T, encryptions string, methods ...string) {
	t.Helper()
	e := &event{CreatedAt: s.clock.Now().Unix(), Kind: kindInfo, Content: joined(methods), Tags: [][]string{{"notifications", "payment_received payment_sent"}}}
	if encryptions != "" {
		e.Tags = append(e.Tags, []string{"encryption", encryptions})
	}
	if err := e.sign(s.key); err != nil {
		t.Fatal(err)
	}
	for _, r := range s.relays {
		r.publish(e)
	}
}

func joined(list []string) string {
	text := ""
	for i, item := range list {
		if i > 0 {
			text += " "
		}
		text += item
	}
	return text
}

// connect lets the wallet listen at its relays, or stop.
func (s *service) connect(on bool) {
	for _, r := range s.relays {
		r.set(func() {
			for c := range r.clients {
				if c.wallet != nil {
					delete(r.clients, c)
				}
			}
			if on {
				r.clients[&client{filters: []filter{{Kinds: []int{kindRequest}, P: []string{s.public}}}, wallet: func(e *event) { s.serve(r, e) }}] = true
			}
		})
	}
}

// serve answers a request.
func (s *service) serve(r *relayServer, request *event) {
	s.mu.Lock()
	seen := slices.ContainsFunc(s.requests, func(e *event) bool { return e.ID == request.ID })
	s.requests = append(s.requests, request)
	delay, asleep := s.delay, s.asleep
	s.mu.Unlock()
	expiration, err := strconv.ParseInt(request.tag("expiration"), 10, 64)
	if asleep || err != nil || expiration < time.Now().Unix() || expiration > time.Now().Add(time.Minute).Unix() {
		return
	}
	if delay != nil {
		<-delay
	}
	form := nip04
	if request.tag("encryption") == string(nip44) {
		form = nip44
	}
	reply := map[string]any{}
	text, err := s.pair.decrypt(request.Content)
	var call struct {
		Method string
		Params struct {
			Amount      int64
			Description string
			Expiry      int64
			PaymentHash string `json:"payment_hash"`
			Invoice     string
		}
	}
	switch {
	case err != nil || s.only != "" && form != s.only:
		reply["error"] = map[string]any{"code": "UNSUPPORTED_ENCRYPTION", "message": "use " + string(s.only)}
	case json.Unmarshal(text, &call) != nil:
		reply["error"] = map[string]any{"code": "OTHER", "message": "malformed"}
	case call.Method == "get_info":
		s.mu.Lock()
		reply["result"] = map[string]any{"alias": "wallet", "network": "regtest", "methods": s.methods}
		s.mu.Unlock()
	case call.Method == "make_invoice" && !seen:
		i := s.Make(call.Params.Amount, call.Params.Description, nil, time.Duration(call.Params.Expiry)*time.Second)
		reply["result"] = map[string]any{"type": "incoming", "state": "pending", "invoice": i.Text, "payment_hash": i.Hash, "amount": i.Request.MilliSatoshi, "created_at": i.Request.Time.Unix()}
	case call.Method == "lookup_invoice":
		i, ok := s.Find(call.Params.PaymentHash)
		if last := s.Last(); call.Params.Invoice != "" && last.Text == call.Params.Invoice {
			i, ok = last, true
		}
		if !ok {
			reply["error"] = map[string]any{"code": "NOT_FOUND", "message": "no such invoice"}
			break
		}
		result := map[string]any{"type": "incoming", "state": states[i.State], "invoice": i.Text, "payment_hash": i.Hash, "amount": i.Request.MilliSatoshi, "preimage": hex.EncodeToString(i.Preimage)}
		if i.State == lightningtest.Settled {
			result["settled_at"] = i.SettledAt.Unix()
		}
		reply["result"] = result
	default:
		return
	}
	reply["result_type"] = call.Method
	s.mu.Lock()
	change, intercept := s.change, s.intercept
	s.mu.Unlock()
	if change != nil {
		change(call.Method, reply)
	}
	e := s.event(kindReply, reply, form, []string{"e", request.ID}, []string{"p", request.Author})
	events := []*event{e}
	if intercept != nil {
		events = intercept(request, e)
	}
	for _, e := range events {
		r.publish(e)
	}
}

// states are the names of NIP-47 for the states of requests.
var states = map[lightningtest.State]string{
	lightningtest.Open: "pending", lightningtest.Held: "accepted", lightningtest.Cancelled: "failed", lightningtest.Settled: "settled",
}

// event returns an encrypted event of the wallet.
func (s *service) event(kind int, content any, form encryption, tags ...[]string) *event {
	text, err := json.Marshal(content)
	if err != nil {
		panic(err)
	}
	e := &event{CreatedAt: s.clock.Now().Unix(), Kind: kind, Tags: tags}
	if e.Content, err = s.pair.encrypt(text, form); err != nil {
		panic(err)
	}
	if err := e.sign(s.key); err != nil {
		panic(err)
	}
	return e
}

// notify tells the client of a payment.
func (s *service) notify(kind int, form encryption, notification string, client string) {
	e := s.event(kind, map[string]any{"notification_type": notification, "notification": map[string]any{"type": "incoming"}}, form, []string{"p", client})
	for _, r := range s.relays {
		r.publish(e)
	}
}

type fixture struct {
	*Provider
	text   string // the pasted connection
	wallet *service
	server *lightningtest.Server
	clock  *clocktest.Clock
}

// newFixture returns a provider with a wallet behind one or more relays.
func newFixture(t *testing.T, start time.Time, relays int) *fixture {
	t.Helper()
	mux := http.NewServeMux()
	f := newWallet(t, start, relays, "wss://"+lightningtest.Host, mux)
	f.server = lightningtest.NewServer(t, mux)
	f.open(t, f.server, f.server.TLS())
	return f
}

// newWallet returns a fixture with a wallet behind relays, without a provider.
func newWallet(t *testing.T, start time.Time, relays int, base string, mux *http.ServeMux) *fixture {
	t.Helper()
	f := &fixture{clock: clocktest.New(start)}
	walletKey, err := btcec.NewPrivateKey()
	if err != nil {
		t.Fatal(err)
	}
	clientKey, err := btcec.NewPrivateKey()
	if err != nil {
		t.Fatal(err)
	}
	f.wallet = &service{
		Wallet: lightningtest.NewWallet(t, f.clock.Now), key: walletKey, clock: f.clock, methods: receiving,
		public: hex.EncodeToString(schnorr.SerializePubKey(walletKey.PubKey())),
	}
	if f.wallet.pair, err = newPair(walletKey, schnorr.SerializePubKey(clientKey.PubKey())); err != nil {
		t.Fatal(err)
	}
	f.text = fmt.Sprintf("nostr+walletconnect://%s?secret=%x", f.wallet.public, clientKey.Serialize())
	for i := range relays {
		r := newRelay()
		f.wallet.relays = append(f.wallet.relays, r)
		mux.Handle(fmt.Sprintf("/%d", i), r)
		f.text += fmt.Sprintf("&relay=%s/%d", base, i)
	}
	f.wallet.connect(true)
	return f
}

// open opens the connection of the wallet.
func (f *fixture) open(t *testing.T, dialer guard.Connector, config *tls.Config) {
	t.Helper()
	c := lightningtest.Config(t, f.text, dialer)
	c.TLS = config
	var err error
	if f.Provider, err = New(c); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
}

// setDown makes the relays unreachable, or reachable again.
func (f *fixture) setDown(down bool) {
	f.server.SetDown(down)
	for i, r := range f.wallet.relays {
		if down {
			r.drop()
		}
		f.relays[i].mu.Lock()
		f.relays[i].failure = nil
		f.relays[i].mu.Unlock()
	}
}
