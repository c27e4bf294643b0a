package invoice_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"os"
	"slices"
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
	"chequer/internal/storage"
	"chequer/internal/storage/storagetest"
	"chequer/internal/watcher"
)

// shop is the service with a real storage and simnet, and a clock that the test moves.
type shop struct {
	t       *testing.T
	store   *storage.Storage
	net     *simnet.Network
	service *invoice.Service
	watcher *watcher.Watcher
	clock   *clocktest.Clock
	wallets []invoice.Wallet

	hidden    string // transaction that scans do not show
	behind    bool   // scans stop below the tip
	notFirm   bool   // scans show unconfirmed transfers as not firm
	contested bool   // scans show unconfirmed transfers as contested
	partial   bool   // scans have partial coverage of unconfirmed transfers, as those of the light client
	saveError error  // error of the next save of the progress

	mu       sync.Mutex
	ids      int
	rates    invoice.Rates
	invoices map[string]string // ID of the invoice of each event
}

// rounds returns the number of rounds of a test with random facts: few, or many in the nightly run.
func rounds(few, many uint64) uint64 {
	if os.Getenv("E2E_NIGHTLY") == "" {
		return few
	}
	return many
}

// invoiceOf returns the ID of the invoice of an event.
func (s *shop) invoiceOf(e invoice.Event) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.invoices[e.ID]
}

// shopNet is simnet as the shop's watcher scans it.
type shopNet struct {
	*simnet.Network
	shop *shop
}

func (n shopNet) Scan(ctx context.Context, from chain.Cursor, watched chain.Watched) (chain.Snapshot, error) {
	snapshot, err := n.Network.Scan(ctx, from, watched)
	if snapshot.Behind = n.shop.behind; snapshot.Behind {
		snapshot.Unconfirmed = chain.None
		snapshot.Transfers = slices.DeleteFunc(snapshot.Transfers, func(t chain.Transfer) bool { return t.Block == nil })
	}
	snapshot.Transfers = slices.DeleteFunc(snapshot.Transfers, func(t chain.Transfer) bool { return n.shop.hidden != "" && t.Tx == n.shop.hidden })
	for i := range snapshot.Transfers {
		snapshot.Transfers[i].Firm = snapshot.Transfers[i].Firm && !n.shop.notFirm
		snapshot.Transfers[i].Contested = n.shop.contested && snapshot.Transfers[i].Block == nil
	}
	if n.shop.partial {
		snapshot.Unconfirmed = chain.Partial
	}
	return snapshot, err
}

// shopStore is storage as the shop's watcher uses it.
type shopStore struct {
	*storage.Storage
	shop *shop
}

func (s shopStore) SaveProgress(ctx context.Context, lease invoice.Lease, p invoice.Progress) error {
	if err := s.shop.saveError; err != nil {
		s.shop.saveError = nil
		return err
	}
	return s.Storage.SaveProgress(ctx, lease, p)
}

func openShop(t *testing.T, table string) *shop {
	t.Helper()
	return openShopOn(t, table, storagetest.SQLite(t))
}

// onBoth runs a test with a shop on each engine.
func onBoth(t *testing.T, test func(t *testing.T, s *shop)) {
	t.Helper()
	storagetest.OnBoth(t, func(t *testing.T, store *storage.Storage, _ string) { test(t, openShopOn(t, table, store)) })
}

func openShopOn(t *testing.T, table string, store *storage.Storage) *shop {
	t.Helper()
	s := &shop{t: t, store: store, clock: clocktest.New(noon), invoices: map[string]string{}}
	s.net = simnet.New(s.store, s.clock.Now)
	s.setRates(table)
	log := slog.New(slog.DiscardHandler)
	s.service = invoice.NewService(invoice.Config{
		Storage: s.store, Networks: map[invoice.Mode][]chain.Network{invoice.Test: {s.net}, invoice.Live: {s.net}}, Rates: s.currentRates,
		Now: s.clock.Now, NewID: s.newID, Log: log,
		Encode: func(inv *invoice.Invoice, e invoice.Event) []byte {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.invoices[e.ID] = inv.ID
			return fmt.Appendf(nil, "%d %s %s", e.Version, e.Type, inv.State.Status)
		},
	})
	s.watcher = watcher.New(watcher.Config{
		Network: shopNet{s.net, s}, Storage: shopStore{s.store, s}, Observer: s.service, Holder: "test", Every: time.Second, Now: s.clock.Now, Log: log,
	})
	if err := s.store.CreateShop(t.Context(), merchant.NewShop{Merchant: merchant.Merchant{ID: "m", Name: "Shop m", CreatedAt: noon}}); err != nil {
		t.Fatal(err)
	}
	s.wallets = testWallets(t)
	s.step()
	return s
}

