package invoice

import (
	"cmp"
	"math/big"
	"slices"
	"time"

	"chequer/internal/chain"
	"chequer/internal/money"
)

// Presence is the state of a recorded transfer on its network.
type Presence string

const (
	// Present transfers are in a block or unconfirmed.
	Present Presence = "present"
	// Replaced transfers disappeared before they were in a block.
	Replaced Presence = "replaced"
	// Reorged transfers were in a block that left the chain, and are in no other block.
	Reorged Presence = "reorged"
)

// Transfer is a recorded transfer to a destination of the invoice. Times are on the invoice's own
// clock.
type Transfer struct {
	ID       string
	Network  chain.ID
	Tx       string
	Asset    string
	Script   string
	Amount   money.Amount
	Spends   []string
	Coinbase bool

	Presence Presence
	// FirstSeen is the time of the first unconfirmed sighting or, without one, of the block. It never
	// changes.
	FirstSeen time.Time
	// Sighted is true if the transfer was seen while it was unconfirmed.
	Sighted bool
	Block   *chain.Block
	// ConfirmedAt is the time of the first block that contained the transfer; zero before.
	ConfirmedAt time.Time
	// Confirmations count up to Required.
	Confirmations int
	// Required is set at the first confirmation and not raised once the invoice is paid.
	Required int
	// Old is true if the transfer is older than the invoice.
	Old bool
	// Unsure is true if the network cannot show that the transfer is younger than the invoice. The
	// merchant decides about it.
	Unsure bool
	// Firm is true once the network's source showed the unconfirmed transfer as firm; see chain.Transfer. The zero-confirmation
	// cap is applied then, and never again. It is also true once the transfer was gone: it waits for its block if it returns.
	Firm bool
	// Contested is true while the transfer is unconfirmed and the network's source knows another transaction that spends the same
	// outputs.
	Contested bool
	// Instant is true if the transfer counts without a confirmation. It stays true in a block.
	Instant bool
	// Market is the fiat value at first sight, if that was after the quote's end and a rate was
	// known.
	Market *money.Amount
	// Rate is the market rate when the transfer was recorded, for the books; only live transfers have one. The rules do not
	// use it.
	Rate MarketRate
	// Folded is the number of small transfers in an aggregate; 0 for a single transfer. See fold.go.
	Folded int
	// ToldReceived and ToldConfirmed are true if shop plug-ins have a message that the transfer was received, and one that it
	// is confirmed. The rules do not use them.
	ToldReceived, ToldConfirmed bool
}

// IsRise reports whether t is the rise of a balance.
func (t Transfer) IsRise() bool { return chain.IsRise(t.ID) }

// Confirmed reports whether t is final, or counts without a confirmation.
func (t Transfer) Confirmed() bool { return t.Final() || t.Instant && t.Presence == Present }

// countedAt returns the time by which confirmed transfers are ordered: FirstSeen of an instant transfer, ConfirmedAt of others.
func (t Transfer) countedAt() time.Time {
	if t.Instant {
		return t.FirstSeen
	}
	return t.ConfirmedAt
}

// Final reports whether t is as deep as its policy requires. Sales and refunds need final transfers.
func (t Transfer) Final() bool {
	return t.Presence == Present && t.Block != nil && t.Required > 0 && t.Confirmations >= t.Required
}

// PaymentState is the state of a transfer with respect to its invoice.
type PaymentState string

// The states of a payment. If several apply, the first in this order is reported.
const (
	// PaymentWrongAsset means that the invoice does not offer the asset.
	PaymentWrongAsset PaymentState = "wrong_asset"
	// PaymentOld means that the transfer is older than the invoice.
	PaymentOld PaymentState = "old"
	// PaymentDust means that the amount is below the network's dust limit, or is gas sent by the
	// merchant.
	PaymentDust PaymentState = "dust"
	// PaymentReplaced means that the transfer disappeared before it was in a block.
	PaymentReplaced PaymentState = "replaced"
	// PaymentReorged means that the block of the transfer left the chain, and no other block has it.
	PaymentReorged PaymentState = "reorged"
	// PaymentLate means that the transfer does not count because it arrived after its quote's end,
	// or after the merchant declined.
	PaymentLate PaymentState = "late"
	// PaymentConfirmed means that the transfer is as deep as its policy requires, or counts without a confirmation.
	PaymentConfirmed PaymentState = "confirmed"
	// PaymentSeen means that the transfer is on the network, but not deep enough yet.
	PaymentSeen PaymentState = "seen"
)

// Payment is a transfer with its state and value for the invoice.
type Payment struct {
	Transfer
	State PaymentState
	// Value is the fiat value received by the transfer that counts, rounded down.
	Value money.Amount
}

// Payments returns the invoice's transfers with their states, in the order in which they were first
// seen.
func (inv *Invoice) Payments() []Payment { return inv.payments(inv.ledger()) }

// payments is Payments with a ledger that is computed already.
func (inv *Invoice) payments(l ledger) []Payment {
	fiat := inv.Terms.Price.Currency()
	var list []Payment
	for _, e := range l.entries {
		list = append(list, Payment{
			Transfer: e.transfer,
			State:    inv.paymentState(e, l.accepted),
			Value:    money.RoundDown(major(e.receivedValue(), fiat), fiat),
		})
	}
	slices.SortStableFunc(list, func(a, b Payment) int {
		return cmp.Or(a.FirstSeen.Compare(b.FirstSeen), cmp.Compare(a.ID, b.ID))
	})
	return list
}

// PriceParts returns the parts of the price that the final transfers pay, by the IDs of the transfers, in fiat. What is paid above the
// price belongs to no part. The parts add up to the confirmed part of the price: what one part loses by rounding, the next one gains.
func (inv *Invoice) PriceParts() map[string]money.Amount {
	fiat, limit := inv.Terms.Price.Currency(), minor(inv.Terms.Price)
	entries := inv.ledger().entries
	slices.SortStableFunc(entries, func(a, b entry) int {
		return cmp.Or(a.transfer.FirstSeen.Compare(b.transfer.FirstSeen), cmp.Compare(a.transfer.ID, b.transfer.ID))
	})
	parts := map[string]money.Amount{}
	total, paid := new(big.Rat), money.Zero(fiat)
	for _, e := range entries {
		if !e.transfer.Final() || e.value.Sign() == 0 {
			continue
		}
		if total.Add(total, e.value); total.Cmp(limit) > 0 {
			total.Set(limit)
		}
		now := money.RoundDown(major(total, fiat), fiat)
		parts[e.transfer.ID], paid = now.Sub(paid), now
	}
	return parts
}

// MaxListedPayments is the largest number of payments of an invoice that are reported. It is enough
// for every shopper who pays in parts, and keeps an event below 64 KiB if an attacker sends thousands
// of tiny transfers.
const MaxListedPayments = 100

// ReportedPayments returns at most MaxListedPayments payments, in the order in which they were first
// seen, and the number of payments that are left out. It prefers payments that count to others, and then
// large payments to small payments.
func (inv *Invoice) ReportedPayments() (list []Payment, omitted int) {
	return chooseReported(inv.Payments())
}

// chooseReported is ReportedPayments for a list of all payments.
func chooseReported(list []Payment) (chosen []Payment, omitted int) {
	if len(list) <= MaxListedPayments {
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
	order = order[:MaxListedPayments]
	slices.Sort(order)
	chosen = make([]Payment, MaxListedPayments)
	for n, i := range order {
		chosen[n] = list[i]
	}
	return chosen, len(list) - MaxListedPayments
}

// rank returns a number that is lower for a state that is reported with preference.
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
