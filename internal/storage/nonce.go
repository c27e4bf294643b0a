package storage

import (
	"context"
	"fmt"
	"time"

	"chequer/internal/invoice"
)

// pruneInterval is the interval at which a process deletes expired rows.
const pruneInterval = time.Minute

// UseNonce stores the use of a nonce with an API key, for ttl, and reports whether the nonce is new. Of
// two concurrent uses, one is reported as new.
func (s *Storage) UseNonce(ctx context.Context, key, nonce string, now time.Time, ttl time.Duration) (isNew bool, err error) {
	isNew, err = answer(ctx, s.write, func(ctx context.Context, q querier) (bool, error) {
		return useNonce(ctx, q, invoice.Nonce{Key: key, Value: nonce, TTL: ttl}, now)
	})
	if err != nil {
		return false, err
	}
	s.prune(ctx, now)
	return isNew, nil
}

// useNonce stores the use of a nonce, and reports whether the nonce is new.
func useNonce(ctx context.Context, q querier, n invoice.Nonce, now time.Time) (isNew bool, err error) {
	inserted, err := exec(ctx, q, `
		INSERT INTO nonces (key, nonce, expires_at) VALUES ($1, $2, $3)
		ON CONFLICT (key, nonce) DO UPDATE SET expires_at = excluded.expires_at
		WHERE nonces.expires_at <= $4`,
		n.Key, n.Value, now.Add(n.TTL).UnixMilli(), now.UnixMilli())
	if err != nil {
		return false, fmt.Errorf("use nonce: %w", err)
	}
	return inserted > 0, nil
}

// takeNonce stores the use of a creation's nonce, if it has one. It returns invoice.ErrNonceUsed if the nonce
// was used before.
func takeNonce(ctx context.Context, q querier, c invoice.Creation) error {
	if c.Nonce.Value == "" {
		return nil
	}
	isNew, err := useNonce(ctx, q, c.Nonce, c.At)
	if err == nil && !isNew {
		return invoice.ErrNonceUsed
	}
	return err
}

// checkNonce returns invoice.ErrNonceUsed if the nonce of a creation was used before.
func checkNonce(ctx context.Context, q querier, c invoice.Creation) error {
	if c.Nonce.Value == "" {
		return nil
	}
	var used bool
	err := q.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM nonces WHERE key = $1 AND nonce = $2 AND expires_at > $3)",
		c.Nonce.Key, c.Nonce.Value, c.At.UnixMilli()).Scan(&used)
	switch {
	case err != nil:
		return fmt.Errorf("read nonce: %w", err)
	case used:
		return invoice.ErrNonceUsed
	}
	return nil
}

// prune calls deleteExpired in its own transaction, at most once per pruneInterval. A failure is only logged,
// since the next call deletes the rows.
func (s *Storage) prune(ctx context.Context, now time.Time) {
	if !s.startPruning(now) {
		return
	}
	if err := s.write(ctx, func(ctx context.Context, q querier) error { return deleteExpired(ctx, q, now) }); err != nil {
		s.log.Warn("deleting expired rows failed", "error", err)
	}
}

// deleteExpired deletes the nonces, idempotency keys, unpaid places, resolutions and snoozes that have expired.
func deleteExpired(ctx context.Context, q querier, now time.Time) error {
	if _, err := q.ExecContext(ctx, "DELETE FROM nonces WHERE expires_at <= $1", now.UnixMilli()); err != nil {
		return fmt.Errorf("delete nonces: %w", err)
	}
	if _, err := q.ExecContext(ctx, "DELETE FROM idempotency WHERE created_at <= $1", now.Add(-idempotencyTTL).UnixMilli()); err != nil {
		return fmt.Errorf("delete idempotency keys: %w", err)
	}
	if err := deleteOldCases(ctx, q, now); err != nil {
		return err
	}
	return deleteUnpaidPlaces(ctx, q, now)
}

// startPruning reports whether pruneInterval has passed since the last deletion. It is true for only one
// of several callers.
func (s *Storage) startPruning(now time.Time) bool {
	last := s.pruned.Load()
	return now.UnixMilli()-last >= pruneInterval.Milliseconds() && s.pruned.CompareAndSwap(last, now.UnixMilli())
}
