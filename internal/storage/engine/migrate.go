package engine

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/pressly/goose/v3"

	"chequer/internal/durable"
	"chequer/internal/filelock"
)

//go:embed migrations/*.sql
var migrations embed.FS

// maxMigrateAttempts is the largest number of attempts to upgrade a SQLite database: it may be busy while
// another process creates it, and its schema may change before it is copied. Each migration is one
// transaction, so a failed attempt leaves no part of a migration.
const maxMigrateAttempts = 10

// migrate upgrades the schema of a database to the version of this program. It returns ErrNewer if the
// schema is newer, and ErrOlder if it is older and o.Upgrade is false.
func migrate(ctx context.Context, db *sql.DB, d Dialect, source string, o Options) (Migration, error) {
	for attempt := 1; ; attempt++ {
		m, err := upgrade(ctx, db, d, source, o)
		final := d != sqliteDialect || errors.Is(err, ErrNewer) || errors.Is(err, ErrOlder) || ctx.Err() != nil
		if err == nil || final || attempt == maxMigrateAttempts {
			return m, err
		}
		select {
		case <-ctx.Done():
			return m, errors.Join(err, ctx.Err())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// Migration is a change of a database's schema when it was opened.
type Migration struct {
	From int64 `json:"from"` // 0 = there were no tables
	To   int64 `json:"to"`
	// Copy is the file with a copy of the database before the change; "" = no copy was made.
	Copy string `json:"copy"`
}

// upgrade runs the missing migrations, if any. It copies a SQLite database first.
func upgrade(ctx context.Context, db *sql.DB, d Dialect, source string, o Options) (m Migration, err error) {
	if m.To, err = LatestSchema(); err != nil {
		return m, fmt.Errorf("read migrations: %w", err)
	}
	m.From, err = currentSchema(ctx, db, d)
	if err == nil && 0 < m.From && m.From < m.To && !o.Upgrade {
		m.From, err = settledSchema(ctx, db, d, m.From, o.BusyTimeout)
	}
	switch {
	case err != nil:
		return m, err
	case m.From > m.To:
		return m, fmt.Errorf("schema version %d: %w", m.From, ErrNewer)
	case m.From == m.To:
		return m, nil
	case m.From > 0 && !o.Upgrade:
		return m, fmt.Errorf("schema version %d, not %d: %w", m.From, m.To, ErrOlder)
	}
	if m.From > 0 && d == sqliteDialect {
		if m.Copy, err = copyBeforeUpgrade(ctx, db, source, m.From); err != nil {
			return m, fmt.Errorf("copy database before its upgrade: %w", err)
		}
	}
	if err := MigrateTo(ctx, db, d, m.To); err != nil {
		return m, fmt.Errorf("upgrade schema: %w", err)
	}
	if m.From == 0 {
		o.Log.Info("database created", "schema", m.To)
	} else {
		o.Log.Info("database upgraded", "from", m.From, "to", m.To, "copy", m.Copy)
	}
	return m, nil
}

// settledSchema returns the schema version once no other process runs migrations, such as those of a new
// database. It returns the version that was read before if this takes longer than the timeout, or if the
// migrations cannot be locked.
func settledSchema(ctx context.Context, db *sql.DB, d Dialect, before int64, timeout time.Duration) (version int64, err error) {
	waiting, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	err = withMigrationLock(waiting, db, d, func() (err error) {
		version, err = currentSchema(waiting, db, d)
		return err
	})
	if err != nil && ctx.Err() == nil {
		return before, nil
	}
	return version, err
}

// MigrateTo runs the migrations up to a version.
func MigrateTo(ctx context.Context, db *sql.DB, d Dialect, version int64) error {
	return withMigrationLock(ctx, db, d, func() error { return migrateTo(ctx, db, d, version) })
}

// migrateTo is MigrateTo for the caller that has locked the migrations.
func migrateTo(ctx context.Context, db *sql.DB, d Dialect, version int64) error {
	provider, err := migrationProvider(db, d)
	if err != nil {
		return fmt.Errorf("read migrations: %w", err)
	}
	_, err = provider.UpTo(ctx, version)
	return err
}

// copyBeforeUpgrade copies a SQLite database of a schema version to a file next to it, and returns the
// path of the copy. An earlier copy of that version is replaced.
func copyBeforeUpgrade(ctx context.Context, db *sql.DB, source string, version int64) (path string, err error) {
	path = fmt.Sprintf("%s.schema-%d", source, version)
	unfinished := path + ".tmp"
	if err := os.Remove(unfinished); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	if err := makeFile(unfinished); err != nil { // so that only its owner can read it
		return "", err
	}
	defer os.Remove(unfinished) // has no effect once the file was renamed
	if _, err := db.ExecContext(ctx, "VACUUM INTO $1", unfinished); err != nil {
		return "", err
	}
	if err := checkVersion(ctx, unfinished, version); err != nil {
		return "", err
	}
	return path, durable.Move(unfinished, path)
}

// checkVersion returns an error unless a copy has the given schema version: another process may have
// upgraded the database in the meantime.
func checkVersion(ctx context.Context, path string, version int64) error {
	db, err := readingPool(sqliteDialect, path)
	if err != nil {
		return err
	}
	defer db.Close()
	current, err := currentSchema(ctx, db, sqliteDialect)
	if err == nil && current != version {
		err = fmt.Errorf("the schema version changed from %d to %d in the meantime", version, current)
	}
	return err
}

// migrationProvider returns a provider of the embedded migrations.
func migrationProvider(db *sql.DB, d Dialect) (*goose.Provider, error) {
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return nil, err
	}
	return goose.NewProvider(d.goose, db, files, goose.WithDisableGlobalRegistry(true))
}

// migrationLock is the key of the advisory lock of the process that runs migrations, a random number.
const migrationLock = 5_887_940_537_704_921_958

// withMigrationLock runs do while no other process runs migrations. On PostgreSQL the lock belongs to a
// transaction, not to a session, because a pooler may distribute the statements of a session over
// several connections. On SQLite it is a lock on a file next to the database, because a transaction
// would exclude the migrations too.
func withMigrationLock(ctx context.Context, db *sql.DB, d Dialect, do func() error) error {
	if d == sqliteDialect {
		return withFileLock(ctx, db, do)
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	defer tx.Rollback() // releases the lock
	if _, err := tx.ExecContext(ctx, "SELECT pg_advisory_xact_lock($1)", int64(migrationLock)); err != nil {
		return fmt.Errorf("lock migrations: %w", err)
	}
	return do()
}

// lockInterval is the interval between two attempts to lock a file.
const lockInterval = 20 * time.Millisecond

// withFileLock is withMigrationLock for a SQLite database.
func withFileLock(ctx context.Context, db *sql.DB, do func() error) error {
	var path string
	if err := db.QueryRowContext(ctx, "SELECT file FROM pragma_database_list WHERE name = 'main'").Scan(&path); err != nil {
		return fmt.Errorf("lock migrations: %w", err)
	}
	if path == "" { // a database in memory, which no other process can use
		return do()
	}
	lock := filelock.New(path + ".upgrade")
	if _, err := lock.TryLockContext(ctx, lockInterval); err != nil {
		return fmt.Errorf("lock migrations: %w", err)
	}
	defer func() { _ = lock.Unlock() }() // an error loses nothing, since the file has no content
	return do()
}
