package storage

import (
	"context"
	"fmt"
	"strings"
	"unicode"

	"chequer/internal/seal"
	"chequer/internal/storage/engine"
)

// The words of the engine that every file of SQL uses.
type (
	querier = engine.Querier
	scanner = engine.Row
	work    = engine.Work
)

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

// readOne returns the row of a query.
func readOne[T any](ctx context.Context, s *Storage, read func(scanner) (T, error), query string, args ...any) (T, error) {
	return answer(ctx, s.read, func(ctx context.Context, q querier) (T, error) { return read(q.QueryRowContext(ctx, query, args...)) })
}

// readAll returns every row of a query. It adds the failed operation to an error.
func readAll[T any](ctx context.Context, s *Storage, action string, read func(scanner) (T, error), query string, args ...any) ([]T, error) {
	all, err := answer(ctx, s.read, func(ctx context.Context, q querier) ([]T, error) { return list(ctx, q, read, query, args...) })
	if err != nil {
		return nil, fmt.Errorf("%s: %w", action, err)
	}
	return all, nil
}

// change runs one statement in a transaction. It adds the failed operation to an error, and returns
// unchanged if the statement changed no row.
func (s *Storage) change(ctx context.Context, action string, unchanged error, query string, args ...any) error {
	changed, err := answer(ctx, s.write, func(ctx context.Context, q querier) (int64, error) { return exec(ctx, q, query, args...) })
	if err != nil {
		return fmt.Errorf("%s: %w", action, err)
	}
	if changed == 0 {
		return unchanged
	}
	return nil
}

// unsealAll verifies and decrypts sealed rows.
func unsealAll[T any, R interface{ unseal(*seal.Box) (T, error) }](box *seal.Box, rows []R) (all []T, err error) {
	for _, r := range rows {
		value, err := r.unseal(box)
		if err != nil {
			return nil, err
		}
		all = append(all, value)
	}
	return all, nil
}

// column returns the only column of a row.
func column[T any](row scanner) (value T, err error) {
	err = row.Scan(&value)
	return value, err
}

// exec runs a statement and returns the number of rows that it changed.
func exec(ctx context.Context, q querier, query string, args ...any) (int64, error) {
	result, err := q.ExecContext(ctx, query, args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// visitRows calls visit for every row of a query.
func visitRows(ctx context.Context, q querier, visit func(scanner) error, query string, args ...any) error {
	return engine.Each(ctx, q, visit, query, args...)
}

// qualified returns a list of columns with the name of their table before each.
func qualified(columns, table string) string {
	names := strings.FieldsFunc(columns, func(r rune) bool { return r == ',' || unicode.IsSpace(r) })
	return table + "." + strings.Join(names, ", "+table+".")
}

// list returns every row of a query.
func list[T any](ctx context.Context, q querier, read func(scanner) (T, error), query string, args ...any) ([]T, error) {
	var all []T
	err := visitRows(ctx, q, func(row scanner) error {
		value, err := read(row)
		all = append(all, value)
		return err
	}, query, args...)
	return all, err
}
