// Package storage stores all persistent data in SQLite or PostgreSQL: one schema, one SQL text.
package storage

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"sync/atomic"
	"time"

	"chequer/internal/chain/simnet"
	"chequer/internal/invoice"
	"chequer/internal/merchant"
	"chequer/internal/sale"
	"chequer/internal/seal"
	"chequer/internal/watcher"
	"chequer/internal/webhook"
)

// Storage is an open database. It is safe for concurrent use.
type Storage struct {
	engine    engine
	dialect   dialect
	box       *seal.Box
	reserve   *reserve
	log       *slog.Logger
	migration Migration
	recent    recent
	leases    observations
	proof     writeProof
	skew      atomic.Int64 // of this process's clock against the database's, in milliseconds
	pruned    atomic.Int64 // time of the last deletion of expired rows, in Unix milliseconds
	outage    outageState
}

var _ interface {
	invoice.Storage
	merchant.Storage
	merchant.EndpointStorage
	merchant.LinkStorage
	simnet.Storage
	watcher.Storage
	webhook.Storage
	sale.Storage
	sale.AccountStorage
} = (*Storage)(nil)

// Options are the options of Open.
type Options struct {
	// Connections is the largest number of connections to PostgreSQL; 0 = 8. SQLite has one
	// connection that writes and several that read.
	Connections int
	// IndexMarks is the file that stores, outside the database, the range of destination indexes
	// that may have been used; "" = none.
	IndexMarks string
	// Upgrade allows Open to upgrade the schema of a database that an older release made. Without
	// it Open returns ErrOlder.
	Upgrade bool
	// BusyTimeout is the time that SQLite waits while another process locks the database; a write
	// makes several such attempts. 0 = 10 s.
	BusyTimeout time.Duration
	Log         *slog.Logger
}

// Open opens a database, "sqlite:PATH", a plain path, or "postgres://…", and makes its schema if
// necessary. The errors include ErrMasterKey, ErrNewer and ErrOlder.
func Open(ctx context.Context, url string, box *seal.Box, o Options) (*Storage, error) {
	d, place, err := parseURL(url)
	if err != nil {
		return nil, err
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	marks, err := openReserve(o.IndexMarks, d)
	if err != nil {
		return nil, err
	}
	s := &Storage{dialect: d, box: box, reserve: marks, proof: writeProof{ttl: proofTTL}, log: o.Log}
	if o.BusyTimeout <= 0 {
		o.BusyTimeout = busyTimeout
	}
	if err := s.connect(ctx, place, o); err != nil {
		return nil, errors.Join(fmt.Errorf("open database: %w", err), marks.close())
	}
	if err := s.catchUp(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("open database: %w", err), s.engine.close(), marks.close())
	}
	return s, nil
}

// InUse reports whether there is a database that was opened with a master key.
func InUse(ctx context.Context, url string) (bool, error) {
	d, place, err := parseURL(url)
	if err != nil {
		return false, err
	}
	if d == sqliteDialect {
		if empty, err := emptyFile(place); empty || err != nil {
			return false, err
		}
	}
	db, err := readingPool(d, place)
	if err != nil {
		return false, fmt.Errorf("check database: %w", err)
	}
	defer db.Close()
	there, err := hasTable(ctx, db, d, "meta")
	if err != nil || !there {
		return false, err
	}
	_, err = masterKeyValue(ctx, db)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("check database: %w", err)
	}
	return true, nil
}

// emptyFile reports whether a database's file is absent or empty.
func emptyFile(path string) (bool, error) {
	file, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("check database: %w", err)
	}
	return file.Size() == 0, nil
}

// Close waits for running transactions and closes the database.
func (s *Storage) Close() error {
	s.settleMarks()
	return errors.Join(s.engine.close(), s.reserve.close())
}

// connect returns a pool for a database; for SQLite, with the single connection that writes. It
// does not connect yet.
func connect(d dialect, place string, busy time.Duration) (*sql.DB, error) {
	if d != sqliteDialect {
		db, _, err := openPostgres(place)
		return db, err
	}
	if err := makeFile(place); err != nil {
		return nil, err
	}
	db, err := sql.Open(d.driver, sqliteWriting(place, busy))
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	return db, nil
}

