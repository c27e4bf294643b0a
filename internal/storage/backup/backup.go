// Package backup writes a whole database into a stream that can be restored to either engine, encrypts the
// stream with a passphrase, and restores it.
package backup

import (
	"context"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"time"

	"chequer/internal/seal"
	"chequer/internal/storage/engine"
)

// Write writes the whole database in a consistent state, even while other processes write to it. The backup
// contains the master key, so it is as secret as the key. The database is neither changed nor upgraded. The
// backup can be restored to either engine. Write holds one row in memory at a time.
// The errors include ErrNoDatabase, engine.ErrMasterKey and engine.ErrNewer.
func Write(ctx context.Context, url string, master []byte, now time.Time, w io.Writer) (Manifest, error) {
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

// openReading opens an existing database read-only, or returns ErrNoDatabase.
func openReading(ctx context.Context, url string) (*sql.DB, engine.Dialect, error) {
	isUsed, err := engine.InUse(ctx, url)
	if err == nil && !isUsed {
		err = ErrNoDatabase
	}
	if err != nil {
		return nil, engine.Dialect{}, err
	}
	return engine.ConnectReading(url)
}

func backUp(ctx context.Context, db *sql.DB, d engine.Dialect, master []byte, now time.Time, w io.Writer) (Manifest, error) {
	version, tables, err := schemaOf(ctx, db)
	if err != nil {
		return Manifest{}, err
	}
	// On SQLite all statements of a transaction see the same state.
	tx, err := db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true})
	if err != nil {
		return Manifest{}, fmt.Errorf("begin: %w", err)
	}
	defer tx.Rollback() // nothing to commit
	if err := keepSchema(ctx, tx, d, version, tables); err != nil {
		return Manifest{}, err
	}
	if err := checkMasterKey(ctx, tx, d, master); err != nil {
		return Manifest{}, err
	}
	header := header{
		Format: formatVersion, Schema: version, Engine: d.Name, CreatedAt: now, MasterKey: hex.EncodeToString(master),
	}
	b := newWriter(w)
	if err := b.lines.Encode(header); err != nil {
		return Manifest{}, err
	}
	for _, t := range tables {
		if err := b.copyTable(ctx, tx, t); err != nil {
			return Manifest{}, fmt.Errorf("table %s: %w", t.name, err)
		}
	}
	end, err := b.writeTrailer()
	return header.manifest(end), err
}

// schemaOf returns the schema version of a database and its tables, or engine.ErrNewer.
func schemaOf(ctx context.Context, q engine.Querier) (version int64, tables []table, err error) {
	latest, err := engine.LatestSchema()
	if err != nil {
		return 0, nil, err
	}
	version, err = engine.SchemaVersion(ctx, q)
	switch {
	case err != nil:
		return 0, nil, err
	case version > latest:
		return 0, nil, fmt.Errorf("schema version %d: %w", version, engine.ErrNewer)
	}
	tables, err = schema(ctx, version)
	return version, tables, err
}

// keepSchema fails unless the schema has the given version, and prevents schema changes until the
// transaction ends. On PostgreSQL a table that is changed in the meantime would look empty, so keepSchema
// locks the tables. See PostgreSQL, "Data consistency: caveats".
func keepSchema(ctx context.Context, q engine.Querier, d engine.Dialect, version int64, tables []table) error {
	if d.IsPostgres() {
		if _, err := q.ExecContext(ctx, lockAll(tables)); err != nil {
			return fmt.Errorf("lock tables: %w", err)
		}
	}
	current, err := engine.SchemaVersion(ctx, q)
	if err != nil {
		return err
	}
	if current != version {
		return errors.New("the database was upgraded during the backup: try again")
	}
	return nil
}

// checkMasterKey returns engine.ErrMasterKey if the database was made with another master key, and
// ErrNoDatabase if it has tables but was never opened with a master key.
func checkMasterKey(ctx context.Context, q engine.Querier, d engine.Dialect, master []byte) error {
	box, err := seal.New(master)
	if err != nil {
		return err
	}
	hasKey, err := engine.HasMasterKey(ctx, q, d)
	if err == nil && !hasKey {
		err = ErrNoDatabase
	}
	if err != nil {
		return err
	}
	return engine.CheckMasterKey(ctx, q, box)
}

// copyTable writes every row of a table.
func (w *writer) copyTable(ctx context.Context, q engine.Querier, t table) error {
	if err := w.beginTable(t); err != nil {
		return err
	}
	cells, targets := make([]cell, len(t.columns)), make([]any, len(t.columns))
	for i, kind := range t.types {
		var err error
		if cells[i], targets[i], err = newCell(kind); err != nil {
			return fmt.Errorf("column %s: %w", t.columns[i], err)
		}
	}
	return engine.Each(ctx, q, func(row engine.Row) error {
		if err := row.Scan(targets...); err != nil {
			return err
		}
		return w.writeRow(t, cells)
	}, t.selectAll())
}
