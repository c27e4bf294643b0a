package main

import (
	"context"
	"database/sql"
	"encoding/hex"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"time"

	"chequer/internal/chain"
	"chequer/internal/chain/bitcoin"
	"chequer/internal/invoice"
	"chequer/internal/seal"
	"chequer/internal/storage"
	"chequer/internal/watcher"
)

// watchedCount is the number of watched destinations, and paidPerBlock the number of them that a
// block pays.
const (
	watchedCount = 1_000_000
	paidPerBlock = 20
)

// blocks is the number of scanned blocks. The median counts.
const blocks = 15

// watching prints the cost of finding payments to a million destinations.
func watching(ctx context.Context, folder string) error {
	fmt.Printf("### Watching\n\n| what | figure | baseline of this run | ratio |\n|---|---|---|---|\n")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	store, err := million(ctx, folder+"/watching.db")
	if err != nil {
		return fmt.Errorf("create destinations: %w", err)
	}
	defer store.Close()
	random := rand.New(rand.NewPCG(1, 1))
	node := &source{}
	node.extend(message(random, nil, 1), nil)
	network := &recorder{Scanner: bitcoin.Watch(bitcoin.New(bitcoin.Mainnet), node, time.Now)}
	w := watcher.New(watcher.Config{
		Network: network, Storage: store, Observer: discard{}, Holder: "bench", Every: time.Hour, Now: time.Now, Log: slog.New(slog.DiscardHandler),
	})
	before, begin := heap(), time.Now()
	if _, err := w.Step(ctx); err != nil {
		return err
	}
	fmt.Printf("| %d destinations loaded from SQLite | %.1f s | | |\n", watchedCount, time.Since(begin).Seconds())
	fmt.Printf("| &nbsp; memory for them | %d MB | | |\n", (heap()-before)/1e6)
	if err := lookThrough(ctx, network, node, random); err != nil {
		return err
	}
	return catchUp(ctx, network.watched, random)
}

// lookThrough prints the time for a block of 4,000 transactions, from its bytes to its payments.
func lookThrough(ctx context.Context, network *recorder, node *source, random *rand.Rand) error {
	scripts, _ := network.watched.Since(0)
	plain := map[string]bool{}
	for s := range scripts {
		plain[s] = true
	}
	var paid [][]byte
	for s := range scripts {
		if len(paid) == paidPerBlock {
			break
		}
		script, err := hex.DecodeString(s)
		if err != nil {
			return err
		}
		paid = append(paid, script)
	}
	block := message(random, paid, 4_000)
	var wholes, reads, looks []time.Duration
	outputs := 0
	for n := range blocks {
		node.extend(block, nil)
		begin := time.Now()
		snapshot, err := network.Scanner.Scan(ctx, chain.Cursor{Hash: node.headers[0].Hash}, network.watched)
		if err != nil {
			return err
		}
		wholes, reads = append(wholes, time.Since(begin)), append(reads, node.reading)
		if found := len(snapshot.Transfers); found != paidPerBlock*(n+1) {
			return fmt.Errorf("%d payments found in %d blocks, want %d in each", found, n+1, paidPerBlock)
		}
		outputs = 0
		last, err := node.Block(ctx, node.headers[n+1].Hash)
		if err != nil {
			return err
		}
		begin = time.Now()
		found := 0
		for _, tx := range last.Txs {
			for _, out := range tx.Outputs {
				outputs++
				if plain[out.Script] {
					found++
				}
			}
		}
		looks = append(looks, time.Since(begin))
		if found != paidPerBlock {
			return fmt.Errorf("%d payments found in a plain map, want %d", found, paidPerBlock)
		}
	}
	whole, read, look := median(wholes), median(reads), median(looks)
	fmt.Printf("| block of %d transactions with %d outputs, from bytes to payments | %.1f ms | lookups in a plain map %.1f ms | %.0f |\n",
		len(block.Transactions), outputs, milliseconds(whole), milliseconds(look), float64(whole)/float64(look))
	fmt.Printf("| &nbsp; without decoding | %.1f ms | the same | %.1f |\n", milliseconds(whole-read), float64(whole-read)/float64(look))
	return nil
}

// million creates a database with a million watched destinations, as creating invoices would.
func million(ctx context.Context, path string) (*storage.Storage, error) {
	box, err := seal.New(make([]byte, seal.KeySize))
	if err != nil {
		return nil, err
	}
	store, err := storage.Open(ctx, path, box, storage.Options{})
	if err != nil {
		return nil, err
	}
	db, err := sql.Open("sqlite", path)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	for _, statement := range []string{`
		WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < $1)
		INSERT INTO destinations (network, script, invoice_id, merchant_id, address_index, position, watch_until)
		SELECT 'bitcoin', '0014' || lower(hex(randomblob(20))), lower(hex(randomblob(16))), 'shop', i, i, 4102444800000 FROM n`,
		"INSERT INTO feeds (merchant_id, position) VALUES ('shop', $1)",
	} {
		if _, err := db.ExecContext(ctx, statement, watchedCount); err != nil {
			return nil, err
		}
	}
	return store, nil
}

// recorder is a scanner that records the last watched set.
type recorder struct {
	*bitcoin.Scanner
	watched chain.Watched
}

func (l *recorder) Scan(ctx context.Context, from chain.Cursor, watched chain.Watched) (chain.Snapshot, error) {
	l.watched = watched
	return l.Scanner.Scan(ctx, from, watched)
}

// discard is an observer that records nothing.
type discard struct{}

func (discard) Observe(context.Context, invoice.Lease, chain.Snapshot, invoice.Progress, invoice.Owners) error {
	return nil
}

// median returns the median of durations.
func median(list []time.Duration) time.Duration {
	slices.Sort(list)
	return list[len(list)/2]
}

// heap returns the allocated heap in bytes.
func heap() int64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}
