package storage

import (
	"context"
	"fmt"

	"chequer/internal/invoice"
)

// positions are the last ones taken in the feeds of all merchants.
var positions = &kind{
	add: `
		INSERT INTO feeds (merchant_id, position) VALUES ($1, $2)
		ON CONFLICT (merchant_id) DO UPDATE SET position = feeds.position + excluded.position
		RETURNING position`,
	set: "UPDATE feeds SET position = $2 WHERE merchant_id = $1",
}

// takePositions moves a merchant's feed on and returns the last position taken.
// The feed is locked from here to the commit, so that whoever sees a position has
// seen all before it. What changes an invoice takes them last, what makes one
// takes them first: see Storage.share.
func takePositions(ctx context.Context, q querier, merchantID string, count int) (last int64, err error) {
	if last, err = add(ctx, q, number{positions, merchantID}, int64(count)); err != nil {
		return 0, fmt.Errorf("lock feed: %w", err)
	}
	return last, nil
}

// appendEvents writes an invoice's events to its merchant's feed, up to the last
// position taken for them.
func appendEvents(ctx context.Context, q querier, inv *invoice.Invoice, last int64) error {
	for i, e := range inv.Events {
		_, err := q.ExecContext(ctx, `
			INSERT INTO events (merchant_id, position, id, invoice_id, type, version, created_at, body)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
			inv.MerchantID, last-int64(len(inv.Events)-1-i), e.ID, inv.ID, string(e.Type), e.Version, e.CreatedAt.UnixMilli(), string(e.Body))
		if err != nil {
			return fmt.Errorf("write event %s: %w", e.Type, err)
		}
	}
	return nil
}

// Events reads a merchant's feed after a position, in the order of commits.
func (s *Storage) Events(ctx context.Context, merchantID string, after int64, limit int) ([]invoice.Event, error) {
	events, err := answer(ctx, s.read, func(ctx context.Context, q querier) ([]invoice.Event, error) {
		return list(ctx, q, readEvent, `
			SELECT id, type, version, created_at, body FROM events
			WHERE merchant_id = $1 AND position > $2 ORDER BY position LIMIT $3`, merchantID, after, limit)
	})
	if err != nil {
		return nil, fmt.Errorf("read events of %s: %w", merchantID, err)
	}
	return events, nil
}

func readEvent(row scanner) (invoice.Event, error) {
	var kind, body string
	var createdAt int64
	var e invoice.Event
	err := row.Scan(&e.ID, &kind, &e.Version, &createdAt, &body)
	e.Type, e.CreatedAt, e.Body = invoice.EventType(kind), utc(createdAt), []byte(body)
	return e, err
}
