package quorum_test

import (
	"context"
	"fmt"
	"iter"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"chequer/internal/chain"
	"chequer/internal/chain/chaintest"
	"chequer/internal/chain/ethereum"
	"chequer/internal/chain/ethereum/quorum"
	"chequer/internal/invoice"
	"chequer/internal/storage"
)

func TestBalances_show_transfers_of_contracts(t *testing.T) {
	t.Parallel()
	fake := newFakeChain(100)
	e := openEther(t, fake, threeNodes(t, fake)...)
	e.step()
	inv, to := e.invoice()
	e.want(inv, "created")
	b := fake.mineBlock(contractPays(to, fortyEuros/2))
	e.want(inv, "pending underpaid", fmt.Sprint("0.01 seen in ", b.height))
	e.mine(3)
	failed := accountPays(to, fortyEuros/2)
	failed.failed = true
	fake.mineBlock(failed) // like a delegatecall or a reverted call: the balance does not change
	plain := fake.mineBlock(accountPays(to, fortyEuros/2))
	e.mine(5)
	by := " by " + plain.transfers[0].tx[:6]
	e.want(inv, "pending", fmt.Sprint("0.01 seen in ", b.height), fmt.Sprint("0.01 seen in ", plain.height, by))
	e.mine(12)
	e.want(inv, "paid", fmt.Sprint("0.01 confirmed in ", b.height), fmt.Sprint("0.01 confirmed in ", plain.height, by))
	fake.mineBlock(accountPays(to, 500_000_000_000_000)) // gas for a sweep of tokens
	e.want(inv, "paid", fmt.Sprint("0.01 confirmed in ", b.height), fmt.Sprint("0.01 confirmed in ", plain.height, by),
		fmt.Sprint("0.0005 dust in ", plain.height+18, " by ", fake.blocks[plain.height+18].transfers[0].tx[:6]))
}

func TestBalances_of_an_account_that_spent_change_nothing(t *testing.T) {
	t.Parallel()
	fake := newFakeChain(100)
	e := openEther(t, fake, threeNodes(t, fake)...)
	e.step()
	inv, to := e.invoice()
	b := fake.mineBlock(contractPays(to, fortyEuros))
	e.mine(12)
	paid := fmt.Sprint("0.02 confirmed in ", b.height)
	e.want(inv, "paid", paid)
	fake.mineBlock(transfer{to: to, units: fortyEuros, spent: true})
	e.want(inv, "paid", paid)
	fake.mineBlock(contractPays(to, 2*fortyEuros))
	e.want(inv, "paid", paid)
}

func TestBalances_follow_a_reorganisation(t *testing.T) {
	t.Parallel()
	fake := newFakeChain(100)
	e := openEther(t, fake, threeNodes(t, fake)...)
	e.step()
	inv, to := e.invoice()
	fake.mineBlock(contractPays(to, fortyEuros/2))
	fake.mineBlock(contractPays(to, fortyEuros/2))
	first := int64(len(fake.blocks)) - 2
	e.want(inv, "pending", fmt.Sprint("0.01 seen in ", first), fmt.Sprint("0.01 seen in ", first+1))
	fake.reorganise(2)
	e.mine(3)
	e.want(inv, "created reorged", "0.01 reorged", "0.01 reorged")
	fake.mineBlock(contractPays(to, fortyEuros)) // in one transfer this time
	e.mine(12)
	e.want(inv, "paid reorged", "0.01 reorged", fmt.Sprint("0.02 confirmed in ", first+3))
}

