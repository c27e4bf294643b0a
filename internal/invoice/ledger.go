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
	counted  *big.Int // smallest units of the asset that count; nil if none count
	euro     *big.Rat // value of counted in whole euro, at the prices of its quotes
	late     bool     // a part arrived after its quote's end or at an unknown time, and does not count
	lateSum  *big.Int // smallest units of the asset of the late parts; nil if there are none
	quoted   *big.Rat // value of the late parts under their quotes; nil if there are none
	replaced bool     // another transaction spent its inputs
	reorged  bool     // it lost its block
	ignored  bool     // dust, gas, a wrong asset, or older than the invoice
	old      bool     // the whole transfer is older than the invoice
	partOld  bool     // at least a part of the transfer is older than the invoice
	accepted bool     // the merchant accepted it
	gas      bool     // gas that the merchant sent for a sweep
}

// ledger holds the results of all transfers of an invoice.
type ledger struct {
	entries    []entry
	accepted   bool // the merchant's acceptance holds
	late       bool // late money waits for the merchant, or money arrived after a refusal
	replaced   bool // a payment was replaced, and its replacement pays less
	reorged    bool // a payment lost its block
	wrongAsset bool
	old        bool // present money does not count because it is older than the invoice
	// slack is the part of an overpayment that results only from rounding a remainder.
	slack *big.Rat
}

// acceptedIDs returns the set of the IDs of the accepted transfers.
func (inv *Invoice) acceptedIDs() map[string]bool {
	ids := make(map[string]bool, len(inv.Accepted))
	for _, id := range inv.Accepted {
		ids[id] = true
	}
	return ids
}

