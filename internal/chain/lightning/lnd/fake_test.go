package lnd_test

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"chequer/internal/chain/lightning"
	"chequer/internal/chain/lightning/lightningtest"
	"chequer/internal/chain/lightning/lnd"
	"chequer/internal/clocktest"
)

// node is the REST API of lnd.
type node struct {
	wallet   *lightningtest.Wallet
	macaroon string

	mu      sync.Mutex
	state   string
	replace func(w http.ResponseWriter, r *http.Request) bool
	made    map[string]string // content of the last call of /v1/invoices
	events  chan string       // lines of /v1/invoices/subscribe
}

func (n *node) set(change func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	change()
}

func (n *node) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n.mu.Lock()
	state, replace := n.state, n.replace
	n.mu.Unlock()
	switch {
	case replace != nil && replace(w, r):
	case r.URL.Path == "/v1/state":
		fmt.Fprintf(w, `{"state":%q}`, state)
	case state == "LOCKED":
		lightningtest.RecordedLND("locked").Write(w)
	case r.Header.Get("Grpc-Metadata-macaroon") != n.macaroon:
		lightningtest.RecordedLND("another node").Write(w)
	case r.Method == http.MethodPost && r.URL.Path == "/v1/invoices":
		n.add(w, r)
	case r.Method == http.MethodPost && r.URL.Path == "/v2/invoices/cancel":
		n.cancel(w, r)
	case r.Method == http.MethodGet && r.URL.Path == "/v1/invoices/subscribe":
		for {
			select {
			case line := <-n.events:
				fmt.Fprintln(w, line)
				_ = http.NewResponseController(w).Flush()
			case <-r.Context().Done():
				return
			}
		}
	case r.Method == http.MethodGet && strings.HasPrefix(r.URL.Path, "/v1/invoice/"):
		n.lookup(w, strings.TrimPrefix(r.URL.Path, "/v1/invoice/"))
	default:
		refuse(w, 404, 5, "Not Found")
	}
}

func refuse(w http.ResponseWriter, status, code int, message string) {
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"code": code, "message": message, "details": []any{}})
}

func (n *node) add(w http.ResponseWriter, r *http.Request) {
	var content struct {
		Value   string `json:"value_msat"`
		Memo    string `json:"memo"`
		Expiry  string `json:"expiry"`
		Private bool   `json:"private"`
	}
	if err := json.NewDecoder(r.Body).Decode(&content); err != nil {
		refuse(w, 400, 3, err.Error())
		return
	}
	amount, err := strconv.ParseInt(content.Value, 10, 64)
	expiry, err2 := strconv.ParseInt(content.Expiry, 10, 64)
	if err != nil || err2 != nil {
		refuse(w, 400, 3, "invalid number")
		return
	}
	n.set(func() {
		n.made = map[string]string{"memo": content.Memo, "expiry": content.Expiry, "private": fmt.Sprint(content.Private)}
	})
	i := n.wallet.Make(amount, content.Memo, nil, time.Duration(expiry)*time.Second)
	hash, _ := hex.DecodeString(i.Hash)
	_ = json.NewEncoder(w).Encode(map[string]any{"r_hash": hash, "payment_request": i.Text, "add_index": "1", "payment_addr": i.Request.PaymentSecret[:]})
}

func (n *node) cancel(w http.ResponseWriter, r *http.Request) {
	var content struct {
		Hash []byte `json:"payment_hash"`
	}
	err := json.NewDecoder(r.Body).Decode(&content)
	i, ok := n.wallet.Find(hex.EncodeToString(content.Hash))
	switch {
	case err != nil || !ok:
		lightningtest.RecordedLND("cancel unknown").Write(w)
	case i.State == lightningtest.Settled:
		lightningtest.RecordedLND("cancel settled").Write(w)
	default:
		n.wallet.Cancel(i.Hash)
		lightningtest.RecordedLND("cancel").Write(w)
	}
}

// states are lnd's names of the states of requests.
var states = map[lightningtest.State]string{
	lightningtest.Open: "OPEN", lightningtest.Held: "ACCEPTED", lightningtest.Cancelled: "CANCELED", lightningtest.Settled: "SETTLED",
}

// lookup answers with a request. lnd shows the preimage of every request, and the amount of held and of refused
// payments.
func (n *node) lookup(w http.ResponseWriter, hash string) {
	i, ok := n.wallet.Find(hash)
	if !ok {
		lightningtest.RecordedLND("unknown").Write(w)
		return
	}
	raw, _ := hex.DecodeString(i.Hash)
	settleDate := "0"
	if i.State == lightningtest.Settled {
		settleDate = strconv.FormatInt(i.SettledAt.Unix(), 10)
	}
	_ = json.NewEncoder(w).Encode(map[string]any{
		"r_hash": raw, "r_preimage": i.Preimage, "state": states[i.State], "settled": i.State == lightningtest.Settled,
		"value_msat": strconv.FormatInt(i.Request.MilliSatoshi, 10), "amt_paid_msat": strconv.FormatInt(i.Paid, 10),
		"settle_date": settleDate, "payment_request": i.Text,
	})
}

// bake returns a macaroon with operations of the form "entity:action" in hexadecimal digits.
func bake(operations ...string) string {
	id := []byte{3, 10, 2, 7, 7, 18, 1, '0'}
	for _, o := range operations {
		entity, action, _ := strings.Cut(o, ":")
		id = append(id, field(26, append(field(10, []byte(entity)), field(18, []byte(action))...))...)
	}
	m := append([]byte{2}, field(1, []byte("lnd"))...)
	m = append(append(m, field(2, id)...), 0, 0)
	return hex.EncodeToString(append(m, field(6, make([]byte, 32))...))
}

func field(tag byte, value []byte) []byte {
	return append(binary.AppendUvarint([]byte{tag}, uint64(len(value))), value...)
}

// invoiceMacaroon has the operations of lnd's invoice.macaroon.
var invoiceMacaroon = bake("address:read", "address:write", "invoices:read", "invoices:write", "onchain:read")

type fixture struct {
	*lnd.Provider
	node   *node
	server *lightningtest.Server
	clock  *clocktest.Clock
}

// newFixture returns a provider for a connection with a macaroon. The node accepts this macaroon.
func newFixture(t *testing.T, start time.Time, macaroon string) *fixture {
	t.Helper()
	f := &fixture{clock: clocktest.New(start)}
	f.node = &node{wallet: lightningtest.NewWallet(t, f.clock.Now), macaroon: macaroon, state: "RPC_ACTIVE", events: make(chan string)}
	f.server = lightningtest.NewServer(t, f.node)
	certificate := base64.RawURLEncoding.EncodeToString(f.server.Certificate().Raw)
	f.Provider = open(t, f.server, "lndconnect://example.com?macaroon="+macaroonText(t, macaroon)+"&cert="+certificate, nil)
	return f
}

func macaroonText(t *testing.T, macaroon string) string {
	t.Helper()
	raw, err := hex.DecodeString(macaroon)
	if err != nil {
		t.Fatal(err)
	}
	return base64.RawURLEncoding.EncodeToString(raw)
}

// open returns a provider for a pasted connection.
func open(t *testing.T, server *lightningtest.Server, text string, change func(c *lightning.ProviderConfig)) *lnd.Provider {
	t.Helper()
	config := lightningtest.Config(t, text, server)
	if change != nil {
		change(&config)
	}
	return lnd.New(config)
}
