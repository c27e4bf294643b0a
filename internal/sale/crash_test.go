package sale_test

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"chequer/internal/clocktest"
	"chequer/internal/exchange/exchangetest"
	"chequer/internal/invoice"
	"chequer/internal/sale"
	"chequer/internal/storage/storagetest"
)

// errKilled is the error of every call after the program was killed.
var errKilled = errors.New("killed")

// killable wraps the storage of a program that is killed at one of its steps. Every access to the
// storage and every call to the exchange has a step before it and a step after it.
type killable struct {
	storage  sale.Storage
	invoices sale.Invoices

	mu       sync.Mutex
	steps    int
	killAt   int // step at which the program is killed; 0 means never
	isKilled bool
}

// step counts a step and reports whether the program is still alive.
func (k *killable) step() (alive bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.steps++; k.steps == k.killAt {
		k.isKilled = true
	}
	return !k.isKilled
}

// withSteps calls do with a step before and a step after it. It returns errKilled if the program was killed at
// one of the two or earlier.
func withSteps[T any](k *killable, do func() (T, error)) (T, error) {
	var zero T
	if !k.step() {
		return zero, errKilled
	}
	result, err := do()
	if !k.step() {
		return zero, errKilled
	}
	return result, err
}

func (k *killable) ClaimSale(ctx context.Context, now, until time.Time) (sale.Claim, error) {
	return withSteps(k, func() (sale.Claim, error) { return k.storage.ClaimSale(ctx, now, until) })
}

func (k *killable) ReleaseSale(ctx context.Context, c sale.Claim) error {
	_, err := withSteps(k, func() (struct{}, error) { return struct{}{}, k.storage.ReleaseSale(ctx, c) })
	return err
}

func (k *killable) RecordUnreadable(ctx context.Context, id string, now time.Time) (bool, error) {
	return withSteps(k, func() (bool, error) { return k.storage.RecordUnreadable(ctx, id, now) })
}

func (k *killable) Invoice(ctx context.Context, id string) (*invoice.Invoice, error) {
	return withSteps(k, func() (*invoice.Invoice, error) { return k.invoices.Invoice(ctx, id) })
}

func (k *killable) UpdateSales(ctx context.Context, id string, decide func(*invoice.Invoice) ([]invoice.EventType, error)) (*invoice.Invoice, error) {
	return withSteps(k, func() (*invoice.Invoice, error) { return k.invoices.UpdateSales(ctx, id, decide) })
}

// runUntilKilled runs a program until it is killed or nothing is due, and returns its number of steps.
func (f *fixture) runUntilKilled(killAt int) (steps int) {
	m := &killable{storage: f.storage, invoices: f.invoices, killAt: killAt}
	f.exchange.SetHook(func(string, bool) { m.step() })
	defer f.exchange.SetHook(nil)
	w := f.newWorker(m, m)
	for {
		done, err := w.Step(context.Background())
		if done == 0 || err != nil {
			return m.steps
		}
	}
}

// The program is killed at each of its steps in turn: before and after every write, and before and
// after every call is processed. The restarted program completes the sale exactly once.
func TestWorker_sells_once_when_it_is_killed_at_any_step(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"kraken", "bitstamp"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run := func(killAt int) (steps int) {
				url := storagetest.File(t)
				synctest.Test(t, func(t *testing.T) {
					f := newFixture(t, url, bubble{}, name)
					inv := f.createPaid()
					steps = f.runUntilKilled(killAt)
					before := describe(f.sale(inv.ID, "BTC"))
					f.open() // restart
					f.settle(30 * time.Minute)
					c := f.sale(inv.ID, "BTC")
					if s := c.Sold().Sold; c.State != invoice.SaleFilled || s.String() != "0.00065379" {
						t.Errorf("killed at step %d, when the sale was %s: got %s", killAt, before, describe(c))
					}
					if _, filled := f.exchange.Orders(); filled != 1 {
						t.Errorf("killed at step %d: %d orders sold something", killAt, filled)
					}
					f.checkNotOversold(inv.ID)
					if types, _ := f.events(inv.ID); len(types) != 1 || types[0] != invoice.EventSaleFilled {
						t.Errorf("killed at step %d: events %v", killAt, types)
					}
				})
				return steps
			}
			steps := run(0)
			if steps < 20 {
				t.Fatalf("%d steps, want at least 20", steps)
			}
			step := 1
			if testing.Short() {
				step = 3
			}
			for killAt := 1; killAt <= steps; killAt += step {
				run(killAt)
			}
			t.Logf("killed at %d of %d steps", (steps+step-1)/step, steps)
		})
	}
}

