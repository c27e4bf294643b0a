package storage_test

import (
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/chain"
	coins "chequer/internal/chain/bitcoin"
	evm "chequer/internal/chain/ethereum"
	"chequer/internal/invoice"
	"chequer/internal/money"
	"chequer/internal/rates"
	"chequer/internal/storage"
)

func TestCreateInvoice_returns_the_stored_invoice(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, _ string) {
		service := newService(t, s)
		for name, terms := range map[string]invoice.Terms{
			"plain": {Price: money.FromCents(1250, money.EUR)},
			"full": {
				Price: money.FromCents(99_999_999, money.USD), Merchant: "Zwei Brötchen \u202e", AllowPaidExpired: true, DisableSale: true,
				URLSuccess: "https://shop.example/?a=1&b=<2>", URLFailure: "https://shop.example/no", StayOnPage: true, OrderID: "1042",
				Description: "ein\u2028\"Kaffee\"", Metadata: map[string]string{"table": "7", "": "empty"}, Language: "de",
			},
			"empty metadata": {Price: money.FromCents(700, money.EUR), Metadata: map[string]string{}},
		} {
			terms.Rules = invoice.DefaultRules(terms.Price.Currency())
			got, err := service.Create(t.Context(), invoice.CreateRequest{
				MerchantID: "shop", Mode: invoice.Live, Wallets: wallets, Terms: terms, ExpiresIn: 15 * time.Minute,
			})
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			want, err := s.Invoice(t.Context(), got.ID)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if len(got.Methods) != 8 {
				t.Errorf("%s: got %d methods, want 8", name, len(got.Methods))
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s (-read +created):\n%s", name, diff)
			}
		}
	})
}

func TestCreateInvoice_names_a_script_of_another_invoice(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, url string) {
		service := newService(t, s)
		request := invoice.CreateRequest{
			MerchantID: "shop", Mode: invoice.Live, Wallets: slices.Clone(wallets), ExpiresIn: time.Minute,
			Terms: invoice.Terms{Price: money.FromCents(1250, money.EUR)},
		}
		inv, err := service.Create(t.Context(), request)
		if err != nil {
			t.Fatal(err)
		}
		request.Wallets[2].Counter = "starts again"
		_, err = service.Create(t.Context(), request)
		ether := slices.IndexFunc(inv.Methods, func(m invoice.Method) bool { return m.Asset.Code == "ETH" })
		want := fmt.Sprintf("script %s on base belongs to another invoice", inv.Methods[ether].Destination.Script)
		if err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("got error %v, want … %s", err, want)
		}
		if scripts := rows(t, url, "SELECT script FROM destinations"); len(scripts) != 4 {
			t.Errorf("got scripts %q, want the four of the first invoice", scripts)
		}
	})
}

// wallets are account keys from published test vectors.
var wallets = []invoice.Wallet{
	{Asset: "BTC", Counter: "btc", Key: "btc:p2wpkh:xpub6CatWdiZiodmUeTDp8LT5or8nmbKNcuyvz7WyksVFkKB4RHwCD3XyuvPEbvqAQY3rAPshWcMLoP2fMFMKHPJ4ZeZXYVUhLv1VMrjPC7PW6V"},
	{Asset: "LTC", Counter: "ltc", Key: "ltc:p2wpkh:xpub6CatWdiZiodmUeTDp8LT5or8nmbKNcuyvz7WyksVFkKB4RHwCD3XyuvPEbvqAQY3rAPshWcMLoP2fMFMKHPJ4ZeZXYVUhLv1VMrjPC7PW6V"},
	{Asset: "ETH", Counter: "eth", Key: "eth:xpub6DCoCpSuQZB2jawqnGMEPS63ePKWkwWPH4TU45Q7LPXWuNd8TMtVxRrgjtEshuqpK3mdhaWHPFsBngh5GFZaM6si3yZdUsT8ddYM3PwnATt"},
}

// newService returns a service that offers every coin at fixed rates.
func newService(t testing.TB, s *storage.Storage) *invoice.Service {
	t.Helper()
	fixed, err := rates.ParseFixed("BTC-EUR=86420.07,LTC-EUR=78.351,ETH-EUR=2650.1,EUR-USD=1.0837", "fixed")
	if err != nil {
		t.Fatal(err)
	}
	var ids atomic.Int64
	return invoice.NewService(invoice.Config{
		Storage: s,
		Networks: map[invoice.Mode][]chain.Network{invoice.Live: {
			coins.New(coins.Mainnet), coins.New(coins.Litecoin), evm.New(evm.Mainnet), evm.New(evm.Base),
		}},
		Rates: func() invoice.Rates { return fixed }, Unwatched: true,
		Now:    func() time.Time { return noon },
		NewID:  func() string { return fmt.Sprint("id", ids.Add(1)) },
		Encode: func(inv *invoice.Invoice, _ invoice.Event) []byte { return []byte(inv.ID) },
		Log:    slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
}
