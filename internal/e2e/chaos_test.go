package e2e_test

import (
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
	t       *testing.T
	random  *rand.Rand
	coin    coin
	node    *bitcointest.Node
	process *process
	up      bool
	shop    shop
	orders  []string          // identifiers of invoices
	scripts map[string]string // by invoice
	due     map[string]string // by invoice
	did     []string
}

// TestChaos_of_coins pays, replaces, double spends, mines, reorganises and kills at random. At the end each
// invoice must have exactly the payments of the best chain.
func TestChaos_of_coins(t *testing.T) {
	for _, c := range coins {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			random := newRandom(t)
			n := c.start(t)
			p, key := shopOn(t, c, n)
			x := &chaos{
				t: t, random: random, coin: c, node: n, process: p, up: true, shop: newShop(t, p.url, key),
				scripts: map[string]string{}, due: map[string]string{},
			}
			defer func() {
				if t.Failed() {
					t.Logf("actions: %v", x.did)
				}
			}()
			for range 4 {
				x.createInvoice()
			}
			for end := time.Now().Add(chaosDuration); time.Now().Before(end) && n.Tip(t).Height < 400; {
				x.act()
			}
			x.settle()
			x.compare()
		})
	}
}

func (x *chaos) createInvoice() {
	id := x.shop.createInvoice()
	m := x.shop.invoice(id).PaymentMethods[0]
	_, script, err := keys.ParseAddress(m.Address, x.coin.kind, keys.Regtest)
	if err != nil {
		x.t.Fatal(err)
	}
	x.orders = append(x.orders, id)
	x.scripts[id], x.due[id] = script, m.ExpectedAmount
}

// part returns an output that pays a random invoice some percent of its price.
func (x *chaos) part(percent int64) chaintest.Output {
	id, currency := x.orders[x.random.IntN(len(x.orders))], x.node.Asset().Currency
	units := money.MustParse(x.due[id], currency).Minor()
	units.Div(units.Mul(units, big.NewInt(percent)), big.NewInt(100))
	return chaintest.Output{Script: x.scripts[id], Amount: money.FromMinor(units, currency)}
}

func (x *chaos) elsewhere() chaintest.Output {
	return chaintest.Output{Script: x.node.NewScript(x.t), Amount: money.MustParse("0.001", x.node.Asset().Currency)}
}

// single returns the transaction in the mempool if there is exactly one, so that no other spends it.
func (x *chaos) single() (tx string, alone bool) {
	waiting := x.node.Waiting(x.t)
	if len(waiting) != 1 {
		return "", false
	}
	return waiting[0], true
}

// act performs one random action.
func (x *chaos) act() {
	t, n, random := x.t, x.node, x.random
	action := random.IntN(17)
	x.did = append(x.did, fmt.Sprintf("%d@%d", action, n.Tip(t).Height))
	switch action {
	case 0, 1:
		n.Send(t, x.part([]int64{100, 40, 50, 100, 120}[random.IntN(5)]))
	case 2:
		n.Send(t, x.part(30), x.elsewhere(), x.part(70))
	case 3:
		n.Send(t, x.part(100), x.part(50))
	case 4: // spends an unconfirmed output
		tx := n.Send(t, chaintest.Output{Script: n.NewScript(t), Amount: money.MustParse("0.5", n.Asset().Currency)})
		n.Spend(t, tx+":0", x.part(100))
	case 5:
		if tx, alone := x.single(); alone {
			n.Replace(t, tx, x.part(100))
		}
	case 6:
		if tx, alone := x.single(); alone {
			n.Replace(t, tx, x.elsewhere())
		}
	case 7:
		if tx, alone := x.single(); alone {
			n.Mine(t, n.Conflict(t, tx, x.elsewhere()))
		}
	case 8:
		if tx, alone := x.single(); alone {
			n.Mine(t, n.Conflict(t, tx, x.part(50)))
		}
	case 9, 10:
		n.MineBlocks(t, 1+random.IntN(3))
	case 11, 12:
		x.mine()
	case 13:
		if depth := []int{1, 1, 2, 6, 20}[random.IntN(5)]; n.Tip(t).Height > 110+int64(depth) {
			n.Fork(t, depth)
		}
	case 14:
		if x.up {
			x.process.kill()
			x.up = false
		}
	case 15:
		if !x.up {
			x.process.serve()
			x.up = true
		} else if h, _ := x.process.health(); h.Reached && random.IntN(3) == 0 { // before its first scan, a program that was down for long offers nothing
			x.createInvoice()
		}
	case 16: // the program gets time to scan
		time.Sleep(time.Duration(random.IntN(1500)) * time.Millisecond)
	}
}

// mine puts every transaction of the mempool into a block, parents first.
func (x *chaos) mine() {
	waiting := x.node.Waiting(x.t)
	var order []string
	var visit func(tx string)
	visit = func(tx string) {
		if !slices.Contains(waiting, tx) || slices.Contains(order, tx) {
			return
		}
		var spent struct{ Vin []struct{ TxID string } }
		x.node.Call(x.t, &spent, "getrawtransaction", tx, 1)
		for _, in := range spent.Vin {
			visit(in.TxID)
		}
		order = append(order, tx)
	}
	for _, tx := range waiting {
		visit(tx)
	}
	if len(order) > 0 {
		x.node.Mine(x.t, order...)
	}
}

// settle mines the mempool so deep that it is final, and waits until the program has scanned it.
func (x *chaos) settle() {
	if !x.up {
		x.process.serve()
	}
	x.mine()
	x.node.MineBlocks(x.t, 13)
	tip := x.node.Tip(x.t).Height
	until(x.t, 2*waitTimeout, "all is scanned", func() bool { h, _ := x.process.health(); return h.Tip == tip })
}

// onChain returns the payments of the best chain to each invoice, by output.
func (x *chaos) onChain() map[string]map[string]*big.Int {
	invoices, found := map[string]string{}, map[string]map[string]*big.Int{}
	for id, script := range x.scripts {
		invoices[script], found[id] = id, map[string]*big.Int{}
	}
	for height := range x.node.Tip(x.t).Height + 1 {
		var hash string
		var block struct{ Tx []string }
		x.node.Call(x.t, &hash, "getblockhash", height)
		x.node.Call(x.t, &block, "getblock", hash, 1)
		for _, id := range block.Tx[1:] {
			var tx struct {
				Vout []struct {
					Value        float64
					N            int
					ScriptPubKey struct{ Hex string }
				}
			}
			x.node.Call(x.t, &tx, "getrawtransaction", id, 1)
			for _, out := range tx.Vout {
				if invoice, known := invoices[out.ScriptPubKey.Hex]; known {
					found[invoice][fmt.Sprintf("%s:%d", id, out.N)] = big.NewInt(int64(out.Value*1e8 + 0.5))
				}
			}
		}
	}
	return found
}

// compare fails if an invoice has other payments than the best chain.
func (x *chaos) compare() {
	chain, transfers := x.onChain(), 0
	for _, id := range x.orders {
		want, due := chain[id], money.MustParse(x.due[id], x.node.Asset().Currency).Minor()
		transfers += len(want)
		sum := new(big.Int)
		for _, units := range want {
			sum.Add(sum, units)
		}
		checkInvoice(x.t, x.shop, id, want, sum.Cmp(due) >= 0)
	}
	x.t.Logf("%d actions, %d transfers to %d invoices", len(x.did), transfers, len(x.orders))
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
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
}
