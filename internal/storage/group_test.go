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
		release := hold(t, s)
		const others = 24
		var group sync.WaitGroup
		for i := range others {
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
		waitFor(s, others)
		release()
		group.Wait()
		// The creation that blocked the others, one of each group of equal keys, and a quarter with
		// two events.
		const made, events = 1 + others/8 + others/4, 1 + others/8 + 2*others/4
		indexes := rows(t, url, "SELECT address_index FROM destinations WHERE network = 'bitcoin' ORDER BY address_index")
		if want := count(0, made-1); !slices.Equal(indexes, want) {
			t.Errorf("indexes: got %q, want %q", indexes, want)
		}
		positions := rows(t, url, "SELECT position FROM events WHERE merchant_id = 'shop' ORDER BY position")
		if want := count(1, events); !slices.Equal(positions, want) {
			t.Errorf("positions: got %q, want %q", positions, want)
		}
		next := rows(t, url, "SELECT next FROM counters WHERE name = 'shop/BTC' UNION ALL SELECT position FROM feeds WHERE merchant_id = 'shop'")
		if want := []string{strconv.Itoa(made), strconv.Itoa(events)}; !slices.Equal(next, want) {
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
		for s.AtWork() == 0 || s.Waiting() != i {
			runtime.Gosched()
		}
	}
	cancel()
	group.Wait()
	for s.AtWork() > 0 {
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

// hold begins a creation that blocks the merchant's other creations until release is called.
func hold(t *testing.T, s *storage.Storage) (release func()) {
	t.Helper()
	begun, held := make(chan struct{}), make(chan struct{})
	c := creation("first", "shop")
	build := c.Build
	c.Build = func(next invoice.NextIndex) (*invoice.Invoice, error) {
		close(begun)
		<-held
		return build(next)
	}
	var group sync.WaitGroup
	group.Go(func() { create(t, s, c) })
	<-begun
	return func() {
		close(held)
		group.Wait()
	}
}

// count returns the numbers from first to last.
func count(first, last int) (all []string) {
	for n := first; n <= last; n++ {
		all = append(all, strconv.Itoa(n))
	}
	return all
}
