package storage

import (
	"context"
	"fmt"

	"chequer/internal/invoice"
)

// OpenMethods calls visit with the payment methods of each live invoice that waits for a payment.
func (s *Storage) OpenMethods(ctx context.Context, visit func([]invoice.Method)) error {
	_, err := answer(ctx, s.read, func(ctx context.Context, q querier) (struct{}, error) {
		rows, err := list(ctx, q, func(row scanner) (r invoiceRow, err error) {
			err = row.Scan(&r.id, &r.methods, &r.shared)
			return r, err
		}, openMethods)
		if err != nil {
			return struct{}{}, err
		}
		for _, r := range rows {
			shared, err := s.shared.read(ctx, q, r)
			if err != nil {
				return struct{}{}, err
			}
			methods, err := parseMethods(r.methods, shared)
			if err != nil {
				return struct{}{}, fmt.Errorf("invoice %s: %w", r.id, err)
			}
			visit(methods)
		}
		return struct{}{}, nil
	})
	if err != nil {
		return fmt.Errorf("methods of open invoices: %w", err)
	}
	return nil
}

// openMethods selects the methods of the live invoices that wait for a payment, by an index that
// holds only open invoices.
const openMethods = "SELECT id, methods, shared_terms FROM invoices WHERE next_check_at > 0 AND mode = 'live'"
