package storage

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// defaultConnections is the size of the pool when no option says one.
const defaultConnections = 8

// tries is how often something is run that PostgreSQL did not get to the end of.
const tries = 10

// outage is how long PostgreSQL may be away before the caller is told.
const outage = 500 * time.Millisecond

// postgres runs every transaction by itself, as its locks are per row, but for
// those that would wait for the same rows.
type postgres struct {
	db     *sql.DB
	pool   *pool
	groups groups
}

// newPostgres makes the engine of an open database.
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

// write implements engine. When the connection is lost at the commit, nobody
// knows whether that came to pass, and the caller is told.
func (p *postgres) write(ctx context.Context, w work) error {
	return p.persist(ctx, func() (final bool, err error) {
		return p.transaction(ctx, sql.TxOptions{Isolation: sql.LevelReadCommitted}, w)
	})
}

// read implements engine.
func (p *postgres) read(ctx context.Context, w work) error {
	return p.persist(ctx, func() (final bool, err error) { return false, w(ctx, p.db) })
}

// snapshot implements engine.
func (p *postgres) snapshot(ctx context.Context, w work) error {
	return p.persist(ctx, func() (final bool, err error) {
		_, err = p.transaction(ctx, sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true}, w)
		return false, err // there is nothing to commit
	})
}

// close implements engine.
func (p *postgres) close() error {
	p.groups.close()
	return p.db.Close()
}

// transaction runs work in a transaction. A fault is final when the commit may
// have come to pass all the same.
func (p *postgres) transaction(ctx context.Context, o sql.TxOptions, w work) (final bool, err error) {
	tx, err := p.db.BeginTx(ctx, &o)
	if err != nil {
		return false, fmt.Errorf("begin: %w", err)
	}
	defer tx.Rollback() // does nothing after a commit
	if err := w(ctx, tx); err != nil {
		return false, err
	}
	if err := tx.Commit(); err != nil {
		return !again(err), fmt.Errorf("commit: %w", err)
	}
	return false, nil
}

// persist runs something again that PostgreSQL asks to run again, or was away
// for, a few times, after a wait that grows and differs from caller to caller.
func (p *postgres) persist(ctx context.Context, do func() (final bool, err error)) error {
	started := time.Now()
	for try := 1; ; try++ {
		final, err := do()
		p.pool.note(err)
		worth := again(err) || lost(err) && time.Since(started) < outage
		if err == nil || final || !worth || try == tries || ctx.Err() != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(rand.N(time.Millisecond << try)):
		}
	}
}

// again tells whether a transaction failed only because of others that ran at
// the same time. See PostgreSQL, appendix A: serialization_failure and
// deadlock_detected.
func again(err error) bool {
	var fault *pgconn.PgError
	return errors.As(err, &fault) && (fault.Code == "40001" || fault.Code == "40P01")
}

// absent tells whether a row was not found. A key that PostgreSQL cannot hold,
// with a zero byte or no UTF-8, is the key of nothing: character_not_in_repertoire.
func absent(err error) bool {
	var fault *pgconn.PgError
	return errors.Is(err, sql.ErrNoRows) || errors.As(err, &fault) && fault.Code == "22021"
}
