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
			list, _, err := s.Invoices(t.Context(), f, after, page)
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

func TestInvoices_filters_are_the_same_page_by_page(t *testing.T) {
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
		link, product := invoice.Origin{Kind: invoice.FromLink, ID: "tips"}, invoice.Origin{Kind: invoice.FromProduct, ID: "tips"}
		key, otherKey := invoice.Origin{Kind: invoice.FromAPI, ID: "k1"}, invoice.Origin{Kind: invoice.FromAPI, ID: "k2"}
		add("a", "shop", nil)
		add("b", "shop", func(inv *invoice.Invoice) { inv.CreatedAt, inv.Origin = noon.Add(time.Millisecond), key })
		add("c", "shop", func(inv *invoice.Invoice) {
			inv.CreatedAt, inv.Terms.OrderID, inv.Origin = noon.Add(time.Hour), "1042", link
			inv.Terms.Metadata = map[string]string{"order_reference": "table 7", "note": "no milk"}
		})
		add("d", "shop", func(inv *invoice.Invoice) {
			inv.CreatedAt, inv.State.Status, inv.State.PaidAsset, inv.Origin = noon.Add(2*time.Hour), invoice.Paid, "BTC", product
			inv.State.Exceptions = []invoice.Exception{invoice.Overpaid, invoice.WasReplaced}
			inv.Terms.Rules.Tolerance = money.FromCents(50, money.EUR)
		})
		add("e", "shop", func(inv *invoice.Invoice) {
			inv.CreatedAt, inv.State.Status, inv.Origin = noon.Add(3*time.Hour), invoice.Expired, otherKey
			inv.State.Exceptions, inv.Accepted = []invoice.Exception{invoice.Late}, []string{"t"}
			inv.Terms.Price, inv.State.Due = money.FromCents(700, money.EUR), money.FromCents(700, money.EUR)
			inv.Transfers = []invoice.Transfer{{
				ID: "t", Tx: "tx7", Network: "bitcoin", Asset: "BTC", Script: inv.Methods[0].Destination.Script, Amount: money.MustParse("0.1", money.BTC),
				Presence: invoice.Present, FirstSeen: inv.CreatedAt,
			}}
		})
		add("f", "shop", func(inv *invoice.Invoice) {
			inv.CreatedAt, inv.State.Status, inv.State.Exceptions = noon.Add(4*time.Hour), invoice.Expired, []invoice.Exception{invoice.Late}
			inv.State.PaidAsset = "BTC" // of a transfer that covers the price without paying the invoice
		})
		add("t", "shop", func(inv *invoice.Invoice) { inv.Mode = invoice.Test })
		add("o", "bakery", func(inv *invoice.Invoice) { inv.Terms.OrderID, inv.Origin = "1042", link })
		all := invoice.Filter{MerchantID: "shop", Mode: invoice.Live}
		filter := func(change func(*invoice.Filter)) invoice.Filter {
			f := all
			change(&f)
			return f
		}
		for after, want := range map[invoice.Position]string{{}: "d f", {CreatedAt: noon.Add(2 * time.Hour), ID: "d"}: "f", {CreatedAt: noon.Add(4 * time.Hour), ID: "f"}: ""} {
			undecided, err := s.Undecided(t.Context(), "shop", invoice.Live, noon, after, 10)
			var ids []string
			for _, row := range undecided {
				ids = append(ids, row.ID)
			}
			if got := strings.Join(ids, " "); err != nil || got != want {
				t.Errorf("undecided after %q: %q, %v; want %q", after.ID, got, err, want)
			}
		}
		for _, tt := range []struct {
			name   string
			filter invoice.Filter
			want   string
		}{
			{"all, newest first", all, "f e d c b a"},
			{"of the test mode", filter(func(f *invoice.Filter) { f.Mode = invoice.Test }), "t"},
			{"of another merchant", filter(func(f *invoice.Filter) { f.MerchantID = "bakery" }), "o"},
			{"of a status", filter(func(f *invoice.Filter) { f.Status = invoice.Expired }), "f e"},
			{"of an order", filter(func(f *invoice.Filter) { f.OrderID = "1042" }), "c"},
			{"from a millisecond on", filter(func(f *invoice.Filter) { f.From = noon.Add(time.Millisecond) }), "f e d c b"},
			{"up to a time", filter(func(f *invoice.Filter) { f.To = noon.Add(time.Hour) }), "b a"},
			{"none", filter(func(f *invoice.Filter) { f.OrderID = "'; DROP TABLE invoices; --" }), ""},
			{"of a reference", filter(func(f *invoice.Filter) { f.Reference = "table 7" }), "c"},
			{"of a price", filter(func(f *invoice.Filter) { f.Price = money.FromCents(700, money.EUR) }), "e"},
			{"of a price in another currency", filter(func(f *invoice.Filter) { f.Price = money.FromCents(700, money.USD) }), ""},
			{"of a kind of source", filter(func(f *invoice.Filter) { f.Origin.Kind = invoice.FromAPI }), "e b"},
			{"of an API key", filter(func(f *invoice.Filter) { f.Origin = key }), "b"},
			{"of a link", filter(func(f *invoice.Filter) { f.Origin = link }), "c"},
			{"of a product", filter(func(f *invoice.Filter) { f.Origin = product }), "d"},
			{"with an exception", filter(func(f *invoice.Filter) { f.Exception = invoice.Late }), "f e"},
			{"with an exception and a status", filter(func(f *invoice.Filter) { f.Exception, f.Status = invoice.Overpaid, invoice.Paid }), "d"},
			{"with an exception and another status", filter(func(f *invoice.Filter) { f.Exception, f.Status = invoice.Overpaid, invoice.Expired }), ""},
			{"with an exception from a source", filter(func(f *invoice.Filter) { f.Exception, f.Origin.Kind = invoice.Late, invoice.FromAPI }), "e"},
			{"to decide", filter(func(f *invoice.Filter) { f.NeedsDecision = true }), "f d"},
			{"to decide with an exception", filter(func(f *invoice.Filter) { f.NeedsDecision, f.Exception = true, invoice.Late }), "f"},
			{"to decide before a time", filter(func(f *invoice.Filter) { f.NeedsDecision, f.To = true, noon.Add(4*time.Hour) }), "d"},
			{"paid in an asset", filter(func(f *invoice.Filter) { f.PaidAsset = "BTC" }), "d"},
			{"paid in another asset", filter(func(f *invoice.Filter) { f.PaidAsset = "ETH" }), ""},
			{"of a transaction", filter(func(f *invoice.Filter) { f.Tx = "tx7" }), "e"},
			{"of a transaction with another status", filter(func(f *invoice.Filter) { f.Tx, f.Status = "tx7", invoice.Paid }), ""},
			{"of a transaction with an exception", filter(func(f *invoice.Filter) { f.Tx, f.Exception = "tx7", invoice.Late }), "e"},
			{"of an unknown transaction", filter(func(f *invoice.Filter) { f.Tx = "tx8" }), ""},
			{"of scripts", filter(func(f *invoice.Filter) {
				f.Scripts = []invoice.Script{{Network: "bitcoin", Script: "shop/BTC/0"}, {Network: "ethereum", Script: "shop/ETH/3"}, {Network: "ethereum", Script: "shop/BTC/1"}}
			}), "d a"},
			{"of no script", filter(func(f *invoice.Filter) { f.Scripts = []invoice.Script{} }), ""},
			{"of a script of another merchant", filter(func(f *invoice.Filter) { f.Scripts = []invoice.Script{{Network: "bitcoin", Script: "bakery/BTC/0"}} }), ""},
		} {
			list, _, err := s.Invoices(t.Context(), tt.filter, invoice.Position{}, 10)
			var ids []string
			var summaries []invoice.Summary
			var lines []invoice.ExportLine
			for _, inv := range list {
				ids, summaries, lines = append(ids, inv.ID), append(summaries, inv.Summary()), append(lines, inv.ExportLine())
				if !tt.filter.Selects(inv) {
					t.Errorf("%s: Selects is false for %s", tt.name, inv.ID)
				}
			}
			if got := strings.Join(ids, " "); err != nil || got != tt.want {
				t.Errorf("%s: %q, %v; want %q", tt.name, got, err, tt.want)
			}
			if got, _, err := s.Summaries(t.Context(), tt.filter, invoice.Position{}, 10); err != nil || !cmp.Equal(summaries, got, same) {
				t.Errorf("%s: summaries, error %v (-want +got):\n%s", tt.name, err, cmp.Diff(summaries, got, same))
			}
			if got, _, err := s.ExportLines(t.Context(), tt.filter, invoice.Position{}, 10); err != nil || !cmp.Equal(lines, got, same) {
				t.Errorf("%s: lines, error %v (-want +got):\n%s", tt.name, err, cmp.Diff(lines, got, same))
			}
			var paged []string
			for after := (invoice.Position{}); ; {
				page, _, err := s.Summaries(t.Context(), tt.filter, after, 1)
				if err != nil {
					t.Fatal(err)
				}
				if len(page) == 0 {
					break
				}
				paged, after = append(paged, page[0].ID), page[0].Position()
			}
			if got := strings.Join(paged, " "); got != tt.want {
				t.Errorf("%s, page by page: %q, want %q", tt.name, got, tt.want)
			}
		}
	})
}

