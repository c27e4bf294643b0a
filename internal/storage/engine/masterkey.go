package engine

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"chequer/internal/seal"
)

// masterKeyPurpose is the purpose of the check value, which depends on the master key.
const masterKeyPurpose = "meta master_key"

// HasMasterKey reports whether a database was ever opened with a master key. Before that, it may have
// the tables of an interrupted restore.
func HasMasterKey(ctx context.Context, q Querier, d Dialect) (bool, error) {
	exists, err := hasTable(ctx, q, d, "meta")
	if err != nil || !exists {
		return false, err
	}
	_, err = masterKeyValue(ctx, q)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("check database: %w", err)
	}
	return true, nil
}

// CheckMasterKey returns ErrMasterKey if the check value that was written when the database was new is
// not that of the given master key.
func CheckMasterKey(ctx context.Context, q Querier, box *seal.Box) error {
	value, err := masterKeyValue(ctx, q)
	if err != nil {
		return fmt.Errorf("read check value: %w", err)
	}
	if !box.Check(value, masterKeyPurpose) {
		return ErrMasterKey
	}
	return nil
}

// setMasterKey writes the check value to a new database. If the database has a check value, setMasterKey
// only compares it, like CheckMasterKey.
func setMasterKey(ctx context.Context, q Querier, box *seal.Box) error {
	err := CheckMasterKey(ctx, q, box)
	if !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	_, err = q.ExecContext(ctx, "INSERT INTO meta (name, value) VALUES ('master_key', $1) ON CONFLICT (name) DO NOTHING", box.MAC(masterKeyPurpose))
	if err != nil {
		return fmt.Errorf("write check value: %w", err)
	}
	return CheckMasterKey(ctx, q, box)
}

func masterKeyValue(ctx context.Context, q Querier) (value string, err error) {
	err = q.QueryRowContext(ctx, "SELECT value FROM meta WHERE name = 'master_key'").Scan(&value)
	return value, err
}
