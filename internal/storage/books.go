package storage

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"chequer/internal/audit"
	"chequer/internal/invoice"
	"chequer/internal/merchant"
	"chequer/internal/retention"
)

// bookRun is the row of book_runs of a merchant.
type bookRun struct {
	merchantID string
	nextAt     int64                // Unix milliseconds
	cut        int64                // Unix milliseconds; 0 before the run begins
	passed     [2]retentionPosition // by mode, as in sumModes
	counts     bookCounts
}

// bookCounts are the numbers of invoices, payments, refunds and notes that a run has removed.
type bookCounts struct{ invoices, payments, refunds, notes int64 }

// BookShops implements retention.Storage.
func (s *Storage) BookShops(ctx context.Context) ([]string, error) {
	return s.shopsOfRuns(ctx, "SELECT merchant_id FROM book_runs WHERE cut <> 0", func(c merchant.Choices) bool { return c.BookYears() > 0 })
}

// RemoveBooks implements retention.Storage. It locks the row of the run until the end of the transaction, so that processes
// take turns.
func (s *Storage) RemoveBooks(ctx context.Context, merchantID string, now time.Time) (done bool, err error) {
	done, err = answer(ctx, s.write, func(ctx context.Context, q querier) (bool, error) {
		run, err := s.lockBookRun(ctx, q, merchantID)
		if err != nil {
			return false, err
		}
		m, err := readMerchant(q.QueryRowContext(ctx, "SELECT id, name, settings, created_at FROM merchants WHERE id = $1", merchantID))
		if err != nil {
			return false, merchantNotFound(err, "read merchant")
		}
		years := m.Choices.BookYears()
		cut := retention.Cut(now, years, m.Choices.Zone()).UnixMilli()
		switch {
		case years == 0 && run.cut == 0:
			return true, nil
		case run.cut != 0 && (years == 0 || cut < run.cut): // the merchant keeps the invoices and closed months that the run would remove
			return s.finishBookRun(ctx, q, run, now, true)
		case now.UnixMilli() < run.nextAt:
			return true, nil
		case run.cut == 0: // a run keeps its cut, even if the settings or the year change so that more could be removed
			run.cut = cut
		}
		ids, err := nextInvoices(ctx, q, merchantID, &run.passed, utc(run.cut))
		if err != nil {
			return false, err
		}
		if len(ids) > 0 {
			return false, s.removeInvoices(ctx, q, run, ids, now)
		}
		return s.finishBookRun(ctx, q, run, now, false)
	})
	if err != nil {
		return false, fmt.Errorf("remove books of %s: %w", merchantID, err)
	}
	return done, nil
}

// removeInvoices removes the removable invoices among ids, and writes the run. Afterwards it updates the tallies, the zone of the day sums
// and the received sums, in the order of the transactions that change invoices.
func (s *Storage) removeInvoices(ctx context.Context, q querier, run *bookRun, ids []string, now time.Time) error {
	var removed []invoiceRow
	var received []receivedChange
	for _, id := range ids {
		r, inv, err := s.removableInvoice(ctx, q, id, utc(run.cut), now)
		if err != nil {
			return err
		}
		if inv == nil {
			continue
		}
		change, err := s.receivedChange(ctx, q, r.row, r.transfers, nil)
		if err != nil {
			return fmt.Errorf("invoice %s: %w", id, err)
		}
		received = append(received, change)
		notes, err := deleteInvoice(ctx, q, inv)
		if err != nil {
			return fmt.Errorf("invoice %s: %w", id, err)
		}
		removed = append(removed, r.row)
		run.counts.invoices++
		run.counts.notes += notes
		run.counts.refunds += int64(len(inv.Refunds))
		run.counts.payments += int64(len(inv.Transfers))
	}
	if len(removed) > 0 {
		if err := s.subtractFromTallies(ctx, q, removed); err != nil {
			return err
		}
		if err := s.cutDaySums(ctx, q, run, now); err != nil {
			return err
		}
		if err := s.saveReceived(ctx, q, run.merchantID, received...); err != nil {
			return err
		}
	}
	return run.save(ctx, q)
}

