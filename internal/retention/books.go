package retention

import (
	"time"

	"chequer/internal/invoice"
)

// Cut returns the time before which the invoices of a merchant's books may be removed: the beginning, in the time zone of the
// books, of the year that is the given number of years before the present year. Whole calendar years are kept.
func Cut(now time.Time, years int, zone *time.Location) time.Time {
	return time.Date(now.In(zone).Year()-years, time.January, 1, 0, 0, 0, 0, zone)
}

// Removable reports whether an invoice may be removed from the books with a cut, at a time on the real clock: its creation, its
// last activity and its newest note are before the cut, it is finished, and it has no open delivery. A delivery is open until its
// event is delivered or given up.
func Removable(inv *invoice.Invoice, cut time.Time, related RelatedData, hasOpenDelivery bool, now time.Time) bool {
	return inv.CreatedAt.Before(cut) && lastActivity(inv).Before(cut) && related.NewestNote.Before(cut) && isFinished(inv, now.Add(inv.Clock)) && !hasOpenDelivery
}
