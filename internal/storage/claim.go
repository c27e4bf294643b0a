package storage

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"chequer/internal/merchant"
	"chequer/internal/storage/engine"
	"chequer/internal/webhook"
)

// ClaimDeliveries implements webhook.Storage. A claimed delivery is due again when its claim ends,
// so that it is not lost if the process ends. In the statement, d is a due delivery, and b is an earlier
// pending delivery of the same invoice. d waits for b if b was not attempted yet, or first attempted after strict.
// A delivery that was resent waits only for a resent b that was not attempted yet.
func (s *Storage) ClaimDeliveries(ctx context.Context, endpointID string, now, strict, claimedUntil time.Time, limit int) ([]webhook.Claim, error) {
	claims, err := answer(ctx, s.write, func(ctx context.Context, q querier) ([]webhook.Claim, error) {
		positions, err := list(ctx, q, column[int64], `
			SELECT d.position FROM deliveries d
			WHERE d.endpoint_id = $1 AND d.next_try_at <= $2 AND (d.invoice_id = '' OR NOT EXISTS (
				SELECT 1 FROM deliveries b
				WHERE b.endpoint_id = d.endpoint_id AND b.invoice_id = d.invoice_id AND b.position < d.position
					AND b.next_try_at IS NOT NULL AND `+delays+`))
			ORDER BY d.next_try_at, d.position LIMIT $4`+s.engine.SkipLocked,
			endpointID, now.UnixMilli(), strict.UnixMilli(), limit)
		if err != nil {
			return nil, err
		}
		var claims []webhook.Claim
		for _, position := range positions {
			c, err := claim(ctx, q, endpointID, position, claimedUntil)
			if err != nil {
				return nil, err
			}
			claims = append(claims, c)
		}
		return claims, nil
	})
	if err != nil {
		return nil, fmt.Errorf("claim deliveries of %s: %w", endpointID, err)
	}
	return claims, nil
}

// delays is the condition with which a delivery b of an invoice delays a later delivery d of it to the same endpoint: b is
// pending and was first attempted after $3. It is no condition of an index, so that PostgreSQL looks b up by its invoice.
const delays = `CASE WHEN b.next_try_at IS NULL THEN FALSE
	WHEN d.resent THEN b.resent AND b.first_try_at IS NULL ELSE b.first_try_at IS NULL OR b.first_try_at > $3 END`

// claim claims one delivery. Its body is that of the event, unless the delivery has a body of its own.
func claim(ctx context.Context, q querier, endpointID string, position int64, claimedUntil time.Time) (webhook.Claim, error) {
	c := webhook.Claim{EndpointID: endpointID, Position: position, Until: claimedUntil}
	var firstAttemptAt sql.Null[int64]
	var body string
	err := q.QueryRowContext(ctx, `
		UPDATE deliveries SET next_try_at = $3 WHERE endpoint_id = $1 AND position = $2
		RETURNING event_id, type, invoice_id, tries, first_try_at, COALESCE(body, (
			SELECT v.body FROM events v JOIN endpoints e ON e.merchant_id = v.merchant_id
			WHERE e.id = deliveries.endpoint_id AND v.position = deliveries.position), '')`,
		endpointID, position, claimedUntil.UnixMilli()).
		Scan(&c.EventID, &c.EventType, &c.InvoiceID, &c.Attempts, &firstAttemptAt, &body)
	c.FirstAttemptAt, c.Body = fromMillis(firstAttemptAt), []byte(body)
	return c, err
}

// SaveAttempt implements webhook.Storage. It always stores the attempt. If a later claim or a manual resend has
// changed the time of the next attempt, that time and the state stay, unless the endpoint accepted this attempt.
func (s *Storage) SaveAttempt(ctx context.Context, c webhook.Claim, t merchant.Attempt, o webhook.Outcome) error {
	err := s.write(ctx, func(ctx context.Context, q querier) error {
		var number int
		err := q.QueryRowContext(ctx, `
			UPDATE deliveries SET
				tries = tries + 1, first_try_at = COALESCE(first_try_at, $3),
				state = CASE WHEN $4 = 'delivered' OR next_try_at = $5 THEN $4 ELSE state END,
				next_try_at = CASE WHEN $4 = 'delivered' THEN NULL WHEN next_try_at = $5 THEN $6 ELSE next_try_at END
			WHERE endpoint_id = $1 AND position = $2 RETURNING tries`,
			c.EndpointID, c.Position, t.At.UnixMilli(), string(o.State), c.Until.UnixMilli(), millis(o.NextAttemptAt)).Scan(&number)
		if engine.Absent(err) {
			return nil // the delivery was deleted in the meantime
		}
		if err != nil {
			return err
		}
		_, err = q.ExecContext(ctx, `
			INSERT INTO tries (endpoint_id, position, number, at, duration, status, fault, header, answer)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
			c.EndpointID, c.Position, number, t.At.UnixMilli(), t.Duration.Milliseconds(), t.Status, t.Fault, jsonText(t.Header), t.Answer)
		return err
	})
	if err != nil {
		return fmt.Errorf("save attempt of %s: %w", c.EventID, err)
	}
	return nil
}
