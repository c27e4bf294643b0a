package greenfield

import (
	"time"

	"chequer/internal/invoice"
	"chequer/internal/money"
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

// statusName returns the status of an invoice as plug-ins read it.
func statusName(inv *invoice.Invoice) string {
	return nameOf(inv.State.Status, inv.State.Due, inv.PaidCount)
}

// nameOf returns the status of an invoice as plug-ins read it, from its own status, the rest of the price that is due,
// and the number of times that it became paid.
func nameOf(status invoice.Status, due money.Amount, paidCount int64) string {
	switch {
	case status == invoice.Paid:
		return settled
	case status == invoice.Declined:
		return invalid
	case status == invoice.Pending && due.IsZero():
		return processing
	case paidCount > 0: // the money of a paid invoice disappeared
		return invalid
	case status == invoice.Expired:
		return expired
	}
	return statusNew
}

// statusOf returns the status of an invoice and its additional status, at a time on the real clock.
func statusOf(inv *invoice.Invoice, e *invoice.Evaluation, now time.Time) (status, additional string) {
	status = statusName(inv)
	switch {
	case status == settled, status == processing:
		return status, additionalOfPaid(inv)
	case inv.State.Status == invoice.Declined:
		return status, marked
	case status == expired && isPaidLate(inv, e, now):
		return status, paidLate
	case status != invalid && !inv.State.Paid.IsZero():
		return status, paidPartial
	}
	return status, none
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
	return d.Accepted.Status == invoice.Paid && wouldCover(inv, d)
}

// wouldCover reports whether the money that waits for a decision of the merchant, confirmed or not, would cover the
// price at its value at receipt.
func wouldCover(inv *invoice.Invoice, d invoice.Decisions) bool {
	return d.Accept && !d.LacksRate && inv.Terms.Price.Sub(d.AcceptedValue).Cmp(inv.Terms.Rules.Tolerance) <= 0
}
