// Package report sums the paid invoices of a merchant over periods, and lists them for bookkeeping.
package report

import (
	"context"
	"time"

	"chequer/internal/invoice"
)

// Storage reads the sums and the invoices of reports. Its methods are safe for concurrent use.
type Storage interface {
	// DaySums returns the sums of a merchant's invoices that became paid in two periods and are paid, all read from the
	// same state of the database. If origins is false, the keys have no origins.
	DaySums(ctx context.Context, merchantID string, mode invoice.Mode, current, previous Period, origins bool) (DaySums, error)
	// CountBooks returns the largest number of a merchant's invoices that a removal with a cut can delete, counted up to a limit.
	// The removal may delete fewer.
	CountBooks(ctx context.Context, merchantID string, cut time.Time, limit int64) (int64, error)
	// PaidLines returns at most limit of the merchant's invoices that became paid from a time until before another, after
	// a position, in the order in which they became paid. The zero position is the start.
	PaidLines(ctx context.Context, merchantID string, mode invoice.Mode, from, until time.Time, after Position, limit int) ([]invoice.ExportLine, error)
}

// Position is a position in a list of invoices that is sorted by the time at which they became paid.
type Position struct {
	PaidAt time.Time
	ID     string
}

// DaySums are the sums of two periods.
type DaySums struct {
	// Zone is the time zone of the days. It differs from that of the merchant while the sums are being computed again.
	Zone              *time.Location
	Current, Previous []DaySum // in no order; no two of one period have the same key
	Removed           Removed
}

// Removed states that the invoices of the days before a day were removed from the books. The zero value means that none
// were.
type Removed struct {
	Before Day       // in the zone of the sums
	At     time.Time // of the first removal
}

// Has reports whether days of a period were removed.
func (r Removed) Has(p Period) bool { return !r.At.IsZero() && p.From < r.Before }

// HasAll reports whether all days of a period were removed.
func (r Removed) HasAll(p Period) bool { return !r.At.IsZero() && p.To <= r.Before }
