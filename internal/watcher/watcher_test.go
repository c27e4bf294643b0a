package watcher_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/chain"
	"chequer/internal/chain/simnet"
	"chequer/internal/clocktest"
	"chequer/internal/invoice"
	"chequer/internal/keys"
	"chequer/internal/logtest"
	"chequer/internal/merchant"
	"chequer/internal/money"
	"chequer/internal/rates"
	"chequer/internal/seal"
	"chequer/internal/storage"
	"chequer/internal/storage/storagetest"
	"chequer/internal/watcher"
)

// onBoth runs a test with two processes on one database, for each engine.
func onBoth(t *testing.T, test func(t *testing.T, one, two *process, clock *clocktest.Clock)) {
	t.Helper()
	t.Parallel()
	for name, fresh := range map[string]func(testing.TB) string{
		"sqlite":   storagetest.File,
		"postgres": storagetest.Postgres,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, c := fresh(t), clocktest.At(time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC))
			one, two := newProcess(t, url, "one", c), newProcess(t, url, "two", c)
			if err := one.store.CreateMerchant(t.Context(), merchant.Merchant{ID: "m", Name: "Shop", CreatedAt: c.Now()}); err != nil {
				t.Fatal(err)
			}
			test(t, one, two, c)
		})
	}
}

func TestStep_scans_in_one_process_only(t *testing.T) {
	onBoth(t, func(t *testing.T, one, two *process, clock *clocktest.Clock) {
		for range 5 {
			one.step()
			two.step()
			clock.Pass(5 * time.Second) // each renewal is in time
		}
		one.wantScans(5)
		two.wantScans(0)
	})
}

// Two processes whose clocks differ must not take the lease from each other.
func TestStep_keeps_the_lease_with_any_clock_of_another_process(t *testing.T) {
	for _, ahead := range []time.Duration{-time.Hour, -15 * time.Second, 15 * time.Second, time.Hour} {
		t.Run(ahead.String(), func(t *testing.T) {
			onBoth(t, func(t *testing.T, one, two *process, clock *clocktest.Clock) {
				two.watcher.Now = func() time.Time { return clock.Now().Add(ahead) }
				for range 5 {
					one.step()
					two.step()
					clock.Pass(5 * time.Second)
				}
				one.wantScans(5)
				two.wantScans(0)
				two.takeOver(clock) // after the end of the first one
				clock.Pass(5 * time.Second)
				two.step()
				two.wantScans(2)
			})
		})
	}
}

func TestStep_waits_anew_after_its_clock_went_back(t *testing.T) {
	onBoth(t, func(t *testing.T, one, two *process, clock *clocktest.Clock) {
		one.step()
		two.step()
		clock.Pass(-time.Hour)
		two.takeOver(clock)
		two.wantScans(1)
	})
}

func TestRun_releases_the_lease_when_it_stops(t *testing.T) {
	onBoth(t, func(t *testing.T, one, two *process, _ *clocktest.Clock) {
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- one.watcher.Run(ctx) }()
		for one.epoch() == 0 { // until it has saved a scan
			<-one.saved
		}
		two.step()
		two.wantScans(0)
		stop()
		if err := <-ended; err != nil {
			t.Errorf("run: %v", err)
		}
		two.step()
		two.wantScans(1)
		if got := two.epoch(); got <= one.epoch() {
			t.Errorf("got epoch %d after %d, want a higher one", got, one.epoch())
		}
	})
}

func TestRun_does_not_release_the_lease_of_another_process(t *testing.T) {
	onBoth(t, func(t *testing.T, one, two *process, clock *clocktest.Clock) {
		one.step()
		two.takeOver(clock)
		ctx, stop := context.WithCancel(t.Context())
		stop()
		if err := one.watcher.Run(ctx); err != nil {
			t.Errorf("run: %v", err)
		}
		one.step()
		one.wantScans(1)
		two.step()
		two.wantScans(2)
	})
}

