package storage_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"chequer/internal/invoice"
	"chequer/internal/merchant"
	"chequer/internal/sale"
	"chequer/internal/storage"
)

// Damage to each kind of row of an invoice is an *invoice.UnreadableError.
func TestInvoice_reports_damaged_rows(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, url string) {
		for id, damage := range map[string]string{
			"quotes": "UPDATE invoices SET quotes = '{' WHERE id = $1", "terms": "UPDATE invoices SET terms = '[' WHERE id = $1",
			"refund": "UPDATE refunds SET amount = 'x' WHERE invoice_id = $1", "sale": "UPDATE conversions SET orders = '' WHERE invoice_id = $1",
		} {
			create(t, s, creation(id, "shop"))
			if err := paidWith(t, s, id, newSale("BTC")); err != nil {
				t.Fatal(err)
			}
			_, err := s.UpdateInvoice(t.Context(), id, invoice.Lease{}, func(inv *invoice.Invoice) error {
				inv.Refunds = append(inv.Refunds, newRefund(id, invoice.RefundReady))
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			execSQL(t, url, damage, id)
			_, err = s.Invoice(t.Context(), id)
			if broken, ok := errors.AsType[*invoice.UnreadableError](err); !ok || broken.ID != id {
				t.Errorf("%s: %v", id, err)
			}
			for i := range 2 {
				if first, err := s.RecordUnreadable(t.Context(), id, noon); err != nil || first != (i == 0) {
					t.Errorf("%s: recorded %t, %v", id, first, err)
				}
			}
		}
		if got, err := s.Unreadable(t.Context()); err != nil || len(got) != 4 {
			t.Errorf("unreadable: %q, %v", got, err)
		}
		execSQL(t, url, "UPDATE refunds SET amount = '1' WHERE invoice_id = $1", "refund")
		if got, err := s.Unreadable(t.Context()); err != nil || len(got) != 3 || slices.Contains(got, "refund") {
			t.Errorf("after a repair: %q, %v", got, err)
		}
	})
}

// An account that was tampered with does not hold back the sales of other shops.
func TestClaimSale_skips_an_account_that_was_tampered_with(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, url string) {
		for i, shop := range []string{"shop", "bakery"} {
			id := []string{"a", "b"}[i]
			create(t, s, creation(id, shop))
			if err := paidWith(t, s, id, newSale("BTC")); err != nil {
				t.Fatal(err)
			}
			if err := s.CreateExchangeAccount(t.Context(), newExchange("x"+id, shop)); err != nil {
				t.Fatal(err)
			}
		}
		execSQL(t, url, "UPDATE exchange_accounts SET slippage = 9999 WHERE id = 'xa'")
		c, err := s.ClaimSale(t.Context(), noon, noon.Add(time.Minute))
		if err != nil || c.InvoiceID != "b" {
			t.Errorf("claimed %+v, %v", c, err)
		}
		if _, err := s.ClaimSale(t.Context(), noon, noon.Add(time.Minute)); !errors.Is(err, merchant.ErrTampered) || errors.Is(err, sale.ErrNothing) {
			t.Errorf("with no other account: %v", err)
		}
	})
}

// A damaged endpoint does not hold back the changes of its shop's invoices. Its events wait.
func TestUpdateInvoice_survives_a_damaged_endpoint(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, url string) {
		if err := s.CreateEndpoint(t.Context(), newEndpoint("e")); err != nil {
			t.Fatal(err)
		}
		execSQL(t, url, "UPDATE endpoints SET events = '{' WHERE id = 'e'")
		create(t, s, creation("a", "shop"))
		waiting, err := s.Deliveries(t.Context(), "e", "", 1<<62, 10)
		if err != nil || len(waiting) != 1 {
			t.Errorf("deliveries %+v, %v", waiting, err)
		}
	})
}