// A database that was restored from a copy does not contain a later sale, but the exchange lists it.
func TestRestored_database_sells_nothing_twice(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"kraken", "bitstamp"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := storagetest.File(t)
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t, url, bubble{}, name)
				inv := f.createPaid()
				part := f.create("500")
				f.pay(part, "BTC", "0.00578570")
				old := f.copy()
				f.exchange.SetFill("0.5")
				f.settle(time.Minute)
				f.checkNotOversold(inv.ID, part.ID)
				f.restore(old)
				f.exchange.SetFill("1")
				f.settle(time.Hour)
				for _, id := range []string{inv.ID, part.ID} {
					c := f.sale(id, "BTC")
					if c.State != invoice.SaleFilled || len(c.Orders) < 2 {
						t.Errorf("got %s", describe(c))
					}
				}
				f.checkNotOversold(inv.ID, part.ID)
			})
		})
	}
}

// A restored database finds a sale that is newer than the copy, even if an order before it failed: an
// order that the exchange never accepted leaves no gap in the names of the orders that it lists.
func TestRestored_database_finds_a_sale_after_a_refusal(t *testing.T) {
	t.Parallel()
	faults := map[string]exchangetest.Fault{
		"kraken":   exchangetest.Respond(200, `{"error":["EOrder:Insufficient funds"]}`),
		"bitstamp": exchangetest.Respond(400, `{"status":"error","reason":{"__all__":["Check your account balance for details."]}}`),
	}
	for name, fault := range faults {
		for after, fault := range map[string]exchangetest.Fault{"refusal": fault, "loss": exchangetest.Drop} {
			t.Run(name+" "+after, func(t *testing.T) {
				t.Parallel()
				url := storagetest.File(t)
				synctest.Test(t, func(t *testing.T) {
					f := newFixture(t, url, bubble{}, name)
					inv := f.createPaid()
					old := f.copy()
					f.exchange.AddFaults(f.placeCall(), fault)
					f.settle(30 * time.Minute)
					f.want(inv.ID, "BTC", strings.Replace(sold, "in 1", "in 2", 1))
					f.restore(old)
					f.settle(time.Hour)
					f.want(inv.ID, "BTC", sold)
					if accepted, _ := f.exchange.Orders(); accepted != 1 {
						t.Errorf("the exchange accepted %d orders, want 1", accepted)
					}
				})
			})
		}
	}
}

// A database restored from a copy that is older than the payment observes the payment again, long after
// its coins were sold. The exchange lists orders only by time.
func TestRestored_database_finds_a_sale_of_a_payment_that_it_lacks(t *testing.T) {
	t.Parallel()
	url := storagetest.File(t)
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, url, bubble{}, "kraken")
		f.exchange.DisableNameFilter()
		inv := f.create("56.50")
		old := f.copy()
		f.pay(inv, "BTC", "0.00065379")
		f.settle(time.Minute)
		f.want(inv.ID, "BTC", sold)
		f.clock.Advance(3 * time.Hour)
		f.restore(old)
		f.scan()
		f.settle(time.Hour)
		f.want(inv.ID, "BTC", sold)
		if accepted, _ := f.exchange.Orders(); accepted != 1 {
			t.Errorf("the exchange accepted %d orders, want 1", accepted)
		}
	})
}

// The operator states wrongly that the exchange never accepted an order. The statement has no effect
// if the exchange lists the order.
func TestResolver_order_that_is_declared_absent_but_found(t *testing.T) {
	onEach(t, func(t *testing.T, f *fixture) {
		f.exchange.AddFaults(f.placeCall(), exchangetest.DropAfter)
		inv := f.createPaid()
		f.step()
		f.exchange.HideOrders(true)
		f.settle(30 * time.Minute)
		f.want(inv.ID, "BTC", "failed uncertain sold 0 of 0.00065379 for 0 fee 0 in 1")
		f.exchange.HideOrders(false)
		if _, err := f.resolver().Retry(t.Context(), inv.ID, "BTC", true); err != nil {
			t.Fatal(err)
		}
		f.settle(time.Hour)
		f.want(inv.ID, "BTC", strings.Replace(sold, "in 1", "in 2", 1))
		if accepted, _ := f.exchange.Orders(); accepted != 1 {
			t.Errorf("the exchange accepted %d orders, want 1", accepted)
		}
	})
}