// removableInvoice locks an invoice and returns it with its record. The invoice is nil if it must not be removed, for example because it
// cannot be read.
func (s *Storage) removableInvoice(ctx context.Context, q querier, id string, cut, now time.Time) (record, *invoice.Invoice, error) {
	r, err := s.lockInvoice(ctx, q, id)
	if err != nil {
		return r, nil, err
	}
	inv, err := r.invoice()
	if _, broken := errors.AsType[*invoice.UnreadableError](err); broken {
		return r, nil, nil
	}
	if err != nil {
		return r, nil, err
	}
	var hasOpenDelivery bool
	err = q.QueryRowContext(ctx, `SELECT EXISTS (
		SELECT 1 FROM deliveries
		WHERE endpoint_id IN (SELECT id FROM endpoints WHERE merchant_id = $1) AND invoice_id = $2 AND next_try_at IS NOT NULL)`,
		inv.MerchantID, id).Scan(&hasOpenDelivery)
	if err != nil {
		return r, nil, fmt.Errorf("read deliveries of invoice %s: %w", id, err)
	}
	related, err := readRelatedData(ctx, q, id)
	if err != nil {
		return r, nil, err
	}
	if !retention.Removable(inv, cut, related, hasOpenDelivery, now) {
		return r, nil, nil
	}
	return r, inv, nil
}

// deleteInvoice deletes the rows of an invoice, and returns the number of its notes. The counter of destination indexes stays, so
// that no destination is allocated again. The rows that several invoices share also stay: the evidence of rates and the shared
// terms.
func deleteInvoice(ctx context.Context, q querier, inv *invoice.Invoice) (notes int64, err error) {
	for _, t := range inv.Transfers {
		if len(t.Spends) == 0 {
			continue
		}
		_, err := q.ExecContext(ctx, `DELETE FROM spends WHERE network = $1 AND tx = $2
			AND NOT EXISTS (SELECT 1 FROM transfers WHERE tx = $2 AND tx <> '' AND network = $1 AND invoice_id <> $3)`, string(t.Network), t.Tx, inv.ID)
		if err != nil {
			return 0, fmt.Errorf("delete spends: %w", err)
		}
	}
	if notes, err = exec(ctx, q, "DELETE FROM team_notes WHERE invoice_id = $1", inv.ID); err != nil {
		return 0, fmt.Errorf("delete notes: %w", err)
	}
	const isOfMerchant = "endpoint_id IN (SELECT id FROM endpoints WHERE merchant_id = $2)"
	for _, statement := range []string{
		"DELETE FROM tries WHERE " + isOfMerchant + " AND position IN (SELECT position FROM deliveries WHERE " + isOfMerchant + " AND invoice_id = $1)",
		"DELETE FROM deliveries WHERE " + isOfMerchant + " AND invoice_id = $1",
		"DELETE FROM retention_waiting WHERE merchant_id = $2 AND invoice_id = $1",
		"DELETE FROM refund_transactions WHERE merchant_id = $2 AND refund_id IN (SELECT id FROM refunds WHERE invoice_id = $1)",
	} {
		if _, err := q.ExecContext(ctx, statement, inv.ID, inv.MerchantID); err != nil {
			return 0, fmt.Errorf("delete rows: %w", err)
		}
	}
	_, err = q.ExecContext(ctx, "INSERT INTO removed_orders (key_id, order_id) SELECT DISTINCT key_id, order_id FROM link_orders WHERE invoice_id = $1 ON CONFLICT DO NOTHING", inv.ID)
	if err != nil {
		return 0, fmt.Errorf("write removed orders: %w", err)
	}
	for _, table := range invoiceTables {
		if _, err := q.ExecContext(ctx, "DELETE FROM "+table+" WHERE invoice_id = $1", inv.ID); err != nil {
			return 0, fmt.Errorf("delete from %s: %w", table, err)
		}
	}
	if _, err := q.ExecContext(ctx, "DELETE FROM invoices WHERE id = $1", inv.ID); err != nil {
		return 0, fmt.Errorf("delete: %w", err)
	}
	return notes, nil
}

// invoiceTables are the tables from which deleteInvoice deletes the rows with the ID of the invoice by the same statement.
var invoiceTables = []string{
	"events", "transfers", "refunds", "conversions", "destinations", "link_orders", "link_uses", "invoice_flags", "snoozes", "resolutions", "notified_cases",
	"unreadable_invoices", "plugin_data", "unpaid_places", "examined_invoices",
}

