package storage

import (
	"context"
	"fmt"
	"math"
	"time"

	"chequer/internal/invoice"
	"chequer/internal/report"
	"chequer/internal/storage/engine"
	"chequer/internal/zone"
)

// sumZone is the row of day_sum_zones of a merchant, with its zones.
type sumZone struct {
	merchantID string
	zone       *time.Location // of the generation that is read
	generation int64
	next       *time.Location // of the next generation, which is being computed; nil if none is
	until      int64          // the next generation has the invoices that became paid before this time
	// removedBefore is the time before which invoices were removed from the books, and removedAt the time of the first
	// removal before it, in Unix milliseconds; 0 without a removal.
	removedBefore, removedAt int64
	// receivedUntil is the position up to which the live invoices are in received_sums.
	receivedUntil retentionPosition
}

// addTo adds n × a to the sums of the generations that have the invoice.
func (z sumZone) addTo(d daySums, a addend, n int64) {
	if a == (addend{}) {
		return
	}
	if a.paidAt >= z.start(z.zone) {
		d.add(a, z.generation, z.zone, n)
	}
	if z.next != nil && a.paidAt < z.until && a.paidAt >= z.start(z.next) {
		d.add(a, z.generation+1, z.next, n)
	}
}

// firstDay returns the first day in a zone from which no invoice was removed: the sums have no earlier days.
func (z sumZone) firstDay(zone *time.Location) report.Day {
	if z.removedBefore == 0 {
		return math.MinInt64
	}
	return report.DayOf(utc(z.removedBefore-1), zone) + 1
}

// start returns the beginning of firstDay in Unix milliseconds.
func (z sumZone) start(zone *time.Location) int64 {
	if z.removedBefore == 0 {
		return math.MinInt64
	}
	return z.firstDay(zone).Start(zone).UnixMilli()
}

// readSumZone returns the zone of a merchant's sums: UTC if it has no sums yet.
func readSumZone(ctx context.Context, q querier, merchantID, lock string) (sumZone, error) {
	z := sumZone{merchantID: merchantID, zone: time.UTC, receivedUntil: allReceived}
	var name, next string
	err := q.QueryRowContext(ctx, "SELECT zone, generation, next_zone, next_until, removed_before, removed_at, received_at, received_id FROM day_sum_zones WHERE merchant_id = $1"+lock, merchantID).
		Scan(&name, &z.generation, &next, &z.until, &z.removedBefore, &z.removedAt, &z.receivedUntil.at, &z.receivedUntil.id)
	switch {
	case engine.Absent(err) && lock == "":
		return z, nil
	case err != nil:
		return z, fmt.Errorf("read the zone of the sums of %s: %w", merchantID, err)
	}
	if z.zone, err = zone.Load(name); err == nil && next != "" {
		z.next, err = zone.Load(next)
	}
	return z, err
}

// lockSumZoneShared locks the zone of a merchant's sums against changes. Only rows of received_sums, rows of day_sums and the
// audit log are locked after it, in this order.
func (s *Storage) lockSumZoneShared(ctx context.Context, q querier, merchantID string) (sumZone, error) {
	z, err := readSumZone(ctx, q, merchantID, s.engine.ForShare)
	if engine.Absent(err) { // only on PostgreSQL: on SQLite ForShare is empty, and readSumZone returns UTC
		if err := addSumZone(ctx, q, merchantID); err != nil {
			return z, err
		}
		return readSumZone(ctx, q, merchantID, s.engine.ForShare)
	}
	return z, err
}

// lockSumZone locks the zone of a merchant's sums, and waits for the transactions that change the sums.
func (s *Storage) lockSumZone(ctx context.Context, q querier, merchantID string) (sumZone, error) {
	if err := addSumZone(ctx, q, merchantID); err != nil {
		return sumZone{}, err
	}
	return readSumZone(ctx, q, merchantID, s.engine.ForUpdate)
}

// addSumZone writes the row of a merchant without sums.
func addSumZone(ctx context.Context, q querier, merchantID string) error {
	_, err := q.ExecContext(ctx, `
		INSERT INTO day_sum_zones (merchant_id, zone, generation, next_zone, next_until, received_at, received_id) VALUES ($1, $2, 0, '', 0, $3, $4)
		ON CONFLICT DO NOTHING`, merchantID, zone.UTC, allReceived.at, allReceived.id)
	if err != nil {
		return fmt.Errorf("write the zone of the sums of %s: %w", merchantID, err)
	}
	return nil
}

// sumModes are the modes of invoices.
var sumModes = []invoice.Mode{invoice.Live, invoice.Test}

// sumBatch is the number of invoices of each mode that one transaction adds to the next generation of sums.
const sumBatch = 2000

// restartDaySums begins the next generation of a merchant's sums, in a zone, in place of one that is being computed. It
// adds the first invoices, so that the sums of a small shop change in the transaction that changes its zone.
func (s *Storage) restartDaySums(ctx context.Context, q querier, merchantID string, next *time.Location) error {
	z, err := s.lockSumZone(ctx, q, merchantID)
	if err != nil {
		return err
	}
	if _, err := q.ExecContext(ctx, "DELETE FROM day_sums WHERE merchant_id = $1 AND generation > $2", merchantID, z.generation); err != nil {
		return fmt.Errorf("delete the unfinished sums of days: %w", err)
	}
	z.next, z.until = next, 0
	_, err = s.fillDaySums(ctx, q, z)
	return err
}

