package storage_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"chequer/internal/invoice"
	"chequer/internal/storage"
	"chequer/internal/watcher"
)

// With -race this test fails if a call returns when its context ends while its work function still writes
// results.
func TestStorage_does_not_write_results_after_the_context_ended(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, _ string) {
		create(t, s, creation("a", "shop"))
		epoch := acquireLease(t, s, "bitcoin", "one", noon)
		calls := map[string]func(ctx context.Context, id string) error{
			"UseNonce": func(ctx context.Context, id string) error {
				_, err := s.UseNonce(ctx, "key", id, noon, time.Minute)
				return err
			},
			"AcquireLease": func(ctx context.Context, id string) error {
				_, err := s.AcquireLease(ctx, "ethereum", id, noon, -time.Minute)
				return err
			},
			"SaveProgress": func(ctx context.Context, _ string) error {
				return s.SaveProgress(ctx, invoice.Lease{Network: "bitcoin", Epoch: epoch, Sequence: 1}, invoice.Progress{})
			},
			"CreateInvoice": func(ctx context.Context, id string) error {
				_, _, err := s.CreateInvoice(ctx, creation(id, "shop"))
				return err
			},
			"UpdateInvoice": func(ctx context.Context, id string) error {
				_, err := s.UpdateInvoice(ctx, "a", invoice.Lease{}, func(inv *invoice.Invoice) error {
					inv.RefundAddress.Address = id
					return nil
				})
				return err
			},
			"Events": func(ctx context.Context, _ string) error {
				_, err := s.Events(ctx, "shop", invoice.Live, 0, 10)
				return err
			},
			"Destinations": func(ctx context.Context, _ string) error {
				_, err := s.Destinations(ctx, "bitcoin", nil, noon, func(watcher.Destination) {})
				return err
			},
			"SimnetChain": func(ctx context.Context, _ string) error {
				_, err := s.SimnetChain(ctx, 0)
				return err
			},
		}
		var group sync.WaitGroup
		for name, call := range calls {
			for caller := range 3 {
				group.Go(func() {
					for i := range 60 {
						ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i%20)*100*time.Microsecond)
						_ = call(ctx, fmt.Sprint(name, caller, "-", i)) // an error is allowed
						cancel()
					}
				})
			}
		}
		group.Wait()
		create(t, s, creation("last", "shop"))
	})
}
