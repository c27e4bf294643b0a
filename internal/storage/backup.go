package storage

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"time"
	"unicode/utf8"

	"chequer/internal/seal"
)

// Backup writes the whole database in a consistent state, while others may write to it, together
// with the master key: the backup is as secret as the key. The database is neither changed nor
// upgraded. The backup can be restored to either engine. Backup holds one row in memory at a time.
// The errors include ErrNoDatabase, ErrMasterKey and ErrNewer.
func Backup(ctx context.Context, url string, master []byte, now time.Time, w io.Writer) (Manifest, error) {
	db, d, err := openReading(ctx, url)
	if err != nil {
		return Manifest{}, fmt.Errorf("back up database: %w", err)
	}
	defer db.Close()
	m, err := backUp(ctx, db, d, master, now, w)
	if err != nil {
		return Manifest{}, fmt.Errorf("back up database: %w", err)
	}
	return m, nil
}

// openReading opens an existing database read-only; ErrNoDatabase.
func openReading(ctx context.Context, url string) (*sql.DB, dialect, error) {
	d, place, err := parseURL(url)
	if err != nil {
		return nil, d, err
	}
	used, err := InUse(ctx, url)
	if err != nil {
		return nil, d, err
	}
	if !used {
		return nil, d, ErrNoDatabase
	}
	db, err := readingPool(d, place)
	return db, d, err
}

func backUp(ctx context.Context, db *sql.DB, d dialect, master []byte, now time.Time, w io.Writer) (Manifest, error) {
	version, tables, err := schemaOf(ctx, db)
	if err != nil {
		return Manifest{}, err
	}
	// On SQLite every transaction sees one state.
	tx, err := db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true})
	if err != nil {
		return Manifest{}, fmt.Errorf("begin: %w", err)
	}
	defer tx.Rollback() // nothing to commit
	if err := keepSchema(ctx, tx, d, version, tables); err != nil {
		return Manifest{}, err
	}
	if err := fitsMasterKey(ctx, tx, master); err != nil {
		return Manifest{}, err
	}
	header := backupHeader{
		Format: backupFormat, Schema: version, Engine: engineName(d), CreatedAt: now, MasterKey: hex.EncodeToString(master),
	}
	b := newBackupWriter(w)
	if err := b.lines.Encode(header); err != nil {
		return Manifest{}, err
	}
	for _, t := range tables {
		if err := b.copyTable(ctx, tx, t); err != nil {
			return Manifest{}, fmt.Errorf("table %s: %w", t.name, err)
		}
	}
	end, err := b.end()
	return header.manifest(end), err
}

// schemaOf returns the schema version of a database and its tables; ErrNewer.
func schemaOf(ctx context.Context, q querier) (version int64, tables []table, err error) {
	latest, err := latestSchema()
	if err != nil {
		return 0, nil, err
	}
	version, err = schemaVersion(ctx, q)
	switch {
	case err != nil:
		return 0, nil, err
	case version > latest:
		return 0, nil, fmt.Errorf("schema version %d: %w", version, ErrNewer)
	}
	tables, err = schema(ctx, version)
	return version, tables, err
}

// keepSchema fails unless the schema has the given version, and prevents schema changes until the
// transaction ends. On PostgreSQL a table that is changed in the meantime would look empty, so it
// locks the tables. See PostgreSQL, "Data consistency: caveats".
func keepSchema(ctx context.Context, q querier, d dialect, version int64, tables []table) error {
	if d == postgresDialect {
		if _, err := q.ExecContext(ctx, lockAll(tables)); err != nil {
			return fmt.Errorf("lock tables: %w", err)
		}
	}
	now, err := schemaVersion(ctx, q)
	if err != nil {
		return err
	}
	if now != version {
		return errors.New("the database was upgraded during the backup: try again")
	}
	return nil
}

// fitsMasterKey returns ErrMasterKey if the database was made with another master key.
func fitsMasterKey(ctx context.Context, q querier, master []byte) error {
	box, err := seal.New(master)
	if err != nil {
		return err
	}
	_, err = masterKeyValue(ctx, q)
	if errors.Is(err, sql.ErrNoRows) {
		return ErrNoDatabase // has tables, but was never opened with a master key
	}
	if err != nil {
		return fmt.Errorf("read check value: %w", err)
	}
	return checkMasterKey(ctx, q, box)
}

// copyTable writes every row of a table.
func (b *backupWriter) copyTable(ctx context.Context, q querier, t table) error {
	if err := b.table(t); err != nil {
		return err
	}
	into := make([]any, len(t.columns))
	for i, kind := range t.types {
		var err error
		if into[i], err = newCell(kind); err != nil {
			return fmt.Errorf("column %s: %w", t.columns[i], err)
		}
	}
	values := make([]any, len(t.columns))
	return each(ctx, q, func(row scanner) error {
		if err := row.Scan(into...); err != nil {
			return err
		}
		for i := range into {
			var err error
			if values[i], err = cellValue(into[i]); err != nil {
				return fmt.Errorf("column %s: %w", t.columns[i], err)
			}
		}
		return b.row(t, values)
	}, t.selectAll())
}

// newCell returns a value that a column of the given type can be scanned into.
func newCell(kind string) (any, error) {
	switch kind {
	case "TEXT":
		return &sql.Null[string]{}, nil
	case "BIGINT":
		return &sql.Null[int64]{}, nil
	case "BOOLEAN":
		return &sql.Null[bool]{}, nil
	}
	return nil, fmt.Errorf("backup does not support the type %s", kind)
}

// cellValue returns the value that was scanned, nil for NULL. Text that JSON would change is an
// error.
func cellValue(cell any) (any, error) {
	value, err := cell.(driver.Valuer).Value()
	if text, ok := value.(string); ok && !utf8.ValidString(text) {
		return nil, errors.New("holds text that is not UTF-8")
	}
	return value, err
}

func engineName(d dialect) string {
	if d == postgresDialect {
		return "postgres"
	}
	return "sqlite"
}
