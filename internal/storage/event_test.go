package storage_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/invoice"
	"chequer/internal/storage"
)

func TestDeleteEvents_deletes_the_oldest_first(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, url string) {
		addEndpoints(t, s, newEndpoint("e"))
		for i := range 5 {
			create(t, s, creation(fmt.Sprint("i", i), "shop"))
		}
		create(t, s, creation("other", "bakery"))
		claims, _ := claim(t, s, "e", noon, 1)
		saveAttempt(t, s, claims[0], noon, 200, deliveryDone)
		execSQL(t, url, "UPDATE events SET created_at = created_at + 1 WHERE position > 3")
		var deleted []int
		for range 3 {
			n, err := s.DeleteEvents(t.Context(), noon.Add(time.Millisecond), 2)
			if err != nil {
				t.Fatal(err)
			}
			deleted = append(deleted, n)
		}
		if diff := cmp.Diff([]int{3, 1, 0}, deleted); diff != "" {
			t.Errorf("deleted by each call (-want +got):\n%s", diff)
		}
		keptEvents := rows(t, url, "SELECT id FROM events ORDER BY position")
		keptDeliveries := rows(t, url, "SELECT event_id FROM deliveries ORDER BY position")
		want := []string{"evt_i3_invoice.created_1", "evt_i4_invoice.created_1"}
		if cmp.Diff(want, keptEvents) != "" || cmp.Diff(want, keptDeliveries) != "" || len(rows(t, url, "SELECT position FROM tries")) != 0 {
			t.Errorf("got events %q and deliveries %q, want %q of both and no attempts", keptEvents, keptDeliveries, want)
		}
	})
}

func TestDeleteEvents_deletes_test_deliveries_without_events(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, url string) {
		e := newEndpoint("e")
		addEndpoints(t, s, e)
		for i := range 3 {
			if err := s.AddTestDelivery(t.Context(), e, fmt.Sprint("evt_", i), []byte("{}"), noon.Add(time.Duration(i)*time.Minute)); err != nil {
				t.Fatal(err)
			}
		}
		claims, _ := claim(t, s, "e", noon.Add(time.Hour), 1)
		saveAttempt(t, s, claims[0], noon, 200, deliveryDone)
		if n, err := s.DeleteEvents(t.Context(), noon.Add(2*time.Minute), 10); n != 2 || err != nil {
			t.Errorf("got %d, error %v, want 2", n, err)
		}
		if remaining := rows(t, url, "SELECT event_id FROM deliveries"); cmp.Diff([]string{"evt_2"}, remaining) != "" || len(rows(t, url, "SELECT position FROM tries")) != 0 {
			t.Errorf("got deliveries %q, want evt_2 and no attempts", remaining)
		}
	})
}

func TestEvents_are_those_of_a_mode(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, _ string) {
		create(t, s, creation("live", "shop"))
		test := creation("test", "shop")
		build := test.Build
		test.Build = func(next invoice.NextIndex) (*invoice.Invoice, error) {
			inv, err := build(next)
			inv.Mode = invoice.Test
			return inv, err
		}
		create(t, s, test)
		for mode, want := range map[invoice.Mode]string{invoice.Live: "evt_live_invoice.created_1", invoice.Test: "evt_test_invoice.created_1"} {
			got, err := s.Events(t.Context(), "shop", mode, 0, 10)
			if err != nil || len(got) != 1 || got[0].ID != want {
				t.Errorf("%s: got %+v, error %v, want %s", mode, got, err, want)
			}
		}
	})
}

func TestNewestEvents_returns_pages_of_the_feed(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, _ string) {
		if last, err := s.FeedPosition(t.Context(), "shop"); last != 0 || err != nil {
			t.Errorf("an empty feed: got position %d, error %v", last, err)
		}
		for _, id := range []string{"i1", "i2", "i3"} {
			create(t, s, creation(id, "shop"))
		}
		if last, err := s.FeedPosition(t.Context(), "shop"); last != 3 || err != nil {
			t.Errorf("got position %d, error %v, want 3", last, err)
		}
		for _, test := range []struct {
			after int64
			kind  string
			limit int
			want  []string
		}{
			{0, "", 2, []string{"evt_i3_invoice.created_1", "evt_i2_invoice.created_1"}},
			{2, "", 2, []string{"evt_i3_invoice.created_1"}},
			{1, "invoice.created", 1, []string{"evt_i3_invoice.created_1"}},
			{0, "invoice.paid", 9, nil},
		} {
			got, err := s.NewestEvents(t.Context(), "shop", invoice.Live, test.after, test.kind, test.limit)
			var ids []string
			for _, e := range got {
				ids = append(ids, e.ID)
			}
			if err != nil || cmp.Diff(test.want, ids) != "" {
				t.Errorf("after %d of %q: got %q, error %v, want %q", test.after, test.kind, ids, err, test.want)
			}
		}
	})
}
