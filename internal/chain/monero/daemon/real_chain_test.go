package daemon_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"chequer/internal/chain"
	"chequer/internal/chain/chaintest"
	network "chequer/internal/chain/monero"
	"chequer/internal/chain/monero/daemon"
	"chequer/internal/chain/monero/monerotest"
	"chequer/internal/keys"
	"chequer/internal/monero"
)

// realChain is a real daemon with wallets, which a Source scans. It implements chaintest.UTXOHarness.
type realChain struct {
	*monerotest.Node
	payer *monerotest.Payer
	// shop is the wallet of the scanned destinations, and key its view key in the stored form.
	shop    *monerotest.Wallet
	wallet  *monero.Wallet
	key     string
	scanner *network.Scanner
	next    *uint32 // index of the next subaddress; copies of a realChain share it
	sent    map[string]sentTx
	indexes map[string]uint32 // of subaddresses, by script
}

// sentTx is a transaction that a wallet made.
type sentTx struct {
	monerotest.Tx
	from *monerotest.Wallet
	coin int64 // subaddress whose outputs it spends
}

var _ chaintest.UTXOHarness = (*realChain)(nil)

// startChain starts a daemon, a shop, and a payer with a number of coins of some units.
func startChain(t testing.TB, coins int, units uint64) *realChain {
	t.Helper()
	n := monerotest.Start(t)
	c := &realChain{Node: n, payer: n.NewPayer(t, coins, units), shop: n.NewWallet(t), next: new(uint32), sent: map[string]sentTx{}, indexes: map[string]uint32{}}
	c.key = "xmr:" + c.shop.Address + ":" + c.shop.ViewKey
	key, err := keys.Load(c.key)
	if err != nil {
		t.Fatal(err)
	}
	c.wallet = key.Monero()
	c.scanner = c.newScanner(t, n.URL)
	return c
}