// UnfilledSums implements report.FillStorage.
func (s *Storage) UnfilledSums(ctx context.Context) ([]string, error) {
	return readAll(ctx, s, "find sums to compute", column[string], "SELECT merchant_id FROM day_sum_zones WHERE next_zone <> '' OR received_at < $1 ORDER BY merchant_id", allReceived.at)
}

// SumsRestarted implements report.FillStorage.
func (s *Storage) SumsRestarted() <-chan struct{} { return s.restarted }

// hintRestart wakes the receiver of SumsRestarted.
func (s *Storage) hintRestart() {
	select {
	case s.restarted <- struct{}{}:
	default: // it has a hint already
	}
}

// FillSums implements report.FillStorage.
func (s *Storage) FillSums(ctx context.Context, merchantID string) (done bool, err error) {
	done, err = answer(ctx, s.write, func(ctx context.Context, q querier) (bool, error) {
		z, err := s.lockSumZone(ctx, q, merchantID)
		switch {
		case err != nil:
			return false, err
		case z.next != nil:
			done, err := s.fillDaySums(ctx, q, z)
			return done && z.receivedUntil == allReceived, err
		case z.receivedUntil != allReceived:
			return s.fillReceived(ctx, q, z)
		}
		return true, nil
	})
	if err != nil {
		return false, fmt.Errorf("compute the sums of %s: %w", merchantID, err)
	}
	return done, nil
}

// RestartSums begins to compute the sums of days of a merchant again, in their zone or, if it is being changed, in the
// next zone, and its received sums. FillSums completes them.
func (s *Storage) RestartSums(ctx context.Context, merchantID string) error {
	defer s.hintRestart()
	return s.write(ctx, func(ctx context.Context, q querier) error {
		z, err := s.lockSumZone(ctx, q, merchantID)
		if err != nil {
			return err
		}
		if err := s.restartReceived(ctx, q, &z); err != nil {
			return err
		}
		next := z.zone
		if z.next != nil {
			next = z.next
		}
		return s.restartDaySums(ctx, q, merchantID, next)
	})
}

// fillDaySums adds some invoices to the next generation of sums, which is locked. done reports whether the generation
// then has all invoices, in which case it has replaced the former generation.
func (s *Storage) fillDaySums(ctx context.Context, q querier, z sumZone) (done bool, err error) {
	until, err := s.fillUntil(ctx, q, z)
	if err != nil {
		return false, err
	}
	d := daySums{}
	for _, mode := range sumModes {
		err := visitRows(ctx, q, func(row scanner) error {
			a := addend{merchantID: z.merchantID, mode: string(mode)}
			if err := row.Scan(&a.paidAt, &a.currency, &a.decimals, &a.paidAsset, &a.origin, &a.originID, &a.price, &a.received); err != nil {
				return err
			}
			d.add(a, z.generation+1, z.next, 1)
			return nil
		}, paidInvoices, z.merchantID, string(mode), max(z.until, z.start(z.next)), until)
		if err != nil {
			return false, fmt.Errorf("read paid invoices: %w", err)
		}
	}
	if err := d.save(ctx, q); err != nil {
		return false, err
	}
	z.until = until
	if done = until == math.MaxInt64; done {
		if _, err := q.ExecContext(ctx, "DELETE FROM day_sums WHERE merchant_id = $1 AND generation <= $2", z.merchantID, z.generation); err != nil {
			return false, fmt.Errorf("delete the former sums of days: %w", err)
		}
		z.zone, z.generation, z.next, z.until = z.next, z.generation+1, nil, 0
	}
	return done, z.save(ctx, q)
}

// The statements of fillDaySums.
const (
	paidInvoices = `
		SELECT paid_at, currency, decimals, paid_asset, origin, origin_id, price, paid FROM invoices
		WHERE merchant_id = $1 AND mode = $2 AND paid_at >= $3 AND paid_at < $4`
	nthPaidAt = `
		SELECT paid_at FROM invoices WHERE merchant_id = $1 AND mode = $2 AND paid_at >= $3
		ORDER BY paid_at, id LIMIT 1 OFFSET $4`
)

// fillUntil returns the time before which the invoices of the next batch became paid: math.MaxInt64 for the last
// batch. Invoices that became paid at the same time are in the same batch.
func (s *Storage) fillUntil(ctx context.Context, q querier, z sumZone) (int64, error) {
	until := int64(math.MaxInt64)
	for _, mode := range sumModes {
		var at int64
		err := q.QueryRowContext(ctx, nthPaidAt, z.merchantID, string(mode), max(z.until, z.start(z.next)), s.sumBatch-1).Scan(&at)
		switch {
		case engine.Absent(err):
			continue
		case err != nil:
			return 0, fmt.Errorf("find paid invoices: %w", err)
		}
		until = min(until, at+1)
	}
	return until, nil
}

// save writes the row.
func (z sumZone) save(ctx context.Context, q querier) error {
	next := ""
	if z.next != nil {
		next = z.next.String()
	}
	_, err := q.ExecContext(ctx, "UPDATE day_sum_zones SET zone = $2, generation = $3, next_zone = $4, next_until = $5, removed_before = $6, removed_at = $7, received_at = $8, received_id = $9 WHERE merchant_id = $1",
		z.merchantID, z.zone.String(), z.generation, next, z.until, z.removedBefore, z.removedAt, z.receivedUntil.at, z.receivedUntil.id)
	if err != nil {
		return fmt.Errorf("write the zone of the sums of %s: %w", z.merchantID, err)
	}
	return nil
}
