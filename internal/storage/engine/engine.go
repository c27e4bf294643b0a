// Package engine runs transactions on SQLite or PostgreSQL, with the same schema and the same SQL. It does
// not depend on the content of the tables.
package engine

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"time"

	"chequer/internal/seal"
)

// Engine is an open database. It is safe for concurrent use.
type Engine struct {
	Dialect
	database  database
	migration Migration
	outage    outageState
	proof     writeProof
	options   Options
	log       *slog.Logger
}

// database runs work on one of the two database engines. All methods are safe for concurrent use.
type database interface {
	// The methods of Engine with these names describe how work runs.
	write(ctx context.Context, w Work) error
	share(ctx context.Context, group string, w Work) error
	read(ctx context.Context, w Work) error
	snapshot(ctx context.Context, w Work) error
	// checkPlace returns an error if the database's file was deleted or replaced: the data that this
	// process writes is then lost when the process ends.
	checkPlace() error
	// waiting returns the number of callers that wait for other work, and the number of groups with
	// running transactions.
	waiting() (callers, groups int)
	// close waits for running work, then closes the connections.
	close() error
}

// Options are the options of Open.
type Options struct {
	// Connections is the largest number of connections to PostgreSQL; 0 = 8. SQLite has one
	// connection that writes and several that read.
	Connections int
	// Upgrade allows Open to upgrade the schema of a database that an older release made. Without
	// it Open returns ErrOlder.
	Upgrade bool
	// BusyTimeout is the time that SQLite waits while another process locks the database; a write
	// makes several such attempts. 0 = 10 s.
	BusyTimeout time.Duration
	// Unavailable is wrapped by the errors that only mean that the database is temporarily
	// unavailable.
	Unavailable error
	// Prove is called by Ready after its write to the database; nil = nothing else is proved.
	Prove func() error
	Log   *slog.Logger
}

// Open opens a database, "sqlite:PATH", a plain path, or "postgres://…", and makes its schema if
// necessary. The errors include ErrMasterKey, ErrNewer and ErrOlder.
func Open(ctx context.Context, url string, box *seal.Box, o Options) (*Engine, error) {
	d, source, err := parseURL(url)
	if err != nil {
		return nil, err
	}
	if o.BusyTimeout <= 0 {
		o.BusyTimeout = defaultBusyTimeout
	}
	e := &Engine{Dialect: d, proof: writeProof{ttl: proofTTL}, options: o, log: o.Log}
	db, pool, err := connect(d, source, o.BusyTimeout)
	if err != nil {
		return nil, err
	}
	err = e.prepare(ctx, db, source, box)
	switch {
	case err != nil:
	case pool != nil:
		e.database = newPostgres(db, pool, o.Connections)
	default:
		e.database, err = newSQLite(ctx, db, source, o)
	}
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return e, nil
}

// prepare makes the schema and checks the master key.
func (e *Engine) prepare(ctx context.Context, db *sql.DB, source string, box *seal.Box) error {
	var err error
	if e.migration, err = migrate(ctx, db, e.Dialect, source, e.options); err != nil {
		return err
	}
	return setMasterKey(ctx, db, box)
}

// Migration returns the change of the schema that Open made.
func (e *Engine) Migration() Migration { return e.migration }

// Close waits for running transactions and closes the database.
func (e *Engine) Close() error { return e.database.close() }

// Write runs w in a transaction, and returns when the transaction is committed. If w returns an error or
// panics, the transaction is rolled back. Write returns ErrNested inside other work, and errors that wrap
// Options.Unavailable. After an error of the commit it is not known whether the transaction was committed.
// w may run more than once, but never again after a commit that may have succeeded. w may still run after
// the context has ended, so its results must be returned through Answer.
func (e *Engine) Write(ctx context.Context, w Work) error {
	return e.run(ctx, w, e.database.write)
}

// Share is Write for work that would wait for other work of its group: w may be committed together
// with that work. The first row that w locks must be the row of the group.
func (e *Engine) Share(ctx context.Context, group string, w Work) error {
	return e.run(ctx, w, func(ctx context.Context, w Work) error { return e.database.share(ctx, group, w) })
}

// Read runs work whose statements may see different states. The error may be ErrNested or
// Options.Unavailable.
func (e *Engine) Read(ctx context.Context, w Work) error {
	return e.run(ctx, w, e.database.read)
}

// Snapshot runs work whose statements all see the same state. The error may be ErrNested or
// Options.Unavailable.
func (e *Engine) Snapshot(ctx context.Context, w Work) error {
	return e.run(ctx, w, e.database.snapshot)
}

// Clock returns the time of the database's clock.
func (e *Engine) Clock(ctx context.Context) (time.Time, error) {
	ms, err := Answer(ctx, e.Read, func(ctx context.Context, q Querier) (ms int64, err error) {
		err = q.QueryRowContext(ctx, "SELECT "+e.clock).Scan(&ms)
		return ms, err
	})
	return time.UnixMilli(ms), err
}

// Waiting returns the number of callers that wait for SQLite's writer or, on PostgreSQL, for another
// caller of their group, and the number of groups with running transactions.
func (e *Engine) Waiting() (callers, groups int) { return e.database.waiting() }
