package storage

import (
	"context"
	"fmt"
	"time"

	"chequer/internal/invoice"
)

// CreateInvoice implements invoice.Storage. The invoice returned is the one that
// later readers get.
func (s *Storage) CreateInvoice(ctx context.Context, c invoice.Creation) (inv *invoice.Invoice, replayed bool, err error) {
	type result struct {
		known string // the invoice made before with this key
		made  record
	}
	r, err := answer(ctx, s.write, func(ctx context.Context, q querier) (r result, err error) {
		if r.known, err = claimKey(ctx, q, c); err != nil || r.known != "" {
			return r, err
		}
		r.made, err = s.create(ctx, q, c)
		return r, err
	})
	if err != nil {
		return nil, false, err
	}
	s.prune(ctx, c.At)
	if r.known != "" {
		inv, err = s.Invoice(ctx, r.known)
		return inv, true, err
	}
	inv, err = r.made.invoice()
	return inv, false, err
}

// Replay implements invoice.Storage.
func (s *Storage) Replay(ctx context.Context, c invoice.Creation) (*invoice.Invoice, error) {
	known, err := answer(ctx, s.read, func(ctx context.Context, q querier) (string, error) { return findKey(ctx, q, c) })
	if err != nil {
		return nil, err
	}
	return s.Invoice(ctx, known)
}

// create builds and writes an invoice.
func (s *Storage) create(ctx context.Context, q querier, c invoice.Creation) (record, error) {
	if err := takeNonce(ctx, q, c); err != nil {
		return record{}, err
	}
	inv, err := c.Build(func(counter string) (uint32, error) { return s.nextIndex(ctx, q, counter) })
	if err != nil {
		return record{}, err
	}
	made := toRecord(inv)
	if err := made.row.insert(ctx, q); err != nil {
		return record{}, fmt.Errorf("write invoice: %w", err)
	}
	if err := saveTransfers(ctx, q, nil, made.transfers); err != nil {
		return record{}, err
	}
	if err := keepKey(ctx, q, c, inv.ID); err != nil {
		return record{}, err
	}
	if err := keepEvidence(ctx, q, c); err != nil {
		return record{}, err
	}
	return made, tell(ctx, q, inv, true)
}

// Invoice implements invoice.Storage.
func (s *Storage) Invoice(ctx context.Context, id string) (*invoice.Invoice, error) {
	found, err := answer(ctx, s.snapshot, func(ctx context.Context, q querier) (record, error) { return readRecord(ctx, q, id) })
	if err != nil {
		return nil, err
	}
	return found.invoice()
}

// UpdateInvoice implements invoice.Storage.
func (s *Storage) UpdateInvoice(ctx context.Context, id string, lease invoice.Lease, decide func(*invoice.Invoice) error) (*invoice.Invoice, error) {
	updated, err := answer(ctx, s.write, func(ctx context.Context, q querier) (record, error) {
		if err := s.checkLease(ctx, q, lease); err != nil {
			return record{}, err
		}
		before, err := s.lockInvoice(ctx, q, id)
		if err != nil {
			return record{}, err
		}
		return update(ctx, q, before, decide)
	})
	if err != nil {
		return nil, err
	}
	return updated.invoice()
}

// update lets decide change a locked invoice, and writes what it changed.
func update(ctx context.Context, q querier, before record, decide func(*invoice.Invoice) error) (record, error) {
	inv, err := before.invoice()
	if err != nil {
		return record{}, err
	}
	if err := decide(inv); err != nil {
		return record{}, err
	}
	after := toRecord(inv)
	if after.row != before.row {
		if err := after.row.update(ctx, q); err != nil {
			return record{}, fmt.Errorf("write invoice: %w", err)
		}
	}
	if err := saveTransfers(ctx, q, before.transfers, after.transfers); err != nil {
		return record{}, err
	}
	if err := saveEvidence(ctx, q, inv.Quote().Evidence, inv.Evidence); err != nil {
		return record{}, err
	}
	return after, tell(ctx, q, inv, after.row.expiresAt != before.row.expiresAt)
}

// tell writes the events of a change and, when there is a new quote, its
// destinations with the time until which they are watched now.
func tell(ctx context.Context, q querier, inv *invoice.Invoice, requoted bool) error {
	if len(inv.Events) == 0 && !requoted {
		return nil
	}
	position, err := appendEvents(ctx, q, inv)
	if err != nil || !requoted {
		return err
	}
	return saveDestinations(ctx, q, inv, position)
}

// DueInvoices implements invoice.Storage.
func (s *Storage) DueInvoices(ctx context.Context, at time.Time, limit int) ([]string, error) {
	ids, err := answer(ctx, s.read, func(ctx context.Context, q querier) ([]string, error) {
		return list(ctx, q, func(row scanner) (id string, err error) {
			err = row.Scan(&id)
			return id, err
		}, "SELECT id FROM invoices WHERE next_check_at <= $1 ORDER BY next_check_at LIMIT $2", at.UnixMilli(), limit)
	})
	if err != nil {
		return nil, fmt.Errorf("due invoices: %w", err)
	}
	return ids, nil
}

// lockInvoice keeps everybody else from changing an invoice, and reads what the
// last one left; ErrNotFound.
func (s *Storage) lockInvoice(ctx context.Context, q querier, id string) (record, error) {
	err := q.QueryRowContext(ctx, "SELECT id FROM invoices WHERE id = $1"+s.dialect.forUpdate, id).Scan(&id)
	if err != nil {
		return record{}, notFound(err, "lock invoice", id)
	}
	return readRecord(ctx, q, id)
}
