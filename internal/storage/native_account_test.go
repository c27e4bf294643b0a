package storage_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"chequer/internal/chain"
	"chequer/internal/invoice"
	"chequer/internal/money"
	"chequer/internal/storage"
	"chequer/internal/watcher"
)

// withAccount returns a creation of an invoice whose payments in ether are found by their balance.
func withAccount(id, merchantID string) invoice.Creation {
	c := creation(id, merchantID)
	build := c.Build
	c.Build = func(next invoice.NextIndex) (*invoice.Invoice, error) {
		inv, err := build(next)
		for i, m := range inv.Methods {
			if m.Asset.Network == "ethereum" {
				inv.Methods[i].Asset.Policy.Balance = true
				inv.Methods[i].Birth = chain.Cursor{Height: 7, Hash: "0x07"}
			}
		}
		return inv, err
	}
	return c
}

func TestDestinations_have_accounts(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, url string) {
		create(t, s, creation("a", "shop"))
		create(t, s, withAccount("b", "shop"))
		got := map[string]watcher.Account{}
		read := func(since watcher.Marks) watcher.Marks {
			t.Helper()
			clear(got)
			marks, err := s.Destinations(t.Context(), "ethereum", since, noon, func(d watcher.Destination) {
				if d.Account != nil {
					got[d.Script] = *d.Account
				}
			})
			if err != nil {
				t.Fatal(err)
			}
			return marks
		}
		want := map[string]watcher.Account{"shop/ETH/1": {Position: 2, Birth: chain.Cursor{Height: 7, Hash: "0x07"}}}
		marks := read(nil)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("accounts (-want +got):\n%s", diff)
		}
		_, err := s.UpdateInvoice(t.Context(), "b", invoice.Lease{}, func(inv *invoice.Invoice) error {
			q := inv.Quote()
			q.Number, q.From, q.Until = 2, noon.Add(time.Hour), noon.Add(2*time.Hour)
			inv.Quotes = append(inv.Quotes, q)
			inv.Methods[1].Birth.Height = 9
			inv.Events = []invoice.Event{newEvent("b", invoice.EventRequoted, 2)}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		read(marks)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("after a requote (-want +got):\n%s", diff)
		}
	})
}

func TestRises_are_those_of_watched_destinations(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, url string) {
		addRises := func(id string, c invoice.Creation) {
			t.Helper()
			script := create(t, s, c).Methods[1].Destination.Script
			_, err := s.UpdateInvoice(t.Context(), id, invoice.Lease{}, func(inv *invoice.Invoice) error {
				rise := invoice.Transfer{
					ID: "balance:1:" + script + ":5", Network: "ethereum", Asset: "ETH", Script: script, Amount: money.FromCents(5, money.ETH),
					Presence: invoice.Present, FirstSeen: noon, Unsure: true, Block: &chain.Block{Height: 8, Hash: "0x08", Time: noon},
				}
				departed, log := rise, rise
				departed.ID, departed.Presence, departed.Block, departed.Old, departed.Unsure = "balance:1:"+script+":7", invoice.Reorged, nil, true, false
				log.ID = "0x0" + id + ":3"
				inv.Transfers = []invoice.Transfer{rise, departed, log}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		addRises("a", creation("a", "shop")) // also without an account
		addRises("b", withAccount("b", "shop"))
		var want []watcher.Rise
		for _, script := range []string{"shop/ETH/0", "shop/ETH/1"} {
			want = append(want,
				watcher.Rise{Transfer: chain.Transfer{
					ID: "balance:1:" + script + ":5", Asset: "ETH", Script: script, Amount: money.FromCents(5, money.ETH), Unsure: true,
					Block: &chain.Block{Height: 8, Hash: "0x08", Time: noon},
				}},
				watcher.Rise{Transfer: chain.Transfer{ID: "balance:1:" + script + ":7", Asset: "ETH", Script: script, Amount: money.FromCents(5, money.ETH)}, Old: true})
		}
		for scanned, want := range map[time.Time][]watcher.Rise{noon: want, noon.Add(60 * 24 * time.Hour): nil} {
			var got []watcher.Rise
			if err := s.Rises(t.Context(), "ethereum", scanned, func(r watcher.Rise) { got = append(got, r) }); err != nil {
				t.Fatal(err)
			}
			byID := cmpopts.SortSlices(func(a, b watcher.Rise) bool { return a.ID < b.ID })
			if diff := cmp.Diff(want, got, byID, same); diff != "" {
				t.Errorf("at %s (-want +got):\n%s", scanned, diff)
			}
		}
	})
}
