package bench_test

import (
	"context"
	"fmt"
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

// The missed blocks of Monero: moneroBlocks blocks with moneroTxs transactions of one key, each of which pays the shop.
const (
	moneroBlocks = 400
	moneroTxs    = 120
)

// BenchmarkMonero measures the keys of transactions that are searched for payments per second, and the blocks that are
// scanned per second after a pause, through the RPC of a daemon on this machine. The baseline of the blocks is a view-only
// wallet of monero-wallet-rpc that reads the same chain from the same daemon. It gets up to 1,000 blocks by one call, in a
// binary form, and computes in several threads.
func BenchmarkMonero(b *testing.B) {
	if program := monerotest.Missing(); program != "" {
		fmt.Printf("BenchmarkMonero: skipped, because %s is not installed\n", program) // Skip prints nothing
		b.SkipNow()
	}
	node := monerotest.Start(b)
	shop := node.NewWallet(b)
	wallet, other := parseWallet(b, shop), parseWallet(b, node.Miner)
	payer := node.NewPayer(b, moneroTxs, 1e12)
	watch := chaintest.Watch{wallet.SpendKey(1).String(): true}
	var hashes []string
	for i := range moneroTxs {
		tx := payer.Prepare(b, payer.Coin(b), 0, monerotest.To{Address: wallet.Subaddress(1).String(), Amount: 1e9})
		if reason := node.Submit(b, tx.Hex); reason != "" {
			b.Fatalf("the daemon refuses a transaction: %s", reason)
		}
		hashes = append(hashes, tx.Hash)
		if i%6 == 5 {
			node.Mine(b, 1)
		}
	}
	if height := int(node.Height(b)); height < moneroBlocks {
		node.Mine(b, moneroBlocks-height)
	}
	client := moneroClient(b, node)
	measure(b, "search", func(b *testing.B) {
		txs, err := client.Transactions(b.Context(), hashes)
		if err != nil {
			b.Fatal(err)
		}
		keys, start := 0, time.Now()
		for time.Since(start) < settings.span {
			keys += search(b, other, txs)
		}
		b.ReportMetric(float64(keys)/time.Since(start).Seconds(), "keys/s")
	})
	restored := node.NewWallet(b)
	restored.RestoreViewOnly(b, shop.Address, shop.ViewKey)
	measure(b, "catchup", func(b *testing.B) {
		var refreshed struct {
			Blocks float64 `json:"blocks_fetched"`
		}
		start := time.Now()
		restored.Call(b, "refresh", map[string]any{"start_height": 0}, &refreshed)
		baseline := refreshed.Blocks / time.Since(start).Seconds()
		if total, _ := restored.Balance(b); total != moneroTxs*1e9 {
			b.Fatalf("the wallet has received %d", total)
		}
		blocks, elapsed := catchUpMonero(b, client, wallet, watch)
		perSecond := float64(blocks) / elapsed.Seconds()
		b.ReportMetric(perSecond, "blocks/s")
		reportRatio(b, "/s", perSecond, baseline)
	})
}

func parseWallet(b *testing.B, w *monerotest.Wallet) *monero.Wallet {
	b.Helper()
	key, err := keys.Load("xmr:" + w.Address + ":" + w.ViewKey)
	if err != nil {
		b.Fatal(err)
	}
	return key.Monero()
}

func moneroClient(b *testing.B, node *monerotest.Node) *daemon.Client {
	b.Helper()
	address, err := daemon.ParseAddress(node.URL)
	if err != nil {
		b.Fatal(err)
	}
	client, err := daemon.New(daemon.Config{Address: address, Network: daemon.Fakechain, Setting: "CHEQUER_MONERO_NODE", Now: time.Now})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(client.Close)
	return client
}

// search parses transactions and searches them for payments, as a scan does. Each has one key, and pays another wallet, as
// nearly all transactions do.
func search(b *testing.B, wallet *monero.Wallet, txs []daemon.Tx) (keys int) {
	b.Helper()
	anyKey := func(monero.PublicKey) (uint32, bool) { return 0, true }
	for _, raw := range txs {
		tx, err := monero.ParseTransaction(raw.JSON)
		if err != nil {
			b.Fatal(err)
		}
		if found := wallet.Payments(tx, anyKey); len(found) > 0 {
			b.Fatalf("found %d payments, want none", len(found))
		}
	}
	return len(txs)
}

// catchUpMonero scans from the first block on. It returns the number of scanned blocks.
func catchUpMonero(b *testing.B, client *daemon.Client, wallet *monero.Wallet, watch chaintest.Watch) (blocks int64, elapsed time.Duration) {
	b.Helper()
	first, err := client.Headers(b.Context(), 0, 0)
	if err != nil {
		b.Fatal(err)
	}
	source := daemon.NewSource(client, func(context.Context) ([]*monero.Wallet, error) { return []*monero.Wallet{wallet}, nil }, time.Now)
	scanner := network.Watch(network.New(network.Networks[3]), source, time.Now)
	found := map[string]bool{}
	start := time.Now()
	for from, behind := (chain.Cursor{Hash: first[0].Hash}), true; behind; {
		s, err := scanner.Scan(b.Context(), from, watch)
		if err != nil {
			b.Fatal(err)
		}
		for _, t := range s.Transfers {
			found[t.ID] = true
		}
		from, behind, blocks = s.Next, s.Behind, s.Tip.Height
	}
	elapsed = time.Since(start)
	if len(found) != moneroTxs || blocks < moneroBlocks {
		b.Fatalf("found %d payments in %d blocks", len(found), blocks)
	}
	return blocks, elapsed
}
