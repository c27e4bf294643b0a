package invoice

import (
	"cmp"
	"math/big"
	"slices"

	"chequer/internal/chain"
	"chequer/internal/money"
)

// entry is one transfer with its result. Values are fiat in smallest units, as exact fractions.
type entry struct {
	transfer Transfer
	value    *big.Rat // the value that counts, or zero
	received *big.Rat // the value received; nil = value. They differ only for accepted transfers
	coin     *big.Int // smallest units of the asset that count; nil if none do
	euro     *big.Rat // value of coin in whole euro, at the prices of its quotes
	late     bool     // a part arrived after its quote's end or at an unknown time, and does not count
	replaced bool     // another transaction spent its inputs
	reorged  bool     // it lost its block
	ignored  bool     // dust, gas, a wrong asset, or older than the invoice
	old      bool     // it, or all that it replaced, is older than the invoice
	partOld  bool     // at least a part of it is older
	named    bool     // the merchant accepted it
	gas      bool     // gas that the merchant sent for a sweep
}

// ledger holds the results of all transfers of an invoice.
type ledger struct {
	entries    []entry
	accepted   bool // the merchant's accept is in force
	late       bool // late money waits for the merchant, or money arrived after a refusal
	replaced   bool // money was taken back
	reorged    bool // money lost its block
	wrongAsset bool
	old        bool // present money does not count because it is older
	// slack is the part of an overpayment that results only from rounding a remainder.
	slack *big.Rat
}

// ledger evaluates the transfers. The order of the facts does not matter.
func (inv *Invoice) ledger() ledger {
	b := newBook(inv.Transfers)
	l := ledger{accepted: inv.acceptHolds(b), slack: new(big.Rat)}
	named := map[string]bool{}
	for _, id := range inv.Accepted {
		named[id] = true
	}
	units := map[funds]*big.Rat{}
	counting, largest := 0, new(big.Rat)
	for _, t := range b.all {
		e := entry{transfer: t, value: new(big.Rat), replaced: b.lost(t) || t.Presence == Replaced, old: t.Old, partOld: t.Old, named: named[t.ID]}
		method, known := inv.Method(t.Network, t.Asset)
		switch {
		case !known:
			e.ignored = true
		case t.Old || t.Amount.Cmp(method.Asset.Dust) < 0 || t.Amount.IsZero():
			e.ignored = true
		case e.replaced:
			l.replaced = l.replaced || !b.bumped(t)
		case t.Presence == Reorged:
			e.reorged = !b.bumped(t)
		default:
			e.reorged = t.Block == nil && !t.ConfirmedAt.IsZero()
			inv.count(&e, method, b, l.accepted)
		}
		l.entries = append(l.entries, e)
	}
	if l.accepted {
		inv.letStand(&l, b)
	}
	inv.passOverGas(&l)
	for _, e := range l.entries {
		l.late = l.late || e.late
		l.reorged = l.reorged || e.reorged
		_, known := inv.Method(e.transfer.Network, e.transfer.Asset)
		l.old = l.old || inv.ignoredAsOld(e)
		l.wrongAsset = l.wrongAsset || !known && !e.gas && e.transfer.Presence == Present && !e.transfer.Old
		if e.value.Sign() > 0 && !(l.accepted && e.named) {
			counting++
			if unit := inv.shownUnitOf(e.transfer, units); unit.Cmp(largest) > 0 {
				largest = unit
			}
		}
	}
	if counting > 1 {
		l.slack = inv.rounding(largest)
	}
	return l
}

// ignoredAsOld reports whether the merchant must be told of money that is present and does not
// count because it is older than the invoice. Dust is not reported, and neither are transfers that
// the merchant accepted.
func (inv *Invoice) ignoredAsOld(e entry) bool {
	if !e.partOld || e.gas || e.replaced || e.transfer.Presence != Present || e.named {
		return false
	}
	m, known := inv.Method(e.transfer.Network, e.transfer.Asset)
	return !known || !e.transfer.Amount.IsZero() && e.transfer.Amount.Cmp(m.Asset.Dust) >= 0
}

// passOverGas ignores transfers of a network's native coin, up to its allowance, once earlier money
// covers the price: the merchant sends gas for a sweep of tokens.
func (inv *Invoice) passOverGas(l *ledger) {
	order := make([]*entry, len(l.entries))
	for i := range l.entries {
		order[i] = &l.entries[i]
	}
	slices.SortFunc(order, func(a, b *entry) int {
		return cmp.Or(a.transfer.FirstSeen.Compare(b.transfer.FirstSeen), cmp.Compare(a.transfer.ID, b.transfer.ID))
	})
	least := new(big.Rat).Sub(minor(inv.Terms.Price), minor(inv.Terms.Rules.Tolerance))
	before := new(big.Rat)
	for _, e := range order {
		if before.Cmp(least) >= 0 && inv.maybeGas(e.transfer) && !e.named {
			e.ignored, e.gas, e.late, e.reorged, e.value = true, true, false, false, new(big.Rat)
			continue
		}
		before.Add(before, e.value)
	}
}