func TestStep_takes_over_the_lease_of_a_process_that_disappeared(t *testing.T) {
	onBoth(t, func(t *testing.T, one, two *process, clock *clocktest.Clock) {
		one.step()
		two.step() // sees the lease for the first time
		clock.Pass(10*time.Second - time.Millisecond)
		two.step()
		two.wantScans(0)
		clock.Pass(time.Millisecond)
		two.step()
		two.wantScans(1)
		one.step() // is back, but too late
		one.wantScans(1)
	})
}

func TestStep_fences_a_leader_that_paused(t *testing.T) {
	onBoth(t, func(t *testing.T, one, two *process, clock *clocktest.Clock) {
		inv := one.create()
		one.pays(inv)
		var paid *invoice.Invoice
		var reached invoice.Progress
		one.net.meanwhile = func(context.Context) { // one has scanned, but not yet recorded
			two.takeOver(clock)
			paid, reached = two.reload(inv), two.progress()
		}
		if _, err := one.watcher.Step(t.Context()); !errors.Is(err, invoice.ErrFenced) {
			t.Errorf("got error %v, want %v", err, invoice.ErrFenced)
		}
		if paid.State.Status != invoice.Pending {
			t.Errorf("invoice is %s, want %s", paid.State.Status, invoice.Pending)
		}
		if got := two.reload(inv); got.Version != paid.Version {
			t.Errorf("version changed from %d to %d", paid.Version, got.Version)
		}
		if got := two.progress(); !cmp.Equal(got, reached) {
			t.Errorf("progress changed from %v to %v", reached, got)
		}
	})
}

func TestStep_keeps_the_lease_during_a_long_scan(t *testing.T) {
	onBoth(t, func(t *testing.T, one, two *process, clock *clocktest.Clock) {
		one.watcher.RenewEvery(time.Millisecond)
		inv := one.create()
		one.pays(inv)
		one.net.meanwhile = func(context.Context) {
			for range 10 { // five times the duration of a lease
				clock.Pass(5 * time.Second)
				<-one.renewed // this renewal may have begun before the clock moved
				<-one.renewed
				two.step()
			}
		}
		one.step()
		two.wantScans(0)
		if got := one.reload(inv).State.Status; got != invoice.Pending {
			t.Errorf("invoice is %s, want %s", got, invoice.Pending)
		}
	})
}

func TestStep_ends_when_another_process_takes_the_lease(t *testing.T) {
	onBoth(t, func(t *testing.T, one, two *process, clock *clocktest.Clock) {
		one.step()
		one.watcher.RenewEvery(time.Millisecond)
		inv := one.create()
		one.pays(inv)
		one.net.cut = func(ctx context.Context) {
			goOn := one.pause()
			two.takeOver(clock) // observes the transfer
			goOn()
			<-ctx.Done()
			if got := context.Cause(ctx); !errors.Is(got, invoice.ErrFenced) {
				t.Errorf("cause of the end of the scan = %v, want %v", got, invoice.ErrFenced)
			}
		}
		if _, err := one.watcher.Step(t.Context()); !errors.Is(err, invoice.ErrFenced) {
			t.Errorf("got error %v, want %v", err, invoice.ErrFenced)
		}
		paid, reached := two.reload(inv), two.progress()
		one.step() // does not scan any more
		one.wantScans(2)
		if got := two.reload(inv); got.Version != paid.Version || !cmp.Equal(two.progress(), reached) {
			t.Errorf("version %d at %v, want %d at %v", got.Version, two.progress(), paid.Version, reached)
		}
		two.step()
		two.wantScans(2)
	})
}

func TestRun_continues_immediately_below_the_tip(t *testing.T) {
	onBoth(t, func(t *testing.T, one, _ *process, _ *clocktest.Clock) {
		one.step()
		<-one.net.Wake() // for the first block
		one.net.behind = 3
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- one.watcher.Run(ctx) }() // the interval of scans is an hour
		for one.progress().Sequence < 5 {
			<-one.saved
		}
		stop()
		if err := <-ended; err != nil {
			t.Errorf("run: %v", err)
		}
		one.wantScans(5)
	})
}

