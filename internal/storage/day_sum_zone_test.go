package storage_test

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/invoice"
	"chequer/internal/merchant"
	"chequer/internal/report"
	"chequer/internal/storage"
)

// setZone changes the time zone of a shop.
func setZone(t *testing.T, s *storage.Storage, merchantID, name string) {
	t.Helper()
	_, err := s.ChangeChoices(t.Context(), merchantID, func(c merchant.Choices) (merchant.Choices, error) {
		return c.With(merchant.Choices{merchant.SettingTimeZone: name})
	})
	if err != nil {
		t.Fatal(err)
	}
}

// fill computes the sums of all merchants.
func fill(t *testing.T, s *storage.Storage) {
	t.Helper()
	if err := report.NewFiller(s, time.Hour, slog.New(slog.DiscardHandler)).Fill(t.Context()); err != nil {
		t.Fatal(err)
	}
	if left, err := s.UnfilledSums(t.Context()); err != nil || len(left) > 0 {
		t.Errorf("sums of %v are not computed, error %v", left, err)
	}
}

// moments are around changes of the clocks of several zones, and at other times.
func moments(random *rand.Rand) []time.Time {
	var all []time.Time
	for _, text := range []string{
		"2026-03-28T23:00:00Z", "2026-03-29T01:00:00Z", "2026-03-29T22:00:00Z", "2026-10-24T22:00:00Z", "2026-10-25T01:00:00Z", "2026-10-25T23:00:00Z",
		"2026-11-29T18:15:00Z", "2026-03-08T03:30:00Z", "2026-03-08T05:30:00Z", "2026-11-01T02:30:00Z", "2026-11-02T03:30:00Z",
		"2026-11-29T11:00:00Z", "2026-11-29T23:30:00Z", "2026-12-31T23:59:59Z",
	} {
		at, _ := time.Parse(time.RFC3339, text)
		all = append(all, at.Add(-time.Millisecond), at, at.Add(time.Millisecond))
	}
	for range 20 {
		all = append(all, noon.Add(time.Duration(random.Int64N(int64(400*24*time.Hour)))-200*24*time.Hour).Truncate(time.Millisecond))
	}
	return all
}

// In every zone, the sums of days equal the sums over the invoices, also for invoices that change later.
func TestDaySums_in_any_zone(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, _ string) {
		seed := uint64(time.Now().UnixNano())
		t.Logf("seed %d", seed)
		random := rand.New(rand.NewPCG(seed, 0))
		all := moments(random)
		for i, at := range all {
			id := fmt.Sprintf("i%d", i)
			create(t, s, creation(id, "shop"))
			if _, err := s.UpdateInvoice(t.Context(), id, invoice.Lease{}, newPaid(at, []string{"BTC", "ETH"}[random.IntN(2)], int64(900+i))); err != nil {
				t.Fatal(err)
			}
		}
		for _, name := range []string{"Europe/Berlin", "Asia/Kathmandu", "America/St_Johns", "Pacific/Apia", "Australia/Lord_Howe", "Africa/Cairo", "UTC"} {
			setZone(t, s, "shop", name)
			got, err := s.DaySums(t.Context(), "shop", invoice.Live, ever, report.Period{}, true)
			if err != nil || got.Zone.String() != name {
				t.Errorf("the days are those of %v, error %v, want %s", got.Zone, err, name)
			}
			checkDaySums(t, s, "shop", invoice.Live, "the change of the zone")
			id, at := fmt.Sprintf("i%d", random.IntN(len(all))), all[random.IntN(len(all))]
			if _, err := s.UpdateInvoice(t.Context(), id, invoice.Lease{}, newPaid(at, "LTC", 1)); err != nil {
				t.Fatal(err)
			}
			checkDaySums(t, s, "shop", invoice.Live, "a change of an invoice")
		}
	})
}

