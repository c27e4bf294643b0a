package storage

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"chequer/internal/invoice"
	"chequer/internal/money"
	"chequer/internal/report"
)

// dayRow identifies a row of day_sums.
type dayRow struct {
	merchantID, mode            string
	day                         int64
	currency                    string
	decimals                    int64
	paidAsset, origin, originID string
}

// daySum holds the numbers of a row of day_sums.
type daySum struct{ invoices, price, received int64 }

// daySums are changes of rows of day_sums.
type daySums map[dayRow]daySum

// add adds an invoice n times; n may be -1. It ignores an invoice that is not paid.
func (d daySums) add(r invoiceRow, n int64) {
	if !r.paidAt.Valid {
		return
	}
	row := dayRow{r.merchantID, r.mode, int64(report.DayOf(utc(r.paidAt.V))), r.currency, r.decimals, r.paidAsset, r.origin, r.originID}
	s := d[row]
	s.invoices += n
	s.price += n * r.price
	s.received += n * r.paid
	d[row] = s
}

// save writes the changes in one order, so that no two transactions wait for each other on PostgreSQL.
func (d daySums) save(ctx context.Context, q querier) error {
	order := slices.SortedFunc(maps.Keys(d), dayRow.compare)
	for _, r := range order {
		s := d[r]
		if s == (daySum{}) {
			continue
		}
		_, err := q.ExecContext(ctx, `
			INSERT INTO day_sums (merchant_id, mode, day, currency, decimals, paid_asset, origin, origin_id, invoices, price, received)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
			ON CONFLICT (merchant_id, mode, day, currency, decimals, paid_asset, origin, origin_id) DO UPDATE SET
				invoices = day_sums.invoices + excluded.invoices, price = day_sums.price + excluded.price,
				received = day_sums.received + excluded.received`,
			r.merchantID, r.mode, r.day, r.currency, r.decimals, r.paidAsset, r.origin, r.originID, s.invoices, s.price, s.received)
		if err != nil {
			return fmt.Errorf("add to the sums of a day: %w", err)
		}
	}
	return nil
}

// compare compares rows by their primary key.
func (r dayRow) compare(o dayRow) int {
	return cmp.Or(
		strings.Compare(r.merchantID, o.merchantID), strings.Compare(r.mode, o.mode), cmp.Compare(r.day, o.day),
		strings.Compare(r.currency, o.currency), cmp.Compare(r.decimals, o.decimals), strings.Compare(r.paidAsset, o.paidAsset),
		strings.Compare(r.origin, o.origin), strings.Compare(r.originID, o.originID))
}

// saveDaySums moves an invoice between the sums of days.
func saveDaySums(ctx context.Context, q querier, before, after invoiceRow) error {
	d := daySums{}
	d.add(before, -1)
	d.add(after, 1)
	return d.save(ctx, q)
}

// DaySums implements report.Storage.
func (s *Storage) DaySums(ctx context.Context, merchantID string, mode invoice.Mode, p report.Period) ([]report.DaySum, error) {
	q := daySumsOf(merchantID, mode, p)
	return readAll(ctx, s, "sums of days", readDaySum, q.text, q.args...)
}

func daySumsOf(merchantID string, mode invoice.Mode, p report.Period) statement {
	return statement{`
		SELECT day, currency, decimals, paid_asset, origin, origin_id, invoices, price, received FROM day_sums
		WHERE merchant_id = $1 AND mode = $2 AND day >= $3 AND day < $4 AND invoices > 0 AND price >= 0 AND received >= 0`,
		[]any{merchantID, string(mode), int64(p.From), int64(p.To)}}
}

// MethodSums implements report.Storage.
func (s *Storage) MethodSums(ctx context.Context, merchantID string, mode invoice.Mode, p report.Period) ([]report.DaySum, error) {
	q := methodSumsOf(merchantID, mode, p)
	return readAll(ctx, s, "sums of days by method", readDaySum, q.text, q.args...)
}

// methodSumsOf groups by the first columns of the primary key, so that it needs no sort.
func methodSumsOf(merchantID string, mode invoice.Mode, p report.Period) statement {
	return statement{`
		SELECT day, currency, decimals, paid_asset, '', '', CAST(SUM(invoices) AS BIGINT), CAST(SUM(price) AS BIGINT), CAST(SUM(received) AS BIGINT) FROM day_sums
		WHERE merchant_id = $1 AND mode = $2 AND day >= $3 AND day < $4 AND invoices > 0 AND price >= 0 AND received >= 0
		GROUP BY merchant_id, mode, day, currency, decimals, paid_asset`,
		[]any{merchantID, string(mode), int64(p.From), int64(p.To)}}
}

func readDaySum(row scanner) (d report.DaySum, err error) {
	var price, received int64
	err = row.Scan(&d.Day, &d.Key.Currency.Code, &d.Key.Currency.Decimals, &d.PaidAsset, &d.Origin.Kind, &d.Origin.ID, &d.Invoices, &price, &received)
	fiat := d.Key.Currency
	d.Price, d.Received = money.FromCents(price, fiat), money.FromCents(received, fiat)
	return d, err
}

// PaidLines implements report.Storage.
func (s *Storage) PaidLines(ctx context.Context, merchantID string, mode invoice.Mode, p report.Period, after report.Position, limit int) ([]invoice.ExportLine, error) {
	page := newExportPage(paidListing(merchantID, mode, p, after, limit))
	all, err := answer(ctx, s.snapshot, func(ctx context.Context, q querier) ([]invoice.ExportLine, error) { return page.read(ctx, q) })
	if err != nil {
		return nil, fmt.Errorf("export paid invoices: %w", err)
	}
	slices.SortFunc(all, func(a, b invoice.ExportLine) int {
		return cmp.Or(a.PaidAt.Compare(b.PaidAt), cmp.Compare(a.ID, b.ID))
	})
	return all, nil
}

// paidListing returns the listing of the invoices that became paid in a period, from the oldest. It has one
// lower bound, see newListing.
func paidListing(merchantID string, mode invoice.Mode, p report.Period, after report.Position, limit int) listing {
	if after == (report.Position{}) {
		after.PaidAt = p.From.Start() // every ID is greater than ""
	}
	return listing{` FROM invoices WHERE merchant_id = $1 AND mode = $2 AND (paid_at, id) > ($4, $5) AND paid_at < $6
		ORDER BY paid_at, id LIMIT $3`, []any{merchantID, string(mode), limit, after.PaidAt.UnixMilli(), after.ID, p.To.Start().UnixMilli()}}
}
