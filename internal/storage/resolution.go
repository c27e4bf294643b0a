package storage

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"chequer/internal/audit"
	"chequer/internal/casework"
	"chequer/internal/invoice"
)

// saveResolution writes that an invoice has stopped waiting for a decision, with the actor of the change.
func (s *Storage) saveResolution(ctx context.Context, q querier, r invoiceRow) error {
	by := recorderOf(ctx).actor
	_, err := q.ExecContext(ctx, "INSERT INTO resolutions (invoice_id, merchant_id, mode, at, actor_kind, actor_name) VALUES ($1, $2, $3, $4, $5, $6)",
		r.id, r.merchantID, r.mode, s.now().UnixMilli(), string(by.Kind), by.Name)
	if err != nil {
		return fmt.Errorf("write resolution: %w", err)
	}
	return nil
}

// Resolutions implements casework.Storage.
func (s *Storage) Resolutions(ctx context.Context, merchantID string, mode invoice.Mode, since time.Time, limit int) ([]casework.Resolution, error) {
	query := resolutions(merchantID, mode, since, limit)
	return readAll(ctx, s, "list resolutions", readResolution, query.text, query.args...)
}

// resolutions returns the statement that reads resolutions, newest first.
func resolutions(merchantID string, mode invoice.Mode, since time.Time, limit int) statement {
	return statement{`SELECT ` + qualified(summaryColumns, "invoices") + `, resolutions.at, resolutions.actor_kind, resolutions.actor_name, invoices.kept_at,
			COALESCE((SELECT state FROM refunds WHERE invoice_id = invoices.id AND number = invoices.refunds - 1), '')
		FROM resolutions JOIN invoices ON invoices.id = resolutions.invoice_id
		WHERE resolutions.merchant_id = $1 AND resolutions.mode = $2 AND resolutions.at >= $3
		ORDER BY resolutions.at DESC, resolutions.invoice_id DESC LIMIT $4`, []any{merchantID, string(mode), since.UnixMilli(), limit}}
}

func readResolution(row scanner) (r casework.Resolution, err error) {
	var s summaryRow
	var at int64
	var kept sql.Null[int64]
	var by audit.Actor
	if err := row.Scan(append(s.fields(), &at, &by.Kind, &by.Name, &kept, &r.Refund)...); err != nil {
		return r, err
	}
	r.Summary, err = s.summary()
	r.At, r.Actor, r.Kept = utc(at), by, kept.Valid
	return r, err
}
