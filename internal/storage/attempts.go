package storage

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"chequer/internal/account"
	"chequer/internal/storage/engine"
)

// attemptsTTL is the time after which failed sign-ins no longer matter.
const attemptsTTL = 2 * time.Hour

// UpdateAttempts implements account.Storage. It deletes old attempts of other subjects.
func (s *Storage) UpdateAttempts(ctx context.Context, subject string, now time.Time, change func(*account.Attempts) error) error {
	refused, err := answer(ctx, s.write, func(ctx context.Context, q querier) (refused error, err error) {
		if _, err := q.ExecContext(ctx, "DELETE FROM sign_in_attempts WHERE last_at < $1 AND subject <> $2", now.Add(-attemptsTTL).UnixMilli(), subject); err != nil {
			return nil, fmt.Errorf("delete old attempts: %w", err)
		}
		// The row is written before it is locked, so that concurrent first attempts wait for each other.
		if _, err := q.ExecContext(ctx, "INSERT INTO sign_in_attempts (subject, failures) VALUES ($1, 0) ON CONFLICT DO NOTHING", subject); err != nil {
			return nil, fmt.Errorf("write attempts: %w", err)
		}
		var a account.Attempts
		var first, last, disabled sql.Null[int64]
		err = q.QueryRowContext(ctx, "SELECT failures, since, last_at, disabled_until FROM sign_in_attempts WHERE subject = $1"+s.engine.ForUpdate, subject).
			Scan(&a.Failures, &first, &last, &disabled)
		if err != nil && !engine.Absent(err) {
			return nil, fmt.Errorf("read attempts: %w", err)
		}
		a.Since, a.Last, a.DisabledUntil = fromMillis(first), fromMillis(last), fromMillis(disabled)
		refused = change(&a)
		_, err = q.ExecContext(ctx, "UPDATE sign_in_attempts SET failures = $2, since = $3, last_at = $4, disabled_until = $5 WHERE subject = $1",
			subject, a.Failures, millis(a.Since), millis(a.Last), millis(a.DisabledUntil))
		if err != nil {
			return nil, fmt.Errorf("write attempts: %w", err)
		}
		return refused, nil
	})
	if err != nil {
		return err
	}
	return refused
}
