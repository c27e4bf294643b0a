package storage

import (
	"context"
	"database/sql"

	"chequer/internal/invoice"
)

// StatementsOfCreation creates an invoice, and returns the statements of its transaction.
func (s *Storage) StatementsOfCreation(ctx context.Context, c invoice.Creation) (all []string, err error) {
	err = s.write(ctx, func(ctx context.Context, q querier) error {
		counted := &statementRecorder{querier: q}
		result, err := s.create(ctx, counted, c)
		all = counted.statements
		if err == nil {
			s.shared.markCommitted(result.shared)
		}
		return err
	})
	return all, err
}

// statementRecorder is a querier that records the statements that run.
type statementRecorder struct {
	querier
	statements []string
}

func (c *statementRecorder) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	c.statements = append(c.statements, query)
	return c.querier.ExecContext(ctx, query, args...)
}

func (c *statementRecorder) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	c.statements = append(c.statements, query)
	return c.querier.QueryContext(ctx, query, args...)
}

func (c *statementRecorder) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	c.statements = append(c.statements, query)
	return c.querier.QueryRowContext(ctx, query, args...)
}

// OpenMethods is the statement that reads the methods of the open invoices.
const OpenMethods = openMethods
