package invoice_test

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"chequer/internal/chain"
	"chequer/internal/chain/lightning"
	"chequer/internal/chain/lightning/lightningtest"
	"chequer/internal/invoice"
	"chequer/internal/merchant"
	"chequer/internal/storage"
	"chequer/internal/watcher"
)

// wallet is a simulated provider of payment requests. Its fields are protected by mu.
type wallet struct {
	*lightningtest.Wallet
	mu          sync.Mutex
	err         error                // of all calls
	lookErr     error                // of the lookups
	least, most int64                // of a request, in millisatoshi; a most of 0 is no bound
	block       chan struct{}        // Make waits until it is closed; nil = it does not wait
	repeat      string               // Make returns the request with this payment hash
	expiry      time.Duration        // of requests; 0 = as asked
	settled     map[string]time.Time // times that the provider states instead of its own
	asks        []lightning.Ask
	cancels     []string
}

func (w *wallet) set(change func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change()
}

func (w *wallet) Make(ctx context.Context, ask lightning.Ask) (lightning.Made, error) {
	w.mu.Lock()
	block := w.block
	w.asks = append(w.asks, ask)
	w.mu.Unlock()
	if block != nil {
		select {
		case <-block:
		case <-ctx.Done():
			return lightning.Made{}, ctx.Err()
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.err != nil:
		return lightning.Made{}, w.err
	case ask.MilliSatoshi < w.least || w.most > 0 && ask.MilliSatoshi > w.most:
		return lightning.Made{}, lightning.NewLimitError(w.least, w.most)
	}
	if i, ok := w.Find(w.repeat); ok {
		return lightning.Made{Text: i.Text, Hash: i.Hash}, nil
	}
	expiry := ask.Expiry
	if w.expiry > 0 {
		expiry = w.expiry
	}
	i := w.Wallet.Make(ask.MilliSatoshi, ask.Memo, nil, expiry)
	return lightning.Made{Text: i.Text, Hash: i.Hash}, nil
}

func (w *wallet) Look(_ context.Context, sought lightning.Sought) (lightning.Status, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := cmp.Or(w.err, w.lookErr); err != nil {
		return lightning.Status{}, err
	}
	i, known := w.Find(sought.Hash)
	if !known || i.Text != sought.Text {
		return lightning.Status{}, lightning.ErrUnknown
	}
	at := i.SettledAt
	if stated, ok := w.settled[sought.Hash]; ok {
		at = stated
	}
	return lightning.Status{Settled: i.State == lightningtest.Settled, MilliSatoshi: i.Paid, SettledAt: at}, nil
}

func (w *wallet) Access(context.Context) (lightning.Access, error) { return lightning.Access{}, nil }

// Cancel makes a request unpayable.
func (w *wallet) Cancel(_ context.Context, hash string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cancels = append(w.cancels, hash)
	w.Wallet.Cancel(hash)
	return w.err
}

func (w *wallet) made() []lightning.Ask {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.asks)
}

func (w *wallet) cancelled() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.cancels)
}

// connections are the Lightning networks of tests.
type connections map[chain.ID]*lightning.Network

func (c connections) Requester(id chain.ID) (chain.Requester, bool) {
	n, ok := c[id]
	return n, ok
}

func (c connections) Networks() []chain.ID { return slices.Collect(maps.Keys(c)) }

func (c connections) Asset() chain.Asset {
	for _, n := range c {
		return n.Assets()[0]
	}
	return chain.Asset{}
}

func (c connections) ReadAddress(_, text string) (chain.Destination, error) {
	return chain.ReadBitcoin("bcrt", text)
}

// coins is a network without its assets whose destinations are payment requests.
type coins struct{ chain.Scanner }

func (n coins) Assets() []chain.Asset {
	return slices.DeleteFunc(slices.Clone(n.Scanner.Assets()), chain.Asset.Requested)
}

// lightningShop is a shop whose live invoices are paid with the coins of simnet, and by Lightning through the wallets w1
// of the merchant m and w2 of the merchant n.
type lightningShop struct {
	*shop
	walletsByID map[string]*wallet
	connections connections
	watchers    map[string]*watcher.Watcher
	maxScanAge  time.Duration // of the next start; 0 = networks are always reached
}

func openLightning(t *testing.T, store *storage.Storage) *lightningShop {
	t.Helper()
	s := &lightningShop{shop: openShopOn(t, table, store), walletsByID: map[string]*wallet{}, connections: connections{}}
	s.must(s.store.CreateShop(t.Context(), merchant.NewShop{Merchant: merchant.Merchant{ID: "n", Name: "Shop n", CreatedAt: noon}}))
	for _, id := range []string{"w1", "w2"} {
		w := &wallet{Wallet: lightningtest.NewWallet(t, s.clock.Now), settled: map[string]time.Time{}}
		s.walletsByID[id] = w
		network := chain.LightningID(id)
		s.connections[network] = lightning.NewNetwork(lightning.NetworkConfig{ID: network, Name: id, Provider: w, Currency: "bcrt", Now: s.clock.Now})
	}
	s.start()
	t.Cleanup(func() { s.service.Close() })
	s.scan("w1")
	s.scan("w2")
	return s
}

