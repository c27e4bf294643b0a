package convert_test

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
	"chequer/internal/convert"
	"chequer/internal/exchange/exchangetest"
	"chequer/internal/invoice"
	"chequer/internal/storage/storagetest"
)

// errKilled is what a program hears that is not there any more: nothing.
var errKilled = errors.New("killed")

// mortal is a program between storage and exchange that dies at one of its steps:
// before or after something is written, before or after a call is processed.
type mortal struct {
	storage  convert.Storage
	invoices convert.Invoices

	mu    sync.Mutex
	steps int // so far
	dies  int // at this one; 0 = never
	dead  bool
}

// step counts, and tells whether the program is still there.
func (m *mortal) step() (alive bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.steps++; m.steps == m.dies {
		m.dead = true
	}
	return !m.dead
}

// write does something that lasts, unless the program dies before it.
func write[T any](m *mortal, do func() (T, error)) (T, error) {
	var nothing T
	if !m.step() {
		return nothing, errKilled
	}
	done, err := do()
	if !m.step() {
		return nothing, errKilled
	}
	return done, err
}

func (m *mortal) ClaimConversion(ctx context.Context, now, until time.Time) (convert.Claim, error) {
	return write(m, func() (convert.Claim, error) { return m.storage.ClaimConversion(ctx, now, until) })
}

func (m *mortal) ReleaseConversion(ctx context.Context, c convert.Claim) error {
	_, err := write(m, func() (struct{}, error) { return struct{}{}, m.storage.ReleaseConversion(ctx, c) })
	return err
}

func (m *mortal) Invoice(ctx context.Context, id string) (*invoice.Invoice, error) {
	return write(m, func() (*invoice.Invoice, error) { return m.invoices.Invoice(ctx, id) })
}

func (m *mortal) Convert(ctx context.Context, id string, decide func(*invoice.Invoice) ([]invoice.EventType, error)) (*invoice.Invoice, error) {
	return write(m, func() (*invoice.Invoice, error) { return m.invoices.Convert(ctx, id, decide) })
}

// live runs a program until it dies or nothing is due, and tells how many steps that
// took.
func (l *lab) live(dies int) (steps int) {
	m := &mortal{storage: l.storage, invoices: l.invoices, dies: dies}
	l.exchange.Watch(func(string, bool) { m.step() })
	defer l.exchange.Watch(nil)
	w := l.newWorker(m, m)
	for {
		done, err := w.Step(context.Background())
		if done == 0 || err != nil {
			return m.steps
		}
	}
}

// TestKilledAtEveryStep kills the program at each of its steps in turn: before and
// after everything that it writes, and before and after the exchange has done what it
// was called for. The next program sells what is to be sold, once.
func TestKilledAtEveryStep(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"kraken", "bitstamp"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run := func(dies int) (steps int) {
				url := storagetest.File(t)
				synctest.Test(t, func(t *testing.T) {
					l := newLab(t, url, bubble{}, name)
					inv := l.paid()
					steps = l.live(dies)
					before := stands(l.conversion(inv.ID, "BTC"))
					l.open() // the next one
					l.settle(30 * time.Minute)
					c := l.conversion(inv.ID, "BTC")
					if s := c.Sold().Sold; c.State != invoice.ConversionFilled || s.String() != "0.00065379" {
						t.Errorf("killed at step %d when it was %s: got %s", dies, before, stands(c))
					}
					if _, filled := l.exchange.Orders(); filled != 1 {
						t.Errorf("killed at step %d: %d orders sold something", dies, filled)
					}
					l.never(inv.ID)
					if types, _ := l.events(inv.ID); len(types) != 1 || types[0] != invoice.EventConvertFilled {
						t.Errorf("killed at step %d: events %v", dies, types)
					}
				})
				return steps
			}
			steps := run(0)
			if steps < 20 {
				t.Fatalf("there are %d steps only", steps)
			}
			every := 1
			if testing.Short() {
				every = 3
			}
			for dies := 1; dies <= steps; dies += every {
				run(dies)
			}
			t.Logf("killed at %d of %d steps", (steps+every-1)/every, steps)
		})
	}
}

