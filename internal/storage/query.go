package storage

import (
	"context"

	"chequer/internal/storage/engine"
)

// The words of the engine that every file of SQL uses.
type (
	querier = engine.Querier
	scanner = engine.Row
	work    = engine.Work
)

// write runs work in a transaction: see engine.Engine.Write. The results of work must be returned
// through answer.
func (s *Storage) write(ctx context.Context, w work) error { return s.engine.Write(ctx, w) }

// share is write for work that locks a merchant's feed before anything else, so that work of one
// merchant may share a commit.
func (s *Storage) share(ctx context.Context, merchantID string, w work) error {
	return s.engine.Share(ctx, merchantID, w)
}

// read runs work whose statements may see different states.
func (s *Storage) read(ctx context.Context, w work) error { return s.engine.Read(ctx, w) }

// snapshot runs work whose statements all see the same state.
func (s *Storage) snapshot(ctx context.Context, w work) error { return s.engine.Snapshot(ctx, w) }

// answer runs find with write, read or snapshot, and returns its result.
func answer[T any](ctx context.Context, run func(context.Context, work) error, find func(context.Context, querier) (T, error)) (T, error) {
	return engine.Answer(ctx, run, find)
}

// exec runs a statement and returns the number of rows that it changed.
func exec(ctx context.Context, q querier, query string, args ...any) (int64, error) {
	result, err := q.ExecContext(ctx, query, args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// each calls visit for every row of a query.
func each(ctx context.Context, q querier, visit func(scanner) error, query string, args ...any) error {
	return engine.Each(ctx, q, visit, query, args...)
}

// list returns every row of a query.
func list[T any](ctx context.Context, q querier, read func(scanner) (T, error), query string, args ...any) ([]T, error) {
	var all []T
	err := each(ctx, q, func(row scanner) error {
		value, err := read(row)
		all = append(all, value)
		return err
	}, query, args...)
	return all, err
}
