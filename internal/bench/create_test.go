package bench_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/labstack/echo/v4"

	"chequer/internal/storage/storagetest"
)

// BenchmarkCreate measures the number of invoices that are created per second. The baseline copies the same
// rows within the database, with as many invoices per commit as there are clients. The second baseline is a
// constant response.
func BenchmarkCreate(b *testing.B) {
	onEngines(b, func(b *testing.B, e engine) {
		p := serve(b, e)
		copies := 0 // in a PostgreSQL database
		for _, clients := range []int{1, 32} {
			measure(b, fmt.Sprintf("clients=%d", clients), func(b *testing.B) {
				got := repeat(b, clients, p.create)
				got.report(b, "creations")
				b.ReportMetric(mebibytes(p.memory()), "MiB")
				reportRatio(b, "/s", got.perSecond(), p.writeRaw(b, clients, &copies))
				constant := constantHandler(b, clients)
				b.ReportMetric(constant.perSecond(), "constant/s")
				b.ReportMetric(got.perSecond()/constant.perSecond(), "constant-ratio")
			})
		}
	})
}

// constantHandler measures an Echo handler with a constant response: the best that the machine and
// the load generator allow.
func constantHandler(b *testing.B, clients int) latencies {
	b.Helper()
	e := echo.New()
	answer := make([]byte, 1500)
	e.POST("/", func(c echo.Context) error { return c.Blob(http.StatusOK, "application/json", answer) })
	server := httptest.NewServer(e)
	defer server.Close()
	return repeat(b, clients, func(ctx context.Context) error { return post(ctx, server.URL+"/", []byte(body), nil, nil) })
}

// writeRaw writes copies of the rows of the newest invoice without the program, with group invoices per
// commit, and returns the invoices per second. On SQLite it writes into a copy of the program's database. On
// PostgreSQL it writes into the same database, which has the given number of copies already.
func (p *program) writeRaw(b *testing.B, group int, written *int) float64 {
	b.Helper()
	database := p.database
	if strings.HasPrefix(database, "sqlite:") {
		path := filepath.Join(b.TempDir(), "raw.db")
		storagetest.Exec(b, database, "VACUUM INTO $1", path)
		database = "sqlite:" + path
	}
	const newest = "(SELECT invoice_id FROM events ORDER BY position DESC LIMIT 1)"
	c := newCopier(b, database, []original{
		{table: "invoices", query: "SELECT * FROM invoices WHERE id = " + newest, changed: map[string]string{"id": copiedID}},
		{table: "events", query: "SELECT * FROM events WHERE invoice_id = " + newest, changed: map[string]string{
			"id": "o.id || CAST(n.i AS TEXT)", "position": "o.position + n.i", "invoice_id": copiedInvoiceID,
		}},
		{table: "destinations", query: "SELECT * FROM destinations WHERE invoice_id = " + newest, changed: map[string]string{
			"script": "o.script || CAST(n.i AS TEXT)", "position": "o.position + n.i", "invoice_id": copiedInvoiceID,
		}},
	}, advanceCounters, advanceFeeds)
	first, start := *written, time.Now()
	for time.Since(start) < settings.span {
		c.write(b, *written+1, *written+group)
		*written += group
	}
	return float64(*written-first) / time.Since(start).Seconds()
}
