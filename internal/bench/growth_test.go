package bench_test

import (
	"bytes"
	"context"
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

const (
	// originals is the number of test invoices that the program itself creates. The others are copies
	// of them in the database, spread over a year.
	originals = 100
	// paidOriginals is the number of originals that are paid, the first of them with too much. One more is
	// declined.
	paidOriginals = 78
	// copyBatch is the number of copies of each original in one transaction.
	copyBatch = 50
	year      = 365 * 24 * time.Hour
)

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
	program := serve(b, e, "CHEQUER_PASSPHRASE=correct horse battery staple") // of the backup
	program.useKey(b, "--test")
	program.createOriginals(b)
	program.process.Kill()
	empty := size(b, program.database)
	program.multiply(b, stored/originals-1)
	full := size(b, program.database)
	program.start(b)
	idle := program.memory()
	figure("start", "ms", func(*testing.B) float64 { return milliseconds(program.started) })
	figure("memory when idle", "MiB", func(*testing.B) float64 { return mebibytes(idle) })
	figure("disk per invoice", "kB", func(*testing.B) float64 {
		return float64(full-empty) / float64(max(stored-originals, 1)) / 1000
	})
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
			return fmt.Sprintf("view=summary&fiat_currency=EUR&amount=%d.%02d", 20+copied()/100, copied()%100)
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
		{"100 summaries from terminals of none", func() string { return "view=summary&limit=100&origin=terminal" }},
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
	for _, w := range []struct{ name, query string }{{"size of 100", "limit=100"}, {"size of 100 summaries", "view=summary&limit=100"}} {
		figure(w.name, "kB", func(b *testing.B) float64 { return program.listSize(b, w.query) })
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

// createOriginals creates the invoices that are copied afterwards: most are paid, one is declined.
func (p *program) createOriginals(b *testing.B) {
	b.Helper()
	for i := range originals {
		inv, err := p.createWith(b.Context(), fmt.Sprintf(`{"amount":12.50,"fiat_currency":"EUR","order_id":"order-%d-0","expires_in":60,"metadata":{"order_reference":"table-%d-0"}}`, i, i))
		switch {
		case err != nil:
		case i == 0:
			if err = p.simulate(b.Context(), inv.ForeignID, api.SimulateOver); err == nil {
				err = p.simulate(b.Context(), inv.ForeignID, api.SimulateConfirm)
			}
		case i < paidOriginals:
			err = p.pay(b.Context(), inv.ForeignID)
		case i == paidOriginals:
			err = p.call(b.Context(), http.MethodPost, api.PathInvoices+"/"+inv.ForeignID+"/cancel", "{}", nil)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}

// multiply stores the given number of copies of each original, spread over a year.
func (p *program) multiply(b *testing.B, copies int) {
	b.Helper()
	if copies <= 0 {
		return
	}
	distance := year.Milliseconds() / int64(copies)
	shifted := func(column string) string { return fmt.Sprintf("o.%s - n.i * %d", column, distance) }
	const (
		ofTestInvoices = " WHERE invoice_id IN (SELECT id FROM invoices WHERE mode = 'test')"
		number         = " || CAST(n.i AS TEXT)"
	)
	c := newCopier(b, p.database, []original{
		{table: "invoices", query: "SELECT * FROM invoices WHERE mode = 'test'", changed: map[string]string{
			"id": copiedID, "order_id": "substr(o.order_id, 1, length(o.order_id) - 1)" + number, "created_at": shifted("created_at"),
			"reference": "substr(o.reference, 1, length(o.reference) - 1)" + number, "price": "2000 + n.i",
			"expires_at": shifted("expires_at"), "next_check_at": "NULL", "paid_at": shifted("paid_at"),
		}},
		{table: "destinations", query: "SELECT * FROM destinations" + ofTestInvoices, changed: map[string]string{
			"script": "o.script" + number, "invoice_id": copiedInvoiceID, "watch_until": "0",
		}},
		{table: "transfers", query: "SELECT * FROM transfers" + ofTestInvoices, changed: map[string]string{
			"id": "o.id" + number, "invoice_id": copiedInvoiceID, "tx": "o.tx" + number,
			"block_height": "o.block_height * 0", // no block that the network still scans
		}},
		{table: "invoice_flags", query: "SELECT * FROM invoice_flags" + ofTestInvoices, changed: map[string]string{
			"invoice_id": copiedInvoiceID, "created_at": shifted("created_at"),
		}},
		{table: "events", query: "SELECT * FROM events" + ofTestInvoices, changed: map[string]string{
			"position": "-(o.position * 1000000 + n.i)", "id": "o.id" + number, "invoice_id": copiedInvoiceID,
		}, where: fmt.Sprintf("n.i <= %d", 30*24*time.Hour.Milliseconds()/distance)}, // events are kept for 30 days
	})
	for first := 1; first <= copies; first += copyBatch {
		c.write(b, first, min(first+copyBatch-1, copies))
	}
	storagetest.Exec(b, p.database, fmt.Sprintf("UPDATE tallies SET count = count * %d WHERE mode = 'test'", copies+1))
	storagetest.Exec(b, p.database, "ANALYZE")
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