// A database that was put back from a copy does not know of the sale that was made
// since: the exchange does.
func TestADatabaseThatWasPutBackSellsNothingTwice(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"kraken", "bitstamp"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := storagetest.File(t)
			synctest.Test(t, func(t *testing.T) {
				l := newLab(t, url, bubble{}, name)
				inv := l.paid()
				part := l.create("500")
				l.pay(part, "BTC", "0.00578570")
				old := l.copy()
				l.exchange.Fill("0.5")
				l.settle(time.Minute)
				l.never(inv.ID, part.ID)
				l.putBack(old)
				l.exchange.Fill("1")
				l.settle(time.Hour)
				for _, id := range []string{inv.ID, part.ID} {
					c := l.conversion(id, "BTC")
					if c.State != invoice.ConversionFilled || len(c.Orders) < 2 {
						t.Errorf("got %s", stands(c))
					}
				}
				l.never(inv.ID, part.ID)
			})
		})
	}
}

// What was sold since a copy is found whatever came before it: an order that the
// exchange never took leaves no gap in the names that it knows, and money that the copy
// has not seen yet was sold before the copy sees it.
func TestADatabaseThatWasPutBackFindsWhatWasSoldAfterARefusal(t *testing.T) {
	t.Parallel()
	refused := map[string]exchangetest.Fault{
		"kraken":   exchangetest.Say(200, `{"error":["EOrder:Insufficient funds"]}`),
		"bitstamp": exchangetest.Say(400, `{"status":"error","reason":{"__all__":["Check your account balance for details."]}}`),
	}
	for name, fault := range refused {
		for after, fault := range map[string]exchangetest.Fault{"refusal": fault, "loss": exchangetest.Drop} {
			t.Run(name+" "+after, func(t *testing.T) {
				t.Parallel()
				url := storagetest.File(t)
				synctest.Test(t, func(t *testing.T) {
					l := newLab(t, url, bubble{}, name)
					inv := l.paid()
					old := l.copy()
					l.exchange.Next(l.place(), fault)
					l.settle(30 * time.Minute)
					l.want(inv.ID, "BTC", strings.Replace(sold, "in 1", "in 2", 1))
					l.putBack(old)
					l.settle(time.Hour)
					l.want(inv.ID, "BTC", sold)
					if taken, _ := l.exchange.Orders(); taken != 1 {
						t.Errorf("the exchange took %d orders", taken)
					}
				})
			})
		}
	}
}

// A copy from before the payment sees it anew, long after it was sold, and the exchange
// lists by time alone.
func TestADatabaseThatWasPutBackFindsWhatWasSoldBeforeItWasPaid(t *testing.T) {
	t.Parallel()
	url := storagetest.File(t)
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, url, bubble{}, "kraken")
		l.exchange.Unfiltered()
		inv := l.create("56.50")
		old := l.copy()
		l.pay(inv, "BTC", "0.00065379")
		l.settle(time.Minute)
		l.want(inv.ID, "BTC", sold)
		l.clock.Pass(3 * time.Hour)
		l.putBack(old)
		l.scan()
		l.settle(time.Hour)
		l.want(inv.ID, "BTC", sold)
		if taken, _ := l.exchange.Orders(); taken != 1 {
			t.Errorf("the exchange took %d orders", taken)
		}
	})
}

// A person who says wrongly that an order was never there is not believed once the
// exchange lists it.
func TestAnOrderThatShowsUpAfterAPersonSaidItWasNeverThere(t *testing.T) {
	onEach(t, func(t *testing.T, l *lab) {
		l.exchange.Next(l.place(), exchangetest.DropAfter)
		inv := l.paid()
		l.step()
		l.exchange.Hide(true)
		l.settle(30 * time.Minute)
		l.want(inv.ID, "BTC", "failed uncertain sold 0 of 0.00065379 for 0 fee 0 in 1")
		l.exchange.Hide(false)
		if _, err := l.desk().Retry(t.Context(), inv.ID, "BTC", true); err != nil {
			t.Fatal(err)
		}
		l.settle(time.Hour)
		l.want(inv.ID, "BTC", strings.Replace(sold, "in 1", "in 2", 1))
		if taken, _ := l.exchange.Orders(); taken != 1 {
			t.Errorf("the exchange took %d orders", taken)
		}
	})
}

