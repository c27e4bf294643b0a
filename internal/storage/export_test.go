package storage

import "context"

// Write runs a test's own function in a transaction.
func (s *Storage) Write(ctx context.Context, do func(ctx context.Context) error) error {
	return s.write(ctx, func(ctx context.Context, _ querier) error { return do(ctx) })
}

// Waiting returns the number of callers that wait for SQLite's writer or, on PostgreSQL, for
// another caller of their group.
func (s *Storage) Waiting() int {
	callers, _ := s.engine.Waiting()
	return callers
}

// RunningGroups returns the number of groups with running transactions. It works only with PostgreSQL.
func (s *Storage) RunningGroups() int {
	_, groups := s.engine.Waiting()
	return groups
}
