package storage

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"chequer/internal/invoice"
	"chequer/internal/report"
)

// PaidLines implements report.Storage.
func (s *Storage) PaidLines(ctx context.Context, merchantID string, mode invoice.Mode, from, until time.Time, after report.Position, limit int) ([]invoice.ExportLine, error) {
	page := newExportPage(paidListing(merchantID, mode, from, until, after, limit))
	all, err := answer(ctx, s.snapshot, func(ctx context.Context, q querier) ([]invoice.ExportLine, error) { return page.read(ctx, q) })
	if err != nil {
		return nil, fmt.Errorf("export paid invoices: %w", err)
	}
	slices.SortFunc(all, func(a, b invoice.ExportLine) int {
		return cmp.Or(a.PaidAt.Compare(b.PaidAt), cmp.Compare(a.ID, b.ID))
	})
	return all, nil
}

// paidListing returns the listing of the invoices that became paid from a time until before another, from the oldest.
// It has one lower bound, see newListing.
func paidListing(merchantID string, mode invoice.Mode, from, until time.Time, after report.Position, limit int) listing {
	if after == (report.Position{}) {
		after.PaidAt = from // every ID is greater than ""
	}
	return listing{` FROM invoices WHERE merchant_id = $1 AND mode = $2 AND (paid_at, id) > ($4, $5) AND paid_at < $6
		ORDER BY paid_at, id LIMIT $3`, []any{merchantID, string(mode), limit, after.PaidAt.UnixMilli(), after.ID, until.UnixMilli()}}
}