// newScanner returns the scanner of a new process that reads from a URL.
func (c *realChain) newScanner(t testing.TB, url string) *network.Scanner {
	t.Helper()
	client, err := daemon.New(daemon.Config{Address: parse(t, url), Network: daemon.Fakechain, Setting: "CHEQUER_MONERO_NODE", Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	source := daemon.NewSource(client, func(context.Context) ([]*monero.Wallet, error) { return []*monero.Wallet{c.wallet}, nil }, time.Now)
	return network.Watch(network.New(network.Networks[3]), source, time.Now)
}

func (c *realChain) Network() chain.Scanner { return c.scanner }
func (c *realChain) Asset() chain.Asset     { return c.scanner.Assets()[0] }

// NewScript returns the script of the next subaddress of the shop.
func (c *realChain) NewScript(t testing.TB) string {
	t.Helper()
	*c.next++
	return c.script(t, *c.next)
}

// script returns the script of a subaddress of the shop.
func (c *realChain) script(t testing.TB, index uint32) string {
	t.Helper()
	d, err := c.scanner.NewDestination(chain.Request{Asset: c.Asset(), Key: c.key, Index: index})
	if err != nil {
		t.Fatal(err)
	}
	c.indexes[d.Script] = index
	return d.Script
}

// pay makes a transaction that spends the outputs of a subaddress. Wallets make no outputs of zero, so it leaves them out;
// TestSource_conforms has them.
func (c *realChain) pay(t testing.TB, from *monerotest.Wallet, coin int64, outputs []chaintest.Output) (hash string) {
	t.Helper()
	var to []monerotest.To
	for _, o := range outputs {
		if index, isKnown := c.indexes[o.Script]; !isKnown {
			t.Fatalf("%s is no destination", o.Script)
		} else if !o.Amount.IsZero() {
			to = append(to, monerotest.To{Address: c.wallet.Subaddress(index).String(), Amount: o.Amount.Minor().Uint64()})
		}
	}
	return c.prepare(t, from, coin, 0, to)
}

// prepare makes a transaction with an unlock time.
func (c *realChain) prepare(t testing.TB, from *monerotest.Wallet, coin int64, unlock uint64, to []monerotest.To) (hash string) {
	t.Helper()
	tx := from.Prepare(t, coin, unlock, to...)
	c.sent[tx.Hash] = sentTx{tx, from, coin}
	return tx.Hash
}

// submit puts a transaction of a wallet into the pool.
func (c *realChain) submit(t testing.TB, hash string) string {
	t.Helper()
	if reason := c.Submit(t, c.sent[hash].Hex); reason != "" {
		t.Fatalf("the daemon refuses transaction %s: %s", hash, reason)
	}
	return hash
}

// Send puts a transaction with a new coin into the pool.
func (c *realChain) Send(t testing.TB, outputs ...chaintest.Output) string {
	t.Helper()
	return c.submit(t, c.pay(t, c.payer.Wallet, c.payer.Coin(t), outputs))
}

// Replace removes a transaction from the pool and puts a double spend into it. The pool itself replaces none.
func (c *realChain) Replace(t testing.TB, tx string, outputs ...chaintest.Output) string {
	t.Helper()
	replacement := c.Conflict(t, tx, outputs...)
	c.FlushPool(t, tx)
	return c.submit(t, replacement)
}

func (c *realChain) Conflict(t testing.TB, tx string, outputs ...chaintest.Output) string {
	t.Helper()
	return c.pay(t, c.sent[tx].from, c.sent[tx].coin, outputs)
}

// Spend mines ten blocks, because an output cannot be spent earlier, and spends the outputs of the subaddress of an
// outpoint, which has no others.
func (c *realChain) Spend(t testing.TB, outpoint string, outputs ...chaintest.Output) string {
	t.Helper()
	for range 10 {
		c.Mine(t)
	}
	hash, _, _ := strings.Cut(outpoint, ":")
	for _, o := range c.shop.Outputs(t) {
		if o.Tx == hash {
			return c.submit(t, c.pay(t, c.shop, o.Subaddress.Minor, outputs))
		}
	}
	t.Fatalf("the shop has no output %s", outpoint)
	return ""
}

// pool returns the transactions in the pool.
func (c *realChain) pool(t testing.TB) []string {
	t.Helper()
	var answer struct {
		Hashes []string `json:"tx_hashes"`
	}
	c.Get(t, "/get_transaction_pool_hashes", nil, &answer)
	return answer.Hashes
}

// Mine mines a block with exactly the given transactions: it keeps the others out of the pool for as long.
func (c *realChain) Mine(t testing.TB, txs ...string) {
	t.Helper()
	others := slices.DeleteFunc(c.pool(t), func(tx string) bool { return slices.Contains(txs, tx) })
	if len(others) > 0 {
		c.FlushPool(t, others...)
	}
	waiting := c.pool(t)
	for _, tx := range txs {
		if !slices.Contains(waiting, tx) {
			c.submit(t, tx)
		}
	}
	c.Node.Mine(t, 1)
	mined, want := c.txsAt(t, c.Height(t)), slices.Sorted(slices.Values(txs))
	if slices.Sort(mined); !slices.Equal(mined, want) {
		t.Fatalf("the daemon mined %q, want %q", mined, want)
	}
	c.resubmit(t, others)
}

// resubmit puts transactions into the pool again, except those that are double spends now.
func (c *realChain) resubmit(t testing.TB, txs []string) {
	t.Helper()
	for _, tx := range txs {
		if reason := c.Submit(t, c.sent[tx].Hex); reason != "" && reason != "double spend" {
			t.Fatalf("the daemon refuses transaction %s: %s", tx, reason)
		}
	}
}

// txsAt returns the transactions of the block at a height.
func (c *realChain) txsAt(t testing.TB, height int64) []string {
	t.Helper()
	var block struct {
		Hashes []string `json:"tx_hashes"`
	}
	c.Call(t, "get_block", map[string]any{"height": height}, &block)
	return block.Hashes
}

func (c *realChain) Reorganise(t testing.TB, txs ...string) {
	t.Helper()
	depth := 0
	for remaining := slices.Clone(txs); len(remaining) > 0; depth++ {
		mined := c.txsAt(t, c.Height(t)-int64(depth))
		remaining = slices.DeleteFunc(remaining, func(tx string) bool { return slices.Contains(mined, tx) })
	}
	c.PopBlocks(t, depth)
	waiting := c.pool(t)
	c.FlushPool(t)
	c.Node.Mine(t, depth+1)
	c.resubmit(t, waiting)
}

// fork returns a view of the chain for another test: a new process, and an empty pool.
func (c *realChain) fork(t testing.TB, url string) *realChain {
	t.Helper()
	c.FlushPool(t)
	other := *c
	other.scanner = c.newScanner(t, url)
	return &other
}

// The cases share a daemon, because a new one takes half a minute.
func TestSource_of_a_real_daemon_conforms(t *testing.T) {
	const coins = 45 // that the suite spends at most
	c := startChain(t, 2*coins, 2e12)
	for name, url := range map[string]string{"full": c.URL, "restricted": c.Restricted} {
		t.Run(name, func(t *testing.T) {
			chaintest.Run(t, func(t *testing.T) chaintest.Harness { return c.fork(t, url) })
		})
	}
}