// The balance from before the invoice never counts, whatever happens to the block in which the
// invoice was created.
func TestBalances_from_before_the_invoice_never_count(t *testing.T) {
	t.Parallel()
	for name, forks := range map[string]bool{"without a fork": false, "after a fork below the birth block": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fake := newFakeChain(100)
			e := openEther(t, fake, threeNodes(t, fake)...)
			_, next, err := e.key.Address(0)
			e.must(err)
			fake.mineBlock(contractPays(next, 3*fortyEuros))
			e.mine(3)
			e.step()
			inv, _ := e.invoice()
			birth := inv.Methods[0].Birth.Height
			e.mine(2)
			if forks {
				e.want(inv, "created old", fmt.Sprint("0.06 old in ", birth))
				fake.reorganise(3)
				e.mine(4)
				e.step()
			}
			now, err := e.service.Invoice(t.Context(), inv.ID)
			e.must(err)
			if forks && now.State.Status != invoice.Created {
				t.Errorf("invoice is %s, want created", now.State.Status)
			}
			e.start()
			b := fake.mineBlock(contractPays(next, fortyEuros))
			e.mine(12)
			e.step()
			now, err = e.service.Invoice(t.Context(), inv.ID)
			e.must(err)
			counted := ""
			for _, p := range now.Payments() {
				if !p.Value.IsZero() {
					counted += fmt.Sprint(p.Amount, " in ", p.Block.Height, ";")
				}
			}
			if want := fmt.Sprint("0.02 in ", b.height, ";"); counted != want || now.State.Status != invoice.Paid || now.State.Has(invoice.Overpaid) {
				t.Errorf("%s %v by %q, want paid by %q", now.State.Status, now.State.Exceptions, counted, want)
			}
		})
	}
}

func TestBalances_without_old_state_need_a_decision_of_the_merchant(t *testing.T) {
	t.Parallel()
	fake := newFakeChain(100)
	e := openEther(t, fake, threeNodes(t, fake)...)
	e.step()
	inv, to := e.invoice() // and the program is killed before it scans
	fake.mineBlock(contractPays(to, fortyEuros))
	e.mine(30)
	for _, n := range e.nodes {
		n.change(func(n *node) { n.keptStates = 10 })
	}
	e.start()
	tip := int64(len(fake.blocks)) - 1
	e.want(inv, "created late", fmt.Sprint("0.02 late in ", tip-9))
	e.mine(12)
	_, err := e.service.Accept(t.Context(), inv.ID, "command", 0)
	e.must(err)
	e.want(inv, "paid", fmt.Sprint("0.02 confirmed in ", tip-9))
}

// Downtime changes nothing for an honest shopper, whether or not old state is available.
func TestBalances_that_rose_during_downtime_count(t *testing.T) {
	t.Parallel()
	for name, keptBlocks := range map[string]int{"with old state": 0, "without old state": 16} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fake := newFakeChain(100)
			e := openEther(t, fake, threeNodes(t, fake)...)
			e.step()
			inv, to := e.invoice()
			e.want(inv, "created")
			e.mine(3)
			b := fake.mineBlock(contractPays(to, fortyEuros))
			for range 40 {
				fake.pass(time.Minute)
				fake.mineBlock()
			}
			for _, n := range e.nodes {
				n.change(func(n *node) { n.keptStates = keptBlocks })
			}
			height := b.height
			e.start()
			if keptBlocks > 0 {
				height = int64(len(fake.blocks) - keptBlocks)
			}
			e.want(inv, "paid", fmt.Sprint("0.02 confirmed in ", height))
		})
	}
}

// A process that died after recording transfers and before saving the cursor starts from the
// recorded transfers: no rise counts twice.
func TestBalances_are_read_again_after_a_failure(t *testing.T) {
	t.Parallel()
	fake := newFakeChain(100)
	nodes := threeNodes(t, fake)
	e := openEther(t, fake, nodes...)
	e.step()
	inv, to := e.invoice()
	e.want(inv, "created")
	b := fake.mineBlock(contractPays(to, fortyEuros/2))
	e.watcher.Storage = cursorLoser{e.store}
	if _, err := e.watcher.Step(t.Context()); err == nil {
		t.Fatal("Step did not fail")
	}
	for _, n := range nodes {
		n.change(func(n *node) { n.keptStates = 1 }) // so that the block of the rise cannot be found any more
	}
	later := fake.mineBlock(contractPays(to, fortyEuros/2))
	e.watcher.Storage = e.store
	e.mine(1)
	e.want(inv, "pending", fmt.Sprint("0.01 seen in ", b.height), fmt.Sprint("0.01 seen in ", later.height+1))
	e.start()
	e.mine(12)
	e.want(inv, "paid", fmt.Sprint("0.01 confirmed in ", b.height), fmt.Sprint("0.01 confirmed in ", later.height+1))
}

