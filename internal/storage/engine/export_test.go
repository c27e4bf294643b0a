package engine

import (
	"context"
	"database/sql"
	"time"
)

// SetProofTTL sets the time for which a successful check that the database accepts writes is cached.
func (e *Engine) SetProofTTL(ttl time.Duration) {
	e.proof.mu.Lock()
	defer e.proof.mu.Unlock()
	e.proof.ttl = ttl
}

// Alone runs do while no other process runs migrations.
func Alone(ctx context.Context, db *sql.DB, d Dialect, do func() error) error {
	return withMigrationLock(ctx, db, d, do)
}

// MigrateLocked runs the migrations up to a version within Alone.
func MigrateLocked(ctx context.Context, db *sql.DB, d Dialect, version int64) error {
	return migrateTo(ctx, db, d, version)
}
