package storage_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/chain"
	"chequer/internal/invoice"
	"chequer/internal/money"
	"chequer/internal/storage"
)

// C77: invoices of the same millisecond have different positions in the list, and new invoices do not move
// the others while a caller reads page by page.
func TestInvoices_of_one_millisecond_are_listed_once_each(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, _ string) {
		const invoices, page = 57, 10
		var group sync.WaitGroup
		for i := range invoices {
			group.Go(func() { create(t, s, creation(fmt.Sprintf("i%02d", i*37%invoices), "shop")) })
		}
		group.Wait()
		f := invoice.Filter{MerchantID: "shop", Mode: invoice.Live}
		var got []string
		var after invoice.Position
		for n := 0; ; n++ {
			list, err := s.Invoices(t.Context(), f, after, page)
			if err != nil {
				t.Fatal(err)
			}
			for _, inv := range list {
				got = append(got, inv.ID)
			}
			if len(list) < page {
				break
			}
			after = list[page-1].Position()
			c := creation(fmt.Sprintf("z%d", n), "shop") // sorts before all the others, by its identifier
			create(t, s, c)
		}
		want := make([]string, invoices)
		for i := range want {
			want[i] = fmt.Sprintf("i%02d", invoices-1-i)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("read page by page (-want +got):\n%s", diff)
		}
	})
}

func TestInvoices_filters(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, _ string) {
		add := func(id, shop string, change func(*invoice.Invoice)) {
			c := creation(id, shop)
			build := c.Build
			c.Build = func(next invoice.NextIndex) (*invoice.Invoice, error) {
				inv, err := build(next)
				if err == nil && change != nil {
					change(inv)
				}
				return inv, err
			}
			create(t, s, c)
		}
		add("a", "shop", nil)
		add("b", "shop", func(inv *invoice.Invoice) { inv.CreatedAt = noon.Add(time.Millisecond) })
		add("c", "shop", func(inv *invoice.Invoice) { inv.CreatedAt, inv.Terms.OrderID = noon.Add(time.Hour), "1042" })
		add("d", "shop", func(inv *invoice.Invoice) {
			inv.CreatedAt, inv.State.Status = noon.Add(2*time.Hour), invoice.Paid
		})
		add("t", "shop", func(inv *invoice.Invoice) { inv.Mode = invoice.Test })
		add("o", "bakery", nil)
		all := invoice.Filter{MerchantID: "shop", Mode: invoice.Live}
		with := func(change func(*invoice.Filter)) invoice.Filter {
			f := all
			change(&f)
			return f
		}
		for _, tt := range []struct {
			name   string
			filter invoice.Filter
			want   string
		}{
			{"all, newest first", all, "d c b a"},
			{"of the test mode", with(func(f *invoice.Filter) { f.Mode = invoice.Test }), "t"},
			{"of another merchant", with(func(f *invoice.Filter) { f.MerchantID = "bakery" }), "o"},
			{"of a status", with(func(f *invoice.Filter) { f.Status = invoice.Paid }), "d"},
			{"of an order", with(func(f *invoice.Filter) { f.OrderID = "1042" }), "c"},
			{"from a millisecond on", with(func(f *invoice.Filter) { f.From = noon.Add(time.Millisecond) }), "d c b"},
			{"up to a time", with(func(f *invoice.Filter) { f.To = noon.Add(time.Hour) }), "b a"},
			{"none", with(func(f *invoice.Filter) { f.OrderID = "'; DROP TABLE invoices; --" }), ""},
		} {
			list, err := s.Invoices(t.Context(), tt.filter, invoice.Position{}, 10)
			var ids []string
			for _, inv := range list {
				ids = append(ids, inv.ID)
				if !tt.filter.Selects(inv) {
					t.Errorf("%s: Selects is false for %s", tt.name, inv.ID)
				}
			}
			if got := strings.Join(ids, " "); err != nil || got != tt.want {
				t.Errorf("%s: %q, %v; want %q", tt.name, got, err, tt.want)
			}
		}
	})
}

