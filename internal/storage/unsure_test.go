package storage_test

import (
	"testing"

	"chequer/internal/invoice"
	"chequer/internal/money"
	"chequer/internal/storage"
)

func TestUnsureWaiting_counts_transfers_that_wait_for_a_decision(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, _ string) {
		for id, change := range map[string]func(inv *invoice.Invoice){
			"waits":    func(*invoice.Invoice) {},
			"decided":  func(inv *invoice.Invoice) { inv.Accepted = []string{"t-decided"} },
			"sure":     func(inv *invoice.Invoice) { inv.Transfers[0].Unsure = false },
			"replaced": func(inv *invoice.Invoice) { inv.Transfers[0].Presence = invoice.Replaced },
			"base":     func(inv *invoice.Invoice) { inv.Transfers[0].Network = "base" },
		} {
			create(t, s, creation(id, "shop"))
			updateInvoice(t, s, id, func(inv *invoice.Invoice) {
				inv.State.Exceptions = []invoice.Exception{invoice.Late}
				inv.Transfers = []invoice.Transfer{{
					ID: "t-" + id, Network: "bitcoin", Tx: "tx-" + id, Asset: "BTC", Script: id + "/BTC/0", Amount: money.MustParse("1", money.BTC),
					Presence: invoice.Present, FirstSeen: noon, Unsure: true,
				}}
				change(inv)
			})
		}
		for merchantID, want := range map[string]int{"shop": 1, "other": 0} {
			if got, err := s.UnsureWaiting(t.Context(), merchantID, "bitcoin"); err != nil || got != want {
				t.Errorf("UnsureWaiting(%s) = %d, %v, want %d", merchantID, got, err, want)
			}
		}
	})
}
