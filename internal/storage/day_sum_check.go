package storage

import (
	"context"
	"fmt"
	"slices"
)

// sumOfMode is the sum of the paid invoices of a mode in one currency.
type sumOfMode struct {
	mode, currency            string
	decimals                  int64
	invoices, price, received int64
}

// DaySumsDiffer reports whether the sums of days of a merchant differ from the sums of its invoices in any mode and
// currency. It reads all paid invoices of the merchant.
func (s *Storage) DaySumsDiffer(ctx context.Context, merchantID string) (bool, error) {
	read := func(row scanner) (m sumOfMode, err error) {
		err = row.Scan(&m.mode, &m.currency, &m.decimals, &m.invoices, &m.price, &m.received)
		return m, err
	}
	differ, err := answer(ctx, s.snapshot, func(ctx context.Context, q querier) (bool, error) {
		z, err := readSumZone(ctx, q, merchantID, "")
		if err != nil {
			return false, err
		}
		stored, err := list(ctx, q, read, `
			SELECT mode, currency, decimals, CAST(SUM(invoices) AS BIGINT), CAST(SUM(price) AS BIGINT), CAST(SUM(received) AS BIGINT) FROM day_sums
			WHERE merchant_id = $1 AND generation = $2 GROUP BY mode, currency, decimals HAVING SUM(invoices) <> 0
			ORDER BY mode, currency, decimals`, merchantID, z.generation)
		if err != nil {
			return false, err
		}
		computed, err := list(ctx, q, read, `
			SELECT mode, currency, decimals, COUNT(*), CAST(SUM(price) AS BIGINT), CAST(SUM(paid) AS BIGINT) FROM invoices
			WHERE merchant_id = $1 AND paid_at IS NOT NULL GROUP BY mode, currency, decimals
			ORDER BY mode, currency, decimals`, merchantID)
		return !slices.Equal(stored, computed), err
	})
	if err != nil {
		return false, fmt.Errorf("compare the sums of days of %s: %w", merchantID, err)
	}
	return differ, nil
}
