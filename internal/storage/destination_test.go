package storage_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"chequer/internal/invoice"
	"chequer/internal/storage"
	"chequer/internal/watcher"
)

func TestDestinations_are_returned_once_and_while_watched(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, url string) {
		scripts := func(marks watcher.Marks, scanned time.Time) ([]string, watcher.Marks) {
			t.Helper()
			var list []string
			marks, err := s.Destinations(t.Context(), "ethereum", marks, scanned, func(d watcher.Destination) {
				list = append(list, fmt.Sprintf("%s of %s at %s until %s", d.Script, d.InvoiceID, d.MerchantID, d.Until.Format("2 Jan 15:04")))
			})
			if err != nil {
				t.Fatal(err)
			}
			return list, marks
		}
		check := func(moment string, got []string, want ...string) {
			t.Helper()
			if diff := cmp.Diff(want, got, cmpopts.EquateEmpty(), cmpopts.SortSlices(func(a, b string) bool { return a < b })); diff != "" {
				t.Errorf("%s (-want +got):\n%s", moment, diff)
			}
		}
		create(t, s, creation("a", "shop"))
		create(t, s, creation("b", "bakery"))
		got, marks := scripts(nil, time.Time{})
		check("the first time", got, "shop/ETH/0 of a at shop until 27 Dec 12:15", "bakery/ETH/0 of b at bakery until 27 Dec 12:15")
		got, marks = scripts(marks, noon)
		check("without a new invoice", got)

		create(t, s, creation("c", "bakery"))
		got, marks = scripts(marks, noon)
		check("with a new invoice", got, "bakery/ETH/1 of c at bakery until 27 Dec 12:15")

		_, err := s.UpdateInvoice(t.Context(), "a", invoice.Lease{}, func(inv *invoice.Invoice) error {
			q := inv.Quote()
			q.Number, q.From, q.Until = 2, noon.Add(time.Hour), noon.Add(2*time.Hour)
			inv.Quotes = append(inv.Quotes, q)
			inv.Events = []invoice.Event{newEvent("a", invoice.EventRequoted, 2)}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		got, marks = scripts(marks, noon)
		check("after a requote", got, "shop/ETH/0 of a at shop until 27 Dec 14:00")

		got, _ = scripts(nil, noon.Add(30*24*time.Hour+time.Hour))
		check("when the others are no longer watched", got, "shop/ETH/0 of a at shop until 27 Dec 14:00")
		if got, _ = scripts(marks, noon); len(got) != 0 {
			t.Errorf("at last: got %q, want nothing", got)
		}
	})
}

func TestDestinations_returns_all_that_are_created_concurrently(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, url string) {
		other := open(t, url)
		const creators, perCreator = 8, 20
		var group sync.WaitGroup
		for i := range creators {
			group.Go(func() {
				target, merchantID := s, "shop"
				if i%2 == 1 {
					target = other
				}
				if i%3 == 2 {
					merchantID = "bakery"
				}
				for j := range perCreator {
					create(t, target, creation(fmt.Sprintf("i%d-%d", i, j), merchantID))
				}
			})
		}
		created := make(chan struct{})
		go func() { group.Wait(); close(created) }()

		seen := map[string]int{}
		var marks watcher.Marks
		for last := false; ; {
			next, err := s.Destinations(t.Context(), "bitcoin", marks, noon, func(d watcher.Destination) { seen[d.InvoiceID]++ })
			if err != nil {
				t.Fatal(err)
			}
			marks = next
			if last {
				break
			}
			select {
			case <-created:
				last = true
			default:
			}
		}
		if len(seen) != creators*perCreator {
			t.Errorf("saw %d destinations, want %d", len(seen), creators*perCreator)
		}
		checkFeed(t, url, "shop")
		checkFeed(t, url, "bakery")
	})
}
