package present

import (
	"slices"
	"strings"

	"chequer/internal/api"
)

// state selects the content of an invoice's page. It is derived from the status and the exceptions that the
// service returns.
type state string

const (
	waiting  state = "waiting"
	ended    state = "ended" // the quote expired, but the invoice has not
	partial  state = "partial"
	seen     state = "seen"
	paid     state = "paid"
	overpaid state = "overpaid"
	expired  state = "expired"
	late     state = "late"
	declined state = "declined"
)

// pageState returns the state of an invoice's page.
func pageState(r api.Resource) state {
	switch r.Status {
	case api.StatusPending:
		if isZero(r.DueAmount) {
			return seen
		}
		return partial
	case api.StatusPaid:
		if hasExtra(r) {
			return overpaid
		}
		return paid
	case api.StatusExpired:
		if hasException(r, api.ExceptionLate) {
			return late
		}
		return expired
	case api.StatusDeclined:
		return declined
	}
	if r.SecondsLeft <= 0 {
		return ended
	}
	return waiting
}

// hasExtra reports whether the shopper paid more than the price. The page does not mention an excess below
// the smallest unit of the price's currency.
func hasExtra(r api.Resource) bool {
	return hasException(r, api.ExceptionOverpaid) && !isZero(r.OverpaidAmount)
}

func hasException(r api.Resource, exception string) bool {
	return slices.Contains(r.Exceptions, exception)
}

// isZero reports whether an amount in the API's format is zero or empty.
func isZero(amount string) bool { return strings.Trim(amount, "0.") == "" }
