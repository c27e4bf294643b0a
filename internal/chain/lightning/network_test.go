package lightning_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/chain"
	"chequer/internal/chain/chaintest"
	"chequer/internal/chain/lightning"
	"chequer/internal/chain/lightning/lightningtest"
	"chequer/internal/money"
)

// provider is a provider whose answers a test sets.
type provider struct {
	*lightning.Signal
	wallet *lightningtest.Wallet

	mu      sync.Mutex
	access  lightning.Access
	answers map[string]lightning.Status
	errs    map[string]error // by payment hash
	err     error            // of all calls
	calls   map[string]int   // lookups by payment hash
	slow    map[string]bool  // lookups that wait for their context
	change  func(made *lightning.Made)
	current int // running lookups
	highest int // of current
	cancels []string
	closed  bool
	live    bool
}

func newProvider(t *testing.T) *provider {
	t.Helper()
	return &provider{
		Signal: lightning.NewSignal(), wallet: lightningtest.NewWallet(t, time.Now), answers: map[string]lightning.Status{}, errs: map[string]error{},
		calls: map[string]int{}, slow: map[string]bool{}, change: func(*lightning.Made) {},
	}
}

func (p *provider) set(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
}

func (p *provider) Make(_ context.Context, ask lightning.Ask) (lightning.Made, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err != nil {
		return lightning.Made{}, p.err
	}
	i := p.wallet.Make(ask.MilliSatoshi, ask.Memo, nil, ask.Expiry)
	made := lightning.Made{Text: i.Text, Hash: i.Hash, LookupURL: "https://example.com/verify"}
	p.change(&made)
	return made, nil
}

func (p *provider) Look(ctx context.Context, sought lightning.Sought) (lightning.Status, error) {
	p.mu.Lock()
	p.calls[sought.Hash]++
	p.current++
	p.highest = max(p.highest, p.current)
	slow := p.slow[sought.Hash]
	p.mu.Unlock()
	defer p.set(func() { p.current-- })
	if slow {
		<-ctx.Done()
		return lightning.Status{}, ctx.Err()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err != nil {
		return lightning.Status{}, p.err
	}
	return p.answers[sought.Hash], p.errs[sought.Hash]
}

func (p *provider) Access(context.Context) (lightning.Access, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.access, p.err
}

func (p *provider) Cancel(_ context.Context, hash string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cancels = append(p.cancels, hash)
	return nil
}

func (p *provider) Run(ctx context.Context) error {
	<-ctx.Done()
	return nil
}

func (p *provider) Subscribed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.live
}

func (p *provider) Close() { p.set(func() { p.closed = true }) }

// watched is the set of pending requests of a scan.
type watched struct {
	chaintest.Watch
	pending map[string]chain.PendingRequest
}

func (w watched) Requests() iter.Seq[chain.PendingRequest] { return maps.Values(w.pending) }

func sats(n int64) money.Amount { return money.FromCents(n, money.BTC) }

// fixture is a network in a synctest bubble.
type fixture struct {
	t        *testing.T
	provider *provider
	network  *lightning.Network
	watched  watched
}

const (
	networkID    chain.ID = "lightning-wlt_1"
	providerName string   = "NWC, relay.example"
)

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{t: t, provider: newProvider(t), watched: watched{Watch: chaintest.Watch{}, pending: map[string]chain.PendingRequest{}}}
	f.network = lightning.NewNetwork(lightning.NetworkConfig{
		ID: networkID, Name: providerName, Provider: f.provider, Currency: "bcrt", Now: time.Now,
	})
	return f
}

// inBubble runs a test with the clock of synctest.
func inBubble(t *testing.T, test func(f *fixture)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { test(newFixture(t)) })
}

// add adds a request of 100 satoshis that was made now.
func (f *fixture) add(hash string, life time.Duration) {
	f.watched.pending[hash] = chain.PendingRequest{Hash: hash, Amount: sats(100), MadeAt: time.Now(), ShownUntil: time.Now().Add(min(life, time.Hour)), Until: time.Now().Add(life), Lookup: "https://example.com/" + hash}
}

func (f *fixture) settle(hash string, status lightning.Status) {
	status.Settled = true
	f.provider.set(func() { f.provider.answers[hash] = status })
}

func (f *fixture) scan() (chain.Snapshot, error) {
	return f.network.Scan(f.t.Context(), chain.Cursor{}, f.watched)
}

func (f *fixture) mustScan() chain.Snapshot {
	f.t.Helper()
	s, err := f.scan()
	if err != nil {
		f.t.Fatal(err)
	}
	return s
}

// run scans every second for a while, and returns the number of lookups of a request.
func (f *fixture) run(hash string, d time.Duration) int {
	f.t.Helper()
	before := f.provider.calls[hash]
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(time.Second) {
		_, _ = f.scan()
	}
	return f.provider.calls[hash] - before
}

