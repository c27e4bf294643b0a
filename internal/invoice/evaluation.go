package invoice

import (
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
	list []Payment
	more int
}

// Evaluation evaluates the transfers of the invoice.
func (inv *Invoice) Evaluation() *Evaluation {
	l := inv.ledger()
	e := &Evaluation{inv: inv, ledger: l, state: inv.evaluate(l)}
	e.reported = sync.OnceValue(func() reportedPayments {
		list, more := chooseReported(inv.payments(l))
		return reportedPayments{list, more}
	})
	return e
}

// ReportedPayments returns the payments that are reported; see Invoice.ReportedPayments.
func (e *Evaluation) ReportedPayments() (list []Payment, more int) {
	r := e.reported()
	return r.list, r.more
}

// Rest returns the amount still to be sent by a method; see Invoice.Rest.
func (e *Evaluation) Rest(m Method) money.Amount { return e.inv.rest(m, e.ledger) }

// MayRequote reports whether an actor may ask for a new quote; see Invoice.MayRequote.
func (e *Evaluation) MayRequote(by Actor, now time.Time) bool {
	return e.inv.mayRequote(e.state, e.ledger.late, by, now)
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
	used    int64 // number of uses
}

// cachedEvaluation is the evaluation of one revision of an invoice.
type cachedEvaluation struct {
	revision   int64
	evaluation *Evaluation
	used       int64 // sequence number of the last use
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
	c.used++
	cached.used = c.used
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
	c.used++
	c.entries[inv.ID] = cachedEvaluation{revision: inv.Revision, evaluation: e, used: c.used}
	if len(c.entries) <= maxCachedEvaluations {
		return
	}
	var oldest string
	least := c.used + 1
	for id, cached := range c.entries {
		if cached.used < least {
			oldest, least = id, cached.used
		}
	}
	delete(c.entries, oldest)
}
