package storage

import (
	"context"
	"errors"
	"time"

	"chequer/internal/invoice"
)

// unreadableRetry is the time until the loops read an invoice again whose rows could not be read.
const unreadableRetry = 10 * time.Minute

// unreadable returns the error for an invoice whose rows were read but cannot be parsed.
func unreadable(id string, err error) error { return &invoice.UnreadableError{ID: id, Err: err} }

// RecordUnreadable implements invoice.Storage.
func (s *Storage) RecordUnreadable(ctx context.Context, id string, now time.Time) (first bool, err error) {
	return answer(ctx, s.write, func(ctx context.Context, q querier) (bool, error) {
		later := now.Add(unreadableRetry).UnixMilli()
		for _, statement := range []string{
			"UPDATE invoices SET next_check_at = $2 WHERE id = $1 AND next_check_at < $2",
			"UPDATE conversions SET next_at = $2 WHERE invoice_id = $1 AND next_at < $2",
		} {
			if _, err := q.ExecContext(ctx, statement, id, later); err != nil {
				return false, err
			}
		}
		added, err := exec(ctx, q, "INSERT INTO unreadable_invoices (invoice_id, found_at) VALUES ($1, $2) ON CONFLICT (invoice_id) DO NOTHING", id, now.UnixMilli())
		return added > 0, err
	})
}

// maxUnreadable is the number of unreadable invoices that are read again in one call.
const maxUnreadable = 20

// Unreadable returns the identifiers of invoices that cannot be read, at most maxUnreadable. It deletes the records of
// the invoices that were repaired since.
func (s *Storage) Unreadable(ctx context.Context) (ids []string, err error) {
	known, err := readAll(ctx, s, "list unreadable invoices", column[string], "SELECT invoice_id FROM unreadable_invoices ORDER BY found_at, invoice_id LIMIT $1", maxUnreadable)
	if err != nil {
		return nil, err
	}
	for _, id := range known {
		_, err := s.Invoice(ctx, id)
		if _, broken := errors.AsType[*invoice.UnreadableError](err); broken {
			ids = append(ids, id)
			continue
		}
		if err != nil && !errors.Is(err, invoice.ErrNotFound) {
			return nil, err
		}
		if err := s.change(ctx, "delete record of unreadable invoice", nil, "DELETE FROM unreadable_invoices WHERE invoice_id = $1", id); err != nil {
			return nil, err
		}
	}
	return ids, nil
}
