package watcher_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"chequer/internal/chain"
	"chequer/internal/chain/simnet"
	"chequer/internal/clocktest"
	"chequer/internal/invoice"
	"chequer/internal/keys"
	"chequer/internal/merchant"
	"chequer/internal/money"
	"chequer/internal/rates"
	"chequer/internal/seal"
	"chequer/internal/storage"
	"chequer/internal/storage/storagetest"
	"chequer/internal/watcher"
)

// onEachEngine runs a test with two processes on one database, for each engine.
func onEachEngine(t *testing.T, test func(t *testing.T, first, second *process, clock *clocktest.Clock)) {
	t.Helper()
	t.Parallel()
	for name, newDatabase := range map[string]func(testing.TB) string{
		"sqlite":   storagetest.File,
		"postgres": storagetest.Postgres,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, c := newDatabase(t), clocktest.New(time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC))
			first, second := newProcess(t, url, "one", c), newProcess(t, url, "two", c)
			if err := first.store.CreateShop(t.Context(), merchant.NewShop{Merchant: merchant.Merchant{ID: "m", Name: "Shop", CreatedAt: c.Now()}}); err != nil {
				t.Fatal(err)
			}
			test(t, first, second, c)
		})
	}
}

// network is simnet with faults, as one process scans it.
type network struct {
	*simnet.Network
	err          error                 // error of the next scans
	cut          func(context.Context) // called once in place of a scan, with the context of the scan
	behind       int                   // number of next scans that stop below the tip
	hide         bool                  // scans return no transfers
	beforeRecord func(context.Context) // called once between a scan and its record, with the context

	mu    sync.Mutex
	scans int
}

func (n *network) Scan(ctx context.Context, from chain.Cursor, watched chain.Watched) (chain.Snapshot, error) {
	n.mu.Lock()
	n.scans++
	n.mu.Unlock()
	if hook := n.cut; hook != nil {
		n.cut = nil
		hook(ctx)
		return chain.Snapshot{}, ctx.Err()
	}
	if n.err != nil {
		return chain.Snapshot{}, n.err
	}
	s, err := n.Network.Scan(ctx, from, watched)
	if hook := n.beforeRecord; hook != nil {
		n.beforeRecord = nil
		hook(ctx)
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

	mu         sync.Mutex
	ids        int
	savedEpoch int64 // of the last saved scan
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
	r.process.savedEpoch = lease.Epoch
	r.process.mu.Unlock()
	select {
	case r.process.saved <- struct{}{}:
	default:
	}
	return nil
}

// pause blocks the process's requests for leases until the returned function is called.
func (p *process) pause() (resume func()) {
	p.paused.Lock()
	return p.paused.Unlock
}

// epoch returns the epoch of the last scan that this process saved, or 0.
func (p *process) epoch() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.savedEpoch
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
	clock.Advance(10 * time.Second)
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

// pay sends the price of an invoice and returns the transaction.
func (p *process) pay(inv *invoice.Invoice) string {
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
	current, err := p.service.Invoice(p.t.Context(), inv.ID)
	p.must(err)
	return current
}

func (p *process) progress() invoice.Progress {
	p.t.Helper()
	all, err := p.store.Progress(p.t.Context())
	p.must(err)
	return all[simnet.ID]
}
