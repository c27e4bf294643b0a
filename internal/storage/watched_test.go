package storage_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/chain"
	"chequer/internal/invoice"
	"chequer/internal/merchant"
	"chequer/internal/storage"
)

func TestOpenWatched_counts_invoices_on_unwatched_networks(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, _ string) {
		create(t, s, creation("open", "shop"))
		create(t, s, creation("pending", "bakery"))
		for id, change := range map[string]func(*invoice.Invoice){
			"paid":      func(inv *invoice.Invoice) { inv.State.Status, inv.State.NextCheck = invoice.Paid, time.Time{} },
			"test":      func(inv *invoice.Invoice) { inv.Mode = invoice.Test },
			"unwatched": func(inv *invoice.Invoice) { inv.Methods[0].Watched = false },
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
		for _, tt := range []struct {
			watched []chain.ID
			want    map[chain.ID]int
		}{
			{nil, map[chain.ID]int{"bitcoin": 2, "ethereum": 3}},
			{[]chain.ID{"ethereum", "base"}, map[chain.ID]int{"bitcoin": 2}},
			{[]chain.ID{"ethereum", "bitcoin"}, map[chain.ID]int{}},
		} {
			got, err := s.OpenWatched(t.Context(), tt.watched)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("with %v watched (-want +got):\n%s", tt.watched, diff)
			}
		}
	})
}

func TestHasWallet_finds_live_wallets(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, _ string) {
		has := func(asset string, want bool) {
			t.Helper()
			if got, err := s.HasWallet(t.Context(), asset); err != nil || got != want {
				t.Errorf("wallet for %s: %v, %v, want %v", asset, got, err, want)
			}
		}
		has("BTC", false)
		trial := newWallet("w0", "BTC", "vpub", noon)
		trial.Mode = merchant.Test
		for _, w := range []merchant.Wallet{trial, newWallet("w1", "LTC", "zpub", noon)} {
			if err := s.CreateWallet(t.Context(), w); err != nil {
				t.Fatal(err)
			}
		}
		has("BTC", false)
		has("LTC", true)
	})
}
