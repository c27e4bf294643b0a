package storage

import (
	"context"
	"fmt"
	"slices"
	"time"

	"chequer/internal/casework"
)

// caseFacts are the facts of an invoice that a decision about it considers. They do not include the number of
// confirmations.
type caseFacts struct {
	status, exceptions, overpaid, accepted, received, refund string
	paid, due, refunds, expiresAt                            int64
	decided, refundAsked                                     bool
}

func (r invoiceRow) caseFacts() caseFacts {
	return caseFacts{
		status: r.status, exceptions: r.exceptions, overpaid: r.overpaid, accepted: r.accepted, received: r.received, refund: r.refund,
		paid: r.paid, due: r.due, refunds: r.refunds, expiresAt: r.expiresAt, decided: r.decided, refundAsked: r.refundAsked,
	}
}

// saveCase deletes the snooze of an invoice if its facts have changed, and writes that it has stopped waiting for a
// decision. An invoice that waits again has no resolution.
func (s *Storage) saveCase(ctx context.Context, q querier, before, after invoiceRow) error {
	if before.caseFacts() == after.caseFacts() {
		return nil
	}
	waited, err := before.waits()
	if err != nil {
		return err
	}
	waits, err := after.waits()
	if err != nil {
		return err
	}
	if waited {
		if _, err := q.ExecContext(ctx, "DELETE FROM snoozes WHERE invoice_id = $1", after.id); err != nil {
			return fmt.Errorf("delete snooze: %w", err)
		}
	}
	if waited == waits {
		return nil
	}
	if _, err := q.ExecContext(ctx, "DELETE FROM resolutions WHERE invoice_id = $1", after.id); err != nil {
		return fmt.Errorf("delete resolution: %w", err)
	}
	if waits {
		return nil
	}
	return s.saveResolution(ctx, q, after)
}

// waits reports whether the invoice waits for a decision of the merchant.
func (r invoiceRow) waits() (bool, error) {
	flags, err := r.flags()
	return slices.Contains(flags, decisionFlag), err
}

// deleteOldCases deletes the resolutions that lists do not show any more, and the snoozes that have ended.
func deleteOldCases(ctx context.Context, q querier, now time.Time) error {
	if _, err := q.ExecContext(ctx, "DELETE FROM resolutions WHERE at < $1", now.Add(-casework.ResolutionAge).UnixMilli()); err != nil {
		return fmt.Errorf("delete resolutions: %w", err)
	}
	if _, err := q.ExecContext(ctx, "DELETE FROM snoozes WHERE until <= $1", now.UnixMilli()); err != nil {
		return fmt.Errorf("delete snoozes: %w", err)
	}
	return nil
}