// start begins with a new service and new watchers, as after a restart.
func (s *lightningShop) start() { s.startOn(s.store) }

// startOn is start with a storage for the service.
func (s *lightningShop) startOn(store invoice.Storage) {
	log := slog.New(slog.DiscardHandler)
	s.service = invoice.NewService(invoice.Config{
		Storage: store, Networks: map[invoice.Mode][]chain.Network{invoice.Live: {coins{s.net}}}, Connections: s.connections, Rates: s.currentRates,
		MaxScanAge: s.maxScanAge, RequireScanSinceStart: s.maxScanAge > 0,
		Now: s.clock.Now, NewID: s.newID, Log: log, Encode: func(_ *invoice.Invoice, e invoice.Event) []byte { return []byte(e.Type) },
	})
	newWatcher := func(n chain.Scanner) *watcher.Watcher {
		return watcher.New(watcher.Config{Network: n, Storage: s.store, Observer: s.service, Holder: "test", Every: time.Second, Now: s.clock.Now, Log: log})
	}
	s.watchers = map[string]*watcher.Watcher{}
	for id := range s.walletsByID {
		s.watchers[id] = newWatcher(s.connections[chain.LightningID(id)])
	}
	s.watcher = newWatcher(coins{s.net})
}

// scan scans the network of a wallet once.
func (s *lightningShop) scan(id string) {
	s.t.Helper()
	_, err := s.watchers[id].Step(s.t.Context())
	s.must(err)
}

// expire evaluates all invoices whose state may have changed with time.
func (s *lightningShop) expire() {
	s.t.Helper()
	_, err := s.service.Expire(s.t.Context(), 100)
	s.must(err)
}

// requestLive returns a request for a live invoice that is paid with the codes, through a wallet.
func (s *lightningShop) requestLive(amount, walletID string, codes ...string) invoice.CreateRequest {
	r := s.request(amount, codes...)
	r.Mode = invoice.Live
	r.Wallets = append(slices.Clone(r.Wallets), invoice.Wallet{Asset: chain.CodeLightning, Key: walletID, Counter: walletID})
	r.Terms.Merchant, r.Terms.OrderID = "Shop m", "order-7"
	r.Terms.Lightning = invoice.LightningTerms{Least: sats(100), Most: sats(5_000_000)}
	if walletID == "w2" {
		r.MerchantID = "n"
	}
	return r
}

func (s *lightningShop) createLive(amount, walletID string, codes ...string) *invoice.Invoice {
	s.t.Helper()
	inv, err := s.service.Create(s.t.Context(), s.requestLive(amount, walletID, codes...))
	s.must(err)
	return inv
}

// method returns the Lightning method of an invoice.
func (s *lightningShop) method(inv *invoice.Invoice) invoice.Method {
	s.t.Helper()
	i := slices.IndexFunc(inv.Methods, func(m invoice.Method) bool { return m.Asset.Requested() })
	if i < 0 {
		s.t.Fatalf("invoice %s has no Lightning method", inv.ID)
	}
	return inv.Methods[i]
}

// shown returns the payment request that the shopper sees.
func (s *lightningShop) shown(inv *invoice.Invoice) (invoice.PaymentRequest, bool) {
	s.t.Helper()
	return inv.Evaluation().Request(s.method(inv), s.clock.Now())
}

// mustShow returns the payment request that the shopper sees. It fails unless there is one for an amount.
func (s *lightningShop) mustShow(inv *invoice.Invoice, satoshis int64) invoice.PaymentRequest {
	s.t.Helper()
	r, ok := s.shown(inv)
	if !ok || !r.Amount.Equal(sats(satoshis)) {
		s.t.Fatalf("shown request: %+v %t, want one for %d satoshis", r, ok, satoshis)
	}
	return r
}

// wantNone fails if the shopper sees a payment request.
func (s *lightningShop) wantNone(inv *invoice.Invoice) {
	s.t.Helper()
	if r, ok := s.shown(inv); ok {
		s.t.Fatalf("shown request: %+v, want none", r)
	}
}

// settle pays a request, lets the clock run until it is looked up, and scans.
func (s *lightningShop) settle(walletID, hash string) {
	s.t.Helper()
	s.walletsByID[walletID].Pay(hash)
	s.clock.Advance(20 * time.Second)
	s.scan(walletID)
}

// wantState fails unless an invoice has a status and exceptions. It returns the invoice.
func (s *lightningShop) wantState(inv *invoice.Invoice, want invoice.Status, exceptions ...invoice.Exception) *invoice.Invoice {
	s.t.Helper()
	inv = s.reload(inv)
	if got := inv.State; got.Status != want || !slices.Equal(got.Exceptions, exceptions) {
		s.t.Fatalf("invoice is %s %v, want %s %v", got.Status, got.Exceptions, want, exceptions)
	}
	return inv
}

// eventually waits until a condition holds, which a goroutine brings about.
func (s *lightningShop) eventually(what string, holds func() bool) {
	s.t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			s.t.Fatal("never: " + what)
		}
	}
}
