package invoice

import (
	"math/big"
	"sync"
	"time"

	"chequer/internal/money"
)

// Count is what the transfers of an invoice amount to, computed once for everything
// that is shown of it. The invoice must not change while it is used. It is safe for
// concurrent use.
type Count struct {
	inv    *Invoice
	ledger ledger
	stands Standing
	told   func() toldPayments
}

// toldPayments are the payments that are told, and how many more there are.
type toldPayments struct {
	list []Payment
	more int
}

// Count counts the transfers of the invoice.
func (inv *Invoice) Count() *Count {
	l := inv.ledger()
	c := &Count{inv: inv, ledger: l, stands: inv.judge(l)}
	c.told = sync.OnceValue(func() toldPayments {
		list, more := chooseTold(inv.payments(l))
		return toldPayments{list, more}
	})
	return c
}

// Told are the payments that are told; see Invoice.Told.
func (c *Count) Told() (list []Payment, more int) {
	t := c.told()
	return t.list, t.more
}

// Rest is what is still to be sent by a method; see Invoice.Rest.
func (c *Count) Rest(m Method) money.Amount { return c.inv.rest(m, c.ledger) }

// MayRequote reports whether a person may ask for a new price; see
// Invoice.MayRequote.
func (c *Count) MayRequote(by Person, now time.Time) bool {
	return c.inv.mayRequote(c.stands, c.ledger.late, by, now)
}

// manyTransfers is how many transfers make an invoice worth keeping its count.
const manyTransfers = 100

// keptCounts is how many counts are kept.
const keptCounts = 64

// counts are the newest counts of invoices with many transfers: anybody can send
// those, and everybody with the address of the page can ask for it.
type counts struct {
	mu   sync.Mutex
	kept map[string]keptCount
	used int64
}

// keptCount is the count of one revision of an invoice.
type keptCount struct {
	revision int64
	count    *Count
	used     int64 // the higher the later
}

// Count counts the transfers of an invoice as storage returned it. What an invoice
// with many transfers amounts to is kept until it is written again.
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

// keep keeps a count, in the place of the one that was used least lately.
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

// rest is Rest by a ledger.
func (inv *Invoice) rest(m Method, l ledger) money.Amount {
	price, offered := inv.Quote().Price(m.Asset.Code)
	if !offered || inv.Standing.Due.IsZero() {
		return money.Zero(m.Asset.Currency)
	}
	due := new(big.Rat).Sub(minor(inv.Terms.Price), l.sum(false))
	rest := price.Expected.Scale(due.Quo(due, minor(inv.Quote().Due)), shownDecimals)
	if rest.Cmp(m.Asset.Dust) < 0 {
		return m.Asset.Dust
	}
	return rest
}
