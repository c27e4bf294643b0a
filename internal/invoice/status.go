package invoice

import (
	"math/big"
	"slices"
	"time"

	"chequer/internal/chain"
	"chequer/internal/money"
)

// Status is the status of an invoice.
type Status string

const (
	// Created: no payment was seen.
	Created Status = "created"
	// Pending: a part was seen, or the whole price without enough confirmations.
	Pending Status = "pending"
	// Paid: the price is covered and confirmed.
	Paid Status = "paid"
	// Expired: every network was scanned after the end of the newest quote, and the price was not
	// covered in time.
	Expired Status = "expired"
	// Declined: the merchant cancelled the invoice.
	Declined Status = "declined"
)

// Exception is something that the merchant should know besides the status.
type Exception string

// The exceptions, in the order in which they are reported.
const (
	Underpaid   Exception = "underpaid"
	Overpaid    Exception = "overpaid"
	Late        Exception = "late"
	WasReplaced Exception = "replaced"
	WasReorged  Exception = "reorged"
	WrongAsset  Exception = "wrong_asset"
	// Older means that money does not count because it is older than the invoice.
	Older   Exception = "old"
	Delayed Exception = "delayed"
)

// State is the result of the rules for the facts of an invoice.
type State struct {
	Status     Status
	Exceptions []Exception
	Paid       money.Amount // fiat that counts, seen or confirmed; at most the price
	Due        money.Amount // the price minus Paid
	Overpaid   money.Amount // final fiat above the price
	// Decided reports whether the merchant has decided about all money that waited for a decision other than
	// an acceptance: it was refunded, its refund was declined, or the surplus is kept.
	Decided bool
	// RefundAsked reports whether the shopper asked for a refund that the merchant has not answered, or gave the
	// address of one that is ready.
	RefundAsked bool
	// PaidAt is when the invoice became paid; zero unless it is paid.
	PaidAt time.Time
	// PaidTx and PaidAsset are the transaction and the asset of the transfer that completed the
	// amount.
	PaidTx    string
	PaidAsset string
	// NextCheck is when the state may change with time alone, on the real clock; zero if it cannot.
	NextCheck time.Time
}

// Has reports whether an exception is raised.
func (s State) Has(e Exception) bool { return slices.Contains(s.Exceptions, e) }

// Evaluate returns the state of the invoice, without PaidAt. It is a pure function of the terms, the
// transfers, the progress of scanning the networks and the merchant's decisions. The order of the
// facts does not matter.
func (inv *Invoice) Evaluate() State { return inv.evaluate(inv.ledger()) }

// evaluate is Evaluate with a ledger that is computed already.
func (inv *Invoice) evaluate(ledger ledger) State {
	price := minor(inv.Terms.Price)
	minimum := new(big.Rat).Sub(price, minor(inv.Terms.Rules.Tolerance))
	seen, confirmed := ledger.sum(false), ledger.sum(true)
	covered := seen.Cmp(minimum) >= 0
	expired := inv.scannedPast(inv.ExpiresAt())
	closed := !ledger.accepted && inv.closedByRefund()

	var s State
	switch {
	case !inv.DeclinedAt.IsZero() && !ledger.accepted:
		s.Status = Declined
	case closed:
		s.Status = Expired
	case confirmed.Cmp(minimum) >= 0:
		s.Status = Paid
	case seen.Sign() > 0 && (!expired || covered):
		s.Status = Pending
	case expired:
		s.Status = Expired
	default:
		s.Status = Created
	}

	// Paid is the amount received, even if the merchant accepted less than the price.
	seen, final := ledger.received(false), ledger.received(true)
	s.Paid = fiatDown(seen, inv.Terms.Price)
	s.Due = inv.Terms.Price.Sub(s.Paid)
	if covered {
		s.Due = money.Zero(inv.Terms.Price.Currency())
	}
	excess := new(big.Rat).Sub(final, price)
	s.Overpaid = money.RoundDown(major(excess, inv.Terms.Price.Currency()), inv.Terms.Price.Currency())
	s.PaidTx, s.PaidAsset = ledger.completing(minimum)
	underpaid := seen.Sign() > 0 && !covered || ledger.accepted && seen.Cmp(minimum) < 0
	// A payment that covers the price and was found after the merchant cancelled, or prepared a refund, waits for
	// a decision, as one that came later does.
	ledger.late = ledger.late || (s.Status == Declined || closed) && covered
	s.Exceptions = inv.exceptions(ledger, s.Status, underpaid, excess)
	s.NextCheck = inv.nextCheck(s.Status)
	s.Decided, s.RefundAsked = inv.decided(ledger, s), inv.asksRefund(ledger, s)
	return s
}