// readingPool returns a pool for a database that is only read.
func readingPool(d dialect, place string) (*sql.DB, error) {
	if d == sqliteDialect {
		return sql.Open(d.driver, sqliteReading(place, busyTimeout))
	}
	return connect(d, place, busyTimeout)
}

// connect connects to the database, makes the schema, checks the master key and starts
// the engine.
func (s *Storage) connect(ctx context.Context, place string, o Options) error {
	if s.dialect == postgresDialect {
		db, pool, err := openPostgres(place)
		if err != nil {
			return err
		}
		if err := s.prepare(ctx, db, place, o); err != nil {
			return errors.Join(err, db.Close())
		}
		s.engine = newPostgres(db, pool, o.Connections)
		return nil
	}
	db, err := connect(s.dialect, place, o.BusyTimeout)
	if err != nil {
		return err
	}
	err = s.prepare(ctx, db, place, o)
	if err == nil {
		s.engine, err = newSQLite(ctx, db, place, o)
	}
	if err != nil {
		return errors.Join(err, db.Close())
	}
	return nil
}

// prepare makes the schema and checks the master key.
func (s *Storage) prepare(ctx context.Context, db *sql.DB, place string, o Options) error {
	var err error
	if s.migration, err = migrate(ctx, db, s.dialect, place, o); err != nil {
		return err
	}
	return checkMasterKey(ctx, db, s.box)
}

// checkMasterKey compares a value that depends on the master key with the one that was written when
// the database was new.
func checkMasterKey(ctx context.Context, q querier, box *seal.Box) error {
	const purpose = "meta master_key"
	value, err := masterKeyValue(ctx, q)
	if errors.Is(err, sql.ErrNoRows) {
		_, err = q.ExecContext(ctx, "INSERT INTO meta (name, value) VALUES ('master_key', $1) ON CONFLICT (name) DO NOTHING", box.MAC(purpose))
		if err != nil {
			return fmt.Errorf("write check value: %w", err)
		}
		value, err = masterKeyValue(ctx, q)
	}
	if err != nil {
		return fmt.Errorf("read check value: %w", err)
	}
	if !box.Check(value, purpose) {
		return ErrMasterKey
	}
	return nil
}

func masterKeyValue(ctx context.Context, q querier) (value string, err error) {
	err = q.QueryRowContext(ctx, "SELECT value FROM meta WHERE name = 'master_key'").Scan(&value)
	return value, err
}

// write runs work in a transaction. It returns ErrNested inside another transaction, and
// invoice.ErrUnavailable. After an error it is not known whether work was committed. Work may still
// run after the context has ended, so its results must be returned through answer.
func (s *Storage) write(ctx context.Context, w work) error {
	if err := checkNesting(); err != nil {
		return err
	}
	return s.availability(ctx, s.engine.write(ctx, noted(w)))
}

// share is write for work that locks a merchant's feed before anything else, so that work of one
// merchant may share a commit.
func (s *Storage) share(ctx context.Context, merchantID string, w work) error {
	if err := checkNesting(); err != nil {
		return err
	}
	return s.availability(ctx, s.engine.share(ctx, merchantID, noted(w)))
}

// read runs work whose statements may see different states; ErrNested and invoice.ErrUnavailable.
func (s *Storage) read(ctx context.Context, w work) error {
	if err := checkNesting(); err != nil {
		return err
	}
	return s.availability(ctx, s.engine.read(ctx, w))
}

// snapshot runs work whose statements all see the same state; ErrNested and
// invoice.ErrUnavailable.
func (s *Storage) snapshot(ctx context.Context, w work) error {
	if err := checkNesting(); err != nil {
		return err
	}
	return s.availability(ctx, s.engine.snapshot(ctx, w))
}

// answer runs find with write, read or snapshot, and returns its result. The result is read only
// when find has ended: if the context ends first, answer returns the zero value, while find may
// still run.
func answer[T any](ctx context.Context, run func(context.Context, work) error, find func(context.Context, querier) (T, error)) (T, error) {
	var found, nothing T
	err := run(ctx, func(ctx context.Context, q querier) (err error) {
		found, err = find(ctx, q)
		return err
	})
	if err != nil {
		return nothing, err
	}
	return found, nil
}
