package storage

import (
	"context"
	"database/sql"
	"time"
)

// Write runs a test's own statements in a transaction.
func (s *Storage) Write(ctx context.Context, do func(exec func(query string, args ...any) (sql.Result, error)) error) error {
	return s.write(ctx, func(ctx context.Context, q querier) error {
		return do(func(query string, args ...any) (sql.Result, error) { return q.ExecContext(ctx, query, args...) })
	})
}

// Waiting returns the number of callers that wait for SQLite's writer or, on PostgreSQL, for
// another caller of their group.
func (s *Storage) Waiting() (callers int) {
	switch e := s.engine.(type) {
	case *sqliteEngine:
		return len(e.writer.queue)
	case *postgres:
		e.groups.mu.Lock()
		defer e.groups.mu.Unlock()
		for _, waiting := range e.groups.waiting {
			callers += len(waiting)
		}
	}
	return callers
}

// AtWork returns the number of groups with running transactions. It works only with PostgreSQL.
func (s *Storage) AtWork() int {
	e, _ := s.engine.(*postgres)
	e.groups.mu.Lock()
	defer e.groups.mu.Unlock()
	return len(e.groups.waiting)
}

// MakeSchema creates the tables of a schema version in an empty database.
func MakeSchema(ctx context.Context, url string, version int64) error {
	d, place, err := parseURL(url)
	if err != nil {
		return err
	}
	db, err := connect(d, place, busyTimeout)
	if err != nil {
		return err
	}
	defer db.Close()
	return makeSchema(ctx, db, d, version)
}

// SetProofTTL sets the time for which a successful check that the database accepts writes is cached.
func (s *Storage) SetProofTTL(ttl time.Duration) {
	s.proof.mu.Lock()
	defer s.proof.mu.Unlock()
	s.proof.ttl = ttl
}
