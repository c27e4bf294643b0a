package engine

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// defaultConnections is the size of the pool if Options.Connections is zero.
const defaultConnections = 8

// maxAttempts is the maximum number of attempts for work that fails with a transient error.
const maxAttempts = 10

// reconnectTime is the time from the first attempt during which work is repeated if the connection is lost.
// After it, the caller gets the error.
const reconnectTime = 500 * time.Millisecond

// postgres runs transactions concurrently, because PostgreSQL locks rows. Transactions that would wait for
// the same rows share a commit, see groups.
type postgres struct {
	db     *sql.DB
	pool   *pool
	groups groups
}

// newPostgres returns the engine of an open database.
func newPostgres(db *sql.DB, pool *pool, connections int) *postgres {
	if connections <= 0 {
		connections = defaultConnections
	}
	db.SetMaxOpenConns(connections)
	db.SetMaxIdleConns(connections)
	db.SetConnMaxIdleTime(5 * time.Minute)
	p := &postgres{db: db, pool: pool}
	p.groups = groups{commit: p.commit, waiting: map[string][]*job{}}
	return p
}

// write implements database. If the connection is lost during the commit, the caller gets an error although
// the commit may have succeeded.
func (p *postgres) write(ctx context.Context, w Work) error {
	return p.retry(ctx, func() (final bool, err error) {
		return p.transaction(ctx, sql.TxOptions{Isolation: sql.LevelReadCommitted}, w)
	})
}

// read implements database.
func (p *postgres) read(ctx context.Context, w Work) error {
	return p.retry(ctx, func() (final bool, err error) { return false, w(ctx, p.db) })
}

// snapshot implements database.
func (p *postgres) snapshot(ctx context.Context, w Work) error {
	return p.retry(ctx, func() (final bool, err error) {
		_, err = p.transaction(ctx, sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true}, w)
		return false, err // nothing to commit
	})
}

// checkPlace implements database.
func (p *postgres) checkPlace() error { return nil }

// waiting implements database.
func (p *postgres) waiting() (callers, groups int) { return p.groups.count() }

// close implements database.
func (p *postgres) close() error {
	p.groups.close()
	return p.db.Close()
}

// transaction runs work in a transaction. final is true if the commit returned an error but may have
// succeeded: then the work must not run again.
func (p *postgres) transaction(ctx context.Context, o sql.TxOptions, w Work) (final bool, err error) {
	tx, err := p.db.BeginTx(ctx, &o)
	if err != nil {
		return false, fmt.Errorf("begin: %w", err)
	}
	defer tx.Rollback() // no effect after a commit
	if err := w(ctx, tx); err != nil {
		return false, err
	}
	if err := tx.Commit(); err != nil {
		return !isRetryable(err), fmt.Errorf("commit: %w", err)
	}
	return false, nil
}

// retry calls do up to maxAttempts times, while it fails with a transient error that is not final. The
// wait before each repetition is random, so that callers do not repeat at the same time. Its maximum
// doubles with each attempt.
func (p *postgres) retry(ctx context.Context, do func() (final bool, err error)) error {
	started := time.Now()
	for attempt := 1; ; attempt++ {
		final, err := do()
		p.pool.noteError(err)
		transient := isRetryable(err) || isLostConnection(err) && time.Since(started) < reconnectTime
		if err == nil || final || !transient || attempt == maxAttempts || ctx.Err() != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(rand.N(time.Millisecond << attempt)):
		}
	}
}

// isRetryable reports whether a transaction failed only because of concurrent transactions. See PostgreSQL,
// appendix A: serialization_failure and deadlock_detected.
func isRetryable(err error) bool {
	var fault *pgconn.PgError
	return errors.As(err, &fault) && (fault.Code == "40001" || fault.Code == "40P01")
}

// Absent reports whether err means that a row does not exist. No row has a key that PostgreSQL cannot
// store, with a zero byte or invalid UTF-8: character_not_in_repertoire.
func Absent(err error) bool {
	var fault *pgconn.PgError
	return errors.Is(err, sql.ErrNoRows) || errors.As(err, &fault) && fault.Code == "22021"
}
