package invoice

import (
	"math/big"
	"slices"
	"sync"
	"time"

	"chequer/internal/money"
)

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
