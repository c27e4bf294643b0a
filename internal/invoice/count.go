package invoice

import (
	"math/big"
	"sync"
	"time"

	"chequer/internal/money"
)

// Count holds the results of the rules for an invoice's transfers, computed once for everything
// that is shown of the invoice. The invoice must not change while it is used. It is safe for
// concurrent use.
type Count struct {
	inv      *Invoice
	ledger   ledger
	standing State
	told     func() toldPayments
}

// toldPayments are the payments that are reported, and the number of further ones.
type toldPayments struct {
	list []Payment
	more int
}

// Count evaluates the transfers of the invoice.
func (inv *Invoice) Count() *Count {
	l := inv.ledger()
	c := &Count{inv: inv, ledger: l, standing: inv.evaluate(l)}
	c.told = sync.OnceValue(func() toldPayments {
		list, more := chooseTold(inv.payments(l))
		return toldPayments{list, more}
	})
	return c
}

// Told returns the payments that are reported; see Invoice.Told.
func (c *Count) Told() (list []Payment, more int) {
	t := c.told()
	return t.list, t.more
}

// Rest returns the amount still to be sent by a method; see Invoice.Rest.
func (c *Count) Rest(m Method) money.Amount { return c.inv.rest(m, c.ledger) }

// MayRequote reports whether an actor may ask for a new quote; see Invoice.MayRequote.
func (c *Count) MayRequote(by Actor, now time.Time) bool {
	return c.inv.mayRequote(c.standing, c.ledger.late, by, now)
}

// manyTransfers is the number of transfers from which the count of an invoice is cached.
const manyTransfers = 100

// keptCounts is the largest number of cached counts.
const keptCounts = 64

// counts caches the counts of the invoices with many transfers that were used last: anybody can
// send many transfers, and anybody with the address of the invoice page can request it.
type counts struct {
	mu   sync.Mutex
	kept map[string]keptCount
	used int64
}

// keptCount is the count of one revision of an invoice.
type keptCount struct {
	revision int64
	count    *Count
	used     int64 // sequence number of the last use
}

// Count evaluates the transfers of an invoice that storage returned. The result for an invoice with
// many transfers is cached until the invoice is written again.
func (s *Service) Count(inv *Invoice) *Count {
	if len(inv.Transfers) < manyTransfers {
		return inv.Count()
	}
	if c := s.counts.find(inv); c != nil {
		return c
	}
	c := inv.clone().Count()
	s.counts.keep(inv, c)
	return c
}

func (c *counts) find(inv *Invoice) *Count {
	c.mu.Lock()
	defer c.mu.Unlock()
	k, known := c.kept[inv.ID]
	if !known || k.revision != inv.Revision {
		return nil
	}
	c.used++
	k.used = c.used
	c.kept[inv.ID] = k
	return k.count
}

// keep caches a count. If the cache is full, it evicts the least recently used one.
func (c *counts) keep(inv *Invoice, count *Count) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.kept == nil {
		c.kept = map[string]keptCount{}
	}
	c.used++
	c.kept[inv.ID] = keptCount{revision: inv.Revision, count: count, used: c.used}
	if len(c.kept) <= keptCounts {
		return
	}
	var oldest string
	least := c.used + 1
	for id, k := range c.kept {
		if k.used < least {
			oldest, least = id, k.used
		}
	}
	delete(c.kept, oldest)
}

// rest is Invoice.Rest with a ledger that is computed already.
func (inv *Invoice) rest(m Method, l ledger) money.Amount {
	price, offered := inv.Quote().Price(m.Asset.Code)
	if !offered || inv.State.Due.IsZero() {
		return money.Zero(m.Asset.Currency)
	}
	due := new(big.Rat).Sub(minor(inv.Terms.Price), l.sum(false))
	rest := price.Expected.Scale(due.Quo(due, minor(inv.Quote().Due)), shownDecimals)
	if rest.Cmp(m.Asset.Dust) < 0 {
		return m.Asset.Dust
	}
	return rest
}
