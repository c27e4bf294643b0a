package storage_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/invoice"
	"chequer/internal/money"
	"chequer/internal/report"
	"chequer/internal/storage"
)

// ever is a period with every day of the tests.
var ever = report.Period{From: 0, To: 100_000}

// daySumTexts returns sums as texts, in order.
func daySumTexts(all []report.DaySum) (texts []string) {
	for _, d := range all {
		texts = append(texts, fmt.Sprintf("%s %s/%d %s %s:%s: %d price %s received %s",
			d.Day, d.Key.Currency.Code, d.Key.Currency.Decimals, d.PaidAsset, d.Origin.Kind, d.Origin.ID, d.Invoices, d.Price, d.Received))
	}
	slices.Sort(texts)
	return texts
}

// recomputed returns the sums of invoices by days in a zone, with or without their origins.
func recomputed(all []*invoice.Invoice, zone *time.Location, origins bool) []report.DaySum {
	sumByKey := map[report.Key]report.Sum{}
	for _, inv := range all {
		if at := inv.State.PaidAt; !at.IsZero() {
			key := report.Key{Day: report.DayOf(at, zone), Currency: inv.Terms.Price.Currency(), PaidAsset: inv.State.PaidAsset, Origin: inv.Origin}
			if !origins {
				key.Origin = invoice.Origin{}
			}
			sumByKey[key] = sumByKey[key].Add(report.SumOf(inv.Summary()))
		}
	}
	var sums []report.DaySum
	for key, sum := range sumByKey {
		sums = append(sums, report.DaySum{Key: key, Sum: sum})
	}
	return sums
}

// checkDaySums fails unless the sums of days are those of all invoices.
func checkDaySums(t *testing.T, s *storage.Storage, merchantID string, mode invoice.Mode, after string) {
	t.Helper()
	all, _, err := s.Invoices(t.Context(), invoice.Filter{MerchantID: merchantID, Mode: mode}, invoice.Position{}, 1000)
	if err != nil {
		t.Fatal(err)
	}
	for _, origins := range []bool{true, false} {
		got, err := s.DaySums(t.Context(), merchantID, mode, ever, report.Period{}, origins)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(daySumTexts(recomputed(all, got.Zone, origins)), daySumTexts(got.Current)); diff != "" {
			t.Errorf("sums of days in %s after %s, with origins: %v (-invoices +sums):\n%s", got.Zone, after, origins, diff)
		}
	}
}

// newPaid returns a change that makes an invoice paid.
func newPaid(at time.Time, asset string, paid int64) func(*invoice.Invoice) error {
	return func(inv *invoice.Invoice) error {
		inv.State.Status, inv.State.PaidAt, inv.State.PaidAsset = invoice.Paid, at, asset
		inv.State.Paid = money.FromCents(paid, inv.Terms.Price.Currency())
		return nil
	}
}

// The sums of days are those of the invoices after every change.
func TestDaySums_follow_every_change(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, url string) {
		for _, id := range []string{"a", "b", "c"} {
			c := creation(id, "shop")
			build := c.Build
			c.Build = func(next invoice.NextIndex) (*invoice.Invoice, error) {
				inv, err := build(next)
				inv.Origin = invoice.Origin{Kind: invoice.FromLink, ID: map[string]string{"a": "cards"}[id]}
				return inv, err
			}
			create(t, s, c)
		}
		create(t, s, creation("o", "bakery"))
		if got := rows(t, url, "SELECT currency FROM day_sums"); len(got) > 0 {
			t.Errorf("a creation wrote to day_sums: %q", got)
		}
		unpaid := func(inv *invoice.Invoice) error {
			inv.State.Status, inv.State.PaidAt = invoice.Pending, time.Time{}
			return nil
		}
		for _, step := range []struct {
			name, id string
			change   func(*invoice.Invoice) error
		}{
			{"exact payment", "a", newPaid(noon, "BTC", 5650)},
			{"a second payment", "b", newPaid(noon, "BTC", 5650)},
			{"acceptance of less", "c", newPaid(noon.Add(24*time.Hour), "ETH", 5000)},
			{"an amount that changes", "a", newPaid(noon, "BTC", 5600)},
			{"a reorganisation", "b", unpaid},
			{"a second payment on another day", "b", newPaid(noon.Add(48*time.Hour), "LTC", 5650)},
			{"a payment of another merchant", "o", newPaid(noon, "BTC", 5650)},
			{"a reorganisation of the only one", "o", unpaid},
		} {
			if _, err := s.UpdateInvoice(t.Context(), step.id, invoice.Lease{}, step.change); err != nil {
				t.Fatal(err)
			}
			for _, m := range []string{"shop", "bakery"} {
				checkDaySums(t, s, m, invoice.Live, step.name)
			}
		}
		if got, err := s.DaySums(t.Context(), "bakery", invoice.Live, ever, ever, true); err != nil || len(got.Current)+len(got.Previous) > 0 {
			t.Errorf("the bakery has %v, error %v, want no sums", daySumTexts(got.Current), err)
		}
		second := report.DayOf(noon, time.UTC) + 1
		got, err := s.DaySums(t.Context(), "shop", invoice.Live, report.Period{}, report.LastDays(1, second), true)
		if want := []string{"2026-11-28 EUR/2 ETH link:: 1 price 56.5 received 50"}; err != nil || !cmp.Equal(want, daySumTexts(got.Previous)) {
			t.Errorf("the second day has %q, error %v, want %q", daySumTexts(got.Previous), err, want)
		}
	})
}

// Concurrent changes of one merchant lose no sum, and never deadlock.
func TestDaySums_of_concurrent_changes(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, _ string) {
		ids := []string{"a", "b", "c", "d", "e", "f"}
		for _, id := range ids {
			create(t, s, creation(id, "shop"))
		}
		failed := make(chan error, len(ids))
		for i, id := range ids {
			go func() { failed <- payOften(t.Context(), s, id, i) }()
		}
		for range ids {
			if err := <-failed; err != nil {
				t.Fatal(err)
			}
		}
		checkDaySums(t, s, "shop", invoice.Live, "all changes")
	})
}

// payOften changes the time, the asset and the amount of a payment 20 times.
func payOften(ctx context.Context, s *storage.Storage, id string, i int) error {
	for n := range 20 {
		at := noon.Add(time.Duration((n+i)%3) * 24 * time.Hour)
		if _, err := s.UpdateInvoice(ctx, id, invoice.Lease{}, newPaid(at, []string{"BTC", "ETH"}[(n+i)%2], int64(900+n))); err != nil {
			return err
		}
	}
	return nil
}
