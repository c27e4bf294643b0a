package storage_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"chequer/internal/invoice"
	"chequer/internal/storage"
)

// limitedCreation returns a creation with limits of unpaid invoices.
func limitedCreation(id, merchantID string, mode invoice.Mode, at time.Time, limits ...invoice.UnpaidLimit) invoice.Creation {
	c := creation(id, merchantID)
	c.Mode, c.At, c.UnpaidLimits = mode, at, limits
	return c
}

func TestCreateInvoice_respects_limits_of_unpaid_invoices(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, url string) {
		const network = "2001:db8:1::/48"
		perMerchant, perGroup := invoice.UnpaidLimit{Max: 3}, invoice.UnpaidLimit{Group: network, Max: 2}
		create(t, s, creation("free", "shop")) // without limits: does not count
		create(t, s, limitedCreation("a", "shop", "live", noon, perGroup, perMerchant))
		create(t, s, limitedCreation("b", "shop", "live", noon, perGroup, perMerchant))
		if places := rows(t, url, "SELECT caller_group FROM unpaid_places"); slices.ContainsFunc(places, func(p string) bool { return strings.Contains(p, "2001") }) {
			t.Errorf("the network is readable in the database: %q", places)
		}
		reason := func(c invoice.Creation) string {
			_, _, err := s.CreateInvoice(t.Context(), c)
			if tooMany, ok := errors.AsType[*invoice.TooManyUnpaidError](err); ok {
				return "limit of " + tooMany.Group
			}
			if err != nil {
				t.Fatal(err)
			}
			return ""
		}
		for _, tt := range []struct {
			name string
			c    invoice.Creation
			want string
		}{
			{"a third invoice from the network", limitedCreation("c", "shop", "live", noon, perGroup, perMerchant), "limit of " + network},
			{"another mode", limitedCreation("d", "shop", "test", noon, perGroup, perMerchant), ""},
			{"another merchant", limitedCreation("e", "bakery", "live", noon, perGroup, perMerchant), ""},
			{"another network", limitedCreation("f", "shop", "live", noon, invoice.UnpaidLimit{Group: "192.0.2.0/24", Max: 2}, perMerchant), ""},
			{"the limit for all networks is reached", limitedCreation("g", "shop", "live", noon, invoice.UnpaidLimit{Group: "198.51.100.0/24", Max: 2}, perMerchant), "limit of "},
			{"a creation without limits", creation("h", "shop"), ""},
			{"after the others are too old to count", limitedCreation("i", "shop", "live", noon.Add(invoice.UnpaidWindow), perGroup, perMerchant), ""},
		} {
			if got := reason(tt.c); got != tt.want {
				t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
			}
		}
		if _, err := s.UpdateInvoice(t.Context(), "a", invoice.Lease{}, func(inv *invoice.Invoice) error {
			inv.State.Status = invoice.Pending
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if got := reason(limitedCreation("j", "shop", "live", noon, perGroup, invoice.UnpaidLimit{Max: 9})); got != "" {
			t.Errorf("after a payment was seen: got %q, want an invoice", got)
		}
	})
}

func TestCreateInvoice_respects_limits_of_unpaid_invoices_in_parallel(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, _ string) {
		var created, refused atomic.Int64
		var group sync.WaitGroup
		for i := range 20 {
			group.Go(func() {
				_, _, err := s.CreateInvoice(t.Context(), limitedCreation(fmt.Sprint("inv", i), "shop", "live", noon, invoice.UnpaidLimit{Max: 5}))
				if _, many := errors.AsType[*invoice.TooManyUnpaidError](err); many {
					refused.Add(1)
				} else if err != nil {
					t.Error(err)
				} else {
					created.Add(1)
				}
			})
		}
		group.Wait()
		if created.Load() != 5 || refused.Load() != 15 {
			t.Errorf("%d created, %d refused; want 5 and 15", created.Load(), refused.Load())
		}
	})
}

func TestUnpaidPlaces_are_deleted_when_they_no_longer_count(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, url string) {
		create(t, s, limitedCreation("a", "shop", "live", noon, invoice.UnpaidLimit{Max: 5}))
		create(t, s, limitedCreation("b", "shop", "live", noon.Add(invoice.UnpaidWindow), invoice.UnpaidLimit{Max: 5}))
		if got := rows(t, url, "SELECT invoice_id FROM unpaid_places"); len(got) != 1 {
			t.Errorf("places: %q, want only that of b", got)
		}
	})
}
