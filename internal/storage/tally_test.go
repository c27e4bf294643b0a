package storage_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/invoice"
	"chequer/internal/storage"
)

// The tally is that of all invoices after every change.
func TestTally_follows_every_change(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, url string) {
		check := func(after string) {
			t.Helper()
			invoices, _, err := s.Invoices(t.Context(), invoice.Filter{MerchantID: "shop", Mode: invoice.Live}, invoice.Position{}, 100)
			if err != nil {
				t.Fatal(err)
			}
			want := invoice.NewTally()
			for _, inv := range invoices {
				want.Add(inv.Summary())
			}
			got, err := s.Tally(t.Context(), "shop", invoice.Live, noon)
			if err != nil || !cmp.Equal(want, got) {
				t.Errorf("after %s, error %v (-want +got):\n%s", after, err, cmp.Diff(want, got))
			}
			for _, e := range []invoice.Exception{invoice.Underpaid, invoice.Late, invoice.Delayed} {
				list, _, err := s.Summaries(t.Context(), invoice.Filter{MerchantID: "shop", Mode: invoice.Live, Exception: e}, invoice.Position{}, 100)
				var counted int64
				for _, n := range want.Exceptions[e] {
					counted += n
				}
				if err != nil || int64(len(list)) != counted {
					t.Errorf("after %s: %d invoices with %s, error %v, want %d", after, len(list), e, err, counted)
				}
			}
		}
		for _, id := range []string{"a", "b", "c"} {
			create(t, s, creation(id, "shop"))
		}
		create(t, s, creation("o", "bakery"))
		check("the creation")
		if got := rows(t, url, "SELECT status FROM tallies"); len(got) > 0 {
			t.Errorf("a creation wrote to tallies: %q", got)
		}
		for _, step := range []struct {
			id         string
			status     invoice.Status
			exceptions []invoice.Exception
			accepted   []string
		}{
			{"a", invoice.Pending, []invoice.Exception{invoice.Underpaid}, nil},
			{"b", invoice.Expired, nil, nil},
			{"a", invoice.Expired, []invoice.Exception{invoice.Underpaid, invoice.Late}, nil},
			{"a", invoice.Paid, []invoice.Exception{invoice.Underpaid}, []string{"t"}},
			{"b", invoice.Declined, []invoice.Exception{invoice.WrongAsset}, nil},
			{"c", invoice.Created, []invoice.Exception{invoice.Delayed}, nil},
			{"a", invoice.Created, nil, nil},
			{"o", invoice.Paid, nil, nil},
		} {
			_, err := s.UpdateInvoice(t.Context(), step.id, invoice.Lease{}, func(inv *invoice.Invoice) error {
				inv.State.Status, inv.State.Exceptions, inv.Accepted = step.status, step.exceptions, step.accepted
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			check(step.id + " " + string(step.status))
		}
	})
}

// Concurrent changes of invoices of one merchant never deadlock.
func TestTally_of_concurrent_changes(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, _ string) {
		ids := []string{"a", "b", "c", "d", "e", "f", "g", "h"}
		for _, id := range ids {
			create(t, s, creation(id, "shop"))
		}
		failed := make(chan error, len(ids))
		for i, id := range ids {
			go func() {
				var firstErr error
				for n := range 20 {
					_, err := s.UpdateInvoice(t.Context(), id, invoice.Lease{}, func(inv *invoice.Invoice) error {
						inv.State.Status = []invoice.Status{invoice.Paid, invoice.Expired, invoice.Declined}[(n+i)%3]
						inv.State.Exceptions = [][]invoice.Exception{{invoice.Late, invoice.Underpaid}, {invoice.Overpaid}, nil}[(n+i)%3]
						if n%2 == 0 {
							inv.Version++
							inv.Events = []invoice.Event{newEvent(id, invoice.EventPaid, inv.Version)}
						}
						return nil
					})
					if err != nil {
						firstErr = err
						break
					}
				}
				failed <- firstErr
			}()
		}
		for range ids {
			if err := <-failed; err != nil {
				t.Fatal(err)
			}
		}
		summaries, _, err := s.Summaries(t.Context(), invoice.Filter{MerchantID: "shop", Mode: invoice.Live}, invoice.Position{}, 100)
		if err != nil {
			t.Fatal(err)
		}
		want := invoice.NewTally()
		for _, inv := range summaries {
			want.Add(inv)
		}
		if got, err := s.Tally(t.Context(), "shop", invoice.Live, noon); err != nil || !cmp.Equal(want, got) {
			t.Errorf("error %v (-want +got):\n%s", err, cmp.Diff(want, got))
		}
	})
}
