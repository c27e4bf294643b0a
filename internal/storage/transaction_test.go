package storage_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"chequer/internal/invoice"
	"chequer/internal/storage"
	"chequer/internal/storage/engine"
)

func TestWrite_rolls_back_only_the_failed_work(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, url string) {
		// The first creation blocks the writer until all others wait. On SQLite the others then form
		// one batch.
		release, running := make(chan struct{}), make(chan struct{})
		first := creation("first", "bakery")
		build := first.Build
		first.Build = func(next invoice.NextIndex) (*invoice.Invoice, error) {
			close(running)
			<-release
			return build(next)
		}
		var group sync.WaitGroup
		group.Go(func() { create(t, s, first) })
		<-running
		for i := range 12 {
			group.Go(func() {
				c := creation(fmt.Sprintf("i%d", i), "shop")
				build := c.Build
				c.Build = func(next invoice.NextIndex) (*invoice.Invoice, error) {
					inv, err := build(next)
					switch i % 3 {
					case 1:
						return nil, invoice.ErrNoRate
					case 2:
						panic("build broke")
					}
					return inv, err
				}
				defer func() {
					if got := recover(); (got != nil) != (i%3 == 2) {
						t.Errorf("creation %d: got panic %v", i, got)
					}
				}()
				_, _, err := s.CreateInvoice(t.Context(), c)
				if errors.Is(err, invoice.ErrNoRate) != (i%3 == 1) || i%3 == 0 && err != nil {
					t.Errorf("creation %d: got error %v", i, err)
				}
			})
		}
		if strings.HasPrefix(url, "sqlite") {
			waitFor(s, 12)
		}
		close(release)
		group.Wait()
		if ids := rows(t, url, "SELECT id FROM invoices"); len(ids) != 5 {
			t.Errorf("got invoices %q, want the first one and four others", ids)
		}
		if next := rows(t, url, "SELECT next FROM counters WHERE name = 'shop/BTC'"); len(next) != 1 || next[0] != "4" {
			t.Errorf("counter: got %q, want 4", next)
		}
		if p := rows(t, url, "SELECT position FROM feeds WHERE merchant_id = 'shop'"); len(p) != 1 || p[0] != "4" {
			t.Errorf("feed: got %q, want 4", p)
		}
	})
}

// waitFor returns when the given number of callers wait for the writer.
func waitFor(s *storage.Storage, callers int) {
	for s.Waiting() < callers {
		runtime.Gosched()
	}
}

func TestWrite_waits_for_another_process(t *testing.T) {
	t.Parallel()
	url := engines["sqlite"](t)
	s := open(t, url)
	addMerchants(t, s)
	other, err := database(t, url).Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if _, err := other.ExecContext(t.Context(), "BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Merchant(t.Context(), "shop"); err != nil {
		t.Errorf("read while another process writes: %v", err)
	}
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		create(t, s, creation("a", "shop"))
	}()
	select {
	case <-answered:
		t.Error("wrote while another process was writing")
	case <-time.After(100 * time.Millisecond):
	}
	if _, err := other.ExecContext(t.Context(), "COMMIT"); err != nil {
		t.Fatal(err)
	}
	<-answered
}

func TestWrite_runs_again_after_a_deadlock(t *testing.T) {
	t.Parallel()
	url := engines["postgres"](t)
	s := open(t, url)
	addMerchants(t, s)
	var both, group sync.WaitGroup
	both.Add(2)
	for i, counters := range [][2]string{{"x", "y"}, {"y", "x"}} {
		var once sync.Once
		group.Go(func() {
			merchant := []string{"shop", "bakery"}[i] // creations of one merchant run one after the other
			create(t, s, invoice.Creation{MerchantID: merchant, At: noon, Build: func(next invoice.NextIndex) (*invoice.Invoice, error) {
				if _, err := next(counters[0]); err != nil {
					return nil, err
				}
				once.Do(both.Done) // each creation has locked its first counter and needs the counter of the other
				both.Wait()
				_, err := next(counters[1])
				return newInvoice(fmt.Sprint("i", i), merchant, uint32(i), uint32(i)), err
			}})
		})
	}
	group.Wait()
	if next := rows(t, url, "SELECT next FROM counters"); !slices.Equal(next, []string{"2", "2"}) {
		t.Errorf("counters: got %q, want 2 each", next)
	}
}

