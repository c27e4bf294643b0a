package invoice

import (
	"cmp"
	"math/big"
	"slices"
	"time"

	"chequer/internal/chain"
)

// portion is a part of a transfer with a first sighting of its own: a fee bump
// inherits that of what it replaced, as far as that paid.
type portion struct {
	amount    *big.Int // smallest units of the asset
	firstSeen time.Time
	old       bool // it was there before the invoice was
}

// funds name the asset and the destination of a transfer.
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
	present   bool      // at least one of its transfers is
	mined     bool
	lost      bool       // another transaction took one of its inputs
	transfers []Transfer // in the order of their IDs
}

// winner reports whether the transaction keeps all its inputs.
func (s *spender) winner() bool { return s.present && !s.lost }

// book is the transfers of an invoice as they compete for their inputs. Each
// answer about a transaction is computed once, so that the work grows with the
// number of transfers and outpoints and not with its square.
type book struct {
	all        []Transfer // by ID
	txs        map[string]*spender
	spenders   map[string][]*spender // by outpoint
	keepers    map[string]*spender   // by outpoint: the transaction that counts
	offsets    map[string]*big.Int   // by transfer: what its transaction pays before it to the same destination
	paid       map[claimant]*big.Int // by all transfers of the transaction
	there      map[claimant]*big.Int // by its present transfers
	bumps      map[claimant]*big.Int
	heritages  map[claimant][]inheritance
	successors map[claimant]map[string]*big.Int
}

// claimant is a transaction as far as it moves some funds.
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
	b.findLosers()
	return b
}

// add enters a transfer under its transaction. Without a transaction, as the rise
// of a balance, it competes with nothing.
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

// present is what of some funds a transaction moves with its present transfers.
func (b *book) present(s *spender, f funds) *big.Int {
	if sum := b.there[claimant{s.tx, f}]; sum != nil {
		return sum
	}
	return new(big.Int)
}

// findLosers finds the transactions that lost an input to another: of those that
// spend the same outpoint exactly one counts, the confirmed one, else the one
// seen last.
func (b *book) findLosers() {
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

// rivals visits each transaction that spends an outpoint of s, once.
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

// heirs visits each transaction that counts and took an outpoint of s, once.
func (b *book) heirs(s *spender, visit func(*spender)) {
	met := map[*spender]bool{s: true}
	for _, o := range s.spends {
		if h := b.keepers[o]; h != nil && !met[h] {
			met[h] = true
			visit(h)
		}
	}
}

// bumped reports whether other transactions that count took over t's inputs and
// pay the same destination at least as much.
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

// inheritance is what a replaced transaction paid, and since when.
type inheritance struct {
	firstSeen time.Time
	old       bool
	paid      *big.Int
}

// inherited is what a transaction took over from those it replaced: their payments
// to the same destination, earliest first.
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
		// Several transactions can take an input each of one: what it paid is
		// inherited once.
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

// inheritedBefore is what earlier heirs than each heir of a replaced transaction
// took over of what that paid, by heir.
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

// portions splits a transfer by what its transaction inherited: the earliest
// first sighting of those it replaced, up to the amount they paid to the same
// destination. What was there before the invoice stays older than it.
func (b *book) portions(t Transfer) []portion {
	whole := []portion{{amount: t.Amount.Minor(), firstSeen: t.FirstSeen}}
	s := b.txs[t.Tx]
	if s == nil {
		return whole
	}
	inherited := b.inherited(s, t.funds())
	if len(inherited) == 0 {
		return whole
	}
	// Outputs of one transaction to one destination share what it inherited, in
	// the order of their IDs.
	start := new(big.Int)
	if offset := b.offsets[t.ID]; offset != nil {
		start.Set(offset)
	}
	end := new(big.Int).Add(start, t.Amount.Minor())
	var parts []portion
	for _, h := range append(slices.Clone(inherited), inheritance{firstSeen: t.FirstSeen, paid: end}) {
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
