package engine

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/pressly/goose/v3"
)

// VersionTable is the table with the schema version of a database.
const VersionTable = goose.DefaultTablename

// LatestSchema returns the newest schema version of this program.
func LatestSchema() (int64, error) {
	files, err := migrations.ReadDir("migrations")
	if err != nil {
		return 0, fmt.Errorf("read migrations: %w", err)
	}
	return goose.NumericComponent(files[len(files)-1].Name()) // sorted by name
}

// SchemaVersion returns the schema version of a database that has tables of this program.
func SchemaVersion(ctx context.Context, q Querier) (version int64, err error) {
	err = q.QueryRowContext(ctx, "SELECT MAX(version_id) FROM goose_db_version WHERE is_applied").Scan(&version)
	if err != nil {
		return 0, fmt.Errorf("read schema version: %w", err)
	}
	return version, nil
}

// currentSchema returns the schema version of a database; 0 if it has no tables of this program.
func currentSchema(ctx context.Context, q Querier, d Dialect) (int64, error) {
	exists, err := hasTable(ctx, q, d, VersionTable)
	if err != nil || !exists {
		return 0, err
	}
	return SchemaVersion(ctx, q)
}

// hasTable reports whether a database has a table.
func hasTable(ctx context.Context, q Querier, d Dialect, name string) (bool, error) {
	var count int64
	if err := q.QueryRowContext(ctx, d.countTable, name).Scan(&count); err != nil {
		return false, fmt.Errorf("check database: %w", err)
	}
	return count > 0, nil
}

// MemorySchema returns a SQLite database in memory with the tables of a schema version.
func MemorySchema(ctx context.Context, version int64) (*sql.DB, error) {
	db, err := sql.Open(sqliteDialect.driver, ":memory:")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1) // another connection would see another database
	if err := MigrateTo(ctx, db, sqliteDialect, version); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}
