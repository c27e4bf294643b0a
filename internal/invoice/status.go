package invoice

import (
	"math/big"
	"slices"
	"time"

	"chequer/internal/chain"
	"chequer/internal/money"
)

// Status says where an invoice stands.
type Status string

const (
	// Created: nothing seen.
	Created Status = "created"
	// Pending: a part seen, or all but not confirmed enough.
	Pending Status = "pending"
	// Paid: covered and confirmed.
	Paid Status = "paid"
	// Expired: looked at past its end on every network, and not covered in time.
	Expired Status = "expired"
	// Declined: cancelled by the merchant.
	Declined Status = "declined"
)

// Exception says what a person should know beside the status.
type Exception string

// The exceptions, in the order in which they are told.
const (
	Underpaid   Exception = "underpaid"
	Overpaid    Exception = "overpaid"
	Late        Exception = "late"
	WasReplaced Exception = "replaced"
	WasReorged  Exception = "reorged"
	WrongAsset  Exception = "wrong_asset"
	// Older is money that does not count because it is older than the invoice.
	Older   Exception = "old"
	Delayed Exception = "delayed"
)

// Standing is what the facts of an invoice amount to.
type Standing struct {
	Status     Status
	Exceptions []Exception
	Paid       money.Amount // fiat that counts, seen or confirmed; at most the price
	Due        money.Amount // the price less Paid
	Overpaid   money.Amount // confirmed fiat above the price
	// PaidAt is when the invoice became paid; zero unless it is.
	PaidAt time.Time
	// PaidTx and PaidAsset name the transfer that completed the amount.
	PaidTx    string
	PaidAsset string
	// NextCheck is when time alone may change something, on everybody's clock;
	// zero when it cannot.
	NextCheck time.Time
}

// Has tells whether an exception is raised.
func (s Standing) Has(e Exception) bool { return slices.Contains(s.Exceptions, e) }

// Judge decides how the invoice stands. It is one pure function of the terms,
// the transfers, how far the networks are scanned and the merchant's decisions:
// any order of the same facts gives the same answer. PaidAt is not judged here.
func (inv *Invoice) Judge() Standing { return inv.judge(inv.ledger()) }

// judge is Judge by a ledger.
func (inv *Invoice) judge(ledger ledger) Standing {
	price := minor(inv.Terms.Price)
	least := new(big.Rat).Sub(price, minor(inv.Terms.Rules.Tolerance))
	seen, confirmed := ledger.sum(false), ledger.sum(true)
	covered := seen.Cmp(least) >= 0
	expired := inv.scannedPast(inv.ExpiresAt())

	var s Standing
	switch {
	case !inv.DeclinedAt.IsZero() && !ledger.accepted:
		s.Status = Declined
	case confirmed.Cmp(least) >= 0:
		s.Status = Paid
	case seen.Sign() > 0 && (!expired || covered):
		s.Status = Pending
	case expired:
		s.Status = Expired
	default:
		s.Status = Created
	}

	// The sums say what was received, also where a person accepted less.
	seen, confirmed = ledger.received(false), ledger.received(true)
	s.Paid = fiatDown(seen, inv.Terms.Price)
	s.Due = inv.Terms.Price.Sub(s.Paid)
	if covered {
		s.Due = money.Zero(inv.Terms.Price.Currency())
	}
	over := new(big.Rat).Sub(confirmed, price)
	s.Overpaid = money.RoundDown(major(over, inv.Terms.Price.Currency()), inv.Terms.Price.Currency())
	s.PaidTx, s.PaidAsset = ledger.completing(least)
	part := seen.Sign() > 0 && !covered || ledger.accepted && seen.Cmp(least) < 0
	overpaid := over.Cmp(ledger.slack) > 0 && !s.Overpaid.IsZero()
	s.Exceptions = inv.exceptions(ledger, s.Status, part, overpaid)
	s.NextCheck = inv.nextCheck(s.Status)
	return s
}

// exceptions lists what a person should know, from the ledger.
func (inv *Invoice) exceptions(ledger ledger, status Status, part, overpaid bool) []Exception {
	found := map[Exception]bool{
		Underpaid:   part,
		Overpaid:    overpaid,
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

// scannedPast tells whether every network of the invoice was looked at after t.
func (inv *Invoice) scannedPast(t time.Time) bool {
	for _, m := range inv.Methods {
		if !inv.Coverage[m.Asset.Network].Scanned.After(t) {
			return false
		}
	}
	return true
}

// nextCheck is when time alone may change the standing.
func (inv *Invoice) nextCheck(status Status) time.Time {
	var next time.Time
	end := inv.ExpiresAt()
	switch status {
	case Created, Pending:
		next = end
		if inv.scannedPast(end) { // held by what was seen: until it must be confirmed
			next = end.Add(inv.Terms.Rules.ConfirmWindow)
		}
	default:
		return time.Time{}
	}
	return next.Add(-inv.Clock)
}

// Cover takes note of how far a network was scanned, on everybody's clock, and
// when unconfirmed money was not watched on it. What was covered before is settled:
// gaps that ran together later, or whose beginning nobody knows, do not open it.
func (inv *Invoice) Cover(network chain.ID, scanned time.Time, gaps []Gap) {
	c := inv.Coverage[network]
	settled := inv.CreatedAt
	if c.Scanned.After(settled) {
		settled = c.Scanned
	}
	for _, g := range gaps {
		from := g.From.Add(inv.Clock)
		if from.Before(settled) {
			from = settled
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

// minor is an amount in its smallest units, as a fraction that can be divided.
func minor(a money.Amount) *big.Rat { return new(big.Rat).SetInt(a.Minor()) }

// major turns smallest units into whole ones.
func major(units *big.Rat, c money.Currency) *big.Rat {
	scale := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(c.Decimals)), nil)
	return new(big.Rat).Quo(units, new(big.Rat).SetInt(scale))
}

// fiatDown is a number of smallest units as an amount, rounded down, at most
// limit.
func fiatDown(units *big.Rat, limit money.Amount) money.Amount {
	a := money.RoundDown(major(units, limit.Currency()), limit.Currency())
	if a.Cmp(limit) > 0 {
		return limit
	}
	return a
}
