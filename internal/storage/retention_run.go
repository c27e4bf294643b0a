package storage

import (
	"context"
	"fmt"
	"time"

	"chequer/internal/invoice"
	"chequer/internal/retention"
)

// retentionRun is the row of retention_runs of a merchant.
type retentionRun struct {
	merchantID string
	nextAt     int64
	passed     [2]retentionPosition // by mode, as in sumModes
	waitingID  string
	counts     retentionCounts
}

// retentionPosition is the position of the last examined invoice of a mode.
type retentionPosition struct {
	at int64
	id string
}

// retentionCounts are the numbers of invoices, notes, addresses and metadata that a run has removed.
type retentionCounts struct{ invoices, notes, refundAddresses, metadata, returnAddresses int64 }

// count adds what was removed from an invoice.
func (r *retentionRun) count(removed retention.Removed) {
	if removed == (retention.Removed{}) {
		return
	}
	r.counts.invoices++
	r.counts.notes += removed.Notes
	r.counts.refundAddresses += removed.RefundAddresses
	r.counts.metadata += removed.Metadata
	r.counts.returnAddresses += removed.ReturnAddresses
}

// lockRun locks and returns the row of a merchant. It inserts the row if there is none.
func (s *Storage) lockRun(ctx context.Context, q querier, merchantID string) (*retentionRun, error) {
	_, err := q.ExecContext(ctx, `
		INSERT INTO retention_runs (merchant_id, next_at, live_at, live_id, test_at, test_id, waiting_id, invoices, notes, refund_addresses, metadata, return_addresses)
		VALUES ($1, 0, 0, '', 0, '', '', 0, 0, 0, 0, 0) ON CONFLICT DO NOTHING`, merchantID)
	if err != nil {
		return nil, fmt.Errorf("write the run: %w", err)
	}
	r := &retentionRun{merchantID: merchantID}
	err = q.QueryRowContext(ctx, `
		SELECT next_at, live_at, live_id, test_at, test_id, waiting_id, invoices, notes, refund_addresses, metadata, return_addresses
		FROM retention_runs WHERE merchant_id = $1`+s.engine.ForUpdate, merchantID).
		Scan(&r.nextAt, &r.passed[0].at, &r.passed[0].id, &r.passed[1].at, &r.passed[1].id, &r.waitingID,
			&r.counts.invoices, &r.counts.notes, &r.counts.refundAddresses, &r.counts.metadata, &r.counts.returnAddresses)
	if err != nil {
		return nil, fmt.Errorf("lock the run: %w", err)
	}
	return r, nil
}

// save writes the row.
func (r *retentionRun) save(ctx context.Context, q querier) error {
	_, err := q.ExecContext(ctx, `
		UPDATE retention_runs SET next_at = $2, live_at = $3, live_id = $4, test_at = $5, test_id = $6, waiting_id = $7,
			invoices = $8, notes = $9, refund_addresses = $10, metadata = $11, return_addresses = $12
		WHERE merchant_id = $1`,
		r.merchantID, r.nextAt, r.passed[0].at, r.passed[0].id, r.passed[1].at, r.passed[1].id, r.waitingID,
		r.counts.invoices, r.counts.notes, r.counts.refundAddresses, r.counts.metadata, r.counts.returnAddresses)
	if err != nil {
		return fmt.Errorf("write the run: %w", err)
	}
	return nil
}

// advance returns the next invoices to examine, and moves the position of the run to the last of them. It returns none
// if the run has examined all invoices that were created at or before a time.
func (r *retentionRun) advance(ctx context.Context, q querier, until time.Time) ([]string, error) {
	if ids, err := nextInvoices(ctx, q, r.merchantID, &r.passed, until); len(ids) > 0 || err != nil {
		return ids, err
	}
	page := waitingInvoices(r.merchantID, r.waitingID)
	ids, err := list(ctx, q, column[string], page.text, page.args...)
	if err != nil {
		return nil, fmt.Errorf("find waiting invoices: %w", err)
	}
	if len(ids) > 0 {
		r.waitingID = ids[len(ids)-1]
	}
	return ids, nil
}

// nextInvoices returns the next invoices of a merchant that were created at or before a time, and moves the positions of the modes to
// the last of them.
func nextInvoices(ctx context.Context, q querier, merchantID string, passed *[2]retentionPosition, until time.Time) ([]string, error) {
	for i, mode := range sumModes {
		page := passedInvoices(merchantID, mode, passed[i], until)
		next, err := list(ctx, q, func(row scanner) (p retentionPosition, err error) {
			err = row.Scan(&p.at, &p.id)
			return p, err
		}, page.text, page.args...)
		if err != nil {
			return nil, fmt.Errorf("find invoices: %w", err)
		}
		if len(next) == 0 {
			continue
		}
		passed[i] = next[len(next)-1]
		var ids []string
		for _, p := range next {
			ids = append(ids, p.id)
		}
		return ids, nil
	}
	return nil, nil
}

// passedInvoices returns the statement that reads the positions of the next invoices of a mode after a position.
func passedInvoices(merchantID string, mode invoice.Mode, after retentionPosition, until time.Time) statement {
	return statement{`
		SELECT created_at, id FROM invoices
		WHERE merchant_id = $1 AND mode = $2 AND (created_at, id) > ($3, $4) AND created_at <= $5
		ORDER BY created_at, id LIMIT $6`, []any{merchantID, string(mode), after.at, after.id, until.UnixMilli(), retentionBatch}}
}

// waitingInvoices returns the statement that reads the next invoices of retention_waiting after an invoice.
func waitingInvoices(merchantID, after string) statement {
	return statement{`
		SELECT invoice_id FROM retention_waiting WHERE merchant_id = $1 AND invoice_id > $2
		ORDER BY invoice_id LIMIT $3`, []any{merchantID, after, retentionBatch}}
}
