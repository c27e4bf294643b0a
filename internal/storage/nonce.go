package storage

import (
	"context"
	"fmt"
	"time"
)

// pruneEvery is how often a process forgets what has run out.
const pruneEvery = time.Minute

// UseNonce notes that a nonce was used with an API key, for ttl, and tells
// whether it was fresh. Of two uses at the same time one is.
func (s *Storage) UseNonce(ctx context.Context, key, nonce string, now time.Time, ttl time.Duration) (fresh bool, err error) {
	used, err := answer(ctx, s.write, func(ctx context.Context, q querier) (int64, error) {
		return exec(ctx, q, `
			INSERT INTO nonces (key, nonce, expires_at) VALUES ($1, $2, $3)
			ON CONFLICT (key, nonce) DO UPDATE SET expires_at = excluded.expires_at
			WHERE nonces.expires_at <= $4`,
			key, nonce, now.Add(ttl).UnixMilli(), now.UnixMilli())
	})
	if err != nil {
		return false, fmt.Errorf("use nonce: %w", err)
	}
	s.prune(ctx, now)
	return used > 0, nil
}

// prune lets one caller in a while forget the nonces and idempotency keys that
// count no more, in a transaction of its own. Nobody depends on it: one that
// fails is made up for by the next.
func (s *Storage) prune(ctx context.Context, now time.Time) {
	if !s.pruneDue(now) {
		return
	}
	if err := s.write(ctx, func(ctx context.Context, q querier) error { return forget(ctx, q, now) }); err != nil {
		s.log.Warn("what has run out is kept for now", "error", err)
	}
}

// forget deletes the nonces and idempotency keys that count no more.
func forget(ctx context.Context, q querier, now time.Time) error {
	if _, err := q.ExecContext(ctx, "DELETE FROM nonces WHERE expires_at <= $1", now.UnixMilli()); err != nil {
		return fmt.Errorf("forget nonces: %w", err)
	}
	if _, err := q.ExecContext(ctx, "DELETE FROM idempotency WHERE created_at <= $1", now.Add(-keptFor).UnixMilli()); err != nil {
		return fmt.Errorf("forget idempotency keys: %w", err)
	}
	return nil
}

// pruneDue tells one caller in a while to forget what has run out.
func (s *Storage) pruneDue(now time.Time) bool {
	last := s.pruned.Load()
	return now.UnixMilli()-last >= pruneEvery.Milliseconds() && s.pruned.CompareAndSwap(last, now.UnixMilli())
}