// cursorLoser is a storage that loses the cursor.
type cursorLoser struct{ *storage.Storage }

func (cursorLoser) SaveProgress(_ context.Context, _ invoice.Lease, _ invoice.Progress) error {
	return fmt.Errorf("disk full")
}

func TestBalances_need_two_operators(t *testing.T) {
	t.Parallel()
	fake := newFakeChain(100)
	nodes := threeNodes(t, fake)
	e := openEther(t, fake, nodes...)
	e.step()
	inv, to := e.invoice()
	e.want(inv, "created")
	nodes[2].change(func(n *node) { n.addedBalance = 5 * fortyEuros })
	e.mine(1)
	e.want(inv, "created")
	b := fake.mineBlock(contractPays(to, fortyEuros))
	e.want(inv, "pending", fmt.Sprint("0.02 seen in ", b.height))

	// One endpoint lies and one fails: nothing is concluded, and nothing expires.
	other, _ := e.invoice()
	e.step()
	nodes[1].change(func(n *node) { n.failingMethod = "eth_getBalance" })
	fake.pass(16 * time.Minute)
	e.mine(20)
	e.want(other, "created")
	if _, err := e.watcher.Step(t.Context()); err == nil || !strings.Contains(err.Error(), "do not agree on eth_getBalance") {
		t.Errorf("Step() = %v, want an error for eth_getBalance", err)
	}
	nodes[1].change(func(n *node) { n.failingMethod = "" })
	fake.pass(time.Minute)
	e.mine(1)
	e.want(other, "expired")
	e.want(inv, "paid", fmt.Sprint("0.02 confirmed in ", b.height))
	if r := e.quorum.Reports(); r[0].Denied != "" || r[1].Denied != "" || !strings.Contains(r[2].Denied, "eth_getBalance in block") {
		t.Errorf("reports: %+v, want only the third denied", r)
	}
}

// Only endpoints that are trusted, or all if a setting allows it, are queried by address, and
// nothing else shows the network's native coin.
func TestBalances_decide_whether_the_coin_is_offered(t *testing.T) {
	t.Parallel()
	fake := newFakeChain(100)
	for name, test := range map[string]struct {
		trusted, allowed bool
		want             string
	}{
		"public endpoints":                        {want: "USDC EURC"},
		"public endpoints and allowed by setting": {allowed: true, want: "ETH USDC EURC"},
		"a trusted node":                          {trusted: true, want: "ETH USDC EURC"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			list := endpoints(threeNodes(t, fake)...)
			list[0].Trusted = test.trusted
			s := openShop(t, fake, list, func(c *quorum.Config) { c.AddressQueries = test.allowed })
			var codes []string
			for _, a := range s.scanner.Assets() {
				codes = append(codes, a.Code)
			}
			if got := strings.Join(codes, " "); got != test.want {
				t.Errorf("offered: %s, want %s", got, test.want)
			}
		})
	}
}

// accountWatch watches accounts without recorded transfers.
type accountWatch struct {
	chaintest.Watch
	read   chain.Block
	strays []string
}

// Destination implements chain.Watched.
func (w *accountWatch) Destination(script string) bool {
	return w.Watch[script] || slices.Contains(w.strays, script)
}

func (w *accountWatch) Accounts() iter.Seq[chain.Account] {
	return func(yield func(chain.Account) bool) {
		for script := range w.Watch {
			if !yield(chain.Account{Script: script, Known: true}) {
				return
			}
		}
	}
}

func (w *accountWatch) Read() chain.Block { return w.read }

