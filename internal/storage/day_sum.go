package storage

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"chequer/internal/invoice"
	"chequer/internal/money"
	"chequer/internal/report"
)

// addend is the part of the sums of days that one invoice adds. It is zero for an invoice that is not paid.
type addend struct {
	merchantID, mode            string
	paidAt                      int64 // in Unix milliseconds
	currency                    string
	decimals                    int64
	paidAsset, origin, originID string
	price, received             int64
}

// addend returns the part of the sums of days that the invoice adds.
func (r invoiceRow) addend() addend {
	if !r.paidAt.Valid {
		return addend{}
	}
	return addend{
		merchantID: r.merchantID, mode: r.mode, paidAt: r.paidAt.V, currency: r.currency, decimals: r.decimals,
		paidAsset: r.paidAsset, origin: r.origin, originID: r.originID, price: r.price, received: r.paid,
	}
}

// dayRow identifies a row of day_sums.
type dayRow struct {
	merchantID                  string
	generation                  int64
	mode                        string
	day                         int64
	currency                    string
	decimals                    int64
	paidAsset, origin, originID string
}

// compare compares rows by their primary key.
func (r dayRow) compare(o dayRow) int {
	return cmp.Or(
		strings.Compare(r.merchantID, o.merchantID), cmp.Compare(r.generation, o.generation), strings.Compare(r.mode, o.mode), cmp.Compare(r.day, o.day),
		strings.Compare(r.currency, o.currency), cmp.Compare(r.decimals, o.decimals), strings.Compare(r.paidAsset, o.paidAsset),
		strings.Compare(r.origin, o.origin), strings.Compare(r.originID, o.originID))
}

// daySum holds the numbers of a row of day_sums.
type daySum struct{ invoices, price, received int64 }

// daySums are changes of rows of day_sums.
type daySums map[dayRow]daySum

// add adds n × a to the sums of a generation, with days in zone; n may be -1.
func (d daySums) add(a addend, generation int64, zone *time.Location, n int64) {
	day := int64(report.DayOf(utc(a.paidAt), zone))
	row := dayRow{a.merchantID, generation, a.mode, day, a.currency, a.decimals, a.paidAsset, a.origin, a.originID}
	s := d[row]
	s.invoices += n
	s.price += n * a.price
	s.received += n * a.received
	d[row] = s
}

// save writes the changes in the order of the primary key, so that transactions on PostgreSQL do not
// deadlock.
func (d daySums) save(ctx context.Context, q querier) error {
	order := slices.SortedFunc(maps.Keys(d), dayRow.compare)
	for _, r := range order {
		s := d[r]
		if s == (daySum{}) {
			continue
		}
		_, err := q.ExecContext(ctx, `
			INSERT INTO day_sums (merchant_id, generation, mode, day, currency, decimals, paid_asset, origin, origin_id, invoices, price, received)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
			ON CONFLICT (merchant_id, generation, mode, day, currency, decimals, paid_asset, origin, origin_id) DO UPDATE SET
				invoices = day_sums.invoices + excluded.invoices, price = day_sums.price + excluded.price,
				received = day_sums.received + excluded.received`,
			r.merchantID, r.generation, r.mode, r.day, r.currency, r.decimals, r.paidAsset, r.origin, r.originID, s.invoices, s.price, s.received)
		if err != nil {
			return fmt.Errorf("add to the sums of a day: %w", err)
		}
	}
	return nil
}

// addendChange is a change of the part of the sums of days that one invoice adds.
type addendChange struct{ before, after addend }