func TestInvoices_before_a_time_and_after_a_position(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, _ string) {
		for _, id := range []string{"a", "b", "c"} {
			create(t, s, creation(id, "shop"))
		}
		at := func(offset time.Duration) time.Time { return noon.Add(offset) }
		for _, tt := range []struct {
			to    time.Time
			after invoice.Position
			want  string
		}{
			{at(time.Millisecond), invoice.Position{}, "cba"},
			{at(0), invoice.Position{}, ""},
			{at(time.Millisecond), invoice.Position{CreatedAt: at(0), ID: "c"}, "ba"},
			{at(time.Millisecond), invoice.Position{CreatedAt: at(time.Hour), ID: "a"}, "cba"},
			{at(0), invoice.Position{CreatedAt: at(0), ID: "c"}, ""},
			{at(0), invoice.Position{CreatedAt: at(time.Hour), ID: "c"}, ""},
			{at(time.Hour), invoice.Position{CreatedAt: at(0), ID: "a"}, ""},
		} {
			list, err := s.Invoices(t.Context(), invoice.Filter{MerchantID: "shop", Mode: invoice.Live, To: tt.to}, tt.after, 10)
			got := ""
			for _, inv := range list {
				got += inv.ID
			}
			if err != nil || got != tt.want {
				t.Errorf("before %s after %v: got %q, error %v, want %q", tt.to, tt.after, got, err, tt.want)
			}
		}
	})
}

func TestInvoices_have_their_transfers(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, _ string) {
		var want []*invoice.Invoice
		for i, id := range []string{"a", "b", "c"} {
			create(t, s, creation(id, "shop"))
			inv, err := s.UpdateInvoice(t.Context(), id, invoice.Lease{}, func(inv *invoice.Invoice) error {
				for n := range i {
					inv.Transfers = append(inv.Transfers, invoice.Transfer{
						ID: fmt.Sprintf("%s:%d", id, n), Network: "bitcoin", Tx: id, Asset: "BTC", Script: "s", Amount: money.FromCents(int64(n+1), money.BTC),
						Presence: invoice.Present, FirstSeen: noon,
					})
				}
				inv.Refund = invoice.Refund{Asset: "BTC", Address: "bc1q" + id}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			want = append(want, inv)
		}
		slices.Reverse(want)
		got, err := s.Invoices(t.Context(), invoice.Filter{MerchantID: "shop", Mode: invoice.Live}, invoice.Position{}, 10)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got, same); diff != "" {
			t.Errorf("listed (-want +got):\n%s", diff)
		}
	})
}

func TestInvoiceTo_finds_the_invoice_of_a_script(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, _ string) {
		create(t, s, creation("a", "shop"))
		if got, err := s.InvoiceTo(t.Context(), "ethereum", "shop/ETH/0"); got != "a" || err != nil {
			t.Errorf("got %q, %v", got, err)
		}
		for _, network := range []chain.ID{"base", "bitcoin"} {
			if _, err := s.InvoiceTo(t.Context(), network, "shop/ETH/0"); !errors.Is(err, invoice.ErrNotFound) {
				t.Errorf("on %s: %v", network, err)
			}
		}
	})
}

func TestUpdateInvoice_keeps_evidence(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, _ string) {
		create(t, s, creation("a", "shop"))
		requote := func(fault error) error {
			_, err := s.UpdateInvoice(t.Context(), "a", invoice.Lease{}, func(inv *invoice.Invoice) error {
				q := inv.Quote()
				q.Number, q.From, q.Until, q.Evidence = 2, noon.Add(time.Hour), noon.Add(2*time.Hour), "name"
				inv.Quotes, inv.Evidence = append(inv.Quotes, q), `{"source":"test"}`
				return fault
			})
			return err
		}
		if err := requote(invoice.ErrState); !errors.Is(err, invoice.ErrState) {
			t.Fatal(err)
		}
		if _, err := s.Evidence(t.Context(), "name"); !errors.Is(err, invoice.ErrNotFound) {
			t.Errorf("after an error of decide: %v", err)
		}
		if err := requote(nil); err != nil {
			t.Fatal(err)
		}
		if got, err := s.Evidence(t.Context(), "name"); got != `{"source":"test"}` || err != nil {
			t.Errorf("got %q, %v", got, err)
		}
	})
}
