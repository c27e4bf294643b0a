package storage

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"time"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
)

//go:embed migrations/*.sql
var migrations embed.FS

// migrateTries is how often a migration is tried that fails, since on SQLite
// another process may be at the same: whoever comes second finds the tables
// there. Each migration is one transaction, so nothing is ever half done.
const migrateTries = 10

// migrate brings the schema of a database to the version this program knows;
// ErrNewer.
func migrate(ctx context.Context, db *sql.DB, d dialect, log *slog.Logger) error {
	provider, err := migrationProvider(db, d)
	if err != nil {
		return fmt.Errorf("read migrations: %w", err)
	}
	for try := 1; ; try++ {
		err := upgrade(ctx, provider, log)
		final := d != sqliteDialect || errors.Is(err, ErrNewer) || ctx.Err() != nil
		if err == nil || final || try == migrateTries {
			return err
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// upgrade runs the migrations that are missing, if any.
func upgrade(ctx context.Context, provider *goose.Provider, log *slog.Logger) error {
	current, known, err := provider.GetVersions(ctx)
	switch {
	case err != nil:
		return fmt.Errorf("read schema version: %w", err)
	case current > known:
		return fmt.Errorf("schema version %d: %w", current, ErrNewer)
	case current == known:
		return nil
	}
	if _, err := provider.Up(ctx); err != nil {
		return fmt.Errorf("upgrade schema: %w", err)
	}
	log.Info("database upgraded", "from", current, "to", known)
	return nil
}

// migrationProvider reads our migrations. On PostgreSQL an advisory lock lets
// only one process run them.
func migrationProvider(db *sql.DB, d dialect) (*goose.Provider, error) {
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return nil, err
	}
	options := []goose.ProviderOption{goose.WithDisableGlobalRegistry(true)}
	if d == postgresDialect {
		locker, err := lock.NewPostgresSessionLocker(lock.WithLockTimeout(1, 300))
		if err != nil {
			return nil, err
		}
		options = append(options, goose.WithSessionLocker(locker))
	}
	return goose.NewProvider(d.goose, db, files, options...)
}
