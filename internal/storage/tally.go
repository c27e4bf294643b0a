package storage

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"chequer/internal/invoice"
)

// tallyRow identifies a row of tallies.
type tallyRow struct{ status, flag string }

// tallyRows returns the rows of tallies that count an invoice. Only final statuses
// are counted without a flag: see Storage.Tally.
func tallyRows(status string, flags []string) (rows []tallyRow) {
	switch invoice.Status(status) {
	case invoice.Paid, invoice.Expired, invoice.Declined:
		rows = append(rows, tallyRow{status, ""})
	}
	for _, flag := range flags {
		rows = append(rows, tallyRow{status, flag})
	}
	return rows
}

// updateTallies counts an invoice that moved from some rows of tallies to others. It writes the rows in the order of
// their status and flag.
func updateTallies(ctx context.Context, q querier, inv invoiceRow, from, to []tallyRow) error {
	changes := map[tallyRow]int64{}
	for _, r := range from {
		changes[r]--
	}
	for _, r := range to {
		changes[r]++
	}
	order := slices.SortedFunc(maps.Keys(changes), func(a, b tallyRow) int {
		return cmp.Or(strings.Compare(a.status, b.status), strings.Compare(a.flag, b.flag))
	})
	for _, r := range order {
		if changes[r] == 0 {
			continue
		}
		_, err := q.ExecContext(ctx, `
			INSERT INTO tallies (merchant_id, mode, status, flag, count) VALUES ($1, $2, $3, $4, $5)
			ON CONFLICT (merchant_id, mode, status, flag) DO UPDATE SET count = tallies.count + excluded.count`,
			inv.merchantID, inv.mode, r.status, r.flag, changes[r])
		if err != nil {
			return fmt.Errorf("count invoices: %w", err)
		}
	}
	return nil
}

// Tally implements invoice.ListStorage. An index counts the open invoices, which are few; the others
// were counted when they changed.
func (s *Storage) Tally(ctx context.Context, merchantID string, mode invoice.Mode, at time.Time) (invoice.Tally, error) {
	t, err := answer(ctx, s.snapshot, func(ctx context.Context, q querier) (invoice.Tally, error) {
		t := invoice.NewTally()
		err := visitRows(ctx, q, func(row scanner) error {
			var status invoice.Status
			var flag string
			var n int64
			if err := row.Scan(&status, &flag, &n); err != nil {
				return err
			}
			switch {
			case n == 0:
			case flag == "":
				t.Statuses[status] = n
			case flag == decisionFlag:
				t.NeedDecision += n
			case flag == snoozedFlag:
				t.Snoozed = n
			default:
				t.AddException(invoice.Exception(flag), status, n)
			}
			return nil
		}, tallySQL, merchantID, string(mode), at.UnixMilli())
		return t, err
	})
	if err != nil {
		return invoice.Tally{}, fmt.Errorf("count invoices: %w", err)
	}
	return t, nil
}

// snoozedFlag is the flag of the row of tallySQL that counts the snoozed invoices.
const snoozedFlag = "snoozed"

const tallySQL = `
	SELECT status, flag, count FROM tallies WHERE merchant_id = $1 AND mode = $2
	UNION ALL SELECT 'created', '', COUNT(*) FROM invoices WHERE merchant_id = $1 AND mode = $2 AND status = 'created'
	UNION ALL SELECT 'pending', '', COUNT(*) FROM invoices WHERE merchant_id = $1 AND mode = $2 AND status = 'pending'
	UNION ALL SELECT '', 'snoozed', COUNT(*) FROM snoozes WHERE merchant_id = $1 AND mode = $2 AND until > $3`
