package bench_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"testing"
	"time"

	"chequer/internal/api"
	"chequer/internal/storage/storagetest"
)

const (
	// feedEvents is the number of events in the feed that is read, a tenth of it with -short. They
	// are written in batches of feedBatch, so that the program can write in between.
	feedEvents = 1_000_000
	feedBatch  = 20_000
	// feedPage is the number of events in a page of the feed.
	feedPage = 100
)

// BenchmarkFeed measures the reading of a page at a random position of a long feed. The baseline is the same
// SELECT, sent directly to the database.
func BenchmarkFeed(b *testing.B) {
	events := feedEvents
	if testing.Short() {
		events /= 10
	}
	onEngines(b, func(b *testing.B, e engine) {
		program := serve(b, e)
		program.useKey(b, "--test")
		if inv, err := program.createWith(b.Context(), body); err != nil {
			b.Fatal(err)
		} else if err := program.pay(b.Context(), inv.ForeignID); err != nil {
			b.Fatal(err)
		}
		start := time.Now()
		c := newCopier(b, program.database, []original{{
			table: "events", query: "SELECT * FROM events WHERE position = (SELECT MAX(position) FROM events WHERE mode = 'test')",
			changed: map[string]string{"position": "o.position + n.i", "id": "o.id || CAST(n.i AS TEXT)"},
		}}, advanceFeeds)
		for written := 0; written < events; written += feedBatch {
			c.write(b, written+1, written+feedBatch)
		}
		filled := time.Since(start)
		var merchant string
		var last int64
		db := storagetest.Database(b, program.database)
		if err := db.QueryRowContext(b.Context(), "SELECT merchant_id, position FROM feeds").Scan(&merchant, &last); err != nil {
			b.Fatal(err)
		}
		random := rand.New(rand.NewPCG(1, 1))
		randomPosition := func() int64 { return last - int64(events) + random.Int64N(int64(events-feedPage)) }
		measure(b, fmt.Sprintf("page of %d", events), func(b *testing.B) {
			got := repeat(b, 1, func(ctx context.Context) error {
				var page api.EventPage
				err := program.call(ctx, http.MethodGet, fmt.Sprintf("%s?after=%d&limit=%d", api.PathEvents, randomPosition(), feedPage), "", &page)
				if err == nil && len(page.Events) != feedPage {
					err = fmt.Errorf("a page of %d events", len(page.Events))
				}
				return err
			})
			got.report(b, "pages")
			query, err := db.PrepareContext(b.Context(), `
				SELECT position, id, type, version, created_at, body FROM events
				WHERE merchant_id = $1 AND mode = 'test' AND position > $2 ORDER BY position LIMIT $3`)
			if err != nil {
				b.Fatal(err)
			}
			defer query.Close()
			baseline := repeat(b, 1, func(ctx context.Context) error {
				rows, err := query.QueryContext(ctx, merchant, randomPosition(), feedPage)
				if err != nil {
					return err
				}
				defer rows.Close()
				for rows.Next() {
					var position, version, createdAt int64
					var id, kind, body string
					if err := rows.Scan(&position, &id, &kind, &version, &createdAt, &body); err != nil {
						return err
					}
				}
				return rows.Err()
			})
			reportRatio(b, "/s", got.perSecond(), baseline.perSecond())
			b.ReportMetric(baseline.percentile(.5), "baseline-p50-ms")
			b.ReportMetric(filled.Seconds(), "fill-s")
		})
	})
}
