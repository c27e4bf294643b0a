package storage

import (
	"context"
	"fmt"
	"strconv"

	"chequer/internal/audit"
	"chequer/internal/books"
)

// ChangedInvoices implements books.Storage.
func (s *Storage) ChangedInvoices(ctx context.Context, merchantID, after string, limit int) ([]books.Changed, error) {
	return readAll(ctx, s, "list changed invoices", func(row scanner) (c books.Changed, err error) {
		err = row.Scan(&c.InvoiceID, &c.Revision)
		return c, err
	}, changedInvoices, merchantID, after, limit)
}

// changedInvoices selects the live invoices of a merchant with transfers that have changed since a closing examined them. It reads the
// transfers in the order of an index, since they are far fewer than the invoices.
const changedInvoices = `
	SELECT t.invoice_id, i.revision FROM transfers t JOIN invoices i ON i.id = t.invoice_id
	WHERE t.invoice_id > $2 AND i.merchant_id = $1 AND i.mode = 'live'
		AND NOT EXISTS (SELECT 1 FROM examined_invoices e WHERE e.invoice_id = t.invoice_id AND e.revision = i.revision)
	GROUP BY t.invoice_id, i.revision ORDER BY t.invoice_id LIMIT $3`

// ClosedRecords implements books.Storage.
func (s *Storage) ClosedRecords(ctx context.Context, merchantID, owner string) ([]books.Record, error) {
	return readAll(ctx, s, "read closed lines", func(row scanner) (books.Record, error) {
		r := books.Record{Owner: owner}
		err := row.Scan(&r.Movement, &r.Month, &r.Header, &r.Text)
		return r, err
	}, `SELECT l.movement, l.month, c.header, l.record FROM closed_lines l JOIN closings c ON c.merchant_id = l.merchant_id AND c.month = l.month
		WHERE l.merchant_id = $1 AND l.owner = $2 ORDER BY l.month, l.number`, merchantID, owner)
}

// Closings implements books.Storage.
func (s *Storage) Closings(ctx context.Context, merchantID string) ([]books.Closing, error) {
	return readAll(ctx, s, "list closed months", func(row scanner) (books.Closing, error) {
		c := books.Closing{MerchantID: merchantID}
		var closedAt int64
		err := row.Scan(&c.Month, &closedAt, &c.Lines, &c.Header, &c.Statement)
		c.ClosedAt = utc(closedAt)
		return c, err
	}, "SELECT month, closed_at, lines, header, statement FROM closings WHERE merchant_id = $1 ORDER BY month", merchantID)
}

// MonthRecords implements books.Storage.
func (s *Storage) MonthRecords(ctx context.Context, merchantID string, month books.Month) ([]string, error) {
	return readAll(ctx, s, "read a closed month", column[string], "SELECT record FROM closed_lines WHERE merchant_id = $1 AND month = $2 ORDER BY number", merchantID, string(month))
}

// SaveClosing implements books.Storage.
func (s *Storage) SaveClosing(ctx context.Context, c books.Closing, lines []books.Record, examined []books.Changed) error {
	err := s.write(ctx, func(ctx context.Context, q querier) error {
		// Processes that close months of one merchant take turns.
		if _, err := column[string](q.QueryRowContext(ctx, "SELECT id FROM merchants WHERE id = $1"+s.engine.ForUpdate, c.MerchantID)); err != nil {
			return err
		}
		newest, err := column[string](q.QueryRowContext(ctx, "SELECT COALESCE(MAX(month), '') FROM closings WHERE merchant_id = $1", c.MerchantID))
		if err != nil {
			return err
		}
		if newest != string(c.After) {
			return books.ErrClosed
		}
		_, err = q.ExecContext(ctx, "INSERT INTO closings (merchant_id, month, closed_at, lines, header, statement) VALUES ($1, $2, $3, $4, $5, $6)",
			c.MerchantID, string(c.Month), c.ClosedAt.UnixMilli(), c.Lines, c.Header, c.Statement)
		if err != nil {
			return err
		}
		for i, l := range lines {
			_, err := q.ExecContext(ctx, "INSERT INTO closed_lines (merchant_id, month, number, movement, owner, record) VALUES ($1, $2, $3, $4, $5, $6)",
				c.MerchantID, string(c.Month), i+1, l.Movement, l.Owner, l.Text)
			if err != nil {
				return fmt.Errorf("line %d: %w", i+1, err)
			}
		}
		for _, e := range examined {
			_, err := q.ExecContext(ctx, `
				INSERT INTO examined_invoices (invoice_id, revision) VALUES ($1, $2)
				ON CONFLICT (invoice_id) DO UPDATE SET revision = excluded.revision`, e.InvoiceID, e.Revision)
			if err != nil {
				return fmt.Errorf("invoice %s: %w", e.InvoiceID, err)
			}
		}
		return s.record(ctx, q, audit.Change{
			MerchantID: c.MerchantID, Action: "books.closed", Subject: string(c.Month), After: audit.Fields{"lines": strconv.Itoa(c.Lines)},
		})
	})
	if err != nil {
		return fmt.Errorf("close %s: %w", c.Month, err)
	}
	return nil
}

// removeClosings deletes the closed months that ended before the cut of a run.
func (s *Storage) removeClosings(ctx context.Context, q querier, run *bookRun) error {
	if run.cut == 0 {
		return nil
	}
	z, err := readSumZone(ctx, q, run.merchantID, "")
	if err != nil {
		return err
	}
	// The newest stays, so that the months before it are not closed again.
	newest, err := column[string](q.QueryRowContext(ctx, "SELECT COALESCE(MAX(month), '') FROM closings WHERE merchant_id = $1", run.merchantID))
	if err != nil {
		return fmt.Errorf("remove closed months: %w", err)
	}
	first := min(newest, string(books.MonthOf(utc(run.cut), z.zone)))
	removed := int64(0)
	for _, table := range []string{"closed_lines", "closings"} {
		if removed, err = exec(ctx, q, "DELETE FROM "+table+" WHERE merchant_id = $1 AND month < $2", run.merchantID, first); err != nil {
			return fmt.Errorf("remove closed months: %w", err)
		}
	}
	if removed == 0 {
		return nil
	}
	return s.record(ctx, q, audit.Change{
		MerchantID: run.merchantID, Action: "closings.removed", Subject: run.merchantID, Before: audit.Fields{"months": strconv.FormatInt(removed, 10)}, After: audit.Fields{"first": first},
	})
}