// testWallets returns new wallets of every kind.
func testWallets(t *testing.T) (wallets []invoice.Wallet) {
	t.Helper()
	for _, kind := range []keys.Kind{keys.BTC, keys.LTC, keys.ETH} {
		_, key, err := keys.NewTestKey(rand.Reader, kind)
		if err != nil {
			t.Fatal(err)
		}
		wallets = append(wallets, invoice.Wallet{Asset: string(kind), Key: key.String(), Counter: key.Fingerprint()})
	}
	return wallets
}

// setRates sets the current rates.
func (s *shop) setRates(table string) {
	s.t.Helper()
	fixed, err := rates.ParseFixed(table, "fixed")
	s.must(err)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rates = fixed
}

func (s *shop) currentRates() invoice.Rates {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rates
}

func (s *shop) newID() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ids++
	return fmt.Sprintf("%032d", s.ids)
}

// step runs the watcher and the expirer once.
func (s *shop) step() {
	s.t.Helper()
	_, err := s.watcher.Step(s.t.Context())
	s.must(err)
	_, err = s.service.Expire(s.t.Context(), 100)
	s.must(err)
}

func (s *shop) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// request returns a request for an amount of euro.
func (s *shop) request(amount string, methods ...string) invoice.CreateRequest {
	return invoice.CreateRequest{
		MerchantID: "m", Mode: invoice.Test, Wallets: s.wallets, ExpiresIn: 15 * time.Minute, PaymentMethods: methods,
		Terms: invoice.Terms{Price: fiat(amount), Rules: invoice.DefaultRules(money.EUR)},
	}
}

func (s *shop) create(amount string, methods ...string) *invoice.Invoice {
	s.t.Helper()
	inv, err := s.service.Create(s.t.Context(), s.request(amount, methods...))
	s.must(err)
	return inv
}

func (s *shop) reload(inv *invoice.Invoice) *invoice.Invoice {
	s.t.Helper()
	current, err := s.service.Invoice(s.t.Context(), inv.ID)
	s.must(err)
	return current
}

// pay sends an amount by a method and returns the ID of the transaction.
func (s *shop) pay(inv *invoice.Invoice, code, amount string) string {
	s.t.Helper()
	m, ok := inv.Method(simnet.ID, code)
	if !ok {
		s.t.Fatalf("no method %s", code)
	}
	tx, err := s.net.Pay(s.t.Context(), m.Asset, m.Destination.Script, money.MustParse(amount, m.Asset.Currency))
	s.must(err)
	return tx
}

// wantStatus runs a step, and returns the invoice. It fails unless the invoice has this status and these exceptions.
func (s *shop) wantStatus(inv *invoice.Invoice, want invoice.Status, exceptions ...invoice.Exception) *invoice.Invoice {
	s.t.Helper()
	s.step()
	inv = s.reload(inv)
	got := inv.State
	if got.Status != want || fmt.Sprint(got.Exceptions) != fmt.Sprint(exceptions) {
		s.t.Fatalf("invoice is %s %v, want %s %v", got.Status, got.Exceptions, want, exceptions)
	}
	return inv
}

const table = "BTC-EUR=80000,LTC-EUR=80,ETH-EUR=2500,EUR-USD=1.08"

// events returns the bodies of the events in the merchant's feed.
func (s *shop) events() []string {
	s.t.Helper()
	list, err := s.store.Events(s.t.Context(), "m", invoice.Test, 0, 1000)
	s.must(err)
	bodies := []string{}
	for _, e := range list {
		bodies = append(bodies, string(e.Body))
	}
	return bodies
}