// copy closes the database, tells what is in it, and opens it again.
func (l *lab) copy() []byte {
	l.t.Helper()
	if err := l.storage.Close(); err != nil {
		l.t.Fatal(err)
	}
	old, err := os.ReadFile(strings.TrimPrefix(l.url, "sqlite:"))
	if err != nil {
		l.t.Fatal(err)
	}
	l.open()
	return old
}

// putBack puts a copy in the place of the database.
func (l *lab) putBack(old []byte) {
	l.t.Helper()
	if err := l.storage.Close(); err != nil {
		l.t.Fatal(err)
	}
	path := strings.TrimPrefix(l.url, "sqlite:")
	for _, more := range []string{"-wal", "-shm"} {
		_ = os.Remove(path + more)
	}
	if err := os.WriteFile(path, old, 0o600); err != nil {
		l.t.Fatal(err)
	}
	l.open()
}

// TestManyProcessesSellOnce has several processes at one database and one account.
func TestManyProcessesSellOnce(t *testing.T) {
	t.Parallel()
	for engine, fresh := range map[string]func(testing.TB) string{"sqlite": storagetest.File, "postgres": storagetest.Postgres} {
		for _, name := range []string{"kraken", "bitstamp"} {
			t.Run(engine+" "+name, func(t *testing.T) {
				t.Parallel()
				l := newLab(t, fresh(t), clocktest.At(time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)), name)
				var ids []string
				for range 12 {
					ids = append(ids, l.paid().ID)
				}
				workers := []*convert.Worker{l.worker}
				for range 3 {
					l.open()
					workers = append(workers, l.worker)
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
				l.step()
				for _, id := range ids {
					if got := stands(l.conversion(id, "BTC")); got != sold {
						t.Errorf("got %s", got)
					}
				}
				l.never(ids...)
				if taken, filled := l.exchange.Orders(); taken != len(ids) || filled != len(ids) {
					t.Errorf("the exchange took %d orders, and %d sold something", taken, filled)
				}
			})
		}
	}
}

// TestWhateverHappensNoMoreIsSoldThanCameIn has everything go wrong by chance, and the
// program die now and then. When all is well again, everything is sold or a person
// knows.
func TestWhateverHappensNoMoreIsSoldThanCameIn(t *testing.T) {
	t.Parallel()
	runs := uint64(40)
	if testing.Short() {
		runs = 10
	}
	for _, name := range []string{"kraken", "bitstamp"} {
		for seed := range runs {
			t.Run(fmt.Sprint(name, " ", seed), func(t *testing.T) {
				t.Parallel()
				url := storagetest.File(t)
				synctest.Test(t, func(t *testing.T) { chance(t, newLab(t, url, bubble{}, name), rand.New(rand.NewPCG(seed, 7))) })
			})
		}
	}
}

