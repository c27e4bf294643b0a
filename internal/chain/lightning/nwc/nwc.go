// Package nwc makes payment requests with a wallet that is reached over relays of Nostr: Nostr Wallet Connect.
// See NIP-47.
package nwc

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/btcsuite/btcd/btcec/v2"
	"github.com/btcsuite/btcd/btcec/v2/schnorr"

	"chequer/internal/chain/lightning"
)

const (
	// requestTTL is the time after which the wallet ignores a request. It bounds the wait for the reply.
	requestTTL = 15 * time.Second
	// maxKnown is the number of IDs of events that are remembered, twice.
	maxKnown = 1000
)

// Provider is a wallet. It implements lightning.Provider and lightning.Waker. It connects to the relays when it
// is called. Close ends the connections.
type Provider struct {
	*lightning.Signal
	name   string
	key    *btcec.PrivateKey
	pair   pair
	wallet string // public key in hexadecimal digits
	relays []*relay
	now    func() time.Time
	log    *slog.Logger

	mu sync.Mutex
	// The fields below are protected by mu.
	info         *event                 // newest info event, nil before there is one
	swapped      bool                   // the wallet reads the other encryption than info names
	waiting      map[string]chan *event // of calls, by the ID of the request
	known, older map[string]bool        // IDs of events
}

var _ interface {
	lightning.Provider
	lightning.Waker
} = (*Provider)(nil)

// New returns a new Provider. It makes no call.
func New(c lightning.ProviderConfig) (*Provider, error) {
	key, err := privateKey(c.Connection.Secret.Reveal())
	if err != nil {
		return nil, err
	}
	wallet, err := hex.DecodeString(c.Connection.WalletKey)
	if err != nil {
		return nil, errors.New("malformed public key of the wallet")
	}
	p := &Provider{
		Signal: lightning.NewSignal(), name: c.Connection.String(), key: key, wallet: c.Connection.WalletKey, now: c.Now, log: c.Log,
		waiting: map[string]chan *event{}, known: map[string]bool{},
	}
	if p.pair, err = newPair(key, wallet); err != nil {
		return nil, err
	}
	caller := lightning.Caller{Dialer: lightning.AnyPort(c.Dialer), TLS: c.TLS}
	for _, address := range c.Connection.Relays {
		p.relays = append(p.relays, &relay{
			url: address, host: lightning.HostOf(address), upgrader: caller.Upgrader(strings.HasPrefix(address, "ws:")), wallet: p.wallet,
			client: hex.EncodeToString(schnorr.SerializePubKey(key.PubKey())), receive: p.receive, now: c.Now, gate: make(chan struct{}, 1),
		})
	}
	return p, nil
}

// Close ends the connections to the relays. Later calls fail.
func (p *Provider) Close() {
	for _, r := range p.relays {
		r.close()
	}
}

// needed are the methods that the connection must allow.
var needed = []string{"make_invoice", "lookup_invoice"}

// isSpending reports whether a method can spend, or make a connection that can.
func isSpending(method string) bool {
	return strings.HasPrefix(method, "pay_") || strings.HasPrefix(method, "multi_pay_") || method == "create_connection"
}

// Access implements lightning.Provider. It reads the methods in the info event, and asks the wallet for those of
// the connection. The info event outlives the wallet, so that only the answer is a sign of life.
func (p *Provider) Access(ctx context.Context) (lightning.Access, error) {
	var answer struct{ Methods []string }
	err := p.call(ctx, "get_info", struct{}{}, &answer)
	var refusal *walletError
	if err != nil && !(errors.As(err, &refusal) && (refusal.code == "RESTRICTED" || refusal.code == "NOT_IMPLEMENTED")) {
		return lightning.Access{}, fmt.Errorf("ask the wallet for its methods: %w", err)
	}
	methods := append(p.infoMethods(), answer.Methods...)
	for _, need := range needed {
		if !slices.Contains(methods, need) {
			return lightning.Access{}, fmt.Errorf("%w: the connection does not allow %s", lightning.ErrUnsupported, need)
		}
	}
	if i := slices.IndexFunc(methods, isSpending); i >= 0 {
		return lightning.Access{Spending: lightning.Quote(methods[i])}, nil
	}
	return lightning.Access{}, nil
}

// infoMethods returns the methods that the info event names.
func (p *Provider) infoMethods() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.info == nil {
		return nil
	}
	return strings.Fields(p.info.Content)
}

