package storage

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"chequer/internal/invoice"
)

// idempotencyTTL is the time for which an idempotency key leads to the invoice made with it.
const idempotencyTTL = 24 * time.Hour

// claimKey claims a creation's idempotency key, or returns the invoice that was made with it. It returns
// invoice.ErrConflict if the key was used with another body. It waits for a concurrent creation with the
// same key.
func claimKey(ctx context.Context, q querier, c invoice.Creation) (invoiceID string, err error) {
	if c.Key.IsZero() {
		return "", nil
	}
	claimed, err := exec(ctx, q, `
		INSERT INTO idempotency (merchant_id, namespace, key, body_hash, created_at) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (merchant_id, namespace, key) DO UPDATE SET
			body_hash = excluded.body_hash, invoice_id = NULL, created_at = excluded.created_at
		WHERE idempotency.created_at <= $6`,
		c.MerchantID, c.Key.Namespace, c.Key.Value, c.BodyHash, c.At.UnixMilli(), c.At.Add(-idempotencyTTL).UnixMilli())
	if err != nil {
		return "", fmt.Errorf("claim idempotency key: %w", err)
	}
	if claimed > 0 {
		return "", nil
	}
	return findKey(ctx, q, c)
}

// findKey returns the invoice that was made with a creation's idempotency key. It returns
// invoice.ErrNotFound if there is none, and invoice.ErrConflict if the key was used with another body.
func findKey(ctx context.Context, q querier, c invoice.Creation) (invoiceID string, err error) {
	var bodyHash string
	var id sql.Null[string]
	err = q.QueryRowContext(ctx, `
		SELECT body_hash, invoice_id FROM idempotency
		WHERE merchant_id = $1 AND namespace = $2 AND key = $3 AND created_at > $4`,
		c.MerchantID, c.Key.Namespace, c.Key.Value, c.At.Add(-idempotencyTTL).UnixMilli()).Scan(&bodyHash, &id)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return "", invoice.ErrNotFound
	case err != nil:
		return "", fmt.Errorf("read idempotency key: %w", err)
	case bodyHash != c.BodyHash:
		return "", invoice.ErrConflict
	}
	return id.V, nil
}

// saveKey stores the invoice that was made with a claimed key.
func saveKey(ctx context.Context, q querier, c invoice.Creation, invoiceID string) error {
	if c.Key.IsZero() {
		return nil
	}
	_, err := q.ExecContext(ctx, "UPDATE idempotency SET invoice_id = $4 WHERE merchant_id = $1 AND namespace = $2 AND key = $3",
		c.MerchantID, c.Key.Namespace, c.Key.Value, invoiceID)
	if err != nil {
		return fmt.Errorf("write idempotency key: %w", err)
	}
	return nil
}
