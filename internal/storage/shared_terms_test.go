package storage_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/chain"
	"chequer/internal/invoice"
	"chequer/internal/storage"
)

func TestCreateInvoice_stores_shared_terms_once(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, url string) {
		for i := range 3 {
			create(t, s, creation(fmt.Sprint("i", i), "shop"))
		}
		c := creation("other", "shop")
		build := c.Build
		c.Build = func(next invoice.NextIndex) (*invoice.Invoice, error) {
			inv, err := build(next)
			inv.Methods, inv.Quotes[0].Prices = inv.Methods[:1], inv.Quotes[0].Prices[:1]
			return inv, err
		}
		create(t, s, c)
		if names := rows(t, url, "SELECT name FROM shared_terms"); len(names) != 2 {
			t.Errorf("got shared terms %q, want two", names)
		}
		if wrong := rows(t, url, "SELECT id FROM invoices WHERE shared_terms IS NULL"); len(wrong) > 0 {
			t.Errorf("invoices %q have no shared terms", wrong)
		}
		reopened := open(t, url) // which has not parsed them yet
		for _, id := range []string{"i0", "i2", "other"} {
			want, err := s.Invoice(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			got, err := reopened.Invoice(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", id, diff)
			}
		}
	})
}

// A failover of PostgreSQL may lose the newest commits.
func TestCreateInvoice_stores_shared_terms_again_after_they_were_lost(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, url string) {
		create(t, s, creation("a", "shop"))
		for _, table := range []string{"events", "destinations", "invoices", "shared_terms"} {
			execSQL(t, url, "DELETE FROM "+table)
		}
		want := create(t, s, creation("b", "shop"))
		got, err := open(t, url).Invoice(t.Context(), "b")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("read (-created +read):\n%s", diff)
		}
	})
}

func TestInvoice_keeps_every_destination(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, _ string) {
		c := creation("a", "shop")
		build := c.Build
		c.Build = func(next invoice.NextIndex) (*invoice.Invoice, error) {
			inv, err := build(next)
			method, price := inv.Methods[0], inv.Quotes[0].Prices[0]
			inv.Methods, inv.Quotes[0].Prices = nil, nil
			for i, script := range []string{
				"0014aa5faee98199fdc1286db6446be86ef2cae631be", "0014AA5FAEE98199", "0xab", "aabbccd", "=AA", "'", "'=", "", "lnbc1", "Lnbc1", "ü", "a b", " ", "= ", "@1",
			} {
				method.Index, method.Watched, method.Forked = uint32(i), i%2 == 0, i%3 == 0
				method.Destination, method.Birth = chain.Destination{Address: []string{"Lnbc1", "", "a b", "@1"}[i%4], Script: script}, chain.Cursor{Height: int64(i), Hash: script}
				inv.Methods, inv.Quotes[0].Prices = append(inv.Methods, method), append(inv.Quotes[0].Prices, price)
			}
			return inv, err
		}
		want := create(t, s, c)
		got, err := s.Invoice(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("read (-created +read):\n%s", diff)
		}
	})
}

func TestInvoice_keeps_the_order_of_prices(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, _ string) {
		c := creation("a", "shop")
		build := c.Build
		c.Build = func(next invoice.NextIndex) (*invoice.Invoice, error) {
			inv, err := build(next)
			second := inv.Quotes[0]
			second.Number, second.Prices = 2, slices.Clone(second.Prices[1:]) // one method has no price any more
			slices.Reverse(second.Prices)
			third := second
			third.Number, third.Prices = 7, nil
			inv.Quotes = append(inv.Quotes, second, third)
			return inv, err
		}
		want := create(t, s, c)
		got, err := s.Invoice(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("read (-created +read):\n%s", diff)
		}
	})
}

// Rows of releases before schema version 29 hold the whole terms.
func TestUpdateInvoice_rewrites_an_older_row_only_with_a_change(t *testing.T) {
	t.Parallel()
	const id = "00000000000000000000000000000047"
	for name := range engines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := firstRelease(t, name)
			s := open(t, url)
			read := func() *invoice.Invoice {
				t.Helper()
				inv, err := s.Invoice(t.Context(), id)
				if err != nil {
					t.Fatal(err)
				}
				return inv
			}
			before, row := read(), dump(t, url)["invoices"]
			if len(before.Methods) == 0 || len(before.Quotes) == 0 {
				t.Fatalf("the invoice has no methods or quotes: %+v", before)
			}
			if _, err := s.UpdateInvoice(t.Context(), id, invoice.Lease{}, func(*invoice.Invoice) error { return nil }); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(row, dump(t, url)["invoices"]); diff != "" {
				t.Errorf("an update without a change (-before +after):\n%s", diff)
			}
			want := *before
			want.DeclinedAt, want.Revision = noon, before.Revision+1
			_, err := s.UpdateInvoice(t.Context(), id, invoice.Lease{}, func(inv *invoice.Invoice) error {
				inv.DeclinedAt = noon
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(&want, read()); diff != "" {
				t.Errorf("after a change (-want +got):\n%s", diff)
			}
			if names := rows(t, url, "SELECT shared_terms FROM invoices WHERE id = '"+id+"' AND methods LIKE '[\"%'"); len(names) != 1 {
				t.Errorf("the invoice has shared terms %q, want one name", names)
			}
		})
	}
}
