// Package report sums the paid invoices of a merchant over periods, and lists them for bookkeeping.
package report

import (
	"context"
	"time"

	"chequer/internal/invoice"
)

// Storage reads what reports need. Its methods are safe for concurrent use.
type Storage interface {
	// DaySums returns the sums of a merchant's invoices that became paid in a period and are paid, by
	// day. No two have the same key.
	DaySums(ctx context.Context, merchantID string, mode invoice.Mode, p Period) ([]DaySum, error)
	// PaidLines returns at most limit of these invoices after a position, in the order in which they became
	// paid. The zero position is the start of the period.
	PaidLines(ctx context.Context, merchantID string, mode invoice.Mode, p Period, after Position, limit int) ([]invoice.ExportLine, error)
}

// Position is a position in a list of invoices that is sorted by the time at which they became paid.
type Position struct {
	PaidAt time.Time
	ID     string
}
