package storage_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/invoice"
	"chequer/internal/merchant"
	"chequer/internal/storage"
)

func TestOpenMethods_are_those_of_live_invoices_that_wait_for_a_payment(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, _ string) {
		create(t, s, withAccount("open", "shop"))
		create(t, s, creation("pending", "bakery"))
		for id, change := range map[string]func(*invoice.Invoice){
			"paid": func(inv *invoice.Invoice) { inv.State.Status, inv.State.NextCheck = invoice.Paid, time.Time{} },
			"test": func(inv *invoice.Invoice) { inv.Mode = invoice.Test },
		} {
			c := creation(id, "shop")
			build := c.Build
			c.Build = func(next invoice.NextIndex) (*invoice.Invoice, error) {
				inv, err := build(next)
				if err == nil {
					change(inv)
				}
				return inv, err
			}
			create(t, s, c)
		}
		got := map[string]int{}
		err := s.OpenMethods(t.Context(), func(methods []invoice.Method) {
			for _, m := range methods {
				got[fmt.Sprint(m.Asset.Network, " ", m.Asset.Code, " ", m.Watched)]++
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]int{"bitcoin BTC true": 2, "ethereum EURC true": 2, "ethereum ETH true": 2}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestHasWallet_finds_live_wallets(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, _ string) {
		checkHasWallet := func(asset string, want bool) {
			t.Helper()
			if got, err := s.HasWallet(t.Context(), asset); err != nil || got != want {
				t.Errorf("wallet for %s: %v, %v, want %v", asset, got, err, want)
			}
		}
		checkHasWallet("BTC", false)
		test := newWallet("w0", "BTC", "vpub", noon)
		test.Mode = merchant.Test
		for _, w := range []merchant.Wallet{test, newWallet("w1", "LTC", "zpub", noon)} {
			if err := s.CreateWallet(t.Context(), w); err != nil {
				t.Fatal(err)
			}
		}
		checkHasWallet("BTC", false)
		checkHasWallet("LTC", true)
	})
}