// ledger evaluates the transfers. The order of the facts does not matter.
func (inv *Invoice) ledger() ledger {
	c := newConflicts(inv)
	l := ledger{accepted: inv.acceptanceHolds(c), slack: new(big.Rat)}
	accepted := inv.acceptedIDs()
	units := map[recipient]*big.Rat{}
	counting, largest := 0, new(big.Rat)
	for _, t := range c.transfers {
		e := entry{transfer: t, value: new(big.Rat), replaced: c.replaced(t) || t.Presence == Replaced, old: t.Old, partOld: t.Old, accepted: accepted[t.ID]}
		method, known := inv.Method(t.Network, t.Asset)
		switch {
		case !known:
			e.ignored = true
		case t.Old || t.Amount.Cmp(method.Asset.Dust) < 0 || t.Amount.IsZero():
			e.ignored = true
		case e.replaced:
			l.replaced = l.replaced || !c.replacedInFull(t)
		case t.Presence == Reorged:
			e.reorged = !c.replacedInFull(t)
		default:
			e.reorged = t.Block == nil && !t.ConfirmedAt.IsZero()
			inv.evaluateTransfer(&e, method, c, l.accepted)
		}
		l.entries = append(l.entries, e)
	}
	if l.accepted {
		inv.applyAcceptance(&l, c)
	}
	inv.ignoreGas(&l)
	for _, e := range l.entries {
		l.late = l.late || e.late
		l.reorged = l.reorged || e.reorged
		_, known := inv.Method(e.transfer.Network, e.transfer.Asset)
		l.old = l.old || inv.ignoredAsOld(e)
		l.wrongAsset = l.wrongAsset || !known && !e.gas && e.transfer.Presence == Present && !e.transfer.Old
		if e.value.Sign() > 0 && !(l.accepted && e.accepted) {
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

// ignoredAsOld reports whether a present transfer raises the exception Older, because a part of it
// does not count. Dust and transfers that the merchant accepted raise none.
func (inv *Invoice) ignoredAsOld(e entry) bool {
	if !e.partOld || e.gas || e.replaced || e.transfer.Presence != Present || e.accepted {
		return false
	}
	m, known := inv.Method(e.transfer.Network, e.transfer.Asset)
	return !known || !e.transfer.Amount.IsZero() && e.transfer.Amount.Cmp(m.Asset.Dust) >= 0
}

// ignoreGas ignores a transfer of a network's native coin within the allowance for gas if earlier
// transfers cover the price: it is gas that the merchant sends for a sweep of tokens.
func (inv *Invoice) ignoreGas(l *ledger) {
	order := make([]*entry, len(l.entries))
	for i := range l.entries {
		order[i] = &l.entries[i]
	}
	slices.SortFunc(order, func(a, b *entry) int {
		return cmp.Or(a.transfer.FirstSeen.Compare(b.transfer.FirstSeen), cmp.Compare(a.transfer.ID, b.transfer.ID))
	})
	minimum := new(big.Rat).Sub(minor(inv.Terms.Price), minor(inv.Terms.Rules.Tolerance))
	before := new(big.Rat)
	for _, e := range order {
		if before.Cmp(minimum) >= 0 && inv.mayBeGas(e.transfer) && !e.accepted {
			e.ignored, e.gas, e.late, e.reorged, e.value = true, true, false, false, new(big.Rat)
			continue
		}
		before.Add(before, e.value)
	}
}

// mayBeGas reports whether a transfer is in the network's native coin and within the allowance for
// gas.
func (inv *Invoice) mayBeGas(t Transfer) bool {
	if m, known := inv.Method(t.Network, t.Asset); known {
		gas := m.Asset.Policy.Gas
		return !gas.IsZero() && t.Amount.Cmp(gas) <= 0
	}
	gas, allowed := inv.Terms.Rules.Gas[t.Network]
	return t.IsRise() && (inv.Terms.Rules.Gas == nil || allowed && t.Amount.Cmp(gas) <= 0)
}

// evaluateTransfer computes the value of a present transfer of a known method, allocation by
// allocation. acceptance is true while the merchant's acceptance holds.
func (inv *Invoice) evaluateTransfer(e *entry, m Method, c *conflicts, acceptance bool) {
	t := e.transfer
	if acceptance && e.accepted {
		return // its value is part of the full price, see applyAcceptance
	}
	parts := c.allocations(t)
	if t.Unsure {
		e.late = true
		for _, a := range parts {
			value, _, _ := inv.valueOf(t, m, a)
			e.addLate(a, value)
		}
		return
	}
	e.old = !slices.ContainsFunc(parts, func(a allocation) bool { return !a.old })
	e.ignored = e.old
	for _, a := range parts {
		if a.old {
			e.partOld = true
			continue
		}
		isRefused := !acceptance && !inv.DeclinedAt.IsZero() && a.firstSeen.After(inv.DeclinedAt)
		value, price, late := inv.valueOf(t, m, a)
		if isRefused || late && !inv.lateCounts(t, a, value) {
			e.late = true
			e.addLate(a, value)
			continue
		}
		e.value.Add(e.value, value)
		e.credit(a, m, price)
	}
}

// addLate adds an allocation that does not count because it is late.
func (e *entry) addLate(a allocation, quoted *big.Rat) {
	if e.lateSum == nil {
		e.lateSum, e.quoted = new(big.Int), new(big.Rat)
	}
	e.lateSum.Add(e.lateSum, a.amount)
	e.quoted.Add(e.quoted, quoted)
}

// credit adds an allocation that counts, at the price of its quote.
func (e *entry) credit(a allocation, m Method, price Price) {
	if e.counted == nil {
		e.counted, e.euro = new(big.Int), new(big.Rat)
	}
	e.counted.Add(e.counted, a.amount)
	e.euro.Add(e.euro, price.EUR.Value(money.FromMinor(a.amount, m.Asset.Currency)))
}

// valueOf returns the value of an allocation under its quote, the price used, and whether the
// allocation is late. An allocation belongs to the newest quote that had begun at its first sighting.
// If older quotes had not ended then, it belongs to the quote for which it is in time or, if that does
// not decide, to the quote that gives it the highest value.
func (inv *Invoice) valueOf(t Transfer, m Method, a allocation) (value *big.Rat, by Price, late bool) {
	value, late = new(big.Rat), true
	newest := true
	for i := len(inv.Quotes) - 1; i >= 0; i-- {
		q := inv.Quotes[i]
		price, offered := q.Price(t.Asset)
		begun := i == 0 || !a.firstSeen.Before(q.From)
		if !offered || !begun || !(newest || !a.firstSeen.After(q.Until)) {
			continue
		}
		share := new(big.Rat).SetFrac(a.amount, price.Expected.Minor())
		v := share.Mul(share, minor(q.Due))
		inTime := inv.inTime(t, m, a, q)
		if sameTiming := inTime == !late; newest || inTime && late || sameTiming && v.Cmp(value) > 0 {
			value, by, late = v, price, !inTime
		}
		newest = false
	}
	return value, by, late
}

// inTime reports whether an allocation arrived in time for the price of a quote.
func (inv *Invoice) inTime(t Transfer, m Method, a allocation, q Quote) bool {
	if !m.Asset.Policy.Mempool {
		return !a.firstSeen.After(q.Until.Add(m.Asset.Policy.BlockGrace))
	}
	coverage := inv.Coverage[t.Network]
	first := a.firstSeen
	if t.Block != nil && t.Block.Time.Before(first) {
		first = t.Block.Time
	}
	seen := !a.firstSeen.After(q.Until) ||
		coverage.blindBefore(q.Until) && !first.After(q.Until.Add(inv.Terms.Rules.BlindWindow))
	if t.Instant { // no confirmation was required
		return seen
	}
	deadline := q.Until.Add(inv.Terms.Rules.ConfirmWindow)
	if t.ConfirmedAt.IsZero() {
		return seen && !coverage.Scanned.After(deadline)
	}
	return seen && !t.ConfirmedAt.After(deadline)
}

// lateCounts reports whether a late allocation counts without a decision of the merchant: the terms
// must allow it, there was no refund before, and its market value at its first sighting must have been high enough.
func (inv *Invoice) lateCounts(t Transfer, a allocation, value *big.Rat) bool {
	if !inv.Terms.AllowPaidExpired || !inv.DeclinedAt.IsZero() || inv.refundedBefore(a.firstSeen) {
		return false
	}
	seenInTime := slices.ContainsFunc(inv.Quotes, func(q Quote) bool {
		_, priced := q.Price(t.Asset)
		return priced && !a.firstSeen.Before(q.From) && !a.firstSeen.After(q.Until)
	})
	if inv.Terms.Rules.LatePercent == 0 || seenInTime { // if seen in time, only the confirmation was late
		return true
	}
	market := t.marketValue(a.amount)
	floor := new(big.Rat).Mul(value, big.NewRat(inv.Terms.Rules.LatePercent, 100))
	return market != nil && market.Cmp(floor) >= 0
}

// marketValue returns the value of a part of the transfer at its first sighting, by the smallest units of
// the part; nil if it is not known.
func (t Transfer) marketValue(units *big.Int) *big.Rat {
	if t.Market == nil {
		return nil
	}
	return new(big.Rat).Mul(minor(*t.Market), new(big.Rat).SetFrac(units, t.Amount.Minor()))
}

// acceptanceHolds reports whether every transfer that the merchant accepted is still present.
func (inv *Invoice) acceptanceHolds(c *conflicts) bool {
	for _, id := range inv.Accepted {
		i, known := slices.BinarySearchFunc(c.transfers, id, func(t Transfer, id string) int { return cmp.Compare(t.ID, id) })
		if !known || c.transfers[i].Presence != Present || c.replaced(c.transfers[i]) {
			return false
		}
	}
	return len(inv.Accepted) > 0
}

// applyAcceptance values the accepted transfers together at the full price. If one of them is not
// confirmed, it gets the whole value, so that the invoice is not paid before all of them are confirmed.
func (inv *Invoice) applyAcceptance(l *ledger, c *conflicts) {
	last := -1
	for i, e := range l.entries {
		if e.accepted {
			l.entries[i].received = inv.quotedValue(e.transfer, c)
		}
		if e.accepted && (last < 0 || l.entries[last].transfer.Confirmed()) {
			last = i
		}
	}
	l.entries[last].value = minor(inv.Terms.Price)
}

// quotedValue returns the value of a transfer under the quotes of its allocations, late or not.
func (inv *Invoice) quotedValue(t Transfer, c *conflicts) *big.Rat {
	total := new(big.Rat)
	if m, known := inv.Method(t.Network, t.Asset); known {
		for _, a := range c.allocations(t) {
			value, _, _ := inv.valueOf(t, m, a)
			total.Add(total, value)
		}
	}
	return total
}

// acceptable returns the transfers that the merchant may accept: those that are present, of an
// offered asset and not dust. They may be late.
func (inv *Invoice) acceptable(l ledger) []Transfer {
	var list []Transfer
	for _, e := range l.entries {
		m, offered := inv.Method(e.transfer.Network, e.transfer.Asset)
		large := offered && !e.transfer.Amount.IsZero() && e.transfer.Amount.Cmp(m.Asset.Dust) >= 0
		if large && (e.old || !e.ignored) && !e.replaced && e.transfer.Presence == Present {
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

// received adds up the values received, of all transfers or only of the final ones.
func (l ledger) received(finalOnly bool) *big.Rat {
	total := new(big.Rat)
	for _, e := range l.entries {
		if !finalOnly || e.transfer.Final() {
			total.Add(total, e.receivedValue())
		}
	}
	return total
}

// receivedValue returns the value received by a transfer.
func (e entry) receivedValue() *big.Rat {
	if e.received != nil {
		return e.received
	}
	return e.value
}

// completing returns the transaction and the asset of the confirmed transfer with which the confirmed
// value reached an amount.
func (l ledger) completing(minimum *big.Rat) (tx, asset string) {
	entries := slices.DeleteFunc(slices.Clone(l.entries), func(e entry) bool {
		return !e.transfer.Confirmed() || e.value.Sign() == 0
	})
	slices.SortStableFunc(entries, func(a, b entry) int {
		return a.transfer.countedAt().Compare(b.transfer.countedAt())
	})
	total := new(big.Rat)
	for _, e := range entries {
		if total.Add(total, e.value).Cmp(minimum) >= 0 {
			return e.transfer.Tx, e.transfer.Asset
		}
	}
	return "", ""
}

// shownUnitOf returns the shownUnit of a transfer's method. It keeps the results in units, so that each is
// computed once.
func (inv *Invoice) shownUnitOf(t Transfer, units map[recipient]*big.Rat) *big.Rat {
	key := recipient{network: t.Network, asset: t.Asset}
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
	unit := money.FromCents(1, money.Currency{Decimals: min(m.Asset.Currency.Decimals, shownDecimals)})
	share := new(big.Rat).Quo(unit.Rat(), price.Expected.Rat())
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
