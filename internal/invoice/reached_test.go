package invoice_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/chain"
	"chequer/internal/chain/ethereum"
	"chequer/internal/clocktest"
	"chequer/internal/invoice"
	"chequer/internal/keys"
	"chequer/internal/merchant"
	"chequer/internal/money"
	"chequer/internal/rates"
	"chequer/internal/storage"
	"chequer/internal/storage/storagetest"
	"chequer/internal/tokentest"
	"chequer/internal/watcher"
)

// reachable is a service with two networks. A network is reached once the test has scanned it with reach.
type reachable struct {
	t        *testing.T
	clock    *clocktest.Clock
	store    *storage.Storage
	service  *invoice.Service
	ethereum *evm
	base     *evm
	wallet   invoice.Wallet
	ids      tokentest.Counter
}

func newReachable(t *testing.T) *reachable {
	t.Helper()
	r := &reachable{t: t, clock: clocktest.New(noon), store: storagetest.SQLite(t)}
	key, err := keys.Load("eth:xpub6DCoCpSuQZB2jawqnGMEPS63ePKWkwWPH4TU45Q7LPXWuNd8TMtVxRrgjtEshuqpK3mdhaWHPFsBngh5GFZaM6si3yZdUsT8ddYM3PwnATt")
	r.must(err)
	r.wallet = invoice.Wallet{Asset: "ETH", Key: key.String(), Counter: key.Fingerprint()}
	r.must(r.store.CreateShop(t.Context(), merchant.NewShop{Merchant: merchant.Merchant{ID: "m", Name: "Shop", CreatedAt: noon}}))
	r.ethereum = &evm{Network: ethereum.New(ethereum.Mainnet), now: r.clock.Now}
	r.base = &evm{Network: ethereum.New(ethereum.Base), now: r.clock.Now}
	r.start()
	return r
}

func (r *reachable) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

// start starts a new service, as a restart of the process does.
func (r *reachable) start() {
	r.t.Helper()
	prices, err := rates.ParseFixed(table, "fixed")
	r.must(err)
	r.service = invoice.NewService(invoice.Config{
		Storage: r.store, Networks: map[invoice.Mode][]chain.Network{invoice.Live: {r.ethereum, r.base}},
		Rates: func() invoice.Rates { return prices }, MaxScanAge: 10 * time.Minute, RequireScanSinceStart: true, Now: r.clock.Now, Log: slog.New(slog.DiscardHandler),
		NewID:  r.ids.ID,
		Encode: func(*invoice.Invoice, invoice.Event) []byte { return []byte("{}") },
	})
}

// reach scans each network once.
func (r *reachable) reach(networks ...*evm) {
	r.t.Helper()
	for _, n := range networks {
		w := watcher.New(watcher.Config{Network: n, Storage: r.store, Observer: r.service, Holder: "test", Every: time.Hour, Now: r.clock.Now, Log: slog.New(slog.DiscardHandler)})
		_, err := w.Step(r.t.Context())
		r.must(err)
	}
}

func (r *reachable) create(ctx context.Context, methods ...string) (*invoice.Invoice, error) {
	return r.service.Create(ctx, invoice.CreateRequest{
		MerchantID: "m", Mode: invoice.Live, ExpiresIn: time.Hour, Wallets: []invoice.Wallet{r.wallet}, PaymentMethods: methods,
		Terms: invoice.Terms{Price: fiat("40"), Rules: invoice.DefaultRules(money.EUR)},
	})
}

// offered returns the networks of a new invoice's methods, each once.
func (r *reachable) offered() []string {
	r.t.Helper()
	inv, err := r.create(r.t.Context())
	if errors.Is(err, invoice.ErrUnreached) {
		return nil
	}
	r.must(err)
	var networks []string
	for _, m := range inv.Methods {
		if !slices.Contains(networks, string(m.Asset.Network)) {
			networks = append(networks, string(m.Asset.Network))
		}
	}
	return networks
}

func TestReached(t *testing.T) {
	t.Parallel()
	bothNetworks, ethereumOnly, noNetworks := []string{"base", "ethereum"}, []string{"ethereum"}, []string(nil)
	for name, tt := range map[string]struct {
		steps func(*reachable)
		want  []string
	}{
		"not_reached_since_the_start":  {func(*reachable) {}, noNetworks},
		"offered_after_the_first_scan": {func(r *reachable) { r.reach(r.ethereum) }, ethereumOnly},
		"offered_up_to_the_bound":      {func(r *reachable) { r.reach(r.ethereum, r.base); r.clock.Advance(10 * time.Minute) }, bothNetworks},
		"left_out_after_the_bound": {func(r *reachable) {
			r.reach(r.base)
			r.clock.Advance(10*time.Minute + time.Second)
			r.reach(r.ethereum)
		}, ethereumOnly},
		"no_network_offered_after_the_bound": {func(r *reachable) { r.reach(r.ethereum, r.base); r.clock.Advance(time.Hour) }, noNetworks},
		"offered_again_once_reached": {func(r *reachable) {
			r.reach(r.base)
			r.clock.Advance(time.Hour)
			r.reach(r.ethereum, r.base)
		}, bothNetworks},
		"a_scan_before_the_start_does_not_count": {func(r *reachable) {
			r.reach(r.ethereum, r.base)
			r.clock.Advance(time.Minute)
			r.start()
			r.reach(r.ethereum)
		}, ethereumOnly},
		"a_scan_of_another_process_right_before_the_start_counts": {func(r *reachable) {
			r.reach(r.ethereum, r.base)
			r.clock.Advance(20 * time.Second)
			r.start()
		}, bothNetworks},
		"a_clock_set_back_leaves_networks_reached": {func(r *reachable) {
			r.reach(r.ethereum, r.base)
			r.clock.Advance(-time.Hour)
			r.reach(r.ethereum, r.base)
		}, bothNetworks},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newReachable(t)
			tt.steps(r)
			if diff := cmp.Diff(r.offered(), tt.want); diff != "" {
				t.Errorf("offered networks (-got +want):\n%s", diff)
			}
		})
	}
}

func TestReached_keeps_frozen_methods(t *testing.T) {
	t.Parallel()
	r := newReachable(t)
	r.reach(r.ethereum, r.base)
	inv, err := r.create(t.Context())
	r.must(err)
	r.clock.Advance(30 * time.Minute)
	r.reach(r.ethereum)
	stored, err := r.service.Invoice(t.Context(), inv.ID)
	r.must(err)
	if len(stored.Methods) != len(inv.Methods) || len(stored.Quote().Prices) != len(inv.Quote().Prices) {
		t.Errorf("%d methods with %d prices remain, want all %d", len(stored.Methods), len(stored.Quote().Prices), len(inv.Methods))
	}
	requoted, err := r.service.Requote(t.Context(), inv.ID, invoice.Merchant, 0)
	r.must(err)
	for _, p := range requoted.Quote().Prices {
		if m := requoted.Methods[slices.IndexFunc(requoted.Methods, func(m invoice.Method) bool { return m.Asset.Code == p.Asset })]; m.Asset.Network != "ethereum" {
			t.Errorf("%s has a new price, although its network is not reached", p.Asset)
		}
	}
	if _, err := r.create(t.Context(), "EURC-BASE"); !errors.Is(err, invoice.ErrUnreached) {
		t.Errorf("create with the unreached method alone: %v", err)
	}
}
