package storage

import (
	"context"
	"fmt"
	"time"

	"chequer/internal/merchant"
)

// UnpaidInvoices implements server.Unpaid.
func (s *Storage) UnpaidInvoices(ctx context.Context, merchantID string, mode merchant.Mode, since time.Time, most int) (n int, err error) {
	n, err = answer(ctx, s.read, func(ctx context.Context, q querier) (n int, err error) {
		err = q.QueryRowContext(ctx, `
			SELECT COUNT(*) FROM (
				SELECT 1 FROM invoices WHERE merchant_id = $1 AND mode = $2 AND created_at > $3 AND status = 'created' LIMIT $4
			) AS unpaid`, merchantID, string(mode), since.UnixMilli(), most).Scan(&n)
		return n, err
	})
	if err != nil {
		return 0, fmt.Errorf("count unpaid invoices: %w", err)
	}
	return n, nil
}
