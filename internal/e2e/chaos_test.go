package e2e_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"chequer/internal/api"
	"chequer/internal/chain/bitcoin/bitcointest"
	"chequer/internal/chain/chaintest"
	"chequer/internal/keys"
	"chequer/internal/money"
)

// newRandom returns the random source of a test that runs in make nightly only. E2E_SEED repeats a
// run.
func newRandom(t *testing.T) *rand.Rand {
	t.Helper()
	if os.Getenv("E2E_NIGHTLY") == "" {
		t.Skip("runs nightly")
	}
	seed := uint64(time.Now().UnixNano())
	if text := os.Getenv("E2E_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("E2E_SEED=%d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// chaosDuration is the duration of the random actions.
const chaosDuration = 80 * time.Second

// chaos is a program that is killed at random times, and a node with random events around the
// payments of its invoices.
type chaos struct {
	t        *testing.T
	random   *rand.Rand
	coin     coin
	node     *bitcointest.Node
	process  *process
	running  bool
	shop     shop
	invoices []string          // identifiers of invoices
	scripts  map[string]string // by invoice
	due      map[string]string // by invoice
	actions  []string
}

// TestChaos_of_coins pays, replaces, double spends, mines, reorganises and kills at random. At the end each
// invoice must have exactly the payments of the best chain.
func TestChaos_of_coins(t *testing.T) {
	for _, coin := range coins {
		t.Run(coin.name, func(t *testing.T) {
			t.Parallel()
			random := newRandom(t)
			node := coin.start(t)
			process, key := startShop(t, coin, node)
			run := &chaos{
				t: t, random: random, coin: coin, node: node, process: process, running: true, shop: newShop(t, process.url, key),
				scripts: map[string]string{}, due: map[string]string{},
			}
			defer func() {
				if t.Failed() {
					t.Logf("actions: %v", run.actions)
				}
			}()
			for range 4 {
				run.createInvoice()
			}
			for end := time.Now().Add(chaosDuration); time.Now().Before(end) && node.Tip(t).Height < 400; {
				run.actRandomly()
			}
			run.settle()
			run.checkPayments()
		})
	}
}

func (c *chaos) createInvoice() {
	id := c.shop.createInvoice()
	m := c.shop.invoice(id).PaymentMethods[0]
	_, script, err := keys.ParseAddress(m.Address, c.coin.kind, keys.Regtest)
	if err != nil {
		c.t.Fatal(err)
	}
	c.invoices = append(c.invoices, id)
	c.scripts[id], c.due[id] = script, m.ExpectedAmount
}

// payment returns an output that pays a random invoice some percent of its price.
func (c *chaos) payment(percent int64) chaintest.Output {
	id, currency := c.invoices[c.random.IntN(len(c.invoices))], c.node.Asset().Currency
	units := money.MustParse(c.due[id], currency).Minor()
	units.Div(units.Mul(units, big.NewInt(percent)), big.NewInt(100))
	return chaintest.Output{Script: c.scripts[id], Amount: money.FromMinor(units, currency)}
}

// unrelatedOutput returns an output that pays no invoice.
func (c *chaos) unrelatedOutput() chaintest.Output {
	return chaintest.Output{Script: c.node.NewScript(c.t), Amount: money.MustParse("0.001", c.node.Asset().Currency)}
}

// onlyPending returns the transaction in the mempool if there is exactly one, so that no other spends it.
func (c *chaos) onlyPending() (tx string, ok bool) {
	waiting := c.node.Waiting(c.t)
	if len(waiting) != 1 {
		return "", false
	}
	return waiting[0], true
}

// actRandomly performs one random action.
func (c *chaos) actRandomly() {
	t, node, random := c.t, c.node, c.random
	action := random.IntN(17)
	c.actions = append(c.actions, fmt.Sprintf("%d@%d", action, node.Tip(t).Height))
	switch action {
	case 0, 1:
		node.Send(t, c.payment([]int64{100, 40, 50, 100, 120}[random.IntN(5)]))
	case 2:
		node.Send(t, c.payment(30), c.unrelatedOutput(), c.payment(70))
	case 3:
		node.Send(t, c.payment(100), c.payment(50))
	case 4: // spends an unconfirmed output
		tx := node.Send(t, chaintest.Output{Script: node.NewScript(t), Amount: money.MustParse("0.5", node.Asset().Currency)})
		node.Spend(t, tx+":0", c.payment(100))
	case 5:
		if tx, ok := c.onlyPending(); ok {
			node.Replace(t, tx, c.payment(100))
		}
	case 6:
		if tx, ok := c.onlyPending(); ok {
			node.Replace(t, tx, c.unrelatedOutput())
		}
	case 7:
		if tx, ok := c.onlyPending(); ok {
			node.Mine(t, node.Conflict(t, tx, c.unrelatedOutput()))
		}
	case 8:
		if tx, ok := c.onlyPending(); ok {
			node.Mine(t, node.Conflict(t, tx, c.payment(50)))
		}
	case 9, 10:
		node.MineBlocks(t, 1+random.IntN(3))
	case 11, 12:
		c.mine()
	case 13:
		if depth := []int{1, 1, 2, 6, 20}[random.IntN(5)]; node.Tip(t).Height > 110+int64(depth) {
			node.Fork(t, depth)
		}
	case 14:
		if c.running {
			c.process.kill()
			c.running = false
		}
	case 15:
		if !c.running {
			c.process.serve()
			c.running = true
		} else if h, _ := c.process.health(); h.Reached && random.IntN(3) == 0 { // before its first scan, a program that was down for long offers nothing
			c.createInvoice()
		}
	case 16: // the program gets time to scan
		time.Sleep(time.Duration(random.IntN(1500)) * time.Millisecond)
	}
}

// mine puts every transaction of the mempool into a block, parents first.
func (c *chaos) mine() {
	waiting := c.node.Waiting(c.t)
	var order []string
	var visit func(tx string)
	visit = func(tx string) {
		if !slices.Contains(waiting, tx) || slices.Contains(order, tx) {
			return
		}
		var spent struct{ Vin []struct{ TxID string } }
		c.node.Call(c.t, &spent, "getrawtransaction", tx, 1)
		for _, in := range spent.Vin {
			visit(in.TxID)
		}
		order = append(order, tx)
	}
	for _, tx := range waiting {
		visit(tx)
	}
	if len(order) > 0 {
		c.node.Mine(c.t, order...)
	}
}

// settle mines the mempool so deep that it is final, and waits until the program has scanned it.
func (c *chaos) settle() {
	if !c.running {
		c.process.serve()
	}
	c.mine()
	c.node.MineBlocks(c.t, 13)
	tip := c.node.Tip(c.t).Height
	until(c.t, 2*waitTimeout, "all is scanned", func() bool { h, _ := c.process.health(); return h.Tip == tip })
}

// onChain returns the payments of the best chain to each invoice, by output.
func (c *chaos) onChain() map[string]map[string]*big.Int {
	invoices, found := map[string]string{}, map[string]map[string]*big.Int{}
	for id, script := range c.scripts {
		invoices[script], found[id] = id, map[string]*big.Int{}
	}
	for height := range c.node.Tip(c.t).Height + 1 {
		var hash string
		var block struct{ Tx []string }
		c.node.Call(c.t, &hash, "getblockhash", height)
		c.node.Call(c.t, &block, "getblock", hash, 1)
		for _, id := range block.Tx[1:] {
			var tx struct {
				Vout []struct {
					Value        json.Number
					N            int
					ScriptPubKey struct{ Hex string }
				}
			}
			c.node.Call(c.t, &tx, "getrawtransaction", id, 1)
			for _, out := range tx.Vout {
				if invoice, known := invoices[out.ScriptPubKey.Hex]; known {
					found[invoice][fmt.Sprintf("%s:%d", id, out.N)] = satoshis(c.t, out.Value)
				}
			}
		}
	}
	return found
}

// satoshis returns a node's amount of coins in the smallest unit.
func satoshis(t *testing.T, coins json.Number) *big.Int {
	t.Helper()
	units, ok := new(big.Rat).SetString(coins.String())
	if !ok || !units.Mul(units, big.NewRat(1e8, 1)).IsInt() {
		t.Fatalf("%s is not an amount of coins", coins)
	}
	return units.Num()
}

// checkPayments fails if an invoice has other payments than the best chain.
func (c *chaos) checkPayments() {
	chain, transfers := c.onChain(), 0
	for _, id := range c.invoices {
		want, due := chain[id], money.MustParse(c.due[id], c.node.Asset().Currency).Minor()
		transfers += len(want)
		sum := new(big.Int)
		for _, units := range want {
			sum.Add(sum, units)
		}
		checkInvoice(c.t, c.shop, id, want, sum.Cmp(due) >= 0)
	}
	c.t.Logf("%d actions, %d transfers to %d invoices", len(c.actions), transfers, len(c.invoices))
}

// checkInvoice waits until an invoice has exactly the wanted payments, all confirmed, and is paid
// if and only if paid is true.
func checkInvoice(t *testing.T, s shop, id string, want map[string]*big.Int, paid bool) {
	t.Helper()
	var got []string
	var r api.Resource
	for end := time.Now().Add(10 * time.Second); ; {
		r, got = s.invoice(id), nil
		for _, p := range r.Payments {
			if p.State != "replaced" && p.State != "reorged" {
				got = append(got, p.ID+" "+p.State)
			}
		}
		slices.Sort(got)
		var wanted []string
		for _, output := range slices.Sorted(maps.Keys(want)) {
			wanted = append(wanted, output+" confirmed")
		}
		if slices.Equal(got, wanted) && (r.Status == api.StatusPaid) == paid {
			return
		}
		if time.Now().After(end) {
			t.Errorf("invoice %s is %s %v (paid in full: %t) with\n%q, want\n%q", id, r.Status, r.Exceptions, paid, got, wanted)
			for _, p := range r.Payments {
				if p.State == "seen" {
					t.Errorf("payment %s has %d of %d confirmations", p.ID, p.Confirmations, p.Required)
				}
			}
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
}