// transaction is a payment request in an answer of the wallet.
type transaction struct {
	Type        string
	State       string
	Invoice     string
	Preimage    string
	PaymentHash string           `json:"payment_hash"`
	SettledAt   lightning.Number `json:"settled_at"`
}

// Make implements lightning.Provider.
func (p *Provider) Make(ctx context.Context, ask lightning.Ask) (lightning.Made, error) {
	var t transaction
	err := p.call(ctx, "make_invoice", map[string]any{
		"amount": ask.MilliSatoshi, "description": ask.Memo, "expiry": int64(ask.Expiry / time.Second),
	}, &t)
	if err != nil {
		return lightning.Made{}, fmt.Errorf("make request: %w", err)
	}
	return lightning.Made{Text: strings.ToLower(t.Invoice), Hash: strings.ToLower(t.PaymentHash)}, nil
}

// Look implements lightning.Provider. It looks up the payment hash, and if the wallet answers with an error, the
// request.
func (p *Provider) Look(ctx context.Context, sought lightning.Sought) (lightning.Status, error) {
	var t transaction
	err := p.call(ctx, "lookup_invoice", map[string]any{"payment_hash": sought.Hash}, &t)
	var refusal *walletError
	if errors.As(err, &refusal) && !refusal.isFinal() && sought.Text != "" {
		t = transaction{}
		err = p.call(ctx, "lookup_invoice", map[string]any{"invoice": sought.Text}, &t)
	}
	var status lightning.Status
	if err == nil {
		status, err = t.status(sought.Hash)
	}
	if err != nil {
		return lightning.Status{}, fmt.Errorf("look up request: %w", err)
	}
	return status, nil
}

// status returns the status of the request with a payment hash.
func (t *transaction) status(hash string) (lightning.Status, error) {
	if t.State != "settled" && (t.State != "" || t.SettledAt <= 0) {
		return lightning.Status{}, nil
	}
	if t.Type == "outgoing" || !strings.EqualFold(t.PaymentHash, hash) {
		return lightning.Status{}, fmt.Errorf("%w: another request, or an outgoing payment, is settled", lightning.ErrFault)
	}
	if err := lightning.CheckPreimage(t.Preimage, hash); err != nil {
		return lightning.Status{}, err
	}
	status := lightning.Status{Settled: true}
	if t.SettledAt > 0 {
		status.SettledAt = time.Unix(int64(t.SettledAt), 0).UTC()
	}
	return status, nil
}

// Run implements lightning.Waker. It keeps the connections to the relays open.
func (p *Provider) Run(ctx context.Context) error {
	p.Keep(ctx, p.log, p.name, func(ctx context.Context, connected func()) error {
		return p.listen(ctx, connected)
	})
	return nil
}

// listen keeps a session with each relay until one of them ends.
func (p *Provider) listen(ctx context.Context, connected func()) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, len(p.relays))
	for _, r := range p.relays {
		go func() { ended <- p.hold(ctx, r, connected) }()
	}
	err := <-ended
	cancel()
	for range len(p.relays) - 1 {
		err = errors.Join(err, <-ended)
	}
	return err
}

// hold keeps a session open.
func (p *Provider) hold(ctx context.Context, r *relay, connected func()) error {
	s, err := r.open(ctx)
	if err != nil {
		return err
	}
	connected()
	tick := time.NewTicker(idleTimeout / 4)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-s.done:
			return fmt.Errorf("relay %s: %w", r.host, s.err)
		case <-tick.C:
			s.use(p.now())
		}
	}
}

// receive handles an event of the wallet whose signature is valid. Each event is handled once.
func (p *Provider) receive(e *event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.known[e.ID] || p.older[e.ID] {
		return
	}
	if len(p.known) >= maxKnown {
		p.older, p.known = p.known, map[string]bool{}
	}
	p.known[e.ID] = true
	switch e.Kind {
	case kindInfo:
		if p.info == nil || e.CreatedAt > p.info.CreatedAt {
			p.info, p.swapped = e, false
		}
	case kindReply:
		if waiting := p.waiting[e.tag("e")]; waiting != nil {
			select {
			case waiting <- e:
			default: // the call has a reply
			}
		}
	case kindNotification, kindNotificationLegacy:
		var content struct {
			Type string `json:"notification_type"`
		}
		text, err := p.pair.decrypt(e.Content)
		if err == nil && json.Unmarshal(text, &content) == nil && content.Type == "payment_received" {
			p.Send()
		}
	}
}
