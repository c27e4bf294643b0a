package backup

import (
	"context"
	"database/sql"
	"encoding/hex"
	"fmt"
	"io"

	"chequer/internal/storage/engine"
	"chequer/internal/storage/highwater"
)

// RestoreOptions are the options of Restore.
type RestoreOptions struct {
	// IndexMarks is the file of the high-water marks of the destination indexes. If the file exists
	// already, its marks are upper bounds of the used indexes.
	IndexMarks string
	// BeforeCommit is called when everything is read, checked and written, but not committed yet.
	// If it returns an error, everything is rolled back.
	BeforeCommit func() error
}

// Restored is the result of a restore.
type Restored struct {
	Manifest
	// Skipped is the smallest number of indexes that each counter skipped. Invoices that were created after
	// the backup may have used them.
	Skipped int64 `json:"skipped_indexes"`
}

// Check reads a backup to its end, and returns its manifest and the master key in it. The errors are
// ErrDamaged and ErrNewer.
func Check(r io.Reader) (m Manifest, master []byte, err error) {
	b, err := newReader(r)
	if err != nil {
		return Manifest{}, nil, err
	}
	if master, err = hex.DecodeString(b.header.MasterKey); err != nil {
		return Manifest{}, nil, fmt.Errorf("%w: master key: %w", ErrDamaged, err)
	}
	m, err = b.visitTables(
		func(string, []string) error { return nil },
		func([]byte) error { return nil })
	return m, master, err
}

// CheckEmpty returns ErrNotEmpty if the database has data, so that no backup can be restored into it.
func CheckEmpty(ctx context.Context, url string) error {
	isUsed, err := engine.InUse(ctx, url)
	if err == nil && isUsed {
		err = ErrNotEmpty
	}
	return err
}

// Restore writes a backup into an empty database, completely or not at all, and advances the destination
// indexes. It makes the schema in the backup's version, which Open upgrades later. The errors include
// ErrNotEmpty, ErrDamaged and ErrNewer.
func Restore(ctx context.Context, url string, r io.Reader, o RestoreOptions) (Restored, error) {
	restored, err := restore(ctx, url, r, o)
	if err != nil {
		return Restored{}, fmt.Errorf("restore database: %w", err)
	}
	return restored, nil
}

func restore(ctx context.Context, url string, r io.Reader, o RestoreOptions) (Restored, error) {
	d, err := engine.DialectOf(url)
	if err != nil {
		return Restored{}, err
	}
	marks, err := highwater.Open(o.IndexMarks, d, nil, nil)
	if err != nil {
		return Restored{}, err
	}
	defer func() { _ = marks.Close() }() // every mark was written and synced before
	b, err := newReader(r)
	if err != nil {
		return Restored{}, err
	}
	db, _, err := engine.Connect(url)
	if err != nil {
		return Restored{}, err
	}
	defer db.Close()
	if err := checkUnused(ctx, db, d); err != nil {
		return Restored{}, err
	}
	if err := makeSchema(ctx, db, d, b.header.Schema); err != nil {
		return Restored{}, err
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return Restored{}, fmt.Errorf("begin: %w", err)
	}
	defer tx.Rollback() // no effect after a commit
	m, err := load(ctx, tx, d, b)
	if err != nil {
		return Restored{}, err
	}
	if err := skipIndexes(ctx, tx, marks); err != nil {
		return Restored{}, err
	}
	if o.BeforeCommit != nil {
		if err := o.BeforeCommit(); err != nil {
			return Restored{}, err
		}
	}
	if err := tx.Commit(); err != nil {
		return Restored{}, fmt.Errorf("commit: %w", err)
	}
	return Restored{Manifest: m, Skipped: highwater.Leap}, nil
}

// checkUnused returns ErrNotEmpty if the database was ever opened with a master key. Tables alone
// may remain from an interrupted restore.
func checkUnused(ctx context.Context, q engine.Querier, d engine.Dialect) error {
	hasKey, err := engine.HasMasterKey(ctx, q, d)
	if err == nil && hasKey {
		err = ErrNotEmpty
	}
	return err
}

// makeSchema makes the tables of a schema version.
func makeSchema(ctx context.Context, db *sql.DB, d engine.Dialect, version int64) error {
	if err := engine.MigrateTo(ctx, db, d, version); err != nil {
		return fmt.Errorf("make schema: %w", err)
	}
	current, err := engine.SchemaVersion(ctx, db)
	if err != nil {
		return err
	}
	if current != version {
		return fmt.Errorf("the database has tables of schema version %d already, but the backup has version %d: use a database without tables", current, version)
	}
	return nil
}

// load writes the rows of a backup into the tables of its schema version.
func load(ctx context.Context, tx *sql.Tx, d engine.Dialect, b *reader) (Manifest, error) {
	tables, err := schema(ctx, b.header.Schema)
	if err != nil {
		return Manifest{}, err
	}
	if err := claimEmpty(ctx, tx, d, tables); err != nil {
		return Manifest{}, err
	}
	l := &loader{tx: tx, tables: tables}
	m, err := b.visitTables(
		func(name string, columns []string) error { return l.beginTable(ctx, name, columns) },
		func(line []byte) error { return l.addRow(ctx, line) })
	if err != nil {
		return Manifest{}, err
	}
	if err := l.end(ctx); err != nil {
		return Manifest{}, err
	}
	master, err := hex.DecodeString(b.header.MasterKey)
	if err != nil {
		return Manifest{}, fmt.Errorf("%w: master key: %w", ErrDamaged, err)
	}
	return m, checkMasterKey(ctx, tx, d, master)
}

// claimEmpty locks an empty database until the transaction ends, and deletes the rows that the migrations
// inserted, because the backup contains these rows.
func claimEmpty(ctx context.Context, q engine.Querier, d engine.Dialect, tables []table) error {
	if d.IsPostgres() { // every process that opens the database reads this table first
		if _, err := q.ExecContext(ctx, "LOCK TABLE meta IN ACCESS EXCLUSIVE MODE"); err != nil {
			return fmt.Errorf("lock database: %w", err)
		}
	}
	if err := checkUnused(ctx, q, d); err != nil {
		return err
	}
	if _, err := q.ExecContext(ctx, "DELETE FROM meta"); err != nil {
		return err
	}
	for _, t := range tables {
		var isUsed bool
		if err := q.QueryRowContext(ctx, t.selectAny()).Scan(&isUsed); err != nil {
			return err
		}
		if isUsed {
			return ErrNotEmpty
		}
	}
	return nil
}
