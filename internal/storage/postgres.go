package storage

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver
)

// defaultConnections is the size of the pool when no option says one.
const defaultConnections = 8

// tries is how often a transaction is run that PostgreSQL asks to run again.
const tries = 10

// postgres runs every transaction by itself: its locks are per row.
type postgres struct {
	db *sql.DB
}

// newPostgres makes the engine of an open database.
func newPostgres(db *sql.DB, connections int) *postgres {
	if connections <= 0 {
		connections = defaultConnections
	}
	db.SetMaxOpenConns(connections)
	db.SetMaxIdleConns(connections)
	db.SetConnMaxIdleTime(5 * time.Minute)
	return &postgres{db: db}
}

// write implements engine. What PostgreSQL asks to run again runs again, a few
// times, after a wait that grows and differs from caller to caller.
func (p *postgres) write(ctx context.Context, w work) error {
	for try := 1; ; try++ {
		err := p.transaction(ctx, sql.TxOptions{Isolation: sql.LevelReadCommitted}, w)
		if err == nil || !again(err) || try == tries {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(rand.N(time.Millisecond << try)):
		}
	}
}

// read implements engine.
func (p *postgres) read(ctx context.Context, w work) error { return w(ctx, p.db) }

// snapshot implements engine.
func (p *postgres) snapshot(ctx context.Context, w work) error {
	return p.transaction(ctx, sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true}, w)
}

// close implements engine.
func (p *postgres) close() error { return p.db.Close() }

func (p *postgres) transaction(ctx context.Context, o sql.TxOptions, w work) error {
	tx, err := p.db.BeginTx(ctx, &o)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	defer tx.Rollback() // does nothing after a commit
	if err := w(ctx, tx); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	return nil
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