func TestStorage_used_inside_its_own_transaction_fails_at_once(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, _ string) {
		create(t, s, creation("a", "shop"))
		keep := func(*invoice.Invoice) error { return nil }
		for name, use := range map[string]func(ctx context.Context) error{
			"update": func(ctx context.Context) error {
				_, err := s.UpdateInvoice(ctx, "a", invoice.Lease{}, keep)
				return err
			},
			"create": func(ctx context.Context) error {
				_, _, err := s.CreateInvoice(ctx, creation("b", "shop"))
				return err
			},
			"read": func(ctx context.Context) error {
				_, err := s.Invoice(ctx, "a")
				return err
			},
			"ready": s.Ready,
		} {
			if err := s.Write(t.Context(), use); !errors.Is(err, engine.ErrNested) {
				t.Errorf("%s in a transaction: got %v, want %v", name, err, engine.ErrNested)
			}
		}
		if _, err := s.UpdateInvoice(t.Context(), "a", invoice.Lease{}, keep); err != nil {
			t.Errorf("afterwards: %v", err)
		}
	})
}

func TestWrite_stops_waiting_when_the_context_ends(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, _ string) {
		create(t, s, creation("a", "shop"))
		release, running := make(chan struct{}), make(chan struct{})
		var group sync.WaitGroup
		group.Go(func() {
			inv := creation("b", "shop")
			build := inv.Build
			inv.Build = func(next invoice.NextIndex) (*invoice.Invoice, error) {
				close(running)
				<-release
				return build(next)
			}
			if _, _, err := s.CreateInvoice(t.Context(), inv); err != nil {
				t.Errorf("running creation: %v", err)
			}
		})
		<-running
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		if _, _, err := s.CreateInvoice(ctx, creation("c", "shop")); err == nil || ctx.Err() == nil {
			t.Errorf("waiting creation: got error %v", err)
		}
		close(release)
		group.Wait()
		if _, err := s.Invoice(t.Context(), "b"); err != nil {
			t.Errorf("the running creation: %v", err)
		}
		if _, err := s.UpdateInvoice(ctx, "a", invoice.Lease{}, nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("after the end of the context: got error %v", err)
		}
	})
}

// A decision may take a long time. It must not block the changes of other callers. It must not overwrite a
// change that was made after the invoice was read for the decision.
func TestUpdateInvoice_decides_outside_of_the_transaction(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, _ string) {
		create(t, s, creation("a", "shop"))
		create(t, s, creation("b", "shop"))
		attempts := 0
		_, err := s.UpdateInvoice(t.Context(), "a", invoice.Lease{}, func(inv *invoice.Invoice) error {
			if attempts++; attempts == 1 {
				done := make(chan error)
				go func() { // another caller
					_, other := s.UpdateInvoice(t.Context(), "b", invoice.Lease{}, func(inv *invoice.Invoice) error {
						inv.RefundAddress.Address = "bc1qother"
						return nil
					})
					_, same := s.UpdateInvoice(t.Context(), "a", invoice.Lease{}, func(inv *invoice.Invoice) error {
						inv.Accepted = []string{"seen"}
						return nil
					})
					done <- errors.Join(other, same)
				}()
				if err := <-done; err != nil {
					return err
				}
			}
			inv.RefundAddress.Address = "bc1qrefund"
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		inv, err := s.Invoice(t.Context(), "a")
		if err != nil || inv.RefundAddress.Address != "bc1qrefund" || !slices.Equal(inv.Accepted, []string{"seen"}) || attempts != 2 {
			t.Errorf("refund to %q, accepted %q after %d attempts, error %v, want both changes after 2", inv.RefundAddress.Address, inv.Accepted, attempts, err)
		}
	})
}

func TestClose_waits_for_running_writes(t *testing.T) {
	t.Parallel()
	for name, newURL := range engines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := newURL(t)
			s, err := storage.Open(t.Context(), url, box(t, 1), storage.Options{})
			if err != nil {
				t.Fatal(err)
			}
			addMerchants(t, s)
			var mu sync.Mutex
			created := 0
			var group sync.WaitGroup
			for i := range 32 {
				group.Go(func() {
					if _, _, err := s.CreateInvoice(context.Background(), creation(fmt.Sprintf("i%d", i), "shop")); err == nil {
						mu.Lock()
						defer mu.Unlock()
						created++
					}
				})
			}
			if err := s.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
			_ = s.Close() // a second Close has no effect
			group.Wait()
			if _, err := s.Invoice(t.Context(), "i0"); err == nil {
				t.Error("read of a closed storage: got no error")
			}
			if ids := rows(t, url, "SELECT id FROM invoices"); len(ids) != created {
				t.Errorf("%d creations succeeded, but %d invoices are stored", created, len(ids))
			}
		})
	}
}