// maybeGas reports whether a transfer is in the network's native coin and within the allowance for
// gas.
func (inv *Invoice) maybeGas(t Transfer) bool {
	if m, known := inv.Method(t.Network, t.Asset); known {
		gas := m.Asset.Policy.Gas
		return !gas.IsZero() && t.Amount.Cmp(gas) <= 0
	}
	gas, allowed := inv.Terms.Rules.Gas[t.Network]
	return t.IsRise() && (inv.Terms.Rules.Gas == nil || allowed && t.Amount.Cmp(gas) <= 0)
}

// count computes the value of a present transfer of a known method, allocation by allocation.
func (inv *Invoice) count(e *entry, m Method, b *book, accepted bool) {
	t := e.transfer
	if accepted && e.named {
		return // its value is part of the full price, see letStand
	}
	if t.Unsure {
		e.late = true
		return
	}
	parts := b.allocations(t)
	e.old = !slices.ContainsFunc(parts, func(p allocation) bool { return !p.old })
	e.ignored = e.old
	for _, p := range parts {
		if p.old {
			e.partOld = true
			continue
		}
		refused := !accepted && !inv.DeclinedAt.IsZero() && p.firstSeen.After(inv.DeclinedAt)
		value, price, late := inv.valueOf(t, m, p)
		if refused || late && !inv.lateCounts(t, p, value) {
			e.late = true
			continue
		}
		e.value.Add(e.value, value)
		e.credit(p, m, price)
	}
}

// credit adds an allocation that counts, at the price of its quote.
func (e *entry) credit(p allocation, m Method, price Price) {
	if e.coin == nil {
		e.coin, e.euro = new(big.Int), new(big.Rat)
	}
	e.coin.Add(e.coin, p.amount)
	e.euro.Add(e.euro, price.EUR.Value(money.FromMinor(p.amount, m.Asset.Currency)))
}

// valueOf returns the value of an allocation under its quote, the price used, and whether the allocation
// is late. An allocation belongs to the newest quote that began by its first sighting; while an older
// quote had not ended, it belongs to the quote that gives it the higher value.
func (inv *Invoice) valueOf(t Transfer, m Method, p allocation) (value *big.Rat, by Price, late bool) {
	value, late = new(big.Rat), true
	newest := true
	for i := len(inv.Quotes) - 1; i >= 0; i-- {
		q := inv.Quotes[i]
		price, offered := q.Price(t.Asset)
		begun := i == 0 || !p.firstSeen.Before(q.From)
		if !offered || !begun || !(newest || !p.firstSeen.After(q.Until)) {
			continue
		}
		share := new(big.Rat).SetFrac(p.amount, price.Expected.Minor())
		worth := share.Mul(share, minor(q.Due))
		inTime := inv.inTime(t, m, p, q)
		if newest || inTime && late || inTime != late && worth.Cmp(value) > 0 {
			value, by, late = worth, price, !inTime
		}
		newest = false
	}
	return value, by, late
}

// inTime reports whether an allocation arrived in time for the price of a quote.
func (inv *Invoice) inTime(t Transfer, m Method, p allocation, q Quote) bool {
	if !m.Asset.Policy.Mempool {
		return !p.firstSeen.After(q.Until.Add(m.Asset.Policy.BlockGrace))
	}
	coverage := inv.Coverage[t.Network]
	first := p.firstSeen
	if t.Block != nil && t.Block.Time.Before(first) {
		first = t.Block.Time
	}
	seen := !p.firstSeen.After(q.Until) ||
		coverage.blindBefore(q.Until) && !first.After(q.Until.Add(inv.Terms.Rules.BlindWindow))
	deadline := q.Until.Add(inv.Terms.Rules.ConfirmWindow)
	if t.ConfirmedAt.IsZero() {
		return seen && !coverage.Scanned.After(deadline)
	}
	return seen && !t.ConfirmedAt.After(deadline)
}

// lateCounts reports whether late money counts without a decision of the merchant: only if the
// terms allow it, and only if its market value was high enough at first sight.
func (inv *Invoice) lateCounts(t Transfer, p allocation, value *big.Rat) bool {
	if !inv.Terms.AllowPaidExpired || !inv.DeclinedAt.IsZero() {
		return false
	}
	seenInTime := slices.ContainsFunc(inv.Quotes, func(q Quote) bool {
		_, priced := q.Price(t.Asset)
		return priced && !p.firstSeen.Before(q.From) && !p.firstSeen.After(q.Until)
	})
	if inv.Terms.Rules.LatePercent == 0 || seenInTime { // only the confirmation was late, so the quoted price was the market price
		return true
	}
	if t.Market == nil {
		return false
	}
	market := new(big.Rat).Mul(minor(*t.Market), new(big.Rat).SetFrac(p.amount, t.Amount.Minor()))
	floor := new(big.Rat).Mul(value, big.NewRat(inv.Terms.Rules.LatePercent, 100))
	return market.Cmp(floor) >= 0
}