// exceptions returns the exceptions that the ledger shows.
func (inv *Invoice) exceptions(ledger ledger, status Status, underpaid bool, excess *big.Rat) []Exception {
	found := map[Exception]bool{
		Underpaid:   underpaid,
		Overpaid:    excess.Cmp(ledger.slack) > 0,
		WasReplaced: ledger.replaced,
		WasReorged:  ledger.reorged,
		WrongAsset:  ledger.wrongAsset,
		Older:       ledger.old,
		Late:        ledger.late,
		Delayed:     !inv.DelayedAt.IsZero() && (status == Created || status == Pending),
	}
	var list []Exception
	for _, e := range []Exception{Underpaid, Overpaid, Late, WasReplaced, WasReorged, WrongAsset, Older, Delayed} {
		if found[e] {
			list = append(list, e)
		}
	}
	return list
}

// scannedPast reports whether every network of the invoice was scanned after t.
func (inv *Invoice) scannedPast(t time.Time) bool {
	for _, m := range inv.Methods {
		if !inv.Coverage[m.Asset.Network].Scanned.After(t) {
			return false
		}
	}
	return true
}

// nextCheck returns when the state may change with time alone.
func (inv *Invoice) nextCheck(status Status) time.Time {
	var next time.Time
	end := inv.ExpiresAt()
	switch status {
	case Created, Pending:
		next = end
		if inv.scannedPast(end) { // a payment that was seen in time has until then for its confirmation
			next = end.Add(inv.Terms.Rules.ConfirmWindow)
		}
	default:
		return time.Time{}
	}
	return next.Add(-inv.Clock)
}

// Cover updates the coverage of a network with the time of its last scan and the times when
// unconfirmed transfers were not watched, both on the real clock. It ignores the part of a gap before
// the network's last scan, because merged gaps are longer than the real ones.
func (inv *Invoice) Cover(network chain.ID, scanned time.Time, gaps []Gap) {
	c := inv.Coverage[network]
	start := inv.CreatedAt
	if c.Scanned.After(start) {
		start = c.Scanned
	}
	for _, g := range gaps {
		from := g.From.Add(inv.Clock)
		if from.Before(start) {
			from = start
		}
		if g.Until.Add(inv.Clock).After(from) && (c.BlindFrom.IsZero() || from.Before(c.BlindFrom)) {
			c.BlindFrom = from
		}
	}
	if at := scanned.Add(inv.Clock); at.After(c.Scanned) {
		c.Scanned = at
	}
	if inv.Coverage == nil {
		inv.Coverage = map[chain.ID]Coverage{}
	}
	inv.Coverage[network] = c
}

// minor returns an amount in its smallest units, as a fraction.
func minor(a money.Amount) *big.Rat { return new(big.Rat).SetInt(a.Minor()) }

// major converts smallest units to whole ones.
func major(units *big.Rat, c money.Currency) *big.Rat {
	scale := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(c.Decimals)), nil)
	return new(big.Rat).Quo(units, new(big.Rat).SetInt(scale))
}

// fiatDown returns a number of smallest units as an amount, rounded down, at most limit.
func fiatDown(units *big.Rat, limit money.Amount) money.Amount {
	a := money.RoundDown(major(units, limit.Currency()), limit.Currency())
	if a.Cmp(limit) > 0 {
		return limit
	}
	return a
}
