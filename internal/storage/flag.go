package storage

import (
	"context"
	"fmt"
	"slices"

	"chequer/internal/invoice"
)

// decisionFlag is the flag of the invoices that wait for a decision of the merchant. The other flags are
// exceptions.
const decisionFlag = "decision"

// flags returns the flags of the invoice, in alphabetical order.
func (r invoiceRow) flags() ([]string, error) {
	exceptions, err := parseList[invoice.Exception](r.exceptions)
	if err != nil {
		return nil, fmt.Errorf("exceptions: %w", err)
	}
	var flags []string
	for _, e := range exceptions {
		flags = append(flags, string(e))
	}
	s := invoice.Summary{Status: invoice.Status(r.status), Exceptions: exceptions, Accepted: r.accepted != "", Decided: r.decided, RefundAsked: r.refundAsked}
	if s.NeedsDecision() {
		flags = append(flags, decisionFlag)
	}
	slices.Sort(flags)
	return flags, nil
}

// saveFlags writes the flags of an invoice with its status and updates the tallies, if one of the columns that determine
// them changed. For a new invoice, before has only the status Created. On PostgreSQL a transaction locks the rows of tallies
// in the order of updateTallies and, after them, only rows of day_sum_zones, day_sums and the audit log, so that no two
// transactions wait for each other.
func saveFlags(ctx context.Context, q querier, before, after invoiceRow) error {
	if before.status == after.status && before.exceptions == after.exceptions && before.accepted == after.accepted && before.decided == after.decided && before.refundAsked == after.refundAsked {
		return nil
	}
	had, err := before.flags()
	if err != nil {
		return err
	}
	has, err := after.flags()
	if err != nil {
		return err
	}
	if len(had) > 0 {
		if _, err := q.ExecContext(ctx, "DELETE FROM invoice_flags WHERE invoice_id = $1", after.id); err != nil {
			return fmt.Errorf("delete flags of invoice: %w", err)
		}
	}
	for _, flag := range has {
		_, err := q.ExecContext(ctx, "INSERT INTO invoice_flags (invoice_id, flag, merchant_id, mode, status, created_at) VALUES ($1, $2, $3, $4, $5, $6)",
			after.id, flag, after.merchantID, after.mode, after.status, after.createdAt)
		if err != nil {
			return fmt.Errorf("write flag %s of invoice: %w", flag, err)
		}
	}
	return updateTallies(ctx, q, after, tallyRows(before.status, had), tallyRows(after.status, has))
}