// Strays implements chain.Accounts.
func (w *accountWatch) Strays() iter.Seq[string] { return slices.Values(w.strays) }

// The balances of many accounts are read only at intervals, and the network counts as scanned
// at the time of the last reading.
func TestBalances_of_many_accounts_are_read_at_intervals(t *testing.T) {
	t.Parallel()
	fake := newFakeChain(100)
	n := newNode(t, fake)
	s := openShop(t, fake, []quorum.Endpoint{{URL: n.URL, Trusted: true}})
	watch := &accountWatch{Watch: chaintest.Watch{}}
	for i := range 1001 {
		watch.Watch[fmt.Sprintf("0x%040x", i+1)] = true
	}
	scan := func() chain.Snapshot {
		t.Helper()
		snapshot, err := s.scanner.Scan(t.Context(), s.from, watch)
		if err != nil {
			t.Fatal(err)
		}
		if snapshot.Read.Hash != "" {
			watch.read = snapshot.Read
		}
		return snapshot
	}
	first := scan()
	requests := len(n.received("eth_getBalance"))
	if requests != 1001 || first.Read.Hash == "" {
		t.Errorf("%d balances read at %+v, want 1001", requests, first.Read)
	}
	fake.mineBlock()
	second := scan()
	if current := len(n.received("eth_getBalance")); current != requests || second.Read.Hash != "" || !second.Started.Equal(first.Started) || second.Tip == first.Tip {
		t.Errorf("%d balances read, started %s at block %d; want none, and the start of the first scan", current-requests, second.Started, second.Tip.Height)
	}
	for range 8 {
		fake.mineBlock()
	}
	third := scan()
	if third.Read != third.Tip || !third.Started.After(first.Started) {
		t.Errorf("read at %+v, started %s; want the tip and a later start", third.Read, third.Started)
	}
	watch.read = first.Read // as if the reading could not be recorded
	fake.mineBlock()
	if s := scan(); s.Read != s.Tip {
		t.Errorf("read at %+v, want the tip, because the last reading was not recorded", s.Read)
	}
}

// BenchmarkBalances measures the cost of 10,000 open addresses on a network with a block every
// 2 seconds: the requests and bytes of one endpoint per block.
func BenchmarkBalances(b *testing.B) {
	for name, trusted := range map[string]bool{"a trusted node": true, "two operators": false} {
		b.Run(name, func(b *testing.B) {
			fake := newFakeChain(100)
			nodes := []*node{newNode(b, fake), newNode(b, fake)}
			list := endpoints(nodes...)
			if trusted {
				list = list[:1]
				list[0].Trusted = true
			}
			q, err := quorum.New(quorum.Config{
				ChainID: chainID, Endpoints: list, AddressQueries: true, Now: fake.Now, Chance: func() float64 { return 0.5 }, Log: slog.New(slog.DiscardHandler),
			})
			if err != nil {
				b.Fatal(err)
			}
			scanner := ethereum.Watch(ethereum.New(params()), q, fake.Now)
			watch := &accountWatch{Watch: chaintest.Watch{}}
			for i := range 10_000 {
				watch.Watch[fmt.Sprintf("0x%040x", i+1)] = true
			}
			blocks, readings := 0, 0
			for b.Loop() {
				fake.mineBlock()
				blocks++
				s, err := scanner.Scan(b.Context(), chain.Cursor{}, watch)
				if err != nil {
					b.Fatal(err)
				}
				if s.Read.Hash != "" {
					watch.read = s.Read
					readings++
				}
			}
			n := nodes[0]
			n.change(func(n *node) {
				b.ReportMetric(float64(len(n.requests))/float64(blocks), "calls/block")
				b.ReportMetric(float64(n.posts)/float64(blocks), "requests/block")
				b.ReportMetric(float64(n.bytes)/float64(blocks), "bytes/block")
				b.ReportMetric(float64(readings)/float64(blocks), "readings/block")
			})
		})
	}
}