func TestStep_keeps_the_cursor_when_a_scan_fails(t *testing.T) {
	onBoth(t, func(t *testing.T, one, _ *process, clock *clocktest.Clock) {
		one.step()
		inv := one.create()
		tx := one.pays(inv)
		one.confirm(tx)
		for range 30 { // so that the cursor can advance
			one.confirm()
		}
		before := one.progress()
		broken := errors.New("node is away")
		one.net.fault = broken
		clock.Pass(time.Second)
		if _, err := one.watcher.Step(t.Context()); !errors.Is(err, broken) {
			t.Errorf("got error %v, want %v", err, broken)
		}
		if got := one.progress(); !cmp.Equal(got, before) {
			t.Errorf("progress changed from %v to %v", before, got)
		}
		one.net.fault = nil
		one.step()
		if got := one.progress(); got.Cursor.Height <= before.Cursor.Height || got.Sequence != before.Sequence+1 {
			t.Errorf("progress changed from %v to %v, want it to advance", before, got)
		}
		if got := one.reload(inv).State.Status; got != invoice.Paid {
			t.Errorf("invoice is %s, want %s", got, invoice.Paid)
		}
	})
}

func TestStep_finds_destinations_that_are_newer_than_the_last_scan(t *testing.T) {
	onBoth(t, func(t *testing.T, one, two *process, _ *clocktest.Clock) {
		for range 3 {
			one.step()
			inv := two.create() // in the process without the lease
			two.pays(inv)
			one.step()
			if got := two.reload(inv).State.Status; got != invoice.Pending {
				t.Errorf("invoice is %s, want %s", got, invoice.Pending)
			}
		}
	})
}

func TestStep_keeps_destinations_when_the_clock_was_ahead_for_one_scan(t *testing.T) {
	onBoth(t, func(t *testing.T, one, _ *process, clock *clocktest.Clock) {
		one.step()
		inv := one.create()
		one.step()
		clock.Pass(40 * 24 * time.Hour)
		one.step()
		clock.Pass(-40 * 24 * time.Hour)
		one.step()
		one.confirm(one.pays(inv))
		one.confirm()
		one.step()
		for range 200 {
			one.confirm()
		}
		one.step()
		if got := one.reload(inv).State.Status; got != invoice.Paid {
			t.Errorf("invoice is %s, want %s", got, invoice.Paid)
		}
	})
}

func TestStep_releases_the_lease_to_a_process_that_can_scan(t *testing.T) {
	onBoth(t, func(t *testing.T, one, two *process, clock *clocktest.Clock) {
		one.step()
		inv := two.create()
		one.net.fault = errors.New("node is away")
		two.confirm(two.pays(inv))
		two.confirm()
		for range 30 {
			_, _ = one.watcher.Step(t.Context())
			two.step()
			clock.Pass(time.Second)
		}
		if got := two.reload(inv).State.Status; got != invoice.Paid {
			t.Errorf("invoice is %s, want %s", got, invoice.Paid)
		}
	})
}

func TestStep_fails_when_a_recorded_transfer_is_missing_from_its_block(t *testing.T) {
	onBoth(t, func(t *testing.T, one, _ *process, _ *clocktest.Clock) {
		one.step()
		inv := one.create()
		one.confirm(one.pays(inv))
		one.confirm()
		one.step()
		before := one.progress()
		one.net.hide = true
		if _, err := one.watcher.Step(t.Context()); err == nil {
			t.Error("a scan without a recorded transfer returned no error")
		}
		if diff := cmp.Diff(before, one.progress()); diff != "" {
			t.Errorf("progress (-before +after):\n%s", diff)
		}
		if got := one.reload(inv).State.Status; got != invoice.Paid {
			t.Errorf("invoice is %s, want %s", got, invoice.Paid)
		}
		one.net.hide = false
		one.confirm()
		one.step()
	})
}

