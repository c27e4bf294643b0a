package bench_test

import (
	"context"
	"encoding/hex"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"chequer/internal/chain"
	"chequer/internal/chain/bitcoin"
	"chequer/internal/invoice"
	"chequer/internal/storage/storagetest"
	"chequer/internal/watcher"
)

// watchedCount is the number of watched destinations. paidPerBlock is the number of them that each block
// pays.
const (
	watchedCount = 1_000_000
	paidPerBlock = 20
)

// scannedBlocks is the number of scanned blocks. The benchmark reports the median of their times.
const scannedBlocks = 15

// BenchmarkWatching measures the cost of finding payments to watchedCount destinations.
func BenchmarkWatching(b *testing.B) {
	url := storagetest.File(b)
	store := storagetest.Open(b, url)
	for _, statement := range []string{`
		WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < $1)
		INSERT INTO destinations (network, script, invoice_id, merchant_id, address_index, position, watch_until)
		SELECT 'bitcoin', '0014' || lower(hex(randomblob(20))), lower(hex(randomblob(16))), 'shop', i, i, 4102444800000 FROM n`,
		"INSERT INTO feeds (merchant_id, position) VALUES ('shop', $1)",
	} {
		storagetest.Exec(b, url, statement, watchedCount)
	}
	random := rand.New(rand.NewPCG(1, 1))
	node := &source{}
	node.extend(newBlock(random, nil, 1), nil)
	network := &recorder{Scanner: bitcoin.Watch(bitcoin.New(bitcoin.Mainnet), node, time.Now)}
	w := watcher.New(watcher.Config{
		Network: network, Storage: store, Observer: discard{}, Holder: "bench", Every: time.Hour, Now: time.Now, Log: slog.New(slog.DiscardHandler),
	})
	before, start := heap(), time.Now()
	if _, err := w.Step(b.Context()); err != nil {
		b.Fatal(err)
	}
	elapsed, bytes := time.Since(start), heap()-before
	measure(b, fmt.Sprintf("load %d", watchedCount), func(b *testing.B) {
		b.ReportMetric(elapsed.Seconds(), "s")
		b.ReportMetric(float64(bytes)/1e6, "MB")
	})
	measure(b, "block", func(b *testing.B) { scanBlocks(b, network.watched, random) })
	filters := newFilters(b, random)
	watchedScripts := scriptSet{}
	for range 1_000 {
		watchedScripts = append(watchedScripts, hex.EncodeToString(newScript(random)))
	}
	measure(b, "catch up with 1000", func(b *testing.B) { catchUp(b, watchedScripts, missedBlocks, filters, random) })
	measure(b, fmt.Sprintf("catch up with %d", watchedCount), func(b *testing.B) {
		catchUp(b, network.watched, missedBlocks/100, filters, random)
	})
}

// scanBlocks measures the time to find the payments in a block of 4,000 transactions, with and without the
// time to decode the block. The baseline looks up the decoded outputs in a plain map.
func scanBlocks(b *testing.B, watched chain.Watched, random *rand.Rand) {
	b.Helper()
	scripts, _ := watched.Since(0)
	plain := map[string]bool{}
	var paid [][]byte
	for s := range scripts {
		plain[s] = true
		if len(paid) == paidPerBlock {
			continue
		}
		script, err := hex.DecodeString(s)
		if err != nil {
			b.Fatal(err)
		}
		paid = append(paid, script)
	}
	node := &source{}
	node.extend(newBlock(random, nil, 1), nil)
	scanner := bitcoin.Watch(bitcoin.New(bitcoin.Mainnet), node, time.Now)
	block := newBlock(random, paid, 4_000)
	var totals, reads, lookups []time.Duration
	outputs := 0
	for n := range scannedBlocks {
		node.extend(block, nil)
		start := time.Now()
		snapshot, err := scanner.Scan(b.Context(), chain.Cursor{Hash: node.headers[0].Hash}, watched)
		if err != nil {
			b.Fatal(err)
		}
		totals, reads = append(totals, time.Since(start)), append(reads, node.reading)
		if found := len(snapshot.Transfers); found != paidPerBlock*(n+1) {
			b.Fatalf("%d payments found in %d blocks, want %d in each", found, n+1, paidPerBlock)
		}
		last, err := node.Block(b.Context(), node.headers[n+1].Hash)
		if err != nil {
			b.Fatal(err)
		}
		start = time.Now()
		found := 0
		outputs = 0
		for _, tx := range last.Txs {
			for _, out := range tx.Outputs {
				outputs++
				if plain[out.Script] {
					found++
				}
			}
		}
		lookups = append(lookups, time.Since(start))
		if found != paidPerBlock {
			b.Fatalf("%d payments found in a plain map, want %d", found, paidPerBlock)
		}
	}
	total, read, lookup := median(totals), median(reads), median(lookups)
	b.ReportMetric(milliseconds(total), "ms")
	b.ReportMetric(float64(outputs), "outputs")
	reportRatio(b, "-ms", milliseconds(total), milliseconds(lookup))
	b.ReportMetric(milliseconds(total-read), "decoded-ms")
	b.ReportMetric(float64(total-read)/float64(lookup), "decoded-ratio")
}

// recorder is a scanner that records the last watched set.
type recorder struct {
	*bitcoin.Scanner
	watched chain.Watched
}

func (r *recorder) Scan(ctx context.Context, from chain.Cursor, watched chain.Watched) (chain.Snapshot, error) {
	r.watched = watched
	return r.Scanner.Scan(ctx, from, watched)
}

// discard is an observer that records nothing.
type discard struct{}

func (discard) Observe(context.Context, invoice.Lease, chain.Snapshot, invoice.Progress, invoice.Owners) error {
	return nil
}

func (discard) ObserveRefunds(context.Context, invoice.Lease, invoice.RefundSnapshot, invoice.RefundOwners) error {
	return nil
}

// heap returns the allocated heap in bytes.
func heap() int64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}
