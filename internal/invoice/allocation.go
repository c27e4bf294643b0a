package invoice

import (
	"cmp"
	"math/big"
	"slices"
	"time"

	"chequer/internal/chain"
)

// allocation is a part of a transfer with its own first sighting: a fee bump inherits the first
// sighting of the transactions that it replaced, up to the amount that they paid.
type allocation struct {
	amount    *big.Int // smallest units of the asset
	firstSeen time.Time
	old       bool // older than the invoice
}

// funds identifies the asset and the destination of a transfer.
type funds struct {
	network       chain.ID
	asset, script string
}

func (t Transfer) funds() funds { return funds{t.Network, t.Asset, t.Script} }

// spender is a transaction that pays the invoice, with all its transfers.
type spender struct {
	tx        string
	spends    []string
	firstSeen time.Time // of the earliest of its transfers
	present   bool      // at least one of its transfers is present
	mined     bool
	lost      bool       // another transaction spent one of its inputs
	transfers []Transfer // in the order of their IDs
}

// winner reports whether the transaction keeps all its inputs.
func (s *spender) winner() bool { return s.present && !s.lost }

// book indexes the transfers of an invoice by the inputs for which they compete. Each result for a
// transaction is computed once, so the cost grows linearly with the number of transfers and
// outpoints, not with its square.
type book struct {
	all        []Transfer // by ID
	txs        map[string]*spender
	spenders   map[string][]*spender // by outpoint
	keepers    map[string]*spender   // by outpoint: the transaction that counts
	offsets    map[string]*big.Int   // by transfer: amount of earlier outputs of its transaction to the same destination
	paid       map[claimant]*big.Int // amount of all transfers of the transaction
	there      map[claimant]*big.Int // amount of its present transfers
	bumps      map[claimant]*big.Int
	heritages  map[claimant][]inheritance
	successors map[claimant]map[string]*big.Int
}

// claimant is a transaction with one asset and destination that it pays.
type claimant struct {
	tx string
	funds
}

func newBook(transfers []Transfer) *book {
	b := &book{
		all: slices.Clone(transfers), txs: map[string]*spender{}, spenders: map[string][]*spender{},
		offsets: map[string]*big.Int{}, paid: map[claimant]*big.Int{}, there: map[claimant]*big.Int{}, keepers: map[string]*spender{}, bumps: map[claimant]*big.Int{},
		heritages: map[claimant][]inheritance{}, successors: map[claimant]map[string]*big.Int{},
	}
	slices.SortFunc(b.all, func(x, y Transfer) int { return cmp.Compare(x.ID, y.ID) })
	for _, t := range b.all {
		b.add(t)
	}
	for _, s := range b.txs {
		for _, o := range s.spends {
			b.spenders[o] = append(b.spenders[o], s)
		}
	}
	b.findReplaced()
	return b
}

// add adds a transfer to its transaction. A transfer without a transaction, such as the rise of a
// balance, competes with no other.
func (b *book) add(t Transfer) {
	if t.Tx == "" {
		return
	}
	s := b.txs[t.Tx]
	if s == nil {
		s = &spender{tx: t.Tx, firstSeen: t.FirstSeen}
		b.txs[t.Tx] = s
	}
	if len(s.spends) == 0 {
		s.spends = t.Spends
	}
	if t.FirstSeen.Before(s.firstSeen) {
		s.firstSeen = t.FirstSeen
	}
	s.present = s.present || t.Presence == Present
	s.mined = s.mined || t.Presence == Present && t.Block != nil
	s.transfers = append(s.transfers, t)
	by := claimant{t.Tx, t.funds()}
	sum := b.paid[by]
	if sum == nil {
		sum = new(big.Int)
		b.paid[by] = sum
	} else {
		b.offsets[t.ID] = new(big.Int).Set(sum)
	}
	sum.Add(sum, t.Amount.Minor())
	if t.Presence == Present {
		if b.there[by] == nil {
			b.there[by] = new(big.Int)
		}
		b.there[by].Add(b.there[by], t.Amount.Minor())
	}
}

// present returns the amount of some funds in a transaction's present transfers.
func (b *book) present(s *spender, f funds) *big.Int {
	if sum := b.there[claimant{s.tx, f}]; sum != nil {
		return sum
	}
	return new(big.Int)
}

// findReplaced finds the transactions that lost an input to another. Of the transactions that spend
// the same outpoint exactly one counts: the confirmed one, otherwise the latest seen.
func (b *book) findReplaced() {
	var order []*spender
	for _, s := range b.txs {
		if s.present {
			order = append(order, s)
		}
	}
	slices.SortFunc(order, func(x, y *spender) int {
		if x.mined != y.mined {
			if x.mined {
				return -1
			}
			return 1
		}
		return cmp.Or(y.firstSeen.Compare(x.firstSeen), cmp.Compare(x.tx, y.tx))
	})
	for _, s := range order {
		if s.lost = slices.ContainsFunc(s.spends, func(o string) bool { return b.keepers[o] != nil }); s.lost {
			continue
		}
		for _, o := range s.spends {
			b.keepers[o] = s
		}
	}
}