func TestStep_takes_the_lease_again_when_no_other_process_does(t *testing.T) {
	onBoth(t, func(t *testing.T, one, _ *process, clock *clocktest.Clock) {
		one.step()
		inv := one.create()
		one.pays(inv)
		one.net.fault = errors.New("node is away")
		for range 21 { // until it releases the lease
			_, _ = one.watcher.Step(t.Context())
			clock.Pass(time.Second)
		}
		one.net.fault = nil
		for range 5 {
			one.step()
			clock.Pass(time.Second)
		}
		if got := one.reload(inv).State.Status; got != invoice.Pending {
			t.Errorf("invoice is %s, want %s", got, invoice.Pending)
		}
	})
}

// While the lease is released for a moment, nothing is scanned, and the log must not report a
// success.
func TestRun_reports_success_only_after_a_scan(t *testing.T) {
	onBoth(t, func(t *testing.T, one, _ *process, clock *clocktest.Clock) {
		log := &logtest.Journal{}
		one.watcher.Log = slog.New(slog.NewTextHandler(log, nil))
		one.step()
		one.net.fault = errors.New("node is away")
		for range 120 {
			one.watcher.StepAndReport(t.Context())
			clock.Pass(time.Second)
		}
		if text := log.String(); strings.Contains(text, "scan succeeded again") || strings.Count(text, "scan failed") != 1 {
			t.Errorf("log without a node:\n%s", text)
		}
		one.net.fault = nil
		for range 30 {
			one.watcher.StepAndReport(t.Context())
			clock.Pass(time.Second)
		}
		if text := log.String(); strings.Count(text, "scan succeeded again") != 1 {
			t.Errorf("log after the return of the node:\n%s", text)
		}
	})
}

// network is simnet with faults, as one process scans it.
type network struct {
	*simnet.Network
	fault     error                 // error of the next scans
	cut       func(context.Context) // called once in place of a scan, which ends with the context
	behind    int                   // number of next scans that stop below the tip
	hide      bool                  // scans return no transfers
	meanwhile func(context.Context) // called once between a scan and its record, with the context

	mu    sync.Mutex
	scans int
}

func (n *network) Scan(ctx context.Context, from chain.Cursor, watched chain.Watched) (chain.Snapshot, error) {
	n.mu.Lock()
	n.scans++
	n.mu.Unlock()
	if do := n.cut; do != nil {
		n.cut = nil
		do(ctx)
		return chain.Snapshot{}, ctx.Err()
	}
	if n.fault != nil {
		return chain.Snapshot{}, n.fault
	}
	s, err := n.Network.Scan(ctx, from, watched)
	if do := n.meanwhile; do != nil {
		n.meanwhile = nil
		do(ctx)
	}
	if n.hide {
		s.Transfers = nil
	}
	if n.behind > 0 {
		n.behind--
		s.Behind = true
	}
	return s, err
}

// process holds all objects of one process with a shared database.
type process struct {
	t       *testing.T
	name    string
	store   *storage.Storage
	net     *network
	service *invoice.Service
	watcher *watcher.Watcher
	wallets []invoice.Wallet
	saved   chan struct{} // signals that a scan is saved
	renewed chan struct{} // signals that the lease is renewed during a scan

	paused sync.RWMutex // held while no lease may be requested

	mu  sync.Mutex
	ids int
	led int64 // epoch of the last saved scan
}

func newProcess(t *testing.T, url, name string, c *clocktest.Clock) *process {
	t.Helper()
	p := &process{t: t, name: name, saved: make(chan struct{}, 1), renewed: make(chan struct{})}
	box, err := seal.New(bytes.Repeat([]byte{7}, seal.KeySize))
	p.must(err)
	p.store, err = storage.Open(t.Context(), url, box, storage.Options{})
	p.must(err)
	t.Cleanup(func() { p.must(p.store.Close()) })
	table, err := rates.ParseFixed("BTC-EUR=80000,EUR-USD=1.08", "fixed")
	p.must(err)
	_, key, err := keys.NewTestKey(rand.Reader, keys.BTC)
	p.must(err)
	p.wallets = []invoice.Wallet{{Asset: string(keys.BTC), Key: key.String(), Counter: key.Fingerprint()}}
	p.net = &network{Network: simnet.New(p.store, c.Now)}
	log := slog.New(slog.DiscardHandler)
	p.service = invoice.NewService(invoice.Config{
		Storage: p.store, Networks: map[invoice.Mode][]chain.Network{invoice.Test: {p.net}},
		Rates: func() invoice.Rates { return table }, Now: c.Now, NewID: p.newID, Log: log,
		Encode: func(*invoice.Invoice, invoice.Event) []byte { return []byte("{}") },
	})
	p.watcher = watcher.New(watcher.Config{
		Network: p.net, Storage: recorder{p.store, p}, Observer: p.service, Holder: name, Every: time.Hour, Now: c.Now, Log: log,
	})
	return p
}

