// Package datadir opens, backs up and restores the data of an installation: its database and its
// master key.
package datadir

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"chequer/internal/config"
	"chequer/internal/seal"
	"chequer/internal/storage"
	"chequer/internal/storage/engine"
)

// Options select how Open treats the database.
type Options struct {
	// Upgrade lets Open upgrade the schema of a database that an older release created.
	Upgrade bool
	// Existing makes Open fail if there is no database, instead of creating it.
	Existing bool
	// Now returns the time of entries of the audit log; nil is the machine's clock.
	Now func() time.Time
	Log *slog.Logger
}

// ErrNoDatabase means that there is no database.
var ErrNoDatabase = errors.New("there is no database")

// Open opens the storage with the master key. It creates the data directory, the master key and the
// database if they do not exist, unless o.Existing is set.
func Open(ctx context.Context, c config.Config, o Options) (*storage.Storage, *seal.Box, error) {
	if o.Existing {
		if err := requireDatabase(ctx, c); err != nil {
			return nil, nil, err
		}
	}
	if err := os.MkdirAll(c.DataDir, 0o700); err != nil {
		return nil, nil, fmt.Errorf("data directory: %w", err)
	}
	release, err := lockDataDir(c)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = release() }() // only a lock is released, so an error is ignored
	master, isNew, err := masterKey(ctx, c)
	if err != nil {
		return nil, nil, err
	}
	box, err := seal.New(master)
	if err != nil {
		return nil, nil, err
	}
	s, err := storage.Open(ctx, c.DatabaseURL, box, storage.Options{
		IndexMarks: filepath.Join(c.DataDir, indexMarks), AuditMark: filepath.Join(c.DataDir, auditMark), Now: o.Now, Upgrade: o.Upgrade, Log: o.Log,
	})
	switch {
	case errors.Is(err, engine.ErrOlder):
		return nil, nil, fmt.Errorf("%w: stop every server of that release, then run chequer migrate or chequer serve, which upgrade the database", err)
	case err != nil && isNew:
		return nil, nil, errors.Join(err, removeNewKey(ctx, c))
	}
	return s, box, err
}

// indexMarks is the file that records up to which index addresses may have been issued. Backups do not
// contain it: a file that is missing, or that has higher indexes than the database, shows that the
// database may be an older copy. See highwater.Marks.
const indexMarks = "indexes.json"

// auditMark is the file that records the newest known entry of the audit log. Backups do not contain it,
// because the database of a backup ends with an older entry.
const auditMark = "audit.json"

// requireDatabase returns ErrNoDatabase if there is no database. If there is a master key but no
// database, it returns nil, because masterKey returns an error that names the key.
func requireDatabase(ctx context.Context, c config.Config) error {
	isUsed, err := engine.InUse(ctx, c.DatabaseURL)
	if err != nil || isUsed || exists(filepath.Join(c.DataDir, masterKeyFile)) {
		return err
	}
	return fmt.Errorf("%w in %s: chequer init or chequer serve creates one; CHEQUER_CONFIG or CHEQUER_DATA_DIR selects another database", ErrNoDatabase, Place(c))
}

// exists reports whether a file exists.
func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// Place returns "SQLite in PATH" or "PostgreSQL".
func Place(c config.Config) string {
	path, isFile := strings.CutPrefix(c.DatabaseURL, "sqlite:")
	if !isFile {
		return "PostgreSQL"
	}
	if absolute, err := filepath.Abs(path); err == nil {
		path = absolute
	}
	return "SQLite in " + path
}
