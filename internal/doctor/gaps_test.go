package doctor

import (
	"log/slog"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/chain"
	"chequer/internal/chain/bitcoin"
	"chequer/internal/invoice"
	"chequer/internal/keys"
	"chequer/internal/merchant"
	"chequer/internal/money"
	"chequer/internal/networks"
	"chequer/internal/rates"
	"chequer/internal/storage/storagetest"
	"chequer/internal/tokentest"
)

// C29: many wallets look at no more than 20 unused addresses in a row.
func TestExamineGaps_warns_after_20_unused_addresses(t *testing.T) {
	t.Parallel()
	now := func() time.Time { return time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC) }
	s := storagetest.SQLite(t)
	if err := s.CreateShop(t.Context(), merchant.NewShop{Merchant: merchant.Merchant{ID: "m", Name: "Shop", CreatedAt: now()}}); err != nil {
		t.Fatal(err)
	}
	key, err := keys.Parse("zpub6rFR7y4Q2AijBEqTUquhVz398htDFrtymD9xYYfG1m4wAcvPhXNfE3EfH1r1ADqtfSdVCToUG868RvUUkgDKf31mGDtKsAYz2oz2AGutZYs", keys.BTC, keys.Main, "")
	if err != nil {
		t.Fatal(err)
	}
	prices, err := rates.ParseFixed("BTC-EUR=80000,EUR-USD=1.08", "fixed")
	if err != nil {
		t.Fatal(err)
	}
	network := bitcoin.New(bitcoin.Mainnet)
	invoices := invoice.NewService(invoice.Config{
		Storage: s, Networks: map[invoice.Mode][]chain.Network{invoice.Live: {network}},
		Unwatched: true, Rates: func() invoice.Rates { return prices }, Now: now, Log: slog.New(slog.DiscardHandler),
		NewID:  new(tokentest.Counter).ID,
		Encode: func(*invoice.Invoice, invoice.Event) []byte { return []byte("{}") },
	})
	wallets := []merchant.Wallet{{MerchantID: "m", Asset: "BTC", Counter: key.Fingerprint(), CreatedAt: now()}}
	create := func(count int) {
		t.Helper()
		for range count {
			if _, err := invoices.Create(t.Context(), invoice.CreateRequest{
				MerchantID: "m", Mode: invoice.Live, ExpiresIn: 15 * time.Minute,
				Wallets: []invoice.Wallet{{Asset: "BTC", Key: key.String(), Counter: key.Fingerprint()}},
				Terms:   invoice.Terms{Price: money.MustParse("40", money.EUR), Rules: invoice.DefaultRules(money.EUR)},
			}); err != nil {
				t.Fatal(err)
			}
		}
	}
	examine := func() []string {
		t.Helper()
		e := &shopExamination{examination: &examination{Config: Config{Storage: s}}, shop: merchant.Merchant{ID: "m"}, wallets: wallets}
		if err := e.examineGaps(t.Context(), []networks.Network{{Network: network}}); err != nil {
			t.Fatal(err)
		}
		return e.lines()
	}
	create(20)
	if findings := examine(); len(findings) > 0 {
		t.Errorf("after 20 unused addresses: %q", findings)
	}
	create(1)
	want := []string{"warn network bitcoin: the last 21 addresses are unused, and many wallets look at no more than 20 in a row: raise your wallet's gap limit above 21"}
	if diff := cmp.Diff(examine(), want); diff != "" {
		t.Errorf("after 21 (-got +want):\n%s", diff)
	}
}
