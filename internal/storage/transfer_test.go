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

func TestRecordedTransfers_are_those_that_a_scan_may_change(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, _ string) {
		create(t, s, creation("a", "shop"))
		blockAt := func(height int64) *chain.Block {
			return &chain.Block{Height: height, Hash: fmt.Sprint("hash", height), Time: noon}
		}
		transfer := func(id string, presence invoice.Presence, block *chain.Block, confirmations, required int) invoice.Transfer {
			return invoice.Transfer{
				ID: id, Network: "bitcoin", Tx: "tx-" + id, Asset: "BTC", Script: "shop/BTC/0", Amount: money.MustParse("1", money.BTC),
				Spends: []string{id + ":9"}, Presence: presence, FirstSeen: noon, Block: block, Confirmations: confirmations, Required: required,
			}
		}
		otherNetwork := transfer("other network", invoice.Present, nil, 0, 0)
		otherNetwork.Network = "ethereum"
		_, err := s.UpdateInvoice(t.Context(), "a", invoice.Lease{}, func(inv *invoice.Invoice) error {
			inv.Transfers = []invoice.Transfer{
				transfer("unconfirmed", invoice.Present, nil, 0, 0),
				transfer("unconfirmed after a reorg", invoice.Present, nil, 0, 6),
				transfer("2 of 6 below the height", invoice.Present, blockAt(90), 2, 6),
				transfer("2 of 6 above the height", invoice.Present, blockAt(110), 2, 6),
				transfer("6 of 6 at the height", invoice.Present, blockAt(100), 6, 6),
				transfer("6 of 6 above the height", invoice.Present, blockAt(101), 6, 6),
				transfer("replaced", invoice.Replaced, nil, 0, 0),
				transfer("reorged", invoice.Reorged, nil, 0, 6),
				otherNetwork,
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		recorded := func(id string, block *chain.Block, confirmations, required int) invoice.Recorded {
			r := invoice.Recorded{
				InvoiceID: "a", ID: id, Tx: "tx-" + id, Script: "shop/BTC/0", Asset: "BTC", Amount: money.MustParse("1", money.BTC), Spends: []string{id + ":9"},
				FirstSeen: noon, Confirmations: confirmations, Required: required,
			}
			if block != nil {
				r.BlockHash, r.BlockHeight = block.Hash, block.Height
			}
			return r
		}
		want := []invoice.Recorded{
			recorded("6 of 6 above the height", blockAt(101), 6, 6),
			recorded("2 of 6 above the height", blockAt(110), 2, 6),
			recorded("2 of 6 below the height", blockAt(90), 2, 6),
			recorded("unconfirmed", nil, 0, 0),
			recorded("unconfirmed after a reorg", nil, 0, 6),
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

// A row stores the currency of its amount, so it can be read even if the program does not know the
// asset.
func TestTransfers_of_an_unknown_asset_are_read(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, _ string) {
		create(t, s, creation("a", "shop"))
		amount := money.MustParse("7.000001", money.Currency{Code: "USDBC", Decimals: 6})
		shown := chain.Transfer{
			ID: "0xaa:0", Tx: "0xaa", Asset: "USDBC", Script: "shop/ETH/0", Amount: amount,
			Block: &chain.Block{Height: 101, Hash: "0x101", Time: noon},
		}
		_, err := s.UpdateInvoice(t.Context(), "a", invoice.Lease{}, func(inv *invoice.Invoice) error {
			inv.Transfers = []invoice.Transfer{{
				ID: shown.ID, Network: "ethereum", Tx: shown.Tx, Asset: shown.Asset, Script: shown.Script, Amount: amount,
				Presence: invoice.Present, FirstSeen: noon, Block: shown.Block, Confirmations: 1, Required: 1,
			}}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		inv, err := s.Invoice(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		list, _, err := s.Invoices(t.Context(), invoice.Filter{MerchantID: "shop", Mode: inv.Mode}, invoice.Position{}, 10)
		if err != nil || len(list) != 1 {
			t.Fatalf("%d invoices: %v", len(list), err)
		}
		recorded, err := s.RecordedTransfers(t.Context(), "ethereum", 100)
		if err != nil || len(recorded) != 1 {
			t.Fatalf("%d recorded: %v", len(recorded), err)
		}
		above, err := s.TransfersAbove(t.Context(), "ethereum", 100)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]chain.Transfer{shown}, above, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("above a block (-want +got):\n%s", diff)
		}
		got := []money.Amount{inv.Transfers[0].Amount, list[0].Transfers[0].Amount, recorded[0].Amount}
		if diff := cmp.Diff([]money.Amount{amount, amount, amount}, got); diff != "" {
			t.Errorf("amounts (-want +got):\n%s", diff)
		}
	})
}

// The spends of a transaction are stored once, even if it has several transfers. If an aggregate is added
// to another aggregate, the other rows stay the same.
func TestTransfers_of_one_transaction_share_its_spends(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, url string) {
		create(t, s, creation("a", "shop"))
		spends := []string{"in:0", "in:1", "in:2"}
		transfer := func(id string, folded int) invoice.Transfer {
			return invoice.Transfer{
				ID: id, Network: "bitcoin", Tx: "tx", Asset: "BTC", Script: "shop/BTC/0", Amount: money.MustParse("1", money.BTC),
				Presence: invoice.Present, FirstSeen: noon, Spends: spends, Folded: folded,
			}
		}
		kept := []invoice.Transfer{transfer("1", 0), transfer("2", 0), transfer("4", 2)}
		for _, list := range [][]invoice.Transfer{
			{transfer("1", 0), transfer("2", 0)},
			{transfer("1", 0), transfer("2", 0), transfer("3", 1), transfer("4", 1)},
			kept,
		} {
			got, err := s.UpdateInvoice(t.Context(), "a", invoice.Lease{}, func(inv *invoice.Invoice) error {
				inv.Transfers = list
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			read, err := s.Invoice(t.Context(), "a")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(list, read.Transfers); diff != "" {
				t.Errorf("read (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(read, got); diff != "" {
				t.Errorf("returned (-read +returned):\n%s", diff)
			}
		}
		added := append(kept, transfer("5", 0))
		if _, err := s.UpdateInvoice(t.Context(), "a", invoice.Lease{}, func(inv *invoice.Invoice) error {
			inv.Transfers = added
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if got := rows(t, url, "SELECT outpoints FROM spends"); len(got) != 1 || got[0] != `["in:0","in:1","in:2"]` {
			t.Errorf("spends are %q, want one row", got)
		}
	})
}
