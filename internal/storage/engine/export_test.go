package engine

import (
	"context"
	"database/sql"
	"time"
)

// SetProofTTL sets the time for which the result of Ready is cached.
func (e *Engine) SetProofTTL(ttl time.Duration) {
	e.proof.mu.Lock()
	defer e.proof.mu.Unlock()
	e.proof.ttl = ttl
}

// WithMigrationLock runs do while no other process runs migrations.
func WithMigrationLock(ctx context.Context, db *sql.DB, d Dialect, do func() error) error {
	return withMigrationLock(ctx, db, d, do)
}

// MigrateLocked runs the migrations up to a version within WithMigrationLock.
func MigrateLocked(ctx context.Context, db *sql.DB, d Dialect, version int64) error {
	return migrateTo(ctx, db, d, version)
}
