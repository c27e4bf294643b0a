package storage_test

import (
	"strings"
	"testing"
	"time"

	"chequer/internal/invoice"
	"chequer/internal/report"
	"chequer/internal/storage"
)

// The pages of paid invoices have every invoice of the period once, in the order of payment.
func TestPaidLines_has_every_invoice_of_the_period_once(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, _ string) {
		midnight := noon.Truncate(24 * time.Hour)
		for id, at := range map[string]time.Time{
			"before": midnight.Add(-time.Millisecond), "a": midnight, "c": noon, "b": noon, "d": midnight.Add(24*time.Hour - time.Millisecond), "after": midnight.Add(24 * time.Hour),
		} {
			create(t, s, creation(id, "shop"))
			if _, err := s.UpdateInvoice(t.Context(), id, invoice.Lease{}, newPaid(at, "BTC", 1000)); err != nil {
				t.Fatal(err)
			}
		}
		create(t, s, creation("unpaid", "shop"))
		var got []string
		var after report.Position
		for {
			page, err := s.PaidLines(t.Context(), "shop", invoice.Live, midnight, midnight.Add(24*time.Hour), after, 2)
			if err != nil {
				t.Fatal(err)
			}
			for _, l := range page {
				got, after = append(got, l.ID), report.Position{PaidAt: l.PaidAt, ID: l.ID}
			}
			if len(page) < 2 {
				break
			}
		}
		if want := "a b c d"; strings.Join(got, " ") != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}
