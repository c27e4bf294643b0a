package storage

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"chequer/internal/audit"
	"chequer/internal/invoice"
	"chequer/internal/merchant"
	"chequer/internal/retention"
)

// retentionBatch is the number of invoices that one transaction of a run examines.
const retentionBatch = 50

// retentionInterval is the interval between the end of a run and the next one.
const retentionInterval = 24 * time.Hour

// RetentionShops implements retention.Storage.
func (s *Storage) RetentionShops(ctx context.Context) ([]string, error) {
	return s.shopsOfRuns(ctx, "SELECT merchant_id FROM retention_runs WHERE invoices > 0", func(c merchant.Choices) bool { return c.PersonalDataMonths() > 0 })
}

// RemovePersonalData implements retention.Storage. It locks the row of the run until the end of the transaction, so that
// processes take turns.
func (s *Storage) RemovePersonalData(ctx context.Context, merchantID string, now time.Time) (done bool, err error) {
	done, err = answer(ctx, s.write, func(ctx context.Context, q querier) (bool, error) {
		run, err := s.lockRun(ctx, q, merchantID)
		if err != nil {
			return false, err
		}
		m, err := readMerchant(q.QueryRowContext(ctx, "SELECT id, name, settings, created_at FROM merchants WHERE id = $1", merchantID))
		if err != nil {
			return false, merchantNotFound(err, "read merchant")
		}
		months := m.Choices.PersonalDataMonths()
		if months == 0 {
			return true, s.endRun(ctx, q, run, now)
		}
		if now.UnixMilli() < run.nextAt {
			return true, nil
		}
		ids, err := run.advance(ctx, q, now.AddDate(0, -months, 0))
		if err != nil {
			return false, err
		}
		if len(ids) == 0 {
			return true, s.endRun(ctx, q, run, now)
		}
		for _, id := range ids {
			if err := s.examineInvoice(ctx, q, run, id, months, now); err != nil {
				return false, err
			}
		}
		return false, run.save(ctx, q)
	})
	if err != nil {
		return false, fmt.Errorf("remove personal data of %s: %w", merchantID, err)
	}
	return done, nil
}

// examineInvoice removes the personal data of an invoice, or lets a later run examine the invoice again.
func (s *Storage) examineInvoice(ctx context.Context, q querier, run *retentionRun, id string, months int, now time.Time) error {
	before, err := s.lockInvoice(ctx, q, id)
	if err != nil {
		return err
	}
	related, err := readRelatedData(ctx, q, id)
	if err != nil {
		return err
	}
	due, removed := false, retention.Removed{}
	next, err := s.evaluate(before, func(inv *invoice.Invoice) error {
		if due = retention.Due(inv, months, related, now); due {
			removed = retention.RemoveFrom(inv, related, now)
		}
		return nil
	})
	if _, broken := errors.AsType[*invoice.UnreadableError](err); err != nil && !broken {
		return err
	}
	if !due {
		return examineAgain(ctx, q, run.merchantID, id)
	}
	if err := s.writeRows(ctx, q, next); err != nil {
		return err
	}
	for _, statement := range []string{
		"DELETE FROM retention_waiting WHERE merchant_id = $1 AND invoice_id = $2",
		"DELETE FROM team_notes WHERE merchant_id = $1 AND invoice_id = $2",
		`UPDATE plugin_data SET metadata = '' WHERE metadata <> '' AND invoice_id = (SELECT id FROM invoices WHERE merchant_id = $1 AND id = $2)`,
		"UPDATE invoices SET reference = '', note = '' WHERE merchant_id = $1 AND id = $2 AND (reference <> '' OR note <> '')",
		`UPDATE refund_transactions SET script = 'removed ' || refund_id
			WHERE merchant_id = $1 AND refund_id IN (SELECT id FROM refunds WHERE invoice_id = $2)`,
	} {
		if _, err := q.ExecContext(ctx, statement, run.merchantID, id); err != nil {
			return fmt.Errorf("invoice %s: %w", id, err)
		}
	}
	run.count(removed)
	return nil
}

// readRelatedData reads the personal data that are related to an invoice.
func readRelatedData(ctx context.Context, q querier, invoiceID string) (d retention.RelatedData, err error) {
	var newest int64
	err = q.QueryRowContext(ctx, `
		SELECT COUNT(*), COALESCE(MAX(at), 0), EXISTS (SELECT 1 FROM plugin_data WHERE invoice_id = $1 AND metadata <> '')
		FROM team_notes WHERE invoice_id = $1`, invoiceID).Scan(&d.Notes, &newest, &d.HasPluginMetadata)
	if err != nil {
		return d, fmt.Errorf("read personal data of invoice %s: %w", invoiceID, err)
	}
	if d.Notes > 0 {
		d.NewestNote = utc(newest)
	}
	return d, nil
}

// examineAgain lets a later run examine an invoice again that runs have passed.
func examineAgain(ctx context.Context, q querier, merchantID, invoiceID string) error {
	_, err := q.ExecContext(ctx, "INSERT INTO retention_waiting (merchant_id, invoice_id) VALUES ($1, $2) ON CONFLICT DO NOTHING", merchantID, invoiceID)
	if err != nil {
		return fmt.Errorf("let the retention examine invoice %s again: %w", invoiceID, err)
	}
	return nil
}

// examinePassed is examineAgain for an invoice that runs may have passed. The invoice must be locked.
func examinePassed(ctx context.Context, q querier, merchantID, invoiceID string) error {
	_, err := q.ExecContext(ctx, `
		INSERT INTO retention_waiting (merchant_id, invoice_id)
		SELECT i.merchant_id, i.id FROM invoices i JOIN retention_runs r ON r.merchant_id = i.merchant_id
		WHERE i.id = $2 AND i.merchant_id = $1 AND (
			i.mode = 'live' AND (i.created_at, i.id) <= (r.live_at, r.live_id) OR i.mode = 'test' AND (i.created_at, i.id) <= (r.test_at, r.test_id))
		ON CONFLICT DO NOTHING`, merchantID, invoiceID)
	if err != nil {
		return fmt.Errorf("let the retention examine invoice %s again: %w", invoiceID, err)
	}
	return nil
}

// endRun writes the entry of the audit log about a run that removed something, and the time of the next run.
func (s *Storage) endRun(ctx context.Context, q querier, run *retentionRun, now time.Time) error {
	c := run.counts
	*run = retentionRun{merchantID: run.merchantID, nextAt: now.Add(retentionInterval).UnixMilli(), passed: run.passed}
	if err := run.save(ctx, q); err != nil || c == (retentionCounts{}) {
		return err
	}
	n := func(count int64) string { return strconv.FormatInt(count, 10) }
	return s.record(ctx, q, audit.Change{
		MerchantID: run.merchantID, Action: "personal_data.removed", Subject: run.merchantID,
		After: audit.Fields{
			"invoices": n(c.invoices), "notes": n(c.notes), "refund addresses": n(c.refundAddresses), "metadata": n(c.metadata), "return addresses": n(c.returnAddresses),
		},
	})
}
