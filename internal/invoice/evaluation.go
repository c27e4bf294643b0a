package invoice

import (
	"math/big"
	"slices"
	"sync"
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
	// RefundInTrouble means that the payment of a refund is not as prepared; see RefundTrouble.
	RefundInTrouble Exception = "refund_trouble"
)

// Exceptions are all exceptions, in the order in which they are reported.
var Exceptions = []Exception{Underpaid, Overpaid, Late, WasReplaced, WasReorged, WrongAsset, Older, Delayed, RefundInTrouble}

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

		RefundInTrouble: slices.ContainsFunc(inv.Refunds, Refund.InTrouble),
	}
	var list []Exception
	for _, e := range Exceptions {
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

// Evaluation holds the results of the rules for an invoice's transfers. Everything that a page or a
// resource shows of an invoice comes from one Evaluation, so that the results are computed once. The
// invoice must not change while its Evaluation is used. An Evaluation is safe for concurrent use.
type Evaluation struct {
	inv      *Invoice
	ledger   ledger
	state    State
	reported func() reportedPayments
}

// reportedPayments holds the payments that are reported, and the number of payments that are not.
type reportedPayments struct {
	list    []Payment
	omitted int
}

// Evaluation evaluates the transfers of the invoice.
func (inv *Invoice) Evaluation() *Evaluation {
	l := inv.ledger()
	e := &Evaluation{inv: inv, ledger: l, state: inv.evaluate(l)}
	e.reported = sync.OnceValue(func() reportedPayments {
		list, omitted := chooseReported(inv.payments(l))
		return reportedPayments{list, omitted}
	})
	return e
}

// ReportedPayments returns the payments that are reported; see Invoice.ReportedPayments.
func (e *Evaluation) ReportedPayments() (list []Payment, omitted int) {
	r := e.reported()
	return r.list, r.omitted
}

// Remaining returns the amount still to be sent by a method; see Invoice.Remaining.
func (e *Evaluation) Remaining(m Method) money.Amount { return e.inv.remaining(m, e.ledger) }

// MayRequote reports whether an actor may ask for a new quote; see Invoice.MayRequote.
func (e *Evaluation) MayRequote(by Decider, now time.Time) bool {
	return e.inv.mayRequote(e.state, e.ledger.late, by, now)
}

// Decisions are the decisions of the merchant that an invoice allows at one moment.
type Decisions struct {
	Accept, Cancel, Requote bool
	// Accepted is the state of the invoice after an acceptance now. It is zero if Accept is false.
	Accepted State
	// AcceptedValue is Accepted.Paid, less the loss of the accepted late parts: the difference of their values under
	// their quotes and at receipt.
	AcceptedValue money.Amount
	// LacksRate reports whether there was no rate when a late part arrived, so that AcceptedValue contains its value
	// under the quote.
	LacksRate bool
	// HighRisk reports whether the difference of the price and AcceptedValue is more than the given limit, or unknown, or
	// whether a part was refunded.
	HighRisk bool
}

// Decisions returns the decisions that the invoice allows at a time on the real clock. The limit is the largest
// part of a price that is waived without high risk.
func (e *Evaluation) Decisions(now time.Time, limit Tolerance) Decisions {
	inv := e.inv
	d := Decisions{Cancel: inv.mayCancel(), Requote: e.MayRequote(Merchant, now)}
	ids := inv.toAccept(e.ledger)
	if len(ids) == 0 || inv.hasAccepted(ids) {
		return d
	}
	accepted := inv.clone()
	accepted.Accepted, accepted.AcceptedAt = ids, now.Add(inv.Clock)
	d.Accept, d.Accepted = true, accepted.Evaluate()
	lost, known := e.lostValue(accepted.acceptedIDs())
	d.AcceptedValue, d.LacksRate = d.Accepted.Paid.Sub(lost), !known
	waived := inv.Terms.Price.Sub(d.AcceptedValue)
	d.HighRisk = d.LacksRate || slices.ContainsFunc(inv.Refunds, Refund.Takes) || waived.Cmp(limit.amountFor(inv.Terms.Price, inv.Quotes[0].Prices[0])) > 0
	return d
}

// lostValue returns the value that the late parts of the given transfers lost between their quotes and their
// receipt, or zero if they lost none. It reports whether all of them have a value at receipt. A part that was seen
// before the end of the first quote, but confirmed late, has the value of its quote.
func (e *Evaluation) lostValue(accepted map[string]bool) (lost money.Amount, known bool) {
	total, known := new(big.Rat), true
	for _, entry := range e.ledger.entries {
		if entry.lateSum == nil || !accepted[entry.transfer.ID] {
			continue
		}
		if market := entry.transfer.marketValue(entry.lateSum); market != nil {
			total.Add(total, entry.quoted)
			total.Sub(total, market)
		} else if entry.transfer.FirstSeen.After(e.inv.Quotes[0].Until) {
			known = false
		}
	}
	fiat := e.inv.Terms.Price.Currency()
	if total.Sign() <= 0 {
		return money.Zero(fiat), known
	}
	return money.RoundUp(major(total, fiat), fiat), known
}

// changedSince reports whether the invoice has another version than the one that a caller has seen. It
// returns false if seen is 0.
func (inv *Invoice) changedSince(seen int64) bool { return seen != 0 && seen != inv.Version }

// mayCancel reports whether the merchant may cancel the invoice.
func (inv *Invoice) mayCancel() bool {
	return inv.State.Status == Created || inv.State.Status == Pending && inv.State.Has(Underpaid) && !inv.State.Due.IsZero()
}

// toAccept returns the IDs of the transfers that the merchant may accept as the full price, sorted.
func (inv *Invoice) toAccept(l ledger) []string {
	if inv.State.Status == Paid || inv.refundsEverything(l) {
		return nil
	}
	var ids []string
	for _, t := range inv.acceptable(l) {
		ids = append(ids, t.ID)
	}
	slices.Sort(ids)
	return ids
}

// hasAccepted reports whether the merchant accepted exactly the transfers with some sorted IDs.
func (inv *Invoice) hasAccepted(ids []string) bool {
	return slices.Equal(ids, slices.Sorted(slices.Values(inv.Accepted)))
}

// cacheThreshold is the number of transfers from which the evaluation of an invoice is cached.
const cacheThreshold = 100

// maxCachedEvaluations is the largest number of cached evaluations.
const maxCachedEvaluations = 64

// evaluationCache caches the evaluations of the recently used invoices with many transfers. Without
// the cache, an attacker who sends many transfers to an invoice and requests its page would cause a
// high load.
type evaluationCache struct {
	mu      sync.Mutex
	entries map[string]cachedEvaluation
	uses    int64 // number of uses
}

// cachedEvaluation is the evaluation of one revision of an invoice.
type cachedEvaluation struct {
	revision   int64
	evaluation *Evaluation
	lastUse    int64 // sequence number of the last use
}

// Evaluation evaluates the transfers of an invoice that storage returned. The result for an invoice
// with many transfers is cached until the invoice is written again.
func (s *Service) Evaluation(inv *Invoice) *Evaluation {
	if len(inv.Transfers) < cacheThreshold {
		return inv.Evaluation()
	}
	if e := s.evaluations.get(inv); e != nil {
		return e
	}
	e := inv.clone().Evaluation()
	s.evaluations.put(inv, e)
	return e
}

func (c *evaluationCache) get(inv *Invoice) *Evaluation {
	c.mu.Lock()
	defer c.mu.Unlock()
	cached, known := c.entries[inv.ID]
	if !known || cached.revision != inv.Revision {
		return nil
	}
	c.uses++
	cached.lastUse = c.uses
	c.entries[inv.ID] = cached
	return cached.evaluation
}

// put caches an evaluation. If the cache is full, it evicts the evaluation that was not used for the
// longest time.
func (c *evaluationCache) put(inv *Invoice, e *Evaluation) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.entries == nil {
		c.entries = map[string]cachedEvaluation{}
	}
	c.uses++
	c.entries[inv.ID] = cachedEvaluation{revision: inv.Revision, evaluation: e, lastUse: c.uses}
	if len(c.entries) <= maxCachedEvaluations {
		return
	}
	var oldest string
	minimum := c.uses + 1
	for id, cached := range c.entries {
		if cached.lastUse < minimum {
			oldest, minimum = id, cached.lastUse
		}
	}
	delete(c.entries, oldest)
}
