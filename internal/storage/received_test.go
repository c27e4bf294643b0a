package storage_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/chain"
	"chequer/internal/invoice"
	"chequer/internal/money"
	"chequer/internal/received"
	"chequer/internal/storage"
)

// Only confirmed transfers to the live invoices of the merchant are read.
func TestEachReceived_reads_confirmed_live_transfers(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, _ string) {
		for _, id := range []string{"a", "b"} {
			create(t, s, creation(id, "shop"))
		}
		create(t, s, creation("c", "bakery"))
		block := &chain.Block{Height: 7, Hash: "b7", Time: noon}
		for _, id := range []string{"a", "b", "c"} {
			update(t, t.Context(), s, id, func(inv *invoice.Invoice) {
				m := inv.Methods[0]
				for i, change := range []func(*invoice.Transfer){
					func(*invoice.Transfer) {},
					func(t *invoice.Transfer) { t.Block, t.Confirmations = nil, 0 },
					func(t *invoice.Transfer) { t.Confirmations = 1 },
					func(t *invoice.Transfer) { t.Presence = invoice.Reorged },
				} {
					transfer := invoice.Transfer{
						ID: fmt.Sprint("tx of ", id, ":", i), Network: m.Asset.Network, Tx: "tx of " + id, Asset: m.Asset.Code, Script: m.Destination.Script,
						Amount: money.MustParse("0.5", m.Asset.Currency), Presence: invoice.Present, FirstSeen: noon, Block: block, ConfirmedAt: noon, Confirmations: 2, Required: 2,
					}
					change(&transfer)
					inv.Transfers = append(inv.Transfers, transfer)
				}
			})
		}
		var got []string
		err := s.EachReceived(t.Context(), "shop", func(t received.Transfer) {
			got = append(got, fmt.Sprint(t.Network, " ", t.Script, " ", t.Asset, " ", t.Amount))
		})
		slices.Sort(got)
		var want []string
		for _, id := range []string{"a", "b"} {
			inv, readErr := s.Invoice(t.Context(), id)
			if readErr != nil {
				t.Fatal(readErr)
			}
			if inv.Mode == invoice.Live {
				m := inv.Methods[0]
				want = append(want, fmt.Sprint(m.Asset.Network, " ", m.Destination.Script, " ", m.Asset.Code, " 0.5"))
			}
		}
		slices.Sort(want)
		if diff := cmp.Diff(want, got); err != nil || diff != "" || len(got) == 0 {
			t.Errorf("error %v (-want +got):\n%s", err, diff)
		}
	})
}