// While the sums of a large shop are computed, reports have the sums of the former zone. Changes of invoices that are
// already counted, and of those that are not, are in both generations.
func TestDaySums_are_computed_while_invoices_change(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, url string) {
		const count = 60
		storage.SetSumBatch(s, 7)
		ids := make([]string, count)
		at := func(i int) time.Time { return noon.Add(time.Duration(i) * 5 * time.Hour) }
		for i := range count {
			ids[i] = fmt.Sprintf("i%02d", i)
			create(t, s, creation(ids[i], "shop"))
			if i%4 == 3 {
				continue // paid later
			}
			if _, err := s.UpdateInvoice(t.Context(), ids[i], invoice.Lease{}, newPaid(at(i), "BTC", 1000)); err != nil {
				t.Fatal(err)
			}
		}
		setZone(t, s, "shop", "Europe/Berlin")
		if got, err := s.DaySums(t.Context(), "shop", invoice.Live, ever, ever, true); err != nil || got.Zone != time.UTC {
			t.Errorf("during the computation, the days are those of %v, error %v, want UTC", got.Zone, err)
		}
		setZone(t, s, "shop", "Asia/Kathmandu") // in place of the unfinished computation
		var group sync.WaitGroup
		for worker := range 3 {
			group.Go(func() {
				for i := worker; i < count; i += 3 {
					if _, err := s.UpdateInvoice(context.WithoutCancel(t.Context()), ids[i], invoice.Lease{}, newPaid(at((i*17)%count), "ETH", int64(500+i))); err != nil {
						t.Error(err)
					}
				}
			})
		}
		for range 2 {
			group.Go(func() {
				if err := report.NewFiller(s, time.Hour, slog.New(slog.DiscardHandler)).Fill(context.WithoutCancel(t.Context())); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
		checkDaySums(t, s, "shop", invoice.Live, "the computation")
		if got, err := s.DaySums(t.Context(), "shop", invoice.Live, ever, ever, true); err != nil || got.Zone.String() != "Asia/Kathmandu" {
			t.Errorf("after the computation, the days are those of %v, error %v", got.Zone, err)
		}
		if got := rows(t, url, "SELECT COUNT(DISTINCT generation) FROM day_sums"); !cmp.Equal(got, []string{"1"}) {
			t.Errorf("there are %v generations of sums, want 1", got)
		}
	})
}

// A process is killed while it computes sums: another one continues, and no invoice is missing or counted twice.
func TestDaySums_survive_kills_of_their_computation(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, url string) {
		for i := range 40 {
			id := fmt.Sprintf("i%02d", i)
			create(t, s, creation(id, "shop"))
			if _, err := s.UpdateInvoice(t.Context(), id, invoice.Lease{}, newPaid(noon.Add(time.Duration(i)*5*time.Hour), "BTC", 1000)); err != nil {
				t.Fatal(err)
			}
		}
		storage.SetSumBatch(s, 2)
		setZone(t, s, "shop", "Pacific/Apia")
		for range 2 {
			linesUntilKilled(t, 3, url, filling)
		}
		if left, err := s.UnfilledSums(t.Context()); err != nil || len(left) != 1 {
			t.Errorf("after the kills, the sums of %v are not computed, error %v, want those of the shop", left, err)
		}
		fill(t, s)
		checkDaySums(t, s, "shop", invoice.Live, "the kills")
	})
}

// Sums that differ from the invoices are found, and computed again.
func TestDaySums_are_repaired(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, url string) {
		for _, id := range []string{"a", "b"} {
			create(t, s, creation(id, "shop"))
			if _, err := s.UpdateInvoice(t.Context(), id, invoice.Lease{}, newPaid(noon, "BTC", 1000)); err != nil {
				t.Fatal(err)
			}
		}
		if differ, err := s.DaySumsDiffer(t.Context(), "shop"); err != nil || differ {
			t.Errorf("the sums differ: %v, error %v", differ, err)
		}
		execSQL(t, url, "UPDATE day_sums SET invoices = 1, price = price / 2, received = 1000")
		if differ, err := s.DaySumsDiffer(t.Context(), "shop"); err != nil || !differ {
			t.Errorf("the sums differ: %v, error %v, want a difference", differ, err)
		}
		if err := s.RestartSums(t.Context(), "shop"); err != nil {
			t.Fatal(err)
		}
		fill(t, s)
		checkDaySums(t, s, "shop", invoice.Live, "the repair")
	})
}
