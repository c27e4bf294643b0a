package engine

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"
)

// Connect returns a pool for a database that no Engine uses. For SQLite the pool has a single connection,
// which can write. Connect does not connect yet.
func Connect(url string) (*sql.DB, Dialect, error) {
	d, source, err := parseURL(url)
	if err != nil {
		return nil, d, err
	}
	db, _, err := connect(d, source, defaultBusyTimeout)
	return db, d, err
}

// ConnectReading returns a pool for a database that is only read.
func ConnectReading(url string) (*sql.DB, Dialect, error) {
	d, source, err := parseURL(url)
	if err != nil {
		return nil, d, err
	}
	db, err := readingPool(d, source)
	return db, d, err
}

// InUse reports whether there is a database that was opened with a master key.
func InUse(ctx context.Context, url string) (bool, error) {
	d, source, err := parseURL(url)
	if err != nil {
		return false, err
	}
	if d == sqliteDialect {
		if empty, err := isAbsentOrEmpty(source); empty || err != nil {
			return false, err
		}
	}
	db, err := readingPool(d, source)
	if err != nil {
		return false, fmt.Errorf("check database: %w", err)
	}
	defer db.Close()
	return HasMasterKey(ctx, db, d)
}

// isAbsentOrEmpty reports whether a database's file is absent or empty.
func isAbsentOrEmpty(path string) (bool, error) {
	file, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("check database: %w", err)
	}
	return file.Size() == 0, nil
}

// connect returns a pool for a database, and the state of its connections to PostgreSQL, which is
// nil for SQLite.
func connect(d Dialect, source string, busyTimeout time.Duration) (*sql.DB, *pool, error) {
	if d != sqliteDialect {
		return openPostgres(source)
	}
	if err := makeFile(source); err != nil {
		return nil, nil, err
	}
	db, err := sql.Open(d.driver, sqliteWriteDSN(source, busyTimeout))
	if err != nil {
		return nil, nil, err
	}
	db.SetMaxOpenConns(1)
	return db, nil, nil
}

// readingPool returns a pool for a database that is only read.
func readingPool(d Dialect, source string) (*sql.DB, error) {
	if d == sqliteDialect {
		return sql.Open(d.driver, sqliteReadDSN(source, defaultBusyTimeout))
	}
	db, _, err := openPostgres(source)
	return db, err
}
