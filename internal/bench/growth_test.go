package bench_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"chequer/internal/api"
	"chequer/internal/storage/storagetest"
)

const year = 365 * 24 * time.Hour

// BenchmarkGrowth measures how the cost of work depends on the number of stored invoices. The
// baseline is the smallest number.
func BenchmarkGrowth(b *testing.B) {
	onEngines(b, func(b *testing.B, e engine) {
		smallest := map[string]float64{}
		for n, size := range growthSizes(settings.stored) {
			b.Run(strconv.Itoa(size), func(b *testing.B) {
				grow(b, e, size, func(name, unit string, value func(b *testing.B) float64) {
					measure(b, name, func(b *testing.B) {
						got := value(b)
						b.ReportMetric(got, unit)
						if base := smallest[name]; n == 0 {
							smallest[name] = got
						} else if base != 0 {
							reportRatio(b, "-"+unit, got, base)
						}
					})
				})
			})
		}
	})
}

// growthSizes returns the sizes that are measured: 1,000, each a hundred times the previous size, and the
// largest. It returns none if the largest is 0.
func growthSizes(largest int) (sizes []int) {
	for size := 1000; size < largest; size *= 100 {
		sizes = append(sizes, size)
	}
	if largest > 0 {
		sizes = append(sizes, largest)
	}
	return sizes
}

// grow measures a program with the given number of stored invoices. Each figure is a sub-benchmark.
func grow(b *testing.B, e engine, stored int, figure func(name, unit string, value func(*testing.B) float64)) {
	program := serve(b, e, "CHEQUER_PASSPHRASE=correct horse battery staple", // of the backup
		"CHEQUER_MASTER_KEY="+hex.EncodeToString(storagetest.MasterKey(masterKey)))
	program.useKey(b, "--test")
	desk := program.openDesk(b)
	sources := program.addSources(b)
	program.createOriginals(b, sources)
	program.process.Kill()
	program.checkSums(b)
	empty := size(b, program.database)
	program.multiply(b, stored/originals-1)
	program.checkSums(b)
	full := size(b, program.database)
	program.start(b)
	idle := program.memory()
	figure("start", "ms", func(*testing.B) float64 { return milliseconds(program.started) })
	figure("memory when idle", "MiB", func(*testing.B) float64 { return mebibytes(idle) })
	figure("disk per invoice", "kB", func(*testing.B) float64 {
		return float64(full-empty) / float64(max(stored-originals, 1)) / 1000
	})
	desk.measure(b, program, sources, figure)
	random := rand.New(rand.NewPCG(1, uint64(stored)))
	now := time.Now()
	order := func() string {
		return fmt.Sprintf("order-%d-%d", random.IntN(originals), random.IntN(stored/originals))
	}
	timeBefore := func(d time.Duration) string { return url.QueryEscape(now.Add(-d).UTC().Format(time.RFC3339)) }
	copied := func() int { return random.IntN(stored / originals) }
	old, err := program.list(b.Context(), "to="+timeBefore(360*24*time.Hour))
	if err != nil {
		b.Fatal(err)
	}
	paid, err := program.list(b.Context(), "limit=1&status=paid")
	if err != nil {
		b.Fatal(err)
	}
	address := paid.Invoices[0].PaymentMethods[0].Address
	for _, row := range []struct {
		name  string
		query func() string
	}{
		{"find an order", func() string { return "order_id=" + order() }},
		{"find an order that does not exist", func() string { return "order_id=none" }},
		{"find a reference", func() string {
			return fmt.Sprintf("view=summary&reference=table-%d-%d", random.IntN(originals), copied())
		}},
		{"find an amount", func() string {
			return "view=summary&fiat_currency=EUR&amount=" + priceOf(random.IntN(originals))
		}},
		{"find a transaction", func() string { return fmt.Sprintf("view=summary&tx=%s%d", paid.Invoices[0].PaidTx, copied()) }},
		{"find an address", func() string { return "view=summary&address=" + address }},
		{"newest 100", func() string { return "limit=100" }},
		{"newest 100 summaries", func() string { return "view=summary&limit=100" }},
		{"100 declined ones", func() string { return "limit=100&status=declined" }},
		{"100 pending ones of none", func() string { return "limit=100&status=pending" }},
		{"100 overpaid summaries", func() string { return "view=summary&limit=100&exception=overpaid" }},
		{"100 overpaid summaries from the API", func() string { return "view=summary&limit=100&exception=overpaid&origin=api" }},
		{"100 summaries to decide", func() string { return "view=summary&limit=100&needs_decision=true" }},
		{"100 summaries of a link of none", func() string { return "view=summary&limit=100&origin=link&origin_id=none" }},
		{"100 summaries from terminals", func() string { return "view=summary&limit=100&origin=terminal" }},
		{"100 summaries paid in bitcoin", func() string { return "view=summary&limit=100&paid_currency=BTC" }},
		{"100 before a random time", func() string { return "limit=100&to=" + timeBefore(time.Duration(random.Int64N(int64(year)))) }},
		{"100 after a cursor 360 days back", func() string { return "limit=100&cursor=" + old.NextCursor }},
		{"100 summaries after a cursor 360 days back", func() string { return "view=summary&limit=100&cursor=" + old.NextCursor }},
	} {
		figure(row.name, "p50-ms", func(b *testing.B) float64 {
			return repeat(b, 1, func(ctx context.Context) error {
				return program.call(ctx, http.MethodGet, api.PathInvoices+"?"+row.query(), "", nil)
			}).percentile(.5)
		})
	}
	for _, row := range []struct{ name, query string }{{"size of 100", "limit=100"}, {"size of 100 summaries", "view=summary&limit=100"}} {
		figure(row.name, "kB", func(b *testing.B) float64 { return program.listSize(b, row.query) })
	}
	figure("CSV of 30 days", "rows/s", func(b *testing.B) float64 { return program.export(b, timeBefore(30*24*time.Hour)) })
	for _, clients := range []int{1, 32} {
		figure(fmt.Sprintf("create clients=%d", clients), "creations/s", func(b *testing.B) float64 {
			return repeat(b, clients, program.create).perSecond()
		})
	}
	figure("backup", "s", func(b *testing.B) float64 {
		start, path := time.Now(), filepath.Join(program.folder, "backup")
		program.run(b, "backup", path)
		defer os.Remove(path)
		return time.Since(start).Seconds()
	})
}

