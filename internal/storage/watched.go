package storage

import (
	"context"
	"fmt"

	"chequer/internal/invoice"
)

// OpenMethods calls visit with the payment methods of each live invoice that waits for a payment.
func (s *Storage) OpenMethods(ctx context.Context, visit func([]invoice.Method)) error {
	_, err := answer(ctx, s.read, func(ctx context.Context, q querier) (struct{}, error) {
		return struct{}{}, each(ctx, q, func(row scanner) error {
			var text string
			if err := row.Scan(&text); err != nil {
				return err
			}
			methods, err := parseMethods(text)
			if err != nil {
				return err
			}
			visit(methods)
			return nil
		}, openMethods)
	})
	if err != nil {
		return fmt.Errorf("methods of open invoices: %w", err)
	}
	return nil
}

// openMethods reads only open invoices, which the index of the invoices to check contains.
const openMethods = "SELECT methods FROM invoices WHERE mode = 'live' AND next_check_at > 0"