// subtractFromTallies subtracts removed invoices of one merchant from the tallies. The uses of links stay counted.
func (s *Storage) subtractFromTallies(ctx context.Context, q querier, removed []invoiceRow) error {
	for _, mode := range []invoice.Mode{invoice.Live, invoice.Test} { // in the order of the primary key of tallies
		var counted []tallyRow
		inv := invoiceRow{merchantID: removed[0].merchantID, mode: string(mode)}
		for _, r := range removed {
			if r.mode != inv.mode {
				continue
			}
			flags, err := r.flags()
			if err != nil {
				return err
			}
			counted = append(counted, tallyRows(r.status, flags)...)
		}
		if err := updateTallies(ctx, q, inv, counted, nil); err != nil {
			return err
		}
	}
	return nil
}

// cutDaySums excludes the days before the cut of a run from the sums. removeDaySums deletes their rows later.
func (s *Storage) cutDaySums(ctx context.Context, q querier, run *bookRun, now time.Time) error {
	z, err := s.lockSumZone(ctx, q, run.merchantID)
	if err != nil || z.removedBefore >= run.cut {
		return err
	}
	z.removedBefore, z.removedAt = run.cut, now.UnixMilli()
	return z.save(ctx, q)
}

// sumsBatch is the number of days whose sums one transaction of a run deletes.
const sumsBatch = 31

// removeDaySums deletes the sums of at most sumsBatch days before the cut in each mode and zone. It reports whether it deleted any, so that
// there may be more.
func (s *Storage) removeDaySums(ctx context.Context, q querier, merchantID string) (more bool, err error) {
	z, err := s.lockSumZone(ctx, q, merchantID)
	if err != nil || z.removedBefore == 0 {
		return false, err
	}
	zones := []*time.Location{z.zone}
	if z.next != nil {
		zones = append(zones, z.next)
	}
	for i, zone := range zones {
		for _, mode := range sumModes {
			n, err := exec(ctx, q, `
				DELETE FROM day_sums WHERE merchant_id = $1 AND generation = $2 AND mode = $3 AND day < $4 AND day < (
					SELECT MIN(day) FROM day_sums WHERE merchant_id = $1 AND generation = $2 AND mode = $3) + $5`,
				merchantID, z.generation+int64(i), string(mode), int64(z.firstDay(zone)), sumsBatch)
			if err != nil {
				return false, fmt.Errorf("delete the sums of days: %w", err)
			}
			more = more || n > 0
		}
	}
	return more, nil
}

// lockBookRun locks and returns the row of a merchant. It inserts the row if there is none.
func (s *Storage) lockBookRun(ctx context.Context, q querier, merchantID string) (*bookRun, error) {
	_, err := q.ExecContext(ctx, `
		INSERT INTO book_runs (merchant_id, next_at, cut, live_at, live_id, test_at, test_id, invoices, payments, refunds, notes)
		VALUES ($1, 0, 0, 0, '', 0, '', 0, 0, 0, 0) ON CONFLICT DO NOTHING`, merchantID)
	if err != nil {
		return nil, fmt.Errorf("write the run: %w", err)
	}
	r := &bookRun{merchantID: merchantID}
	err = q.QueryRowContext(ctx, `
		SELECT next_at, cut, live_at, live_id, test_at, test_id, invoices, payments, refunds, notes FROM book_runs WHERE merchant_id = $1`+s.engine.ForUpdate, merchantID).
		Scan(&r.nextAt, &r.cut, &r.passed[0].at, &r.passed[0].id, &r.passed[1].at, &r.passed[1].id, &r.counts.invoices, &r.counts.payments, &r.counts.refunds, &r.counts.notes)
	if err != nil {
		return nil, fmt.Errorf("lock the run: %w", err)
	}
	return r, nil
}

