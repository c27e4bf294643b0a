package invoice

import (
	"cmp"
	"slices"

	"chequer/internal/money"
)

// PaymentState says what a transfer means for its invoice.
type PaymentState string

// The states of a payment. Where several would fit, the first one is told.
const (
	// PaymentWrongAsset is money in something that the invoice does not offer.
	PaymentWrongAsset PaymentState = "wrong_asset"
	// PaymentOld is older than the invoice.
	PaymentOld PaymentState = "old"
	// PaymentDust is less than the network carries, or the gas that a merchant brought.
	PaymentDust PaymentState = "dust"
	// PaymentReplaced is gone before a block took it.
	PaymentReplaced PaymentState = "replaced"
	// PaymentReorged was in a block that left the chain, and is nowhere now.
	PaymentReorged PaymentState = "reorged"
	// PaymentLate does not count: it came after its quote's end, or after the
	// merchant declined.
	PaymentLate PaymentState = "late"
	// PaymentConfirmed is as deep as its policy asks.
	PaymentConfirmed PaymentState = "confirmed"
	// PaymentSeen is on the network and not deep enough yet.
	PaymentSeen PaymentState = "seen"
)

// Payment is a transfer as it is counted to its invoice.
type Payment struct {
	Transfer
	State PaymentState
	// Value is the fiat that counts of it, rounded down.
	Value money.Amount
}

// Payments are the invoice's transfers as they are counted, in the order in
// which they were first seen.
func (inv *Invoice) Payments() []Payment {
	l := inv.ledger()
	fiat := inv.Terms.Price.Currency()
	var list []Payment
	for _, e := range l.entries {
		list = append(list, Payment{
			Transfer: e.transfer,
			State:    inv.paymentState(e, l.accepted),
			Value:    money.RoundDown(major(e.value, fiat), fiat),
		})
	}
	slices.SortStableFunc(list, func(a, b Payment) int {
		return cmp.Or(a.FirstSeen.Compare(b.FirstSeen), cmp.Compare(a.ID, b.ID))
	})
	return list
}

func (inv *Invoice) paymentState(e entry, accepted bool) PaymentState {
	declined := !accepted && !inv.DeclinedAt.IsZero() && e.transfer.FirstSeen.After(inv.DeclinedAt)
	_, known := inv.Method(e.transfer.Network, e.transfer.Asset)
	switch {
	case !known && !e.gas:
		return PaymentWrongAsset
	case e.old:
		return PaymentOld
	case e.ignored:
		return PaymentDust
	case e.replaced:
		return PaymentReplaced
	case e.transfer.Presence == Reorged:
		return PaymentReorged
	case declined || e.late && e.value.Sign() == 0:
		return PaymentLate
	case e.transfer.Confirmed():
		return PaymentConfirmed
	}
	return PaymentSeen
}