// listSize returns the size of a page of the list, in kB.
func (p *program) listSize(b *testing.B, query string) float64 {
	b.Helper()
	r, err := p.signed(b.Context(), http.MethodGet, api.PathInvoices+"?"+query, "")
	if err != nil {
		b.Fatal(err)
	}
	answer, err := fetch(r)
	if err != nil {
		b.Fatal(err)
	}
	return float64(len(answer)) / 1000
}

// list reads a page of the list of invoices.
func (p *program) list(ctx context.Context, query string) (page api.InvoiceList, err error) {
	err = p.call(ctx, http.MethodGet, api.PathInvoices+"?"+query, "", &page)
	return page, err
}

// export reads the CSV of the invoices since a time, and returns the lines per second.
func (p *program) export(b *testing.B, from string) float64 {
	b.Helper()
	start := time.Now()
	r, err := p.signed(b.Context(), http.MethodGet, api.PathInvoices+"/export?format=csv&from="+from, "")
	if err != nil {
		b.Fatal(err)
	}
	answer, err := doRequest(r)
	if err != nil {
		b.Fatal(err)
	}
	defer answer.Close()
	lines, buffer := 0, make([]byte, 1<<16)
	for {
		n, err := answer.Read(buffer)
		lines += bytes.Count(buffer[:n], []byte("\n"))
		if errors.Is(err, io.EOF) {
			return float64(lines) / time.Since(start).Seconds()
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}
