package storage

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"chequer/internal/invoice"
	"chequer/internal/storage/engine"
)

// positions holds the last position allocated in the feed of each merchant.
var positions = &engine.Counter{
	AddSQL: `
		INSERT INTO feeds (merchant_id, position) VALUES ($1, $2)
		ON CONFLICT (merchant_id) DO UPDATE SET position = feeds.position + excluded.position
		RETURNING position`,
	SetSQL: "UPDATE feeds SET position = $2 WHERE merchant_id = $1",
}

// takePositions allocates positions in a merchant's feed and returns the last one. The feed is
// locked until the commit, so that a reader that sees a position has seen all lower ones. Changes
// of an invoice allocate positions last, creations allocate them first: see Storage.share.
func takePositions(ctx context.Context, q querier, merchantID string, count int) (last int64, err error) {
	if last, err = positions.Add(ctx, q, merchantID, int64(count)); err != nil {
		return 0, fmt.Errorf("lock feed: %w", err)
	}
	return last, nil
}

// recordedEvents holds events that are written together.
type recordedEvents struct {
	merchantID string
	mode       invoice.Mode
	invoiceID  string // "" = events without an invoice
	events     []invoice.Event
	messages   []invoice.Message // to shop plug-ins
}

// eventsOf returns the new events of an invoice.
func eventsOf(inv *invoice.Invoice) recordedEvents {
	return recordedEvents{merchantID: inv.MerchantID, mode: inv.Mode, invoiceID: inv.ID, events: inv.Events, messages: inv.Messages}
}

