package storage

import (
	"context"
	"fmt"
	"time"

	"chequer/internal/invoice"
)

// checkUnpaidLimits returns *invoice.TooManyUnpaidError if one of the limits of a creation is reached.
// The caller has locked the merchant's feed, so no other creation of the merchant runs between the check
// and the insertion.
func (s *Storage) checkUnpaidLimits(ctx context.Context, q querier, c invoice.Creation) error {
	for _, limit := range c.UnpaidLimits {
		var unpaid int
		err := q.QueryRowContext(ctx, `
			SELECT COUNT(*) FROM (
				SELECT 1 FROM unpaid_places AS p JOIN invoices AS i ON i.id = p.invoice_id
				WHERE p.merchant_id = $1 AND p.mode = $2 AND p.caller_group = $3 AND p.created_at > $4 AND i.status = 'created'
				LIMIT $5
			) AS unpaid`,
			c.MerchantID, string(c.Mode), s.callerGroup(c, limit), c.At.Add(-invoice.UnpaidWindow).UnixMilli(), limit.Max).Scan(&unpaid)
		if err != nil {
			return fmt.Errorf("count unpaid invoices: %w", err)
		}
		if unpaid >= limit.Max {
			return &invoice.TooManyUnpaidError{Group: limit.Group}
		}
	}
	return nil
}

// addUnpaidPlaces stores that a new invoice counts towards the limits of its creation.
func (s *Storage) addUnpaidPlaces(ctx context.Context, q querier, c invoice.Creation, invoiceID string) error {
	for _, limit := range c.UnpaidLimits {
		_, err := q.ExecContext(ctx, `
			INSERT INTO unpaid_places (merchant_id, mode, caller_group, created_at, invoice_id) VALUES ($1, $2, $3, $4, $5)`,
			c.MerchantID, string(c.Mode), s.callerGroup(c, limit), c.At.UnixMilli(), invoiceID)
		if err != nil {
			return fmt.Errorf("write unpaid place: %w", err)
		}
	}
	return nil
}

// callerGroup returns the name of a limit's group in storage: a MAC of the group, or "" for all callers.
func (s *Storage) callerGroup(c invoice.Creation, limit invoice.UnpaidLimit) string {
	if limit.Group == "" {
		return ""
	}
	return s.box.MAC("unpaid caller group", c.MerchantID, limit.Group)
}

// deleteUnpaidPlaces deletes the places of invoices that are too old to count.
func deleteUnpaidPlaces(ctx context.Context, q querier, now time.Time) error {
	_, err := q.ExecContext(ctx, "DELETE FROM unpaid_places WHERE created_at <= $1", now.Add(-invoice.UnpaidWindow).UnixMilli())
	if err != nil {
		return fmt.Errorf("delete unpaid places: %w", err)
	}
	return nil
}
