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
	// Value is the fiat that was received by it and counts, rounded down.
	Value money.Amount
}

// Payments are the invoice's transfers as they are counted, in the order in
// which they were first seen.
func (inv *Invoice) Payments() []Payment { return inv.payments(inv.ledger()) }

// payments are Payments by a ledger.
func (inv *Invoice) payments(l ledger) []Payment {
	fiat := inv.Terms.Price.Currency()
	var list []Payment
	for _, e := range l.entries {
		list = append(list, Payment{
			Transfer: e.transfer,
			State:    inv.paymentState(e, l.accepted),
			Value:    money.RoundDown(major(e.worth(), fiat), fiat),
		})
	}
	slices.SortStableFunc(list, func(a, b Payment) int {
		return cmp.Or(a.FirstSeen.Compare(b.FirstSeen), cmp.Compare(a.ID, b.ID))
	})
	return list
}

// MaxTold is how many payments of an invoice are told: enough for everybody who pays
// in parts, while an event stays below 64 KiB when somebody sends thousands of crumbs.
const MaxTold = 100

// Told are the payments that are told, in the order in which they were first seen, and
// how many more there are. Those that count come before others, and then large ones
// before small ones.
func (inv *Invoice) Told() (list []Payment, more int) { return chooseTold(inv.Payments()) }

// chooseTold chooses the payments that are told.
func chooseTold(list []Payment) (chosen []Payment, more int) {
	if len(list) <= MaxTold {
		return list, 0
	}
	order := make([]int, len(list))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int {
		a, b := list[i], list[j]
		return cmp.Or(cmp.Compare(a.State.rank(), b.State.rank()), b.Value.Cmp(a.Value), b.Amount.Rat().Cmp(a.Amount.Rat()))
	})
	order = order[:MaxTold]
	slices.Sort(order)
	told := make([]Payment, MaxTold)
	for n, i := range order {
		told[n] = list[i]
	}
	return told, len(list) - MaxTold
}

// rank is lower for what matters more.
func (s PaymentState) rank() int {
	switch s {
	case PaymentSeen, PaymentConfirmed:
		return 0
	case PaymentLate, PaymentReplaced, PaymentReorged:
		return 1
	case PaymentWrongAsset:
		return 2
	}
	return 3
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
