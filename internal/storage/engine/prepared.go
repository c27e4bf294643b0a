package engine

import (
	"context"
	"database/sql"
	"errors"
)

// prepared is a connection that prepares each statement once. It is not safe for concurrent use.
type prepared struct {
	conn       *sql.Conn
	statements map[string]*sql.Stmt // by text
}

// newPrepared returns a new prepared with its own connection from the pool db.
func newPrepared(ctx context.Context, db *sql.DB) (*prepared, error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	return &prepared{conn: conn, statements: map[string]*sql.Stmt{}}, nil
}

// ExecContext implements Querier.
func (p *prepared) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	statement, err := p.statement(ctx, query)
	if err != nil {
		return nil, err
	}
	return statement.ExecContext(ctx, args...)
}

// QueryContext implements Querier.
func (p *prepared) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	statement, err := p.statement(ctx, query)
	if err != nil {
		return nil, err
	}
	return statement.QueryContext(ctx, args...)
}

// QueryRowContext implements Querier.
func (p *prepared) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	statement, err := p.statement(ctx, query)
	if err != nil {
		return p.conn.QueryRowContext(ctx, query, args...) // returns a row with the same error
	}
	return statement.QueryRowContext(ctx, args...)
}

// close closes the statements and returns the connection to the pool.
func (p *prepared) close() error {
	var errs []error
	for _, statement := range p.statements {
		errs = append(errs, statement.Close())
	}
	return errors.Join(append(errs, p.conn.Close())...)
}

func (p *prepared) statement(ctx context.Context, query string) (*sql.Stmt, error) {
	if statement, ready := p.statements[query]; ready {
		return statement, nil
	}
	statement, err := p.conn.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	p.statements[query] = statement
	return statement, nil
}