// recorder records the epoch of each saved scan, and signals leases.
type recorder struct {
	watcher.Storage
	process *process
}

func (r recorder) AcquireLease(ctx context.Context, network chain.ID, holder string, _ time.Time, ttl time.Duration) (int64, error) {
	r.process.paused.RLock()
	defer r.process.paused.RUnlock()
	epoch, err := r.Storage.AcquireLease(ctx, network, holder, r.process.watcher.Now(), ttl)
	select {
	case r.process.renewed <- struct{}{}: // a test waits for it
	default:
	}
	return epoch, err
}

func (r recorder) SaveProgress(ctx context.Context, lease invoice.Lease, p invoice.Progress) error {
	if err := r.Storage.SaveProgress(ctx, lease, p); err != nil {
		return err
	}
	r.process.mu.Lock()
	r.process.led = lease.Epoch
	r.process.mu.Unlock()
	select {
	case r.process.saved <- struct{}{}:
	default:
	}
	return nil
}

// pause blocks the process's requests for leases until the returned function is called.
func (p *process) pause() (goOn func()) {
	p.paused.Lock()
	return p.paused.Unlock
}

// epoch returns the epoch of the last scan that this process saved, or 0.
func (p *process) epoch() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.led
}

func (p *process) newID() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ids++
	return fmt.Sprintf("%s%029d", p.name, p.ids)
}

func (p *process) must(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

func (p *process) step() {
	p.t.Helper()
	_, err := p.watcher.Step(p.t.Context())
	p.must(err)
}

// takeOver steps until the process gets the lease of another process that does not renew it.
func (p *process) takeOver(clock *clocktest.Clock) {
	p.t.Helper()
	p.step()
	clock.Pass(10 * time.Second)
	p.step()
}

func (p *process) wantScans(want int) {
	p.t.Helper()
	p.net.mu.Lock()
	defer p.net.mu.Unlock()
	if p.net.scans != want {
		p.t.Errorf("%s scanned %d times, want %d", p.name, p.net.scans, want)
	}
}

// create creates an invoice of 40 EUR.
func (p *process) create() *invoice.Invoice {
	p.t.Helper()
	inv, err := p.service.Create(p.t.Context(), invoice.CreateRequest{
		MerchantID: "m", Mode: invoice.Test, Wallets: p.wallets, ExpiresIn: 15 * time.Minute,
		Terms: invoice.Terms{Price: money.FromCents(4000, money.EUR), Rules: invoice.DefaultRules(money.EUR)},
	})
	p.must(err)
	return inv
}

// pays sends the price of an invoice and returns the transaction.
func (p *process) pays(inv *invoice.Invoice) string {
	p.t.Helper()
	m := inv.Methods[0]
	tx, err := p.net.Pay(p.t.Context(), m.Asset, m.Destination.Script, money.MustParse("0.0005", m.Asset.Currency))
	p.must(err)
	return tx
}

func (p *process) confirm(txs ...string) {
	p.t.Helper()
	p.must(p.net.Confirm(p.t.Context(), txs))
}

func (p *process) reload(inv *invoice.Invoice) *invoice.Invoice {
	p.t.Helper()
	again, err := p.service.Invoice(p.t.Context(), inv.ID)
	p.must(err)
	return again
}

func (p *process) progress() invoice.Progress {
	p.t.Helper()
	all, err := p.store.Progress(p.t.Context())
	p.must(err)
	return all[simnet.ID]
}
