package main

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"time"

	"chequer/internal/client"
)

const (
	// feedEvents is the number of events in the feed that is read. They are written in batches of
	// feedBatch, so that the program can write in between.
	feedEvents = 1_000_000
	feedBatch  = 20_000
	// feedPage is the number of events in a page of the feed.
	feedPage = 100
)

// readFeed prints the cost of a page of a long feed, and of reading the same rows without the program.
func (p *program) readFeed(ctx context.Context, c *client.Client, plan plan) error {
	db, err := p.openFeed()
	if err != nil {
		return err
	}
	defer db.Close()
	begin := time.Now()
	merchant, last, err := fillFeed(ctx, db, plan.feed)
	if err != nil {
		return fmt.Errorf("fill feed: %w", err)
	}
	filled := time.Since(begin)
	random := rand.New(rand.NewPCG(1, 1))
	anywhere := func() int64 { return last - int64(plan.feed) + random.Int64N(int64(plan.feed-feedPage)) }
	got, err := load(ctx, 1, plan.span, func(ctx context.Context) error {
		page, err := c.Events(ctx, anywhere(), 0)
		if err == nil && len(page.Events) != feedPage {
			err = fmt.Errorf("a page of %d events", len(page.Events))
		}
		return err
	})
	if err != nil {
		return err
	}
	raw, err := readAlone(ctx, db, merchant, plan.span, anywhere)
	if err != nil {
		return err
	}
	fmt.Printf("| page of %d events, anywhere in a feed of %d (written in %.0f s) | %s | the same SELECT without the program %s | %.2f |\n",
		feedPage, plan.feed, filled.Seconds(), got, raw, got.perSecond()/raw.perSecond())
	return nil
}

// openFeed opens the program's database.
func (p *program) openFeed() (*sql.DB, error) {
	if p.postgres != "" {
		return sql.Open("pgx", p.postgres)
	}
	return sql.Open("sqlite", "file:"+p.database()+"?_pragma=busy_timeout(10000)")
}

// fillFeed repeats the newest event the given number of times. It returns the merchant of the feed
// and the last position.
func fillFeed(ctx context.Context, db *sql.DB, events int) (merchant string, last int64, err error) {
	var newest int64
	if err := db.QueryRowContext(ctx, "SELECT merchant_id, position FROM feeds").Scan(&merchant, &last); err != nil {
		return "", 0, err
	}
	if err := db.QueryRowContext(ctx, "SELECT MAX(position) FROM events WHERE merchant_id = $1 AND mode = 'test'", merchant).Scan(&newest); err != nil {
		return "", 0, err
	}
	for written := 0; written < events; written += feedBatch {
		if err := repeatEvent(ctx, db, merchant, newest, last); err != nil {
			return "", 0, err
		}
		last += feedBatch
	}
	return merchant, last, nil
}

// repeatEvent writes a batch of copies of an event after a position, and advances the feed.
func repeatEvent(ctx context.Context, db *sql.DB, merchant string, event, last int64) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if _, err := tx.ExecContext(ctx, "UPDATE feeds SET position = position + $2 WHERE merchant_id = $1", merchant, feedBatch); err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `
		WITH RECURSIVE n (i) AS (SELECT CAST($3 AS BIGINT) + 1 UNION ALL SELECT i + 1 FROM n WHERE i < CAST($4 AS BIGINT))
		INSERT INTO events (merchant_id, position, id, invoice_id, mode, type, version, created_at, body)
		SELECT e.merchant_id, n.i, e.id || CAST(n.i AS TEXT), e.invoice_id, e.mode, e.type, e.version, e.created_at, e.body
		FROM n, events e WHERE e.merchant_id = $1 AND e.position = $2`, merchant, event, last, last+feedBatch)
	if err != nil {
		return err
	}
	return tx.Commit()
}

// readAlone reads the rows of feed pages without the program.
func readAlone(ctx context.Context, db *sql.DB, merchant string, span time.Duration, anywhere func() int64) (latencies, error) {
	query, err := db.PrepareContext(ctx, `
		SELECT position, id, type, version, created_at, body FROM events
		WHERE merchant_id = $1 AND mode = 'test' AND position > $2 ORDER BY position LIMIT $3`)
	if err != nil {
		return latencies{}, err
	}
	defer query.Close()
	return load(ctx, 1, span, func(ctx context.Context) error {
		rows, err := query.QueryContext(ctx, merchant, anywhere(), feedPage)
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
}
