package greenfield

import (
	"time"

	"chequer/internal/invoice"
)

// The values of status.
const (
	statusNew  = "New"
	processing = "Processing"
	settled    = "Settled"
	invalid    = "Invalid"
	expired    = "Expired"
)

// The values of additionalStatus.
const (
	none        = "None"
	paidPartial = "PaidPartial"
	paidOver    = "PaidOver"
	paidLate    = "PaidLate"
	marked      = "Marked"
)

// statusOf returns the status of an invoice as plug-ins read it, at a time on the real clock.
func statusOf(inv *invoice.Invoice, e *invoice.Evaluation, now time.Time) (status, additional string) {
	isCovered, wasPaid := isCovered(inv), inv.PaidCount > 0
	switch inv.State.Status {
	case invoice.Paid:
		return settled, additionalOfPaid(inv)
	case invoice.Declined:
		return invalid, marked
	case invoice.Pending:
		if isCovered {
			return processing, additionalOfPaid(inv)
		}
	}
	switch {
	case wasPaid: // the money of a paid invoice disappeared
		return invalid, none
	case inv.State.Status == invoice.Expired && isPaidLate(inv, e, now):
		return expired, paidLate
	case inv.State.Status == invoice.Expired && !inv.State.Paid.IsZero():
		return expired, paidPartial
	case inv.State.Status == invoice.Expired:
		return expired, none
	case !inv.State.Paid.IsZero():
		return statusNew, paidPartial
	}
	return statusNew, none
}

// isCovered reports whether the payments that count cover the price, confirmed or not.
func isCovered(inv *invoice.Invoice) bool {
	return inv.State.Due.IsZero() && (inv.State.Status == invoice.Pending || inv.State.Status == invoice.Paid)
}

// additionalOfPaid returns the additional status of an invoice whose price is covered.
func additionalOfPaid(inv *invoice.Invoice) string {
	switch {
	case isAccepted(inv):
		return marked
	case isOverpaid(inv):
		return paidOver
	}
	return none
}

// isOverpaid reports whether more than the price was received.
func isOverpaid(inv *invoice.Invoice) bool { return inv.State.Has(invoice.Overpaid) }

// isAccepted reports whether the merchant accepted received money as the full price.
func isAccepted(inv *invoice.Invoice) bool { return !inv.AcceptedAt.IsZero() }

// isPaidLate reports whether an expired invoice would be paid if the merchant accepted the money that arrived late: all
// of it is confirmed, and its value at receipt covers the price. Some plug-ins treat such an invoice as settled.
func isPaidLate(inv *invoice.Invoice, e *invoice.Evaluation, now time.Time) bool {
	d := e.Decisions(now, invoice.Tolerance{})
	if !d.Accept || d.LacksRate || d.Accepted.Status != invoice.Paid {
		return false
	}
	return inv.Terms.Price.Sub(d.AcceptedValue).Cmp(inv.Terms.Rules.Tolerance) <= 0
}
