package storage

import (
	"context"
	"database/sql"
	"time"
)

// Write lets tests run statements of their own in a transaction.
func (s *Storage) Write(ctx context.Context, do func(exec func(query string, args ...any) (sql.Result, error)) error) error {
	return s.write(ctx, func(ctx context.Context, q querier) error {
		return do(func(query string, args ...any) (sql.Result, error) { return q.ExecContext(ctx, query, args...) })
	})
}

// Waiting is how many callers wait for SQLite's writer, and on PostgreSQL for
// another one of their group.
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

// AtWork is how many groups are at work on PostgreSQL.
func (s *Storage) AtWork() int {
	e, _ := s.engine.(*postgres)
	e.groups.mu.Lock()
	defer e.groups.mu.Unlock()
	return len(e.groups.waiting)
}

// MakeSchema makes the tables of a schema version in a database without any.
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

// BelieveProofs sets how long a proof that the database takes writes is believed.
func (s *Storage) BelieveProofs(ttl time.Duration) {
	s.proof.mu.Lock()
	defer s.proof.mu.Unlock()
	s.proof.ttl = ttl
}
