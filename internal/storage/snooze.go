package storage

import (
	"context"
	"fmt"
	"time"

	"chequer/internal/audit"
	"chequer/internal/casework"
	"chequer/internal/invoice"
	"chequer/internal/storage/engine"
)

// Snooze implements casework.Storage.
func (s *Storage) Snooze(ctx context.Context, z casework.Snooze, seen int64) error {
	return s.write(ctx, func(ctx context.Context, q querier) error {
		found, err := s.lockInvoice(ctx, q, z.InvoiceID)
		if err != nil {
			return err
		}
		waits, err := found.row.waits()
		switch {
		case err != nil:
			return err
		case found.row.merchantID != z.MerchantID:
			return fmt.Errorf("invoice %s: %w", z.InvoiceID, invoice.ErrNotFound)
		case found.row.version != seen:
			return invoice.ErrStale
		case !waits:
			return invoice.ErrState
		}
		_, err = q.ExecContext(ctx, `
			INSERT INTO snoozes (invoice_id, merchant_id, mode, until, set_by) VALUES ($1, $2, $3, $4, $5)
			ON CONFLICT (invoice_id) DO UPDATE SET until = excluded.until, set_by = excluded.set_by`,
			z.InvoiceID, z.MerchantID, found.row.mode, z.Until.UnixMilli(), z.By)
		if err != nil {
			return fmt.Errorf("write snooze: %w", err)
		}
		return s.record(ctx, q, audit.Change{MerchantID: z.MerchantID, Action: "case.snoozed", Subject: z.InvoiceID, After: fields("until", stamp(z.Until))})
	})
}

// EndSnooze implements casework.Storage.
func (s *Storage) EndSnooze(ctx context.Context, merchantID, invoiceID string) error {
	c := audit.Change{MerchantID: merchantID, Action: "case.snooze_ended", Subject: invoiceID}
	return s.changeRecorded(ctx, c, "delete snooze", nil, "DELETE FROM snoozes WHERE invoice_id = $1 AND merchant_id = $2", invoiceID, merchantID)
}

// FindSnooze implements casework.Storage.
func (s *Storage) FindSnooze(ctx context.Context, invoiceID string) (casework.Snooze, error) {
	z, err := readOne(ctx, s, func(row scanner) (z casework.Snooze, err error) {
		var until int64
		err = row.Scan(&z.InvoiceID, &z.MerchantID, &z.Mode, &until, &z.By)
		z.Until = utc(until)
		return z, err
	}, "SELECT invoice_id, merchant_id, mode, until, set_by FROM snoozes WHERE invoice_id = $1", invoiceID)
	if engine.Absent(err) {
		return casework.Snooze{}, nil
	}
	if err != nil {
		return casework.Snooze{}, fmt.Errorf("read snooze: %w", err)
	}
	return z, nil
}

// Snoozed implements casework.Storage.
func (s *Storage) Snoozed(ctx context.Context, merchantID string, mode invoice.Mode, at time.Time, limit int) ([]casework.Snoozed, error) {
	query := snoozed(merchantID, mode, at, limit)
	return readAll(ctx, s, "list snoozed invoices", func(row scanner) (z casework.Snoozed, err error) {
		var r summaryRow
		var until int64
		if err := row.Scan(append(r.fields(), &until, &z.By)...); err != nil {
			return z, err
		}
		z.Summary, err = r.summary()
		z.InvoiceID, z.MerchantID, z.Mode, z.Until = z.Summary.ID, merchantID, mode, utc(until)
		return z, err
	}, query.text, query.args...)
}

// snoozed returns the statement that reads the snoozed invoices.
func snoozed(merchantID string, mode invoice.Mode, at time.Time, limit int) statement {
	return statement{`SELECT ` + qualified(summaryColumns, "invoices") + `, snoozes.until, snoozes.set_by FROM snoozes JOIN invoices ON invoices.id = snoozes.invoice_id
		WHERE snoozes.merchant_id = $1 AND snoozes.mode = $2 AND snoozes.until > $3
		ORDER BY snoozes.until, snoozes.invoice_id LIMIT $4`, []any{merchantID, string(mode), at.UnixMilli(), limit}}
}
