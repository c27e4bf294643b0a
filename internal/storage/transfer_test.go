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

func TestRecordedTransfers_are_those_a_scan_may_change(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, _ string) {
		create(t, s, creation("a", "shop"))
		at := func(height int64) *chain.Block {
			return &chain.Block{Height: height, Hash: fmt.Sprint("hash", height), Time: noon}
		}
		transfer := func(id string, presence invoice.Presence, block *chain.Block, confirmations, required int) invoice.Transfer {
			return invoice.Transfer{
				ID: id, Network: "bitcoin", Tx: "tx-" + id, Asset: "BTC", Script: "shop/BTC/0", Amount: money.MustParse("1", money.BTC),
				Spends: []string{id + ":9"}, Presence: presence, FirstSeen: noon, Block: block, Confirmations: confirmations, Required: required,
			}
		}
		elsewhere := transfer("elsewhere", invoice.Present, nil, 0, 0)
		elsewhere.Network = "ethereum"
		_, err := s.UpdateInvoice(t.Context(), "a", invoice.Lease{}, func(inv *invoice.Invoice) error {
			inv.Transfers = []invoice.Transfer{
				transfer("waiting", invoice.Present, nil, 0, 0),
				transfer("waiting again", invoice.Present, nil, 0, 6),
				transfer("shallow below", invoice.Present, at(90), 2, 6),
				transfer("shallow above", invoice.Present, at(110), 2, 6),
				transfer("deep below", invoice.Present, at(100), 6, 6),
				transfer("deep above", invoice.Present, at(101), 6, 6),
				transfer("replaced", invoice.Replaced, nil, 0, 0),
				transfer("reorged", invoice.Reorged, nil, 0, 6),
				elsewhere,
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		recorded := func(id string, block *chain.Block, confirmations, required int) invoice.Recorded {
			r := invoice.Recorded{
				InvoiceID: "a", ID: id, Tx: "tx-" + id, Script: "shop/BTC/0", Asset: "BTC", Spends: []string{id + ":9"},
				FirstSeen: noon, Confirmations: confirmations, Required: required,
			}
			if block != nil {
				r.BlockHash, r.BlockHeight = block.Hash, block.Height
			}
			return r
		}
		want := []invoice.Recorded{
			recorded("deep above", at(101), 6, 6),
			recorded("shallow above", at(110), 2, 6),
			recorded("shallow below", at(90), 2, 6),
			recorded("waiting", nil, 0, 0),
			recorded("waiting again", nil, 0, 6),
		}
		got, err := s.RecordedTransfers(t.Context(), "bitcoin", 100)
		if err != nil {
			t.Fatal(err)
		}
		byID := cmpopts.SortSlices(func(a, b invoice.Recorded) bool { return a.ID < b.ID })
		if diff := cmp.Diff(want, got, byID); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}
