package doctor

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/chain"
	"chequer/internal/chain/bitcoin"
	"chequer/internal/chain/monero"
	"chequer/internal/invoice"
	"chequer/internal/keys"
	"chequer/internal/merchant"
	"chequer/internal/money"
	"chequer/internal/networks"
	"chequer/internal/rates"
	"chequer/internal/storage"
	"chequer/internal/storage/storagetest"
	"chequer/internal/tokentest"
)

// C29: many wallets look at no more than 20 unused addresses in a row.
func TestExamineGaps_warns_after_20_unused_addresses(t *testing.T) {
	t.Parallel()
	key, err := keys.Parse("zpub6rFR7y4Q2AijBEqTUquhVz398htDFrtymD9xYYfG1m4wAcvPhXNfE3EfH1r1ADqtfSdVCToUG868RvUUkgDKf31mGDtKsAYz2oz2AGutZYs", keys.BTC, keys.Main, "")
	if err != nil {
		t.Fatal(err)
	}
	g := newGaps(t, bitcoin.New(bitcoin.Mainnet), key)
	g.create(20)
	g.check()
	g.create(1)
	g.check("warn network bitcoin: the last 21 addresses are unused, and many wallets look at no more than 20 in a row: raise your wallet's gap limit above 21")
}

// Monero's wallets look at 200 subaddresses after the last one with a payment.
func TestExamineMonero_tells_how_far_a_wallet_must_look_ahead(t *testing.T) {
	t.Parallel()
	key, err := keys.ParseMonero("42ey1afDFnn4886T7196doS9GPMzexD9gXpsZJDwVjeRVdFCSoHnv7KPbBeGpzJBzHRCAs9UxqeoyFQMYbqSWYTfJJQAWDm", "49774391fa5e8d249fc2c5b45dadef13534bf2483dede880dac88f061e809100", keys.Main)
	if err != nil {
		t.Fatal(err)
	}
	g := newGaps(t, monero.New(monero.Mainnet), key)
	g.create(200)
	g.check()
	g.create(1)
	g.check("warn network monero: your wallet must look 201 subaddresses ahead, because the last 201 are unused; Monero's wallets look at 200: restore it with --subaddress-lookahead 50:201")
}

// twoLocked is a storage with two transfers that are not sure.
type twoLocked struct{ *storage.Storage }

func (twoLocked) UnsureWaiting(context.Context, string, chain.ID) (int, error) { return 2, nil }

func TestExamineMonero_counts_time_locked_payments(t *testing.T) {
	t.Parallel()
	s := storagetest.SQLite(t)
	e := &shopExamination{examination: &examination{Config: Config{Storage: twoLocked{s}}}, shop: merchant.Merchant{ID: "m"}}
	if err := e.examineMonero(t.Context(), "monero", merchant.Wallet{Asset: "XMR", Counter: "c"}, 0, "network monero"); err != nil {
		t.Fatal(err)
	}
	want := []string{"warn network monero: 2 payments time-locked and waiting for your decision: see Needs attention at the desk"}
	if diff := cmp.Diff(e.lines(), want); diff != "" {
		t.Errorf("(-got +want):\n%s", diff)
	}
}

// gaps creates invoices and examines the unused addresses of their wallet.
type gaps struct {
	*testing.T
	storage  *storage.Storage
	network  chain.Network
	invoices *invoice.Service
	wallet   merchant.Wallet
}

// newGaps returns a shop with a key.
func newGaps(t *testing.T, network chain.Network, key keys.Key) *gaps {
	t.Helper()
	now := func() time.Time { return time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC) }
	s := storagetest.SQLite(t)
	if err := s.CreateShop(t.Context(), merchant.NewShop{Merchant: merchant.Merchant{ID: "m", Name: "Shop", CreatedAt: now()}}); err != nil {
		t.Fatal(err)
	}
	prices, err := rates.ParseFixed("BTC-EUR=80000,XMR-EUR=250,EUR-USD=1.08", "fixed")
	if err != nil {
		t.Fatal(err)
	}
	invoices := invoice.NewService(invoice.Config{
		Storage: s, Networks: map[invoice.Mode][]chain.Network{invoice.Live: {network}},
		Unwatched: true, Rates: func() invoice.Rates { return prices }, Now: now, Log: slog.New(slog.DiscardHandler),
		NewID:  new(tokentest.Counter).ID,
		Encode: func(*invoice.Invoice, invoice.Event) []byte { return []byte("{}") },
	})
	w, err := merchant.NewWallets(merchant.WalletsConfig{
		Storage: s, Now: now, Token: new(tokentest.Counter).New, Encode: func(merchant.WalletChange) []byte { return []byte("{}") },
	}).Add(t.Context(), "m", merchant.Addition{Key: key})
	if err != nil {
		t.Fatal(err)
	}
	return &gaps{t, s, network, invoices, w.Wallet}
}

// create creates invoices.
func (g *gaps) create(count int) {
	g.Helper()
	for range count {
		if _, err := g.invoices.Create(g.Context(), invoice.CreateRequest{
			MerchantID: "m", Mode: invoice.Live, ExpiresIn: 15 * time.Minute,
			Wallets: []invoice.Wallet{{Asset: g.wallet.Asset, Key: g.wallet.Derivation(), Counter: g.wallet.Counter}},
			Terms:   invoice.Terms{Price: money.MustParse("40", money.EUR), Rules: invoice.DefaultRules(money.EUR)},
		}); err != nil {
			g.Fatal(err)
		}
	}
}

// check compares the findings.
func (g *gaps) check(want ...string) {
	g.Helper()
	e := &shopExamination{examination: &examination{Config: Config{Storage: g.storage}}, shop: merchant.Merchant{ID: "m"}, wallets: []merchant.Wallet{g.wallet}}
	if err := e.examineGaps(g.Context(), []networks.Network{{Network: g.network}}); err != nil {
		g.Fatal(err)
	}
	if diff := cmp.Diff(e.lines(), want); diff != "" {
		g.Errorf("(-got +want):\n%s", diff)
	}
}
