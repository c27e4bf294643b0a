package storage

import (
	"context"
	"database/sql"
)

// engine runs work on one of the two database engines. All methods are safe for concurrent use.
type engine interface {
	// write runs work in its own transaction, and returns once it is committed. An error of work,
	// or a panic, rolls it back. Work may run more than once, but never again after a commit that
	// may have succeeded.
	write(ctx context.Context, w work) error
	// share is write for work that would wait for other work of its group: it may be committed
	// together with that work. The first row that it locks must be the group's.
	share(ctx context.Context, group string, w work) error
	// read runs work whose statements may see different states.
	read(ctx context.Context, w work) error
	// snapshot runs work whose statements all see the same state.
	snapshot(ctx context.Context, w work) error
	// close waits for running work, then closes the connections.
	close() error
}

// work runs statements one after the other: it reads all rows of one before it runs the next.
type work func(ctx context.Context, q querier) error

// querier runs statements, in a transaction or each in its own.
type querier interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// scanner is a row.
type scanner interface {
	Scan(into ...any) error
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
