package storage_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"testing"

	"chequer/internal/invoice"
	"chequer/internal/storage"
)

func TestCreateInvoice_shares_a_commit_and_rolls_back_only_failures(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, url string) {
		release := blockWriter(t, s)
		const callers = 24
		var group sync.WaitGroup
		for i := range callers {
			group.Go(func() {
				c := keyed(fmt.Sprint("i", i), fmt.Sprint("key", i/8*8), "hash") // one key for eight
				if i%4 != 0 {
					c = creation(fmt.Sprint("i", i), "shop")
				}
				build := c.Build
				c.Build = func(next invoice.NextIndex) (*invoice.Invoice, error) {
					inv, err := build(next)
					switch i % 4 {
					case 1:
						return nil, invoice.ErrNoRate
					case 2:
						panic("build broke")
					case 3:
						inv.Events = append(inv.Events, newEvent(inv.ID+"-second", invoice.EventPending, 2))
					}
					return inv, err
				}
				defer func() {
					if got := recover(); (got != nil) != (i%4 == 2) {
						t.Errorf("creation %d: got panic %v", i, got)
					}
				}()
				_, _, err := s.CreateInvoice(t.Context(), c)
				if errors.Is(err, invoice.ErrNoRate) != (i%4 == 1) || i%4 != 1 && err != nil {
					t.Errorf("creation %d: got error %v", i, err)
				}
			})
		}
		waitFor(s, callers)
		release()
		group.Wait()
		// The creation that blocked the others, one of each group of equal keys, and a quarter with
		// two events.
		const created, events = 1 + callers/8 + callers/4, 1 + callers/8 + 2*callers/4
		indexes := rows(t, url, "SELECT address_index FROM destinations WHERE network = 'bitcoin' ORDER BY address_index")
		if want := numbers(0, created-1); !slices.Equal(indexes, want) {
			t.Errorf("indexes: got %q, want %q", indexes, want)
		}
		positions := rows(t, url, "SELECT position FROM events WHERE merchant_id = 'shop' ORDER BY position")
		if want := numbers(1, events); !slices.Equal(positions, want) {
			t.Errorf("positions: got %q, want %q", positions, want)
		}
		next := rows(t, url, "SELECT next FROM counters WHERE name = 'shop/BTC' UNION ALL SELECT position FROM feeds WHERE merchant_id = 'shop'")
		if want := []string{strconv.Itoa(created), strconv.Itoa(events)}; !slices.Equal(next, want) {
			t.Errorf("index counter and feed position are %q, want %q", next, want)
		}
	})
}

func TestCreateInvoice_stops_when_no_caller_waits(t *testing.T) {
	t.Parallel()
	url := engines["postgres"](t)
	s := open(t, url)
	addMerchants(t, s)
	create(t, s, creation("a", "shop"))
	other, err := database(t, url).BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.ExecContext(t.Context(), "UPDATE feeds SET position = position WHERE merchant_id = 'shop'"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	for i := range 3 { // the first waits for the other process, two wait for the first
		group.Go(func() {
			if _, _, err := s.CreateInvoice(ctx, creation(fmt.Sprint("i", i), "shop")); !errors.Is(err, context.Canceled) {
				t.Errorf("got error %v, want %v", err, context.Canceled)
			}
		})
		for s.RunningGroups() == 0 || s.Waiting() != i {
			runtime.Gosched()
		}
	}
	cancel()
	group.Wait()
	for s.RunningGroups() > 0 {
		runtime.Gosched()
	}
	if err := other.Rollback(); err != nil {
		t.Fatal(err)
	}
	create(t, s, creation("b", "shop"))
	if ids := rows(t, url, "SELECT id FROM invoices ORDER BY id"); !slices.Equal(ids, []string{"a", "b"}) {
		t.Errorf("got invoices %q, want a and b", ids)
	}
}

// blockWriter begins a creation that blocks the merchant's other creations until release is called.
func blockWriter(t *testing.T, s *storage.Storage) (release func()) {
	t.Helper()
	started, released := make(chan struct{}), make(chan struct{})
	c := creation("first", "shop")
	build := c.Build
	c.Build = func(next invoice.NextIndex) (*invoice.Invoice, error) {
		close(started)
		<-released
		return build(next)
	}
	var group sync.WaitGroup
	group.Go(func() { create(t, s, c) })
	<-started
	return func() {
		close(released)
		group.Wait()
	}
}

// numbers returns the numbers from first to last.
func numbers(first, last int) (all []string) {
	for n := first; n <= last; n++ {
		all = append(all, strconv.Itoa(n))
	}
	return all
}