func TestScan_shows_settled_requests_only(t *testing.T) {
	inBubble(t, func(f *fixture) {
		f.add("aa", time.Hour)
		f.add("bb", time.Hour)
		f.add("cc", time.Hour)
		madeAt := time.Now()
		time.Sleep(time.Minute)
		f.settle("bb", lightning.Status{MilliSatoshi: 150_999, SettledAt: madeAt.Add(30 * time.Second)})
		f.provider.set(func() { f.provider.errs["cc"] = fmt.Errorf("look up: %w", lightning.ErrUnknown) })
		started := time.Now()
		got := f.mustScan()
		tip := chain.Block{Height: 1, Hash: "lightning"}
		want := chain.Snapshot{
			Started: started, From: tip.Cursor(), Tip: tip, Next: tip.Cursor(), Unconfirmed: chain.None,
			Transfers: []chain.Transfer{{
				ID: "bb", Tx: "bb", Asset: "BTC-LN", Script: "bb", Amount: sats(150),
				Block: &chain.Block{Height: 1, Hash: "bb", Time: madeAt.Add(30 * time.Second)},
			}},
		}
		if diff := cmp.Diff(got, want, cmp.Comparer(money.Amount.Equal)); diff != "" {
			f.t.Errorf("snapshot differs (-got +want):\n%s", diff)
		}
		time.Sleep(time.Hour)
		if diff := cmp.Diff(f.mustScan().Transfers, want.Transfers, cmp.Comparer(money.Amount.Equal)); diff != "" || f.provider.calls["bb"] != 1 {
			f.t.Errorf("%d lookups, second snapshot differs (-got +want):\n%s", f.provider.calls["bb"], diff)
		}
		if h := f.network.Health(); h.Fault != "" || h.Source != providerName {
			f.t.Errorf("Health() = %+v, want no fault", h)
		}
		delete(f.watched.pending, "bb") // recorded
		if s := f.mustScan(); len(s.Transfers) != 0 {
			f.t.Errorf("transfers %+v, want none", s.Transfers)
		}
	})
}

func TestScan_moves_the_time_between_the_request_and_the_scan(t *testing.T) {
	inBubble(t, func(f *fixture) {
		madeAt := time.Now()
		for _, hash := range []string{"none", "ahead", "behind"} {
			f.add(hash, time.Hour)
		}
		time.Sleep(time.Minute)
		f.settle("none", lightning.Status{})
		f.settle("ahead", lightning.Status{SettledAt: time.Now().Add(time.Hour)})
		f.settle("behind", lightning.Status{SettledAt: madeAt.Add(-time.Hour)})
		started := time.Now()
		got := map[string]time.Duration{}
		for _, transfer := range f.mustScan().Transfers {
			got[transfer.ID] = transfer.Block.Time.Sub(started)
		}
		if diff := cmp.Diff(got, map[string]time.Duration{"none": 0, "ahead": 0, "behind": -time.Minute}); diff != "" {
			f.t.Errorf("times differ (-got +want):\n%s", diff)
		}
	})
}

func TestScan_fails_while_the_provider_is_down(t *testing.T) {
	inBubble(t, func(f *fixture) {
		f.add("aa", time.Hour)
		f.add("bb", time.Hour)
		f.mustScan()
		f.provider.set(func() { f.provider.err = lightning.ErrSilent })
		time.Sleep(5 * time.Second)
		s, err := f.scan()
		if !errors.Is(err, lightning.ErrSilent) || s.Transfers != nil || !s.Started.IsZero() {
			f.t.Errorf("Scan() = %+v, %v, want ErrSilent", s, err)
		}
		since := time.Now().UTC().Format("15:04")
		if got := f.network.Health().Fault; !strings.Contains(got, "the relay answers, the wallet does not") || !strings.Contains(got, "not looked up since "+since+"; their invoices stay open") {
			f.t.Errorf("fault %q", got)
		}
		calls := f.run("aa", 10*time.Minute) + f.provider.calls["bb"]
		if calls > 60 {
			f.t.Errorf("%d lookups in 10 minutes, want waits of up to a minute", calls)
		}
		// A request that was not among the failed ones is due, too, and the provider is not called.
		delete(f.watched.pending, "aa")
		delete(f.watched.pending, "bb")
		f.add("cc", time.Hour)
		if _, err := f.scan(); !errors.Is(err, lightning.ErrSilent) {
			f.t.Errorf("Scan() = %v while the provider waits, want ErrSilent", err)
		}
		f.settle("cc", lightning.Status{})
		f.provider.set(func() { f.provider.err = nil })
		time.Sleep(time.Minute)
		if s := f.mustScan(); len(s.Transfers) != 1 || f.network.Health().Fault != "" {
			f.t.Errorf("transfers %+v, fault %q, want the payment and no fault", s.Transfers, f.network.Health().Fault)
		}
	})
}

// If the provider fails, a scan begins no other lookup.
func TestScan_stops_when_the_provider_fails(t *testing.T) {
	inBubble(t, func(f *fixture) {
		for i := range 50 {
			f.add(fmt.Sprintf("%02x", i), time.Hour)
		}
		f.provider.set(func() { f.provider.err = lightning.ErrLocked })
		if _, err := f.scan(); !errors.Is(err, lightning.ErrLocked) {
			f.t.Errorf("Scan() = %v, want ErrLocked", err)
		}
		calls := 0
		for _, n := range f.provider.calls {
			calls += n
		}
		if calls == 0 || calls > 4 {
			f.t.Errorf("%d lookups, want at most 4 that run at once", calls)
		}
	})
}

