package engine

import (
	"context"
	"database/sql"
)

// Work runs statements one after the other: it reads all rows of a statement before it runs the next. It
// uses only the context that it is called with, see ErrNested.
type Work func(ctx context.Context, q Querier) error

// Querier runs statements, all in one transaction or each in a separate transaction.
type Querier interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// Row is a row of a result.
type Row interface {
	Scan(into ...any) error
}

// Each calls visit for every row of a query.
func Each(ctx context.Context, q Querier, visit func(Row) error, query string, args ...any) error {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := visit(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// Answer runs find with Write, Read or Snapshot, and returns its result. The result is read only
// when find has ended: if the context ends first, Answer returns the zero value, while find may
// still run.
func Answer[T any](ctx context.Context, run func(context.Context, Work) error, find func(context.Context, Querier) (T, error)) (T, error) {
	var found, zero T
	err := run(ctx, func(ctx context.Context, q Querier) (err error) {
		found, err = find(ctx, q)
		return err
	})
	if err != nil {
		return zero, err
	}
	return found, nil
}
