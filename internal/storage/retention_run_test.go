package storage_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/audit"
	"chequer/internal/storage"
)

// One transaction examines few invoices, processes take turns, and a run has one entry.
func TestRemovePersonalData_in_batches_of_several_processes(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, url string) {
		const invoices = 130
		for i := range invoices {
			createPersonal(t, s, fmt.Sprintf("i%03d", i))
		}
		keepFor(t, s, "3")
		late := noon.AddDate(1, 0, 0)
		if done, err := s.RemovePersonalData(t.Context(), "shop", late); done || err != nil {
			t.Fatalf("first transaction: done %v, error %v", done, err)
		}
		if got, want := len(rows(t, url, "SELECT id FROM invoices WHERE terms LIKE '%\"removed\"%'")), 50; got != want {
			t.Errorf("one transaction removed the data of %d invoices, want %d", got, want)
		}
		if n := len(removals(t, s)); n > 0 {
			t.Errorf("a run that has not ended has %d entries", n)
		}
		var group sync.WaitGroup
		for _, process := range []*storage.Storage{s, open(t, url)} {
			group.Go(func() {
				for {
					if done, err := process.RemovePersonalData(t.Context(), "shop", late); done || err != nil {
						if err != nil {
							t.Error(err)
						}
						return
					}
				}
			})
		}
		group.Wait()
		want := audit.Fields{"invoices": "130", "notes": "130", "refund addresses": "260", "metadata": "130", "return addresses": "260"}
		if diff := cmp.Diff([]audit.Fields{want}, removals(t, s)); diff != "" {
			t.Errorf("audit log (-want +got):\n%s", diff)
		}
		if got := traces(t, url); len(got) > 0 {
			t.Errorf("the shopper is still in %q", got)
		}
	})
}

// A run that the merchant interrupts has an entry about what it removed.
func TestRemovePersonalData_that_is_switched_off(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, _ string) {
		for i := range 60 {
			createPersonal(t, s, fmt.Sprintf("i%03d", i))
		}
		keepFor(t, s, "3")
		late := noon.AddDate(1, 0, 0)
		if _, err := s.RemovePersonalData(t.Context(), "shop", late); err != nil {
			t.Fatal(err)
		}
		keepFor(t, s, "off")
		if shops, err := s.RetentionShops(t.Context()); err != nil || !slices.Equal(shops, []string{"shop"}) {
			t.Errorf("shops with a run: %q, error %v", shops, err)
		}
		if calls := removeAll(t, s, late); calls != 1 {
			t.Errorf("%d transactions after it was switched off", calls)
		}
		if got := removals(t, s); len(got) != 1 || got[0]["invoices"] != "50" {
			t.Errorf("audit log: %v", got)
		}
		if shops, err := s.RetentionShops(t.Context()); err != nil || len(shops) > 0 {
			t.Errorf("shops with a run: %q, error %v", shops, err)
		}
	})
}