// A page of a list is read with a fixed number of statements, whatever its length, and a page of summaries
// with one.
func TestInvoices_number_of_statements(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, _ string) {
		f := invoice.Filter{MerchantID: "shop", Mode: invoice.Live}
		check := func(name string, wantInvoices, wantSummaries, wantLines int) {
			t.Helper()
			invoices, summaries, lines, err := s.CountStatements(t.Context(), f, 10)
			if got, want := [3]int{invoices, summaries, lines}, [3]int{wantInvoices, wantSummaries, wantLines}; err != nil || got != want {
				t.Errorf("%s: %d statements, error %v, want %d", name, got, err, want)
			}
		}
		check("an empty page", 1, 1, 1)
		for _, id := range []string{"a", "b", "c"} {
			create(t, s, creation(id, "shop"))
		}
		check("without transfers", 2, 1, 1)
		for _, id := range []string{"a", "b"} {
			addParts(t, s, id)
		}
		check("with transfers, sales and refunds", 5, 1, 2)
	})
}

// addParts adds a transfer, a sale and a refund to an invoice.
func addParts(t *testing.T, s *storage.Storage, id string) {
	t.Helper()
	_, err := s.UpdateInvoice(t.Context(), id, invoice.Lease{}, func(inv *invoice.Invoice) error {
		inv.Transfers = []invoice.Transfer{{
			ID: id, Tx: id, Network: "bitcoin", Asset: "BTC", Script: "s", Amount: money.FromCents(1, money.BTC),
			Presence: invoice.Present, FirstSeen: noon, Spends: []string{id + ":0"},
		}}
		inv.Sales = []invoice.Sale{newSale("BTC")}
		inv.Refunds = []invoice.Refund{newRefund("ref_"+id, invoice.RefundReady)}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestInvoices_of_a_page_that_changes_while_it_is_read_are_an_error(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, _ string) {
		create(t, s, creation("a", "shop"))
		create(t, s, creation("b", "bakery"))
		addParts(t, s, "a")
		addParts(t, s, "b")
		if err := s.ReadChangingPage(t.Context(), "shop", "bakery", ""); err != nil {
			t.Errorf("a page that does not change: %v", err)
		}
		for _, part := range []string{"transfers", "sales", "refunds"} {
			err := s.ReadChangingPage(t.Context(), "shop", "bakery", part)
			if want := part + " of invoice b: the page changed while it was read"; err == nil || err.Error() != want {
				t.Errorf("%s: got error %v, want %s", part, err, want)
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
			list, _, err := s.Invoices(t.Context(), invoice.Filter{MerchantID: "shop", Mode: invoice.Live, To: tt.to}, tt.after, 10)
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
				inv.RefundAddress = invoice.RefundAddress{Asset: "BTC", Address: "bc1q" + id}
				for n := range i {
					inv.Refunds = append(inv.Refunds, newRefund(fmt.Sprintf("ref_%s_%d", id, n), invoice.RefundSent))
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			want = append(want, inv)
		}
		slices.Reverse(want)
		got, _, err := s.Invoices(t.Context(), invoice.Filter{MerchantID: "shop", Mode: invoice.Live}, invoice.Position{}, 10)
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
		requote := func(decideErr error) error {
			_, err := s.UpdateInvoice(t.Context(), "a", invoice.Lease{}, func(inv *invoice.Invoice) error {
				q := inv.Quote()
				q.Number, q.From, q.Until, q.Evidence = 2, noon.Add(time.Hour), noon.Add(2*time.Hour), "name"
				inv.Quotes, inv.Evidence = append(inv.Quotes, q), `{"source":"test"}`
				return decideErr
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