func chance(t *testing.T, l *lab, r *rand.Rand) {
	kinds := []exchangetest.Fault{
		exchangetest.Hang, exchangetest.HangAfter, exchangetest.Drop, exchangetest.DropAfter, exchangetest.Status(500), exchangetest.StatusAfter(502),
		exchangetest.Giant, exchangetest.Redirect, exchangetest.SayAfter(200, "{}"), exchangetest.Say(200, `{"error":["EAPI:Rate limit exceeded"],"status":"error","response_code":"400.002"}`),
		exchangetest.Say(200, `{"error":["EAPI:Invalid nonce"],"status":"error","reason":"Invalid nonce","code":"API0004"}`), exchangetest.Upgrade,
	}
	calls := []string{"AddOrder", "sell/btceur", "sell/etheur", "QueryOrders", "OpenOrders", "ClosedOrders", "order_status", "BalanceEx", "account_balances", "AssetPairs", "markets", "Ticker"}
	var ids, txs []string
	for range 3 {
		inv := l.create("156.50")
		ids = append(ids, inv.ID)
		txs = append(txs, l.pay(inv, "BTC", "0.0009"), l.pay(inv, "ETH", "0.05"))
	}
	gone := map[string]bool{}
	for range 40 {
		switch r.IntN(8) {
		case 0, 1, 2:
			call := calls[r.IntN(len(calls))]
			if r.IntN(2) == 0 {
				call = calls[r.IntN(3)]
			}
			late := time.Duration(r.IntN(400)) * time.Second
			meet := exchangetest.Meet(func() { time.Sleep(late) })
			l.exchange.Next(call, append(kinds, meet)[r.IntN(len(kinds)+1)])
		case 3:
			l.exchange.Fill([]string{"1", "0.5", "0.3", "0"}[r.IntN(4)])
		case 4:
			l.exchange.Bid("BTC", []string{"86420", "80000", "90000"}[r.IntN(3)])
		case 5:
			l.exchange.Status([]string{"online", "cancel_only"}[r.IntN(2)])
		case 6:
			tx := txs[r.IntN(len(txs))]
			gone[tx] = !gone[tx]
			l.reorganise(tx, gone[tx])
		}
		l.live(r.IntN(60)) // it may die
		l.clock.Pass(time.Duration(r.IntN(200)) * time.Second)
		l.never(ids...)
	}
	l.exchange.Behave()
	l.exchange.Fill("1")
	l.exchange.Bid("BTC", "86420")
	l.exchange.Status("online")
	for tx, away := range gone {
		if away {
			l.reorganise(tx, false)
		}
	}
	l.settle(24 * time.Hour)
	l.never(ids...)
	for _, id := range ids {
		for _, c := range l.read(id).Conversions {
			complete := c.State == invoice.ConversionFilled || c.State == invoice.ConversionFailed
			tooSmall := c.Rate.Value(c.Rest()).Cmp(big.NewRat(11, 1)) < 0 // for Bitstamp
			if !complete || c.State == invoice.ConversionFilled && !tooSmall {
				t.Errorf("in the end: %s", stands(&c))
			}
			if c.State == invoice.ConversionFailed {
				t.Logf("for a person: %s", stands(&c))
			}
		}
	}
}

// stalled is a program that stands still for a while before it writes something.
type stalled struct {
	convert.Invoices
	once sync.Once
}

func (s *stalled) Convert(ctx context.Context, id string, decide func(*invoice.Invoice) ([]invoice.EventType, error)) (*invoice.Invoice, error) {
	s.once.Do(func() { time.Sleep(5 * time.Minute) })
	return s.Invoices.Convert(context.WithoutCancel(ctx), id, decide)
}

// A program that stands still until its claim ran out sells nothing that another one
// sold, or tried to sell, meanwhile.
func TestAProcessThatStallsSellsNothingTwice(t *testing.T) {
	onEach(t, func(t *testing.T, l *lab) {
		for _, meanwhile := range []func(){func() {}, func() { l.exchange.Bid("BTC", "1") }} {
			inv := l.paid()
			slow, done := l.newWorker(l.storage, &stalled{Invoices: l.invoices}), make(chan error, 1)
			go func() {
				_, err := slow.Step(context.Background())
				done <- err
			}()
			l.clock.Pass(2 * time.Minute)
			meanwhile()
			l.step()
			before := stands(l.conversion(inv.ID, "BTC"))
			if err := <-done; err != nil {
				t.Errorf("the slow one: %v", err)
			}
			if after := stands(l.conversion(inv.ID, "BTC")); after != before {
				t.Errorf("it was %s, and is %s", before, after)
			}
		}
		if taken, _ := l.exchange.Orders(); taken != 1 {
			t.Errorf("the exchange took %d orders", taken)
		}
	})
}
