package invoice

import (
	"cmp"
	"math/big"
	"slices"
	"time"

	"chequer/internal/money"
)

// portion is a part of a transfer with a first sighting of its own: a fee bump
// inherits that of what it replaced, as far as that paid.
type portion struct {
	amount    *big.Int // smallest units of the asset
	firstSeen time.Time
	old       bool // it was there before the invoice was
}

// book is the transfers of an invoice as they compete for their inputs.
type book struct {
	all    []Transfer            // by ID
	losers map[string]bool       // transactions whose inputs another one took
	gone   []Transfer            // those of losers, and those that are not present
	byTx   map[string][]Transfer // by transaction, in the order of their IDs
}

func newBook(transfers []Transfer) book {
	b := book{all: slices.Clone(transfers), losers: losers(transfers), byTx: map[string][]Transfer{}}
	slices.SortFunc(b.all, func(x, y Transfer) int { return cmp.Compare(x.ID, y.ID) })
	for _, t := range b.all {
		b.byTx[t.Tx] = append(b.byTx[t.Tx], t)
		if b.losers[t.Tx] || t.Presence != Present {
			b.gone = append(b.gone, t)
		}
	}
	return b
}

// losers are the transactions that lost an input to another: of those that
// spend the same outpoint exactly one counts, the confirmed one, else the one
// seen last.
func losers(transfers []Transfer) map[string]bool {
	txs := map[string]Transfer{}
	for _, t := range transfers {
		if t.Presence == Present {
			txs[t.Tx] = t
		}
	}
	order := make([]Transfer, 0, len(txs))
	for _, t := range txs {
		order = append(order, t)
	}
	slices.SortFunc(order, func(a, b Transfer) int {
		if a.Block != nil != (b.Block != nil) {
			if a.Block != nil {
				return -1
			}
			return 1
		}
		if c := b.FirstSeen.Compare(a.FirstSeen); c != 0 {
			return c
		}
		return cmp.Compare(a.Tx, b.Tx)
	})
	taken, lost := map[string]bool{}, map[string]bool{}
	for _, t := range order {
		if slices.ContainsFunc(t.Spends, func(o string) bool { return taken[o] }) {
			lost[t.Tx] = true
			continue
		}
		for _, o := range t.Spends {
			taken[o] = true
		}
	}
	return lost
}

// bumped tells whether another transaction that counts took over t's inputs and
// pays the same destination at least as much.
func (b book) bumped(t Transfer) bool {
	paid := money.Zero(t.Amount.Currency())
	for _, o := range b.all {
		if o.Tx != t.Tx && o.Presence == Present && !b.losers[o.Tx] && sameMoney(o, t) && conflict(o, t) {
			paid = paid.Add(o.Amount)
		}
	}
	return paid.Cmp(t.Amount) >= 0
}

// inheritance is what a replaced transaction paid, and since when.
type inheritance struct {
	firstSeen time.Time
	old       bool
	paid      *big.Int
}

// inherited is what t's transaction took over from those it replaced: their
// payments to the same destination, earliest first.
func (b book) inherited(t Transfer) []inheritance {
	before := map[string]*inheritance{} // by replaced transaction
	for _, o := range b.gone {          // its inputs are taken, by t
		if o.Tx == t.Tx || !sameMoney(o, t) || !conflict(o, t) || !o.FirstSeen.Before(t.FirstSeen) {
			continue
		}
		h := before[o.Tx]
		if h == nil {
			h = &inheritance{firstSeen: o.FirstSeen, paid: new(big.Int)}
			before[o.Tx] = h
		}
		h.old = h.old || o.Old
		h.paid.Add(h.paid, o.Amount.Minor())
	}
	list := make([]inheritance, 0, len(before))
	for tx, h := range before {
		// Several transactions can take an input each of one: what it paid is
		// inherited once.
		h.paid.Sub(h.paid, b.inheritedBefore(t, tx))
		if h.paid.Sign() > 0 {
			list = append(list, *h)
		}
	}
	slices.SortFunc(list, func(x, y inheritance) int {
		return cmp.Or(x.firstSeen.Compare(y.firstSeen), x.paid.Cmp(y.paid))
	})
	return list
}

// inheritedBefore is what transactions that come before t's took over of what a
// replaced one paid.
func (b book) inheritedBefore(t Transfer, replaced string) *big.Int {
	sum := new(big.Int)
	for _, u := range b.all {
		first := cmp.Or(u.FirstSeen.Compare(t.FirstSeen), cmp.Compare(u.Tx, t.Tx)) < 0
		if !first || u.Tx == t.Tx || u.Tx == replaced || u.Presence != Present || b.losers[u.Tx] || !sameMoney(u, t) {
			continue
		}
		if slices.ContainsFunc(b.byTx[replaced], func(o Transfer) bool { return conflict(o, u) }) {
			sum.Add(sum, u.Amount.Minor())
		}
	}
	return sum
}

// portions splits a transfer by what its transaction inherited: the earliest
// first sighting of those it replaced, up to the amount they paid to the same
// destination. What was there before the invoice stays older than it.
func (b book) portions(t Transfer) []portion {
	// Outputs of one transaction to one destination share what it inherited, in
	// the order of their IDs.
	start := new(big.Int)
	for _, o := range b.byTx[t.Tx] {
		if sameMoney(o, t) && o.ID < t.ID {
			start.Add(start, o.Amount.Minor())
		}
	}
	end := new(big.Int).Add(start, t.Amount.Minor())
	var parts []portion
	for _, h := range append(b.inherited(t), inheritance{firstSeen: t.FirstSeen, paid: end}) {
		upTo := h.paid
		if upTo.Cmp(end) > 0 {
			upTo = end
		}
		if upTo.Cmp(start) > 0 {
			parts = append(parts, portion{amount: new(big.Int).Sub(upTo, start), firstSeen: h.firstSeen, old: h.old})
			start = upTo
		}
	}
	return parts
}

// sameMoney tells whether two transfers are of one asset to one destination.
func sameMoney(a, b Transfer) bool {
	return a.Network == b.Network && a.Asset == b.Asset && a.Script == b.Script
}

// conflict tells whether two transfers spend a common outpoint.
func conflict(a, b Transfer) bool {
	return slices.ContainsFunc(a.Spends, func(o string) bool { return slices.Contains(b.Spends, o) })
}