// save writes the row.
func (r *bookRun) save(ctx context.Context, q querier) error {
	_, err := q.ExecContext(ctx, `
		UPDATE book_runs SET next_at = $2, cut = $3, live_at = $4, live_id = $5, test_at = $6, test_id = $7, invoices = $8, payments = $9, refunds = $10, notes = $11
		WHERE merchant_id = $1`,
		r.merchantID, r.nextAt, r.cut, r.passed[0].at, r.passed[0].id, r.passed[1].at, r.passed[1].id, r.counts.invoices, r.counts.payments, r.counts.refunds, r.counts.notes)
	if err != nil {
		return fmt.Errorf("write the run: %w", err)
	}
	return nil
}

// finishBookRun deletes the sums of some days before the cut. If there are no more, it deletes the closed months before the cut, unless
// keepClosings is set, and ends the run. It reports whether the run has ended.
func (s *Storage) finishBookRun(ctx context.Context, q querier, run *bookRun, now time.Time, keepClosings bool) (done bool, err error) {
	more, err := s.removeDaySums(ctx, q, run.merchantID)
	if err != nil {
		return false, err
	}
	if more {
		return false, run.save(ctx, q)
	}
	if !keepClosings {
		if err := s.removeClosings(ctx, q, run); err != nil {
			return false, err
		}
	}
	return true, s.endBookRun(ctx, q, run, now)
}

// endBookRun writes the entry of the audit log about a run that removed something, and the time of the next run, which
// examines all invoices again.
func (s *Storage) endBookRun(ctx context.Context, q querier, run *bookRun, now time.Time) error {
	c, cut := run.counts, run.cut
	*run = bookRun{merchantID: run.merchantID, nextAt: now.Add(retentionInterval).UnixMilli()}
	if err := run.save(ctx, q); err != nil || c == (bookCounts{}) {
		return err
	}
	n := func(count int64) string { return strconv.FormatInt(count, 10) }
	return s.record(ctx, q, audit.Change{
		MerchantID: run.merchantID, Action: "books.removed", Subject: run.merchantID,
		After: audit.Fields{
			"created before": utc(cut).Format(time.RFC3339), "invoices": n(c.invoices), "payments": n(c.payments), "refunds": n(c.refunds), "notes": n(c.notes),
		},
	})
}

// CountBooks implements report.Storage. It reads only columns of the invoices, so it also counts invoices that stay for another
// reason, such as an open refund.
func (s *Storage) CountBooks(ctx context.Context, merchantID string, cut time.Time, limit int64) (n int64, err error) {
	n, err = readOne(ctx, s, column[int64], `
		SELECT COUNT(*) FROM (SELECT 1 FROM invoices i
		WHERE merchant_id = $1 AND mode IN ('live', 'test') AND created_at < $2 AND expires_at < $2 AND (paid_at IS NULL OR paid_at < $2)
			AND next_check_at IS NULL AND status NOT IN ('created', 'pending')
			AND NOT EXISTS (SELECT 1 FROM invoice_flags f WHERE f.invoice_id = i.id AND f.flag = $3)
		LIMIT $4) counted`, merchantID, cut.UnixMilli(), decisionFlag, limit)
	if err != nil {
		return 0, fmt.Errorf("count old invoices of %s: %w", merchantID, err)
	}
	return n, nil
}

// RemovedBefore returns the time before which invoices of a merchant were removed from the books, and the time of the first
// removal; zero if none were removed.
func (s *Storage) RemovedBefore(ctx context.Context, merchantID string) (before, at time.Time, err error) {
	z, err := answer(ctx, s.read, func(ctx context.Context, q querier) (sumZone, error) { return readSumZone(ctx, q, merchantID, "") })
	if err != nil || z.removedBefore == 0 {
		return before, at, err
	}
	return utc(z.removedBefore), utc(z.removedAt), nil
}

// shopsOfRuns returns the sorted IDs of the merchants whose choices selects accepts, and of those that the statement unfinished returns.
func (s *Storage) shopsOfRuns(ctx context.Context, unfinished string, selects func(merchant.Choices) bool) ([]string, error) {
	all, err := s.Merchants(ctx)
	if err != nil {
		return nil, err
	}
	ids, err := readAll(ctx, s, "find unfinished runs of the retention", column[string], unfinished)
	if err != nil {
		return nil, err
	}
	for _, m := range all {
		if selects(m.Choices) {
			ids = append(ids, m.ID)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids), nil
}
