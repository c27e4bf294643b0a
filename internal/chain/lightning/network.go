package lightning

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"chequer/internal/chain"
)

// height is the height of the block of every settled request. The tip always has this height. See chain.PendingRequest.
const height = 1

// NetworkConfig is the configuration of a Network.
type NetworkConfig struct {
	ID chain.ID
	// Name is the provider for people, such as Connection.String.
	Name     string
	Provider Provider
	// Currency is the prefix of the currency of the requests after "ln": "bc", "tb", "tbs" or "bcrt".
	Currency string
	Now      func() time.Time
}

// Network is the Lightning Network through one connection. Each connection has its own, so that a provider that is
// down delays no other. It is safe for concurrent use.
type Network struct {
	config   NetworkConfig
	attempts chain.Attempts
	limiter  *rate.Limiter
	wake     chan struct{}

	mu sync.Mutex
	// The fields below are protected by mu.
	lookups  map[string]*lookup // by payment hash
	notified map[string]bool    // payment hashes of notified payments whose requests are to be looked up
	backoff  backoff
	failure  error // of the provider, which began the last wait
	// succeededAt is the time of the last lookup that succeeded.
	succeededAt time.Time
}

var _ interface {
	chain.Requester
	chain.Waker
	chain.Reporter
	chain.AddressReader
} = (*Network)(nil)

// NewNetwork returns a new Network. It makes no call.
func NewNetwork(c NetworkConfig) *Network {
	return &Network{
		config: c, limiter: rate.NewLimiter(lookupsPerSecond, 1), wake: make(chan struct{}, 1),
		lookups: map[string]*lookup{}, notified: map[string]bool{},
	}
}

// ID implements chain.Network.
func (n *Network) ID() chain.ID { return n.config.ID }

// Assets implements chain.Network.
func (n *Network) Assets() []chain.Asset { return []chain.Asset{chain.LightningAsset(n.config.ID)} }

// RequestNetwork implements chain.Requester.
func (n *Network) RequestNetwork() string { return n.config.Currency }

// Wake implements chain.Waker.
func (n *Network) Wake() <-chan struct{} { return n.wake }

// NewDestination implements chain.Network. A payment request cannot be derived from a key.
func (n *Network) NewDestination(chain.Request) (chain.Destination, error) {
	return chain.Destination{}, errors.New("the destinations of Lightning are payment requests")
}

// ReadAddress implements chain.AddressReader. See chain.ReadBitcoin.
func (n *Network) ReadAddress(_, text string) (chain.Destination, error) {
	return chain.ReadBitcoin(n.config.Currency, text)
}

// Ask implements chain.Requester.
func (n *Network) Ask(ctx context.Context, ask chain.Ask) (chain.Offer, error) {
	amount, err := ask.MilliSatoshi()
	if err != nil {
		return chain.Offer{}, err
	}
	wanted := Ask{MilliSatoshi: amount, Memo: ask.Memo, Expiry: max(ask.Until.Sub(n.config.Now()), minLife).Round(time.Second)}
	made, err := n.config.Provider.Make(ctx, wanted)
	if err != nil {
		return chain.Offer{}, err
	}
	r, err := Check(made, wanted, n.config.Currency, n.config.Now())
	if err != nil {
		return chain.Offer{}, err
	}
	hash := hex.EncodeToString(r.PaymentHash[:])
	if ask.Find {
		if err := find(ctx, n.config.Provider, hash, made); err != nil {
			return chain.Offer{}, errors.Join(err, n.Cancel(ctx, hash))
		}
	}
	return chain.Offer{
		Destination: chain.Destination{Address: made.Text, Script: hash}, Until: r.Ends(), Lookup: made.LookupURL,
	}, nil
}

// find looks up a new request, which has a payment hash.
func find(ctx context.Context, p Provider, hash string, made Made) error {
	status, err := p.Look(ctx, Sought{Hash: hash, Text: made.Text, LookupURL: made.LookupURL})
	switch {
	case err != nil:
		return fmt.Errorf("look up a new request: %w", err)
	case status.Settled:
		return fmt.Errorf("%w: a new request is settled", ErrFault)
	}
	return nil
}

// Cancel implements chain.Requester.
func (n *Network) Cancel(ctx context.Context, hash string) error {
	if c, ok := n.config.Provider.(Canceller); ok {
		return c.Cancel(ctx, hash)
	}
	return nil
}

// Run receives the notifications of the provider until the context ends, then closes the provider.
func (n *Network) Run(ctx context.Context) error {
	if c, ok := n.config.Provider.(interface{ Close() }); ok {
		defer c.Close()
	}
	waker, ok := n.config.Provider.(Waker)
	if !ok {
		<-ctx.Done()
		return nil
	}
	var group sync.WaitGroup
	defer group.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan error, 1)
	group.Go(func() { done <- waker.Run(ctx) })
	for {
		select {
		case err := <-done:
			return err
		case <-waker.Wake():
			n.wakeUp(waker.Notified())
		}
	}
}

// wakeUp makes the requests with some payment hashes due before all others, and, if all is true, those that shoppers may be
// paying now. It signals the watcher.
func (n *Network) wakeUp(hashes []string, all bool) {
	n.mu.Lock()
	now := n.config.Now()
	for _, l := range n.lookups {
		if all && isFresh(l.request, now) {
			l.dueAt = now
		}
	}
	if len(n.notified) > maxNotified { // payments that are none of the shop's
		clear(n.notified)
	}
	for _, hash := range hashes {
		n.notified[hash] = true
	}
	n.mu.Unlock()
	select {
	case n.wake <- struct{}{}:
	default:
	}
}

// Health implements chain.Reporter.
func (n *Network) Health() chain.Health {
	return n.attempts.Health(chain.Health{Source: n.config.Name, Height: height, Fault: n.overdue()})
}

// Examine returns what the connection allows. Its requests are made and found, or it is an error that names the
// reason for people. It is used before a connection is stored, and to examine an installation.
func Examine(ctx context.Context, p Provider, currency string, now func() time.Time) (Access, error) {
	access, err := p.Access(ctx)
	if err != nil {
		return Access{}, err
	}
	ask := Ask{MilliSatoshi: roundUp(max(access.Least, 1), chain.MilliSatoshisPerSatoshi), Memo: "Connection test", Expiry: 10 * time.Minute}
	made, err := p.Make(ctx, ask)
	if err != nil {
		return Access{}, err
	}
	r, err := Check(made, ask, currency, now())
	if err != nil {
		return Access{}, err
	}
	hash := hex.EncodeToString(r.PaymentHash[:])
	if err := find(ctx, p, hash, made); err != nil {
		return Access{}, err
	}
	if c, ok := p.(Canceller); ok {
		if err := c.Cancel(ctx, hash); err != nil {
			return Access{}, err
		}
	}
	return access, nil
}

// Describe returns the result of Examine for people.
func (a Access) Describe() string {
	if a.Spending != "" {
		return "may spend from your wallet (" + a.Spending + "): replace it by a receive-only connection"
	}
	text := "ready, makes and finds requests, cannot spend"
	if limit := NewLimitError(a.Least, a.Most); a.Least > chain.MilliSatoshisPerSatoshi || !limit.Most.IsZero() {
		text += "; " + limit.Error()
	}
	return text
}

// roundUp returns the least multiple of unit that is at least n.
func roundUp(n, unit int64) int64 { return (n + unit - 1) / unit * unit }

// requests returns a number of requests for people.
func requests(count int) string {
	return fmt.Sprintf("%d %s", count, cmp.Or(map[int]string{1: "request"}[count], "requests"))
}
