package storage_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/invoice"
	"chequer/internal/merchant"
	"chequer/internal/money"
	"chequer/internal/storage"
)

// createWithVAT creates an invoice with a VAT rate, which may be "".
func createWithVAT(t *testing.T, s *storage.Storage, id, rate string) *invoice.Invoice {
	t.Helper()
	c := creation(id, "shop")
	build := c.Build
	c.Build = func(next invoice.NextIndex) (*invoice.Invoice, error) {
		inv, err := build(next)
		inv.Terms.VAT = vatRate(t, rate)
		return inv, err
	}
	return create(t, s, c)
}

func TestInvoice_keeps_the_VAT_rate(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, url string) {
		rates := []string{"", "0", "7.7", "19"}
		for _, rate := range rates {
			createWithVAT(t, s, "vat"+rate, rate)
		}
		update(t, t.Context(), s, "vat7.7", func(inv *invoice.Invoice) { inv.DeclinedAt = noon })
		if names := rows(t, url, "SELECT name FROM shared_terms"); len(names) != 1 {
			t.Errorf("got shared terms %q, want one: they do not have the rate", names)
		}
		reopened := open(t, url)
		for _, rate := range rates {
			want, err := s.Invoice(t.Context(), "vat"+rate)
			if err != nil {
				t.Fatal(err)
			}
			got, err := reopened.Invoice(t.Context(), "vat"+rate)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" || got.Terms.VAT.String() != rate || got.Terms.VAT.Stated() != (rate != "") {
				t.Errorf("rate %q, stated %t, want %q (-created +read):\n%s", got.Terms.VAT, got.Terms.VAT.Stated(), rate, diff)
			}
		}
	})
}

// An upgrade from a release without VAT rates states none for the products and the invoices that exist.
func TestOpen_states_no_VAT_rate_for_older_rows(t *testing.T) {
	onFirstRelease(t, func(t *testing.T, url string) {
		migrateTo(t, url, 64)
		execSQL(t, url, `
			INSERT INTO products (merchant_id, slug, mode, name, description, price, fiat_currency, max_quantity, ask_order_id, ask_note, methods, active, created_at)
			VALUES ('m', 'soap', 'live', 'Soap', '', 500, 'EUR', 0, 'no', 'no', '', TRUE, 1)`)
		s := open(t, url)
		p, err := s.Product(t.Context(), "m", "soap")
		want := merchant.Product{Slug: "soap", MerchantID: "m", Mode: merchant.Live, Name: "Soap", Price: money.FromCents(500, money.EUR), AskOrderID: merchant.AskNo, AskNote: merchant.AskNo, Active: true, CreatedAt: p.CreatedAt}
		if diff := cmp.Diff(p, want); err != nil || diff != "" {
			t.Errorf("error %v, product (-got +want):\n%s", err, diff)
		}
		if ids := rows(t, url, "SELECT id FROM invoices"); len(ids) == 0 {
			t.Fatal("the first release left no invoices")
		}
		if stated := rows(t, url, "SELECT id FROM invoices WHERE vat_rate <> ''"); len(stated) > 0 {
			t.Errorf("the invoices %q state a VAT rate", stated)
		}
		p, err = s.UpdateProduct(t.Context(), "m", merchant.Live, "soap", func(p *merchant.Product) error {
			p.VAT = vatRate(t, "7.7")
			return nil
		})
		if err != nil || p.VAT.String() != "7.7" {
			t.Errorf("rate %q, error %v, want 7.7", p.VAT, err)
		}
	})
}