// acceptHolds reports whether every transfer that the merchant accepted is still present.
func (inv *Invoice) acceptHolds(b *book) bool {
	for _, id := range inv.Accepted {
		i, known := slices.BinarySearchFunc(b.all, id, func(t Transfer, id string) int { return cmp.Compare(t.ID, id) })
		if !known || b.all[i].Presence != Present || b.lost(b.all[i]) {
			return false
		}
	}
	return len(inv.Accepted) > 0
}

// letStand gives the full price to the accepted transfers together. The value is on the one that is
// confirmed last, so that each still needs its confirmations.
func (inv *Invoice) letStand(l *ledger, b *book) {
	last := -1
	for i, e := range l.entries {
		if e.named {
			l.entries[i].received = inv.underQuotes(e.transfer, b)
		}
		if e.named && (last < 0 || l.entries[last].transfer.Confirmed()) {
			last = i
		}
	}
	l.entries[last].value = minor(inv.Terms.Price)
}

// underQuotes returns the value of a transfer under the quotes of its allocations, whether it is late
// or not.
func (inv *Invoice) underQuotes(t Transfer, b *book) *big.Rat {
	total := new(big.Rat)
	if m, known := inv.Method(t.Network, t.Asset); known {
		for _, p := range b.allocations(t) {
			value, _, _ := inv.valueOf(t, m, p)
			total.Add(total, value)
		}
	}
	return total
}

// worthAccepting returns the transfers that the merchant may accept, whether they are late or not:
// present, of an offered asset, and not dust.
func (inv *Invoice) worthAccepting() []Transfer {
	var list []Transfer
	for _, e := range inv.ledger().entries {
		m, offered := inv.Method(e.transfer.Network, e.transfer.Asset)
		worth := offered && !e.transfer.Amount.IsZero() && e.transfer.Amount.Cmp(m.Asset.Dust) >= 0
		if worth && (e.old || !e.ignored) && !e.replaced && e.transfer.Presence == Present {
			list = append(list, e.transfer)
		}
	}
	return list
}

// sum adds up the values that count, of all transfers or only of the confirmed ones.
func (l ledger) sum(confirmedOnly bool) *big.Rat {
	total := new(big.Rat)
	for _, e := range l.entries {
		if !confirmedOnly || e.transfer.Confirmed() {
			total.Add(total, e.value)
		}
	}
	return total
}

// received adds up the values received, of all transfers or only of the confirmed ones.
func (l ledger) received(confirmedOnly bool) *big.Rat {
	total := new(big.Rat)
	for _, e := range l.entries {
		if !confirmedOnly || e.transfer.Confirmed() {
			total.Add(total, e.worth())
		}
	}
	return total
}

// worth returns the value received by a transfer.
func (e entry) worth() *big.Rat {
	if e.received != nil {
		return e.received
	}
	return e.value
}

// completing returns the confirmed transfer that completed an amount.
func (l ledger) completing(least *big.Rat) (tx, asset string) {
	entries := slices.DeleteFunc(slices.Clone(l.entries), func(e entry) bool {
		return !e.transfer.Confirmed() || e.value.Sign() == 0
	})
	slices.SortStableFunc(entries, func(a, b entry) int {
		return a.transfer.ConfirmedAt.Compare(b.transfer.ConfirmedAt)
	})
	total := new(big.Rat)
	for _, e := range entries {
		if total.Add(total, e.value).Cmp(least) >= 0 {
			return e.transfer.Tx, e.transfer.Asset
		}
	}
	return "", ""
}

// shownUnitOf returns shownUnit of a transfer's method, computed once for each method in units.
func (inv *Invoice) shownUnitOf(t Transfer, units map[funds]*big.Rat) *big.Rat {
	key := funds{network: t.Network, asset: t.Asset}
	if units[key] == nil {
		method, _ := inv.Method(t.Network, t.Asset)
		units[key] = inv.shownUnit(method)
	}
	return units[key]
}

// shownUnit returns the fiat value of the last shown decimal of a method.
func (inv *Invoice) shownUnit(m Method) *big.Rat {
	price, ok := inv.Quote().Price(m.Asset.Code)
	if !ok {
		return new(big.Rat)
	}
	unit := money.MustParse("0.00000001", money.Currency{Decimals: 8}).Rat()
	if d := m.Asset.Currency.Decimals; d < 8 {
		unit = money.FromCents(1, money.Currency{Decimals: d}).Rat()
	}
	share := unit.Quo(unit, price.Expected.Rat())
	return share.Mul(share, minor(inv.Quote().Due))
}

// confirmations returns the depth that a network's policy requires for a value in euro cents.
// Coinbase outputs may need more.
func confirmations(p chain.Policy, cents int64, coinbase bool) int {
	depth := p.Confirmations(cents)
	if coinbase {
		depth = max(depth, p.Coinbase)
	}
	return depth
}