// appendEvents writes events to their merchant's feed, with their deliveries; last is the last
// position allocated for them.
func appendEvents(ctx context.Context, q querier, recorded recordedEvents, last int64) error {
	invoiceID := sql.Null[string]{V: recorded.invoiceID, Valid: recorded.invoiceID != ""}
	for i, e := range recorded.events {
		_, err := q.ExecContext(ctx, `
			INSERT INTO events (merchant_id, position, id, invoice_id, mode, type, version, created_at, body)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
			recorded.merchantID, last-int64(len(recorded.events)-1-i), e.ID, invoiceID, string(recorded.mode), string(e.Type), e.Version, e.CreatedAt.UnixMilli(), string(e.Body))
		if err != nil {
			return fmt.Errorf("write event %s: %w", e.Type, err)
		}
	}
	return addDeliveries(ctx, q, recorded, last)
}

// Events returns the events of a mode in a merchant's feed after a position, in the order of commits.
func (s *Storage) Events(ctx context.Context, merchantID string, mode invoice.Mode, after int64, limit int) ([]invoice.Event, error) {
	events, err := answer(ctx, s.read, func(ctx context.Context, q querier) ([]invoice.Event, error) {
		return list(ctx, q, readEvent, `
			SELECT position, id, type, version, created_at, body FROM events
			WHERE merchant_id = $1 AND mode = $2 AND position > $3 ORDER BY position LIMIT $4`,
			merchantID, string(mode), after, limit)
	})
	if err != nil {
		return nil, fmt.Errorf("read events of %s: %w", merchantID, err)
	}
	return events, nil
}

// FeedPosition returns the position of the newest event in a merchant's feed, 0 if there is none.
func (s *Storage) FeedPosition(ctx context.Context, merchantID string) (int64, error) {
	position, err := answer(ctx, s.read, func(ctx context.Context, q querier) (position int64, err error) {
		err = q.QueryRowContext(ctx, "SELECT position FROM feeds WHERE merchant_id = $1", merchantID).Scan(&position)
		if engine.Absent(err) {
			return 0, nil
		}
		return position, err
	})
	if err != nil {
		return 0, fmt.Errorf("read feed of %s: %w", merchantID, err)
	}
	return position, nil
}

// NewestEvents returns the newest events of a mode in a merchant's feed after a position, newest
// first: those of one type, or all if the type is "".
func (s *Storage) NewestEvents(ctx context.Context, merchantID string, mode invoice.Mode, after int64, eventType string, limit int) ([]invoice.Event, error) {
	newest := newestEvents(merchantID, mode, after, eventType, limit)
	events, err := answer(ctx, s.read, func(ctx context.Context, q querier) ([]invoice.Event, error) {
		return list(ctx, q, readEvent, newest.text, newest.args...)
	})
	if err != nil {
		return nil, fmt.Errorf("read newest events of %s: %w", merchantID, err)
	}
	return events, nil
}

// newestEvents returns the statement of NewestEvents.
func newestEvents(merchantID string, mode invoice.Mode, after int64, eventType string, limit int) statement {
	where, args := conditions([]any{merchantID, string(mode), after, limit}, filterIf(eventType != "", "type = ?", eventType))
	return statement{`
		SELECT position, id, type, version, created_at, body FROM events
		WHERE merchant_id = $1 AND mode = $2 AND position > $3` + where + ` ORDER BY position DESC LIMIT $4`, args}
}

func readEvent(row scanner) (invoice.Event, error) {
	var kind, body string
	var createdAt int64
	var e invoice.Event
	err := row.Scan(&e.Position, &e.ID, &kind, &e.Version, &createdAt, &body)
	e.Type, e.CreatedAt, e.Body = invoice.EventType(kind), utc(createdAt), []byte(body)
	return e, err
}

// DeleteEvents deletes the oldest events of every merchant that were created before a time, at most
// limit per merchant, with their deliveries, and returns their number. It stops at the first event
// that is not older.
func (s *Storage) DeleteEvents(ctx context.Context, before time.Time, limit int) (deleted int, err error) {
	marks, err := answer(ctx, s.read, readMarks)
	if err != nil {
		return 0, fmt.Errorf("delete events: %w", err)
	}
	for merchantID := range marks {
		last, n, err := s.oldEvents(ctx, merchantID, before, limit)
		if err == nil && n > 0 {
			err = s.write(ctx, func(ctx context.Context, q querier) error { return deleteEventsUpTo(ctx, q, merchantID, last) })
		}
		if err != nil {
			return deleted, fmt.Errorf("delete events of %s: %w", merchantID, err)
		}
		deleted += n
	}
	return deleted, nil
}

// oldEvents returns the number n of a merchant's oldest events, at most limit, that were created
// before a time, and the position of the last of them. It includes test events, which are not in
// the feed.
func (s *Storage) oldEvents(ctx context.Context, merchantID string, before time.Time, limit int) (last int64, n int, err error) {
	type event struct{ position, createdAt int64 }
	oldest, err := answer(ctx, s.read, func(ctx context.Context, q querier) ([]event, error) {
		return list(ctx, q, func(row scanner) (e event, err error) {
			err = row.Scan(&e.position, &e.createdAt)
			return e, err
		}, `
			SELECT position, created_at FROM (SELECT position, created_at FROM events WHERE merchant_id = $1 ORDER BY position LIMIT $2) e
			UNION ALL
			SELECT position, created_at FROM (
				SELECT position, created_at FROM deliveries
				WHERE endpoint_id IN (SELECT id FROM endpoints WHERE merchant_id = $1) AND body IS NOT NULL ORDER BY position LIMIT $2) d
			ORDER BY position LIMIT $2`, merchantID, limit)
	})
	if err != nil {
		return 0, 0, err
	}
	for n < len(oldest) && oldest[n].createdAt < before.UnixMilli() {
		last = oldest[n].position
		n++
	}
	return last, n, nil
}

// deleteEventsUpTo deletes a merchant's events up to a position, with their deliveries.
func deleteEventsUpTo(ctx context.Context, q querier, merchantID string, last int64) error {
	for _, statement := range []string{
		"DELETE FROM tries WHERE endpoint_id IN (SELECT id FROM endpoints WHERE merchant_id = $1) AND position <= $2",
		"DELETE FROM deliveries WHERE endpoint_id IN (SELECT id FROM endpoints WHERE merchant_id = $1) AND position <= $2",
		"DELETE FROM events WHERE merchant_id = $1 AND position <= $2",
	} {
		if _, err := q.ExecContext(ctx, statement, merchantID, last); err != nil {
			return err
		}
	}
	return nil
}