// copy closes the database, returns its content, and opens it again.
func (f *fixture) copy() []byte {
	f.t.Helper()
	if err := f.storage.Close(); err != nil {
		f.t.Fatal(err)
	}
	old, err := os.ReadFile(strings.TrimPrefix(f.url, "sqlite:"))
	if err != nil {
		f.t.Fatal(err)
	}
	f.open()
	return old
}

// restore replaces the content of the database with a copy.
func (f *fixture) restore(old []byte) {
	f.t.Helper()
	if err := f.storage.Close(); err != nil {
		f.t.Fatal(err)
	}
	path := strings.TrimPrefix(f.url, "sqlite:")
	for _, suffix := range []string{"-wal", "-shm"} {
		_ = os.Remove(path + suffix)
	}
	if err := os.WriteFile(path, old, 0o600); err != nil {
		f.t.Fatal(err)
	}
	f.open()
}

// Several processes that share one database and one exchange account sell each coin once.
func TestWorker_several_processes_sell_once(t *testing.T) {
	t.Parallel()
	for engine, newURL := range map[string]func(testing.TB) string{"sqlite": storagetest.File, "postgres": storagetest.Postgres} {
		for _, name := range []string{"kraken", "bitstamp"} {
			t.Run(engine+" "+name, func(t *testing.T) {
				t.Parallel()
				f := newFixture(t, newURL(t), clocktest.New(time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)), name)
				var ids []string
				for range 12 {
					ids = append(ids, f.createPaid().ID)
				}
				workers := []*sale.Worker{f.worker}
				for range 3 {
					f.open()
					workers = append(workers, f.worker)
				}
				var group sync.WaitGroup
				for _, w := range workers {
					group.Go(func() {
						for idle := 0; idle < 50; {
							done, err := w.Step(context.Background())
							if err != nil {
								t.Errorf("step: %v", err)
								return
							}
							if done == 0 {
								idle++
							} else {
								idle = 0
							}
						}
					})
				}
				group.Wait()
				f.step()
				for _, id := range ids {
					if got := describe(f.sale(id, "BTC")); got != sold {
						t.Errorf("got %s", got)
					}
				}
				f.checkNotOversold(ids...)
				if accepted, filled := f.exchange.Orders(); accepted != len(ids) || filled != len(ids) {
					t.Errorf("the exchange accepted %d orders, and %d sold something", accepted, filled)
				}
			})
		}
	}
}

// Random faults occur, and the program is killed at random steps. After the faults end, every sale
// is sold or left to the operator.
func TestWorker_never_sells_more_than_was_paid(t *testing.T) {
	t.Parallel()
	runs := uint64(40)
	if testing.Short() {
		runs = 10
	}
	for _, name := range []string{"kraken", "bitstamp"} {
		for seed := range runs {
			t.Run(fmt.Sprint(name, " with seed ", seed), func(t *testing.T) {
				t.Parallel()
				url := storagetest.File(t)
				synctest.Test(t, func(t *testing.T) {
					runRandomFaults(t, newFixture(t, url, bubble{}, name), rand.New(rand.NewPCG(seed, 7)))
				})
			})
		}
	}
}

