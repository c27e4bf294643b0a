package storage

import (
	"context"
	"fmt"
	"maps"

	"chequer/internal/report"
)

// comparedInvoices is the number of the newest paid invoices of each mode whose days DaySumsDiffer compares.
const comparedInvoices = 10_000

// DaySumsDiffer reports whether the sums of days of a merchant differ from those of its invoices: the sums of each source
// and asset over all days, and those of each of the days with the newest paid invoices. It reads all paid invoices of the
// merchant.
func (s *Storage) DaySumsDiffer(ctx context.Context, merchantID string) (bool, error) {
	differ, err := answer(ctx, s.snapshot, func(ctx context.Context, q querier) (bool, error) {
		z, err := readSumZone(ctx, q, merchantID, "")
		if err != nil {
			return false, err
		}
		if differ, err := sourcesDiffer(ctx, q, z); differ || err != nil {
			return differ, err
		}
		for _, mode := range sumModes {
			if differ, err := daysDiffer(ctx, q, z, string(mode), s.compared); differ || err != nil {
				return differ, err
			}
		}
		return false, nil
	})
	if err != nil {
		return false, fmt.Errorf("compare the sums of days of %s: %w", merchantID, err)
	}
	return differ, nil
}

// sourcesDiffer compares the sums of each source and asset over all days.
func sourcesDiffer(ctx context.Context, q querier, z sumZone) (bool, error) {
	stored, err := readDayRows(ctx, q, z, `
		SELECT mode, 0, currency, decimals, paid_asset, origin, origin_id,
			CAST(SUM(invoices) AS BIGINT), CAST(SUM(price) AS BIGINT), CAST(SUM(received) AS BIGINT) FROM day_sums
		WHERE merchant_id = $1 AND generation = $2 AND day >= $3 GROUP BY mode, currency, decimals, paid_asset, origin, origin_id`, z.merchantID, z.generation, int64(z.firstDay(z.zone)))
	if err != nil {
		return false, err
	}
	computed, err := readDayRows(ctx, q, z, `
		SELECT mode, 0, currency, decimals, paid_asset, origin, origin_id, COUNT(*), CAST(SUM(price) AS BIGINT), CAST(SUM(paid) AS BIGINT) FROM invoices
		WHERE merchant_id = $1 AND paid_at IS NOT NULL AND paid_at >= $2 GROUP BY mode, currency, decimals, paid_asset, origin, origin_id`, z.merchantID, z.start(z.zone))
	return !maps.Equal(stored, computed), err
}

// daysDiffer compares the sums of the days with the newest paid invoices of a mode, at most limit. The invoices of the
// first day may be incomplete, so that it is not compared if there may be more.
func daysDiffer(ctx context.Context, q querier, z sumZone, mode string, limit int) (bool, error) {
	computed, first, n := daySums{}, int64(z.firstDay(z.zone)), 0
	err := visitRows(ctx, q, func(row scanner) error {
		a := addend{merchantID: z.merchantID, mode: mode}
		if err := row.Scan(&a.paidAt, &a.currency, &a.decimals, &a.paidAsset, &a.origin, &a.originID, &a.price, &a.received); err != nil {
			return err
		}
		computed.add(a, z.generation, z.zone, 1)
		if n++; n == limit {
			first = max(first, int64(report.DayOf(utc(a.paidAt), z.zone))+1)
		}
		return nil
	}, newestPaid, z.merchantID, mode, limit)
	if err != nil {
		return false, fmt.Errorf("read paid invoices: %w", err)
	}
	maps.DeleteFunc(computed, func(r dayRow, s daySum) bool { return r.day < first || s == (daySum{}) })
	stored, err := readDayRows(ctx, q, z, `
		SELECT mode, day, currency, decimals, paid_asset, origin, origin_id, invoices, price, received FROM day_sums
		WHERE merchant_id = $1 AND generation = $2 AND mode = $3 AND day >= $4`, z.merchantID, z.generation, mode, first)
	return !maps.Equal(stored, computed), err
}

// newestPaid reads the paid invoices of a mode, newest first.
const newestPaid = `
	SELECT paid_at, currency, decimals, paid_asset, origin, origin_id, price, paid FROM invoices
	WHERE merchant_id = $1 AND mode = $2 AND paid_at IS NOT NULL ORDER BY paid_at DESC, id DESC LIMIT $3`

// readDayRows returns the sums of a generation that a statement reads, without those that are zero.
func readDayRows(ctx context.Context, q querier, z sumZone, text string, args ...any) (daySums, error) {
	sums := daySums{}
	err := visitRows(ctx, q, func(row scanner) error {
		r := dayRow{merchantID: z.merchantID, generation: z.generation}
		var s daySum
		if err := row.Scan(&r.mode, &r.day, &r.currency, &r.decimals, &r.paidAsset, &r.origin, &r.originID, &s.invoices, &s.price, &s.received); err != nil {
			return err
		}
		if s != (daySum{}) {
			sums[r] = s
		}
		return nil
	}, text, args...)
	if err != nil {
		return nil, fmt.Errorf("read sums: %w", err)
	}
	return sums, nil
}