// saveDaySums changes the sums of days after changes of invoices, which must be written already. On PostgreSQL it
// first locks the zone of the sums against changes, so that fillDaySums cannot compute a batch of the next generation
// at the same time. A batch that was computed before the lock counted the invoices before the changes, so both generations
// get the changes. A batch that is computed later counts the changed invoices, so only the current generation gets
// them.
func (s *Storage) saveDaySums(ctx context.Context, q querier, changes ...addendChange) error {
	changes = slices.DeleteFunc(changes, func(c addendChange) bool { return c.before == c.after })
	zones := map[string]sumZone{}
	for _, c := range changes {
		zones[c.merchantID()] = sumZone{}
	}
	for _, id := range slices.Sorted(maps.Keys(zones)) {
		z, err := s.lockSumZoneShared(ctx, q, id)
		if err != nil {
			return err
		}
		zones[id] = z
	}
	d := daySums{}
	for _, c := range changes {
		z := zones[c.merchantID()]
		z.addTo(d, c.before, -1)
		z.addTo(d, c.after, 1)
	}
	return d.save(ctx, q)
}

func (c addendChange) merchantID() string { return cmp.Or(c.before.merchantID, c.after.merchantID) }

// DaySums implements report.Storage.
func (s *Storage) DaySums(ctx context.Context, merchantID string, mode invoice.Mode, current, previous report.Period, origins bool) (report.DaySums, error) {
	newStatement := selectAssetSums
	if origins {
		newStatement = selectDaySums
	}
	sums, err := answer(ctx, s.snapshot, func(ctx context.Context, q querier) (sums report.DaySums, err error) {
		z, err := readSumZone(ctx, q, merchantID, "")
		if err != nil {
			return sums, err
		}
		sums.Zone = z.zone
		if z.removedBefore > 0 {
			sums.Removed = report.Removed{Before: z.firstDay(z.zone), At: utc(z.removedAt)}
		}
		read := func(p report.Period) ([]report.DaySum, error) {
			p.From = max(p.From, z.firstDay(z.zone))
			if p.Days() <= 0 {
				return nil, nil
			}
			query := newStatement(merchantID, z.generation, mode, p)
			return list(ctx, q, readDaySum, query.text, query.args...)
		}
		if sums.Current, err = read(current); err != nil {
			return sums, err
		}
		sums.Previous, err = read(previous)
		return sums, err
	})
	if err != nil {
		return report.DaySums{}, fmt.Errorf("read the sums of days: %w", err)
	}
	return sums, nil
}

// selectDaySums returns the statement that reads the sums of a period by asset and origin. It leaves
// out rows without invoices, and rows with negative sums, which only a damaged database has and money.Amount cannot
// hold.
func selectDaySums(merchantID string, generation int64, mode invoice.Mode, p report.Period) statement {
	return statement{`
		SELECT day, currency, decimals, paid_asset, origin, origin_id, invoices, price, received FROM day_sums
		WHERE merchant_id = $1 AND generation = $2 AND mode = $3 AND day >= $4 AND day < $5 AND invoices > 0 AND price >= 0 AND received >= 0`,
		[]any{merchantID, generation, string(mode), int64(p.From), int64(p.To)}}
}

// selectAssetSums returns the statement that reads the sums of a period by asset, without the origins. It groups by
// the first columns of the primary key, so that it needs no sort. It leaves out the same rows as selectDaySums.
func selectAssetSums(merchantID string, generation int64, mode invoice.Mode, p report.Period) statement {
	return statement{`
		SELECT day, currency, decimals, paid_asset, '', '', CAST(SUM(invoices) AS BIGINT), CAST(SUM(price) AS BIGINT), CAST(SUM(received) AS BIGINT) FROM day_sums
		WHERE merchant_id = $1 AND generation = $2 AND mode = $3 AND day >= $4 AND day < $5 AND invoices > 0 AND price >= 0 AND received >= 0
		GROUP BY merchant_id, generation, mode, day, currency, decimals, paid_asset`,
		[]any{merchantID, generation, string(mode), int64(p.From), int64(p.To)}}
}

func readDaySum(row scanner) (d report.DaySum, err error) {
	var price, received int64
	err = row.Scan(&d.Day, &d.Key.Currency.Code, &d.Key.Currency.Decimals, &d.PaidAsset, &d.Origin.Kind, &d.Origin.ID, &d.Invoices, &price, &received)
	fiat := d.Key.Currency
	d.Price, d.Received = money.FromCents(price, fiat), money.FromCents(received, fiat)
	return d, err
}