// A fault of one request delays no other request.
func TestScan_looks_up_other_requests_after_a_fault(t *testing.T) {
	inBubble(t, func(f *fixture) {
		f.add("aa", time.Hour)
		f.provider.set(func() { f.provider.errs["aa"] = lightning.ErrFault })
		if _, err := f.scan(); !errors.Is(err, lightning.ErrFault) {
			f.t.Errorf("Scan() = %v, want ErrFault", err)
		}
		time.Sleep(100 * time.Millisecond)
		f.add("bb", time.Hour)
		_, _ = f.scan()
		if n := f.provider.calls["bb"]; n != 1 {
			f.t.Errorf("%d lookups of the other request, want 1", n)
		}
	})
}

// A request that cannot be looked up keeps its invoice open, and does not hide the payments of others.
func TestScan_shows_payments_beside_a_fault(t *testing.T) {
	inBubble(t, func(f *fixture) {
		f.add("aa", time.Hour)
		f.add("bb", time.Hour)
		f.settle("aa", lightning.Status{})
		f.provider.set(func() { f.provider.errs["bb"] = fmt.Errorf("look up: %w", lightning.ErrFault) })
		if s := f.mustScan(); !s.Behind || len(s.Transfers) != 1 {
			f.t.Errorf("snapshot %+v, want an incomplete one with the payment", s)
		}
		if s, err := f.scan(); !errors.Is(err, lightning.ErrFault) {
			f.t.Errorf("Scan() = %+v, %v, want ErrFault", s, err)
		}
		time.Sleep(time.Minute) // the payment was not recorded
		if s := f.mustScan(); !s.Behind || len(s.Transfers) != 1 {
			f.t.Errorf("snapshot %+v, want the payment again", s)
		}
		delete(f.watched.pending, "bb")
		if s := f.mustScan(); s.Behind {
			f.t.Errorf("snapshot %+v, want a complete one", s)
		}
	})
}

func TestScan_refuses_less_than_the_amount(t *testing.T) {
	inBubble(t, func(f *fixture) {
		f.add("aa", time.Hour)
		f.settle("aa", lightning.Status{MilliSatoshi: 99_999})
		if s, err := f.scan(); !errors.Is(err, lightning.ErrFault) {
			f.t.Errorf("Scan() = %+v, %v, want ErrFault", s, err)
		}
	})
}

func TestScan_waits_for_no_slow_request(t *testing.T) {
	inBubble(t, func(f *fixture) {
		f.add("slow", time.Hour)
		for i := range 10 {
			f.add(fmt.Sprint("fast", i), time.Hour)
		}
		f.settle("fast7", lightning.Status{})
		f.provider.set(func() { f.provider.slow["slow"] = true })
		start := time.Now()
		s := f.mustScan()
		if took := time.Since(start); took > 8*time.Second || !s.Behind || len(s.Transfers) != 1 {
			f.t.Errorf("after %s: snapshot %+v, want the payment within 8 s", took, s)
		}
		for i := range 10 {
			if f.provider.calls[fmt.Sprint("fast", i)] == 0 {
				f.t.Errorf("fast%d was not looked up", i)
			}
		}
		if _, err := f.scan(); !errors.Is(err, context.DeadlineExceeded) {
			f.t.Errorf("Scan() = %v, want an error about the slow request", err)
		}
	})
}

func TestScan_does_not_wait_for_a_request_that_the_provider_forgot(t *testing.T) {
	inBubble(t, func(f *fixture) {
		f.add("aa", 10*time.Minute)
		f.provider.set(func() { f.provider.errs["aa"] = fmt.Errorf("look up: %w: HTTP status 410", lightning.ErrAnswered) })
		for _, after := range []time.Duration{0, 19 * time.Minute} { // it may have been paid before its end
			time.Sleep(after)
			if s, err := f.scan(); err == nil {
				f.t.Errorf("after %s: snapshot %+v, want an error", after, s)
			}
		}
		time.Sleep(12 * time.Minute)
		f.mustScan()
		if h := f.network.Health(); h.Fault != "" {
			f.t.Errorf("the network has the fault %q", h.Fault)
		}
	})
}

func TestRun_makes_requests_due_and_closes_the_provider(t *testing.T) {
	inBubble(t, func(f *fixture) {
		f.provider.live = true
		f.add("aa", time.Hour)
		ctx, cancel := context.WithCancel(f.t.Context())
		done := make(chan error)
		go func() { done <- f.network.Run(ctx) }()
		f.mustScan()
		f.settle("aa", lightning.Status{})
		f.provider.Send()
		<-f.network.Wake()
		if s := f.mustScan(); len(s.Transfers) != 1 {
			f.t.Errorf("transfers %+v, want the payment without a wait", s.Transfers)
		}
		cancel()
		if err := <-done; err != nil || !f.provider.closed {
			f.t.Errorf("Run() = %v, closed %t", err, f.provider.closed)
		}
	})
}
