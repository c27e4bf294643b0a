package storage_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"chequer/internal/chain"
	"chequer/internal/invoice"
	"chequer/internal/money"
	"chequer/internal/storage"
)

func TestTransfersAbove_are_those_present_in_blocks_above_a_height(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, _ string) {
		create(t, s, creation("a", "shop"))
		transfer := func(id string, presence invoice.Presence, height int64, confirmations int) (invoice.Transfer, chain.Transfer) {
			shown := chain.Transfer{ID: id, Tx: "tx-" + id, Asset: "BTC", Script: "shop/BTC/0", Amount: money.MustParse("1", money.BTC), Spends: []string{id + ":9"}}
			if height > 0 {
				shown.Block = &chain.Block{Height: height, Hash: fmt.Sprint("hash", height), Time: noon}
			}
			return invoice.Transfer{
				ID: id, Network: "bitcoin", Tx: shown.Tx, Asset: shown.Asset, Script: shown.Script, Amount: shown.Amount, Spends: shown.Spends,
				Presence: presence, FirstSeen: noon, Block: shown.Block, Confirmations: confirmations, Required: 6,
			}, shown
		}
		var recorded []invoice.Transfer
		var want []chain.Transfer
		for _, row := range []struct {
			id            string
			presence      invoice.Presence
			height        int64
			confirmations int
			above         bool
		}{
			{"waiting", invoice.Present, 0, 0, false},
			{"shallow below", invoice.Present, 100, 2, false},
			{"deep below", invoice.Present, 100, 6, false},
			{"shallow above", invoice.Present, 101, 2, true},
			{"deep above", invoice.Present, 101, 6, true},
			{"reorged", invoice.Reorged, 0, 0, false},
		} {
			r, shown := transfer(row.id, row.presence, row.height, row.confirmations)
			recorded = append(recorded, r)
			if row.above {
				want = append(want, shown)
			}
		}
		aggregate, _ := transfer("aggregate", invoice.Present, 101, 6)
		aggregate.Folded = 2
		recorded = append(recorded, aggregate)
		if _, err := s.UpdateInvoice(t.Context(), "a", invoice.Lease{}, func(inv *invoice.Invoice) error {
			inv.Transfers = recorded
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		got, err := s.TransfersAbove(t.Context(), "bitcoin", 100)
		if err != nil {
			t.Fatal(err)
		}
		byID := cmpopts.SortSlices(func(a, b chain.Transfer) bool { return a.ID < b.ID })
		if diff := cmp.Diff(want, got, byID); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}