// runRandomFaults sells the coins of three invoices under random faults, and checks the final states.
func runRandomFaults(t *testing.T, f *fixture, random *rand.Rand) {
	kinds := []exchangetest.Fault{
		exchangetest.Hang, exchangetest.HangAfter, exchangetest.Drop, exchangetest.DropAfter, exchangetest.Status(500), exchangetest.StatusAfter(502),
		exchangetest.Oversize, exchangetest.Redirect, exchangetest.ProcessAndRespond(200, "{}"), exchangetest.Respond(200, `{"error":["EAPI:Rate limit exceeded"],"status":"error","response_code":"400.002"}`),
		exchangetest.Respond(200, `{"error":["EAPI:Invalid nonce"],"status":"error","reason":"Invalid nonce","code":"API0004"}`), exchangetest.Upgrade,
	}
	calls := []string{"AddOrder", "sell/btceur", "sell/etheur", "QueryOrders", "OpenOrders", "ClosedOrders", "order_status", "BalanceEx", "account_balances", "AssetPairs", "markets", "Ticker"}
	var ids, txs []string
	for range 3 {
		inv := f.create("156.50")
		ids = append(ids, inv.ID)
		txs = append(txs, f.pay(inv, "BTC", "0.0009"), f.pay(inv, "ETH", "0.05"))
	}
	removed := map[string]bool{} // by a reorganisation
	for range 40 {
		switch random.IntN(8) {
		case 0, 1, 2:
			call := calls[random.IntN(len(calls))]
			if random.IntN(2) == 0 {
				call = calls[random.IntN(3)]
			}
			delay := time.Duration(random.IntN(400)) * time.Second
			delayed := exchangetest.RunBefore(func() { time.Sleep(delay) })
			f.exchange.AddFaults(call, append(kinds, delayed)[random.IntN(len(kinds)+1)])
		case 3:
			f.exchange.SetFill([]string{"1", "0.5", "0.3", "0"}[random.IntN(4)])
		case 4:
			f.exchange.SetBid("BTC", []string{"86420", "80000", "90000"}[random.IntN(3)])
		case 5:
			f.exchange.SetStatus([]string{"online", "cancel_only"}[random.IntN(2)])
		case 6:
			tx := txs[random.IntN(len(txs))]
			removed[tx] = !removed[tx]
			f.reorganise(tx, removed[tx])
		}
		f.runUntilKilled(random.IntN(60)) // 0 and steps that are not reached kill nothing
		f.clock.Advance(time.Duration(random.IntN(200)) * time.Second)
		f.checkNotOversold(ids...)
	}
	f.exchange.ClearFaults()
	f.exchange.SetFill("1")
	f.exchange.SetBid("BTC", "86420")
	f.exchange.SetStatus("online")
	for tx, isRemoved := range removed {
		if isRemoved {
			f.reorganise(tx, false)
		}
	}
	f.settle(24 * time.Hour)
	f.checkNotOversold(ids...)
	for _, id := range ids {
		for _, c := range f.read(id).Sales {
			complete := c.State == invoice.SaleFilled || c.State == invoice.SaleFailed
			tooSmall := c.Rate.Value(c.Remaining()).Cmp(big.NewRat(11, 1)) < 0 // the smallest sale of Bitstamp is 10 euro
			if !complete || c.State == invoice.SaleFilled && !tooSmall {
				t.Errorf("final state: %s", describe(&c))
			}
			if c.State == invoice.SaleFailed {
				t.Logf("left to the operator: %s", describe(&c))
			}
		}
	}
}

// stalled wraps the invoices of a program that pauses once before a write.
type stalled struct {
	sale.Invoices
	once sync.Once
}

func (s *stalled) UpdateSales(ctx context.Context, id string, decide func(*invoice.Invoice) ([]invoice.EventType, error)) (*invoice.Invoice, error) {
	s.once.Do(func() { time.Sleep(5 * time.Minute) })
	return s.Invoices.UpdateSales(context.WithoutCancel(ctx), id, decide)
}

// A program pauses until its claim has expired. It sells no coins that another program sold, or tried
// to sell, during the pause.
func TestWorker_that_stalls_sells_nothing_twice(t *testing.T) {
	onEach(t, func(t *testing.T, f *fixture) {
		for _, duringStall := range []func(){func() {}, func() { f.exchange.SetBid("BTC", "1") }} {
			inv := f.createPaid()
			stalledWorker, done := f.newWorker(f.storage, &stalled{Invoices: f.invoices}), make(chan error, 1)
			go func() {
				_, err := stalledWorker.Step(context.Background())
				done <- err
			}()
			f.clock.Advance(2 * time.Minute)
			duringStall()
			f.step()
			before := describe(f.sale(inv.ID, "BTC"))
			if err := <-done; err != nil {
				t.Errorf("the stalled worker: %v", err)
			}
			if after := describe(f.sale(inv.ID, "BTC")); after != before {
				t.Errorf("sale changed from %s to %s", before, after)
			}
		}
		if accepted, _ := f.exchange.Orders(); accepted != 1 {
			t.Errorf("the exchange accepted %d orders, want 1", accepted)
		}
	})
}