// lost reports whether t's transaction lost an input to another one.
func (b *book) lost(t Transfer) bool {
	s := b.txs[t.Tx]
	return s != nil && s.lost
}

// rivals calls visit once for each other transaction that spends an outpoint of s.
func (b *book) rivals(s *spender, visit func(*spender)) {
	met := map[*spender]bool{s: true}
	for _, o := range s.spends {
		for _, r := range b.spenders[o] {
			if !met[r] {
				met[r] = true
				visit(r)
			}
		}
	}
}

// heirs calls visit once for each other transaction that counts and spends an outpoint of s.
func (b *book) heirs(s *spender, visit func(*spender)) {
	met := map[*spender]bool{s: true}
	for _, o := range s.spends {
		if h := b.keepers[o]; h != nil && !met[h] {
			met[h] = true
			visit(h)
		}
	}
}

// bumped reports whether other transactions that count spend t's inputs and pay at least as much to
// the same destination.
func (b *book) bumped(t Transfer) bool {
	s := b.txs[t.Tx]
	if s == nil || len(s.spends) == 0 {
		return t.Amount.IsZero()
	}
	by := claimant{t.Tx, t.funds()}
	sum := b.bumps[by]
	if sum == nil {
		sum = new(big.Int)
		b.heirs(s, func(h *spender) { sum.Add(sum, b.present(h, by.funds)) })
		b.bumps[by] = sum
	}
	return sum.Cmp(t.Amount.Minor()) >= 0
}

// inheritance is the amount that a replaced transaction paid, with its first sighting.
type inheritance struct {
	firstSeen time.Time
	old       bool
	paid      *big.Int
}

// inherited returns the payments to the same destination of the transactions that s replaced,
// earliest first.
func (b *book) inherited(s *spender, f funds) []inheritance {
	by := claimant{s.tx, f}
	if list, known := b.heritages[by]; known {
		return list
	}
	var list []inheritance
	b.rivals(s, func(r *spender) {
		if r.winner() || !r.firstSeen.Before(s.firstSeen) {
			return
		}
		h := inheritance{firstSeen: r.firstSeen, paid: new(big.Int)}
		for _, t := range r.transfers {
			if t.funds() == f && (r.lost || t.Presence != Present) {
				h.old = h.old || t.Old
				h.paid.Add(h.paid, t.Amount.Minor())
			}
		}
		// If several transactions each spend an input of a replaced one, its amount is inherited
		// only once.
		if before := b.inheritedBefore(r, f)[s.tx]; before != nil {
			h.paid.Sub(h.paid, before)
		}
		if h.paid.Sign() > 0 {
			list = append(list, h)
		}
	})
	slices.SortFunc(list, func(x, y inheritance) int {
		return cmp.Or(x.firstSeen.Compare(y.firstSeen), x.paid.Cmp(y.paid))
	})
	b.heritages[by] = list
	return list
}

// inheritedBefore returns, for each heir of a replaced transaction, the amount that earlier heirs
// inherited.
func (b *book) inheritedBefore(replaced *spender, f funds) map[string]*big.Int {
	by := claimant{replaced.tx, f}
	if before, known := b.successors[by]; known {
		return before
	}
	var heirs []*spender
	b.heirs(replaced, func(h *spender) { heirs = append(heirs, h) })
	slices.SortFunc(heirs, func(x, y *spender) int {
		return cmp.Or(x.firstSeen.Compare(y.firstSeen), cmp.Compare(x.tx, y.tx))
	})
	before, sum := map[string]*big.Int{}, new(big.Int)
	for _, h := range heirs {
		before[h.tx] = new(big.Int).Set(sum)
		sum.Add(sum, b.present(h, f))
	}
	b.successors[by] = before
	return before
}

// allocations splits a transfer by what its transaction inherited: the earliest first sighting of the
// transactions that it replaced, up to the amount that they paid to the same destination. A part
// that is older than the invoice stays older.
func (b *book) allocations(t Transfer) []allocation {
	whole := []allocation{{amount: t.Amount.Minor(), firstSeen: t.FirstSeen}}
	s := b.txs[t.Tx]
	if s == nil {
		return whole
	}
	inherited := b.inherited(s, t.funds())
	if len(inherited) == 0 {
		return whole
	}
	// Outputs of one transaction to one destination share the inheritance, in the order of their IDs.
	start := new(big.Int)
	if offset := b.offsets[t.ID]; offset != nil {
		start.Set(offset)
	}
	end := new(big.Int).Add(start, t.Amount.Minor())
	var parts []allocation
	for _, h := range append(slices.Clone(inherited), inheritance{firstSeen: t.FirstSeen, paid: end}) {
		upTo := h.paid
		if upTo.Cmp(end) > 0 {
			upTo = end
		}
		if upTo.Cmp(start) > 0 {
			parts = append(parts, allocation{amount: new(big.Int).Sub(upTo, start), firstSeen: h.firstSeen, old: h.old})
			start = upTo
		}
	}
	return parts
}
