package storage_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/invoice"
	"chequer/internal/money"
	"chequer/internal/storage"
)

// A page of a list with several filters examines a bounded number of invoices, and the pages together have every
// invoice that the filters select once.
func TestSummaries_examine_few_invoices(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, _ string) {
		const stored, examined, limit = 60, 7, 3
		storage.SetMaxExamined(s, examined)
		var all []*invoice.Invoice
		for i := range stored {
			c := creation(fmt.Sprintf("i%02d", i), "shop")
			build := c.Build
			c.Build = func(next invoice.NextIndex) (*invoice.Invoice, error) {
				inv, err := build(next)
				inv.CreatedAt = noon.Add(time.Duration(i/2) * time.Second) // two in each second
				inv.Terms.OrderID, inv.Terms.Price = fmt.Sprint("o", i%2), money.FromCents(int64(700+i%3), money.EUR)
				inv.Origin = invoice.Origin{Kind: invoice.FromLink, ID: fmt.Sprint("l", i%2)}
				return inv, err
			}
			inv, err := s.UpdateInvoice(t.Context(), create(t, s, c).ID, invoice.Lease{}, func(inv *invoice.Invoice) error {
				if i%5 == 0 {
					inv.State.Exceptions = []invoice.Exception{invoice.Late}
				}
				if i%4 != 0 {
					inv.State.Status, inv.State.PaidAt, inv.State.PaidAsset = invoice.Paid, noon, []string{"BTC", "ETH"}[i%2]
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, inv)
		}
		slices.SortFunc(all, func(a, b *invoice.Invoice) int { return slices.Compare([]string{b.ID}, []string{a.ID}) })
		for name, f := range map[string]invoice.Filter{
			"one filter":         {Status: invoice.Paid},
			"order and price":    {OrderID: "o1", Price: money.FromCents(701, money.EUR)},
			"order and status":   {OrderID: "o0", Status: invoice.Created},
			"none of two":        {OrderID: "o1", Exception: invoice.Late, Status: invoice.Declined},
			"link and asset":     {Origin: invoice.Origin{Kind: invoice.FromLink, ID: "l1"}, PaidAsset: "ETH"},
			"link and no asset":  {Origin: invoice.Origin{Kind: invoice.FromLink, ID: "l1"}, PaidAsset: "BTC"},
			"late and link":      {Exception: invoice.Late, Origin: invoice.Origin{Kind: invoice.FromLink, ID: "l0"}},
			"asset since a time": {PaidAsset: "BTC", Price: money.FromCents(702, money.EUR), From: noon.Add(4 * time.Second), To: noon.Add(25 * time.Second)},
		} {
			f.MerchantID, f.Mode = "shop", all[0].Mode
			var want, got []string
			for _, inv := range all {
				if f.Selects(inv) {
					want = append(want, inv.ID)
				}
			}
			pages, after := 0, invoice.Position{}
			for {
				page, more, err := s.Summaries(t.Context(), f, after, limit)
				if err != nil {
					t.Fatal(err)
				}
				for _, summary := range page {
					got = append(got, summary.ID)
				}
				if n := passed(all, after, more); len(f.OrderID+f.PaidAsset+string(f.Exception)) > 0 && more != (invoice.Position{}) && len(page) < limit && n < examined {
					t.Errorf("%s: a page with %d of %d rows passes %d invoices, want at least %d", name, len(page), limit, n, examined)
				}
				if pages++; more == (invoice.Position{}) {
					break
				}
				if len(page) > limit || pages > stored || !more.CreatedAt.Before(all[0].CreatedAt.Add(time.Second)) {
					t.Fatalf("%s: page %d with %d rows ends at %v", name, pages, len(page), more)
				}
				after = more
			}
			if name == "link and no asset" && pages < 3 {
				t.Errorf("%s: %d pages, want at least 3", name, pages)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", name, diff)
			}
		}
		none, more, err := s.Summaries(t.Context(), invoice.Filter{MerchantID: "shop", Mode: all[0].Mode, OrderID: "o1", Status: invoice.Declined, Exception: invoice.WasReplaced}, invoice.Position{}, limit)
		if err != nil || len(none) != 0 || more != (invoice.Position{}) {
			t.Errorf("an exception that no invoice has: %d rows, more after %v, %v; want the end of the list", len(none), more, err)
		}
	})
}

// passed returns the number of invoices between two positions of a list.
func passed(all []*invoice.Invoice, after, more invoice.Position) (n int) {
	for _, inv := range all {
		behind := after == (invoice.Position{}) || inv.CreatedAt.Before(after.CreatedAt) || inv.CreatedAt.Equal(after.CreatedAt) && inv.ID < after.ID
		if behind && (inv.CreatedAt.After(more.CreatedAt) || inv.CreatedAt.Equal(more.CreatedAt) && inv.ID >= more.ID) {
			n++
		}
	}
	return n
}
