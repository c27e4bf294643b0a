package invoice

import (
	"cmp"
	"math"
	"slices"
	"time"

	"chequer/internal/chain"
	"chequer/internal/money"
)

// unconfirmedTTL is the time after which an unconfirmed transfer without a block or a new
// announcement is dropped, under coverage where absence concludes nothing.
const unconfirmedTTL = 14 * 24 * time.Hour

// Observation is the part of a snapshot that concerns one invoice.
type Observation struct {
	Network  chain.ID
	Snapshot chain.Snapshot
	// Transfers are the transfers of the snapshot that pay this invoice.
	Transfers []chain.Transfer
	// Required is the depth, by transfer ID, of transfers that may be confirmed for the first time,
	// computed over the whole snapshot.
	Required map[string]int
	// Market returns the current value of an amount in the invoice's currency, or nil without a
	// rate. Market itself may be nil.
	Market func(asset string, amount money.Amount) *money.Amount
	// Forks are the blocks that recently left the network's chain.
	Forks []Fork
}

// Observe records the facts of a scan. It changes only the facts; Evaluate evaluates them. Observing
// the same facts again changes nothing.
func (inv *Invoice) Observe(o Observation) { inv.observe(o, keptTransfers) }

// observe is Observe with kept transfers that are recorded before small ones are folded.
func (inv *Invoice) observe(o Observation, kept int) {
	inv.moveBirth(o)
	place := map[string]int{} // index of each known transfer in the list
	for i, t := range inv.Transfers {
		if t.Network == o.Network {
			place[t.ID] = i
		}
	}
	fold := inv.newFold(o, kept)
	shown := map[string]bool{}
	for _, t := range byPlace(o.Transfers) {
		if t.Amount.IsZero() {
			continue
		}
		shown[t.ID] = true
		i, known := place[t.ID]
		if !known && fold.takes(t) {
			continue
		}
		if !known {
			fold.record(t.Spends)
			i = len(inv.Transfers)
			place[t.ID] = i
			inv.Transfers = append(inv.Transfers, inv.firstSight(o, t))
		}
		inv.place(&inv.Transfers[i], o, t)
	}
	for i := range inv.Transfers {
		t := &inv.Transfers[i]
		if t.Network == o.Network && t.Folded == 0 && !shown[t.ID] && t.Presence == Present {
			inv.missing(t, o)
		}
	}
	fold.apply()
}

// byPlace sorts transfers by their blocks, the unconfirmed last, and by their IDs, so that the
// order in a snapshot does not decide which transfers are recorded one by one.
func byPlace(transfers []chain.Transfer) []chain.Transfer {
	height := func(t chain.Transfer) int64 {
		if t.Block == nil {
			return math.MaxInt64
		}
		return t.Block.Height
	}
	return slices.SortedFunc(slices.Values(transfers), func(a, b chain.Transfer) int {
		return cmp.Or(cmp.Compare(height(a), height(b)), cmp.Compare(a.ID, b.ID))
	})
}

// firstSight returns the record of a transfer that was not known.
func (inv *Invoice) firstSight(o Observation, t chain.Transfer) Transfer {
	record := Transfer{
		ID: t.ID, Network: o.Network, Tx: t.Tx, Asset: t.Asset, Script: t.Script,
		Amount: t.Amount, Spends: t.Spends, Coinbase: t.Coinbase, Unsure: t.Unsure,
	}
	switch {
	case !t.FirstSeen.IsZero():
		record.FirstSeen, record.Sighted = inv.clampSighting(o.Network, t), true
	case t.Block == nil:
		// Only existing invoices are watched, so an earlier time means that the clock was put back.
		record.FirstSeen, record.Sighted = o.Snapshot.Started, true
		if record.FirstSeen.Before(inv.CreatedAt) {
			record.FirstSeen = inv.CreatedAt
		}
	case !t.Since.IsZero():
		record.FirstSeen = t.Since
		if born := inv.CreatedAt.Add(-inv.Clock); record.FirstSeen.Before(born) {
			record.FirstSeen = born
		}
	default:
		record.FirstSeen = t.Block.Time
	}
	record.FirstSeen = record.FirstSeen.Add(inv.Clock)
	if o.Market != nil && record.FirstSeen.After(inv.Quotes[0].Until) {
		record.Market = o.Market(t.Asset, t.Amount)
	}
	return record
}

// clockSkew is the largest difference between two clocks: a first sighting that a source reports as
// earlier than the invoice by at most clockSkew counts as a sighting at creation.
const clockSkew = 2 * time.Hour

// clampSighting returns the first sighting that a source reports, on the real clock. The source's
// clock differs from the clock that dated the invoice, and the destination is new, so a sighting
// shortly before creation is clamped to creation, unless the block of the transfer shows that it is
// older.
func (inv *Invoice) clampSighting(network chain.ID, t chain.Transfer) time.Time {
	created := inv.CreatedAt.Add(-inv.Clock)
	early := t.FirstSeen.Before(created) && !t.FirstSeen.Before(created.Add(-clockSkew))
	if early && (t.Block == nil || !inv.olderThanInvoice(network, t.Asset, inv.onOwnClock(*t.Block))) {
		return created
	}
	return t.FirstSeen
}

// onOwnClock returns a block with its time on the invoice's own clock.
func (inv *Invoice) onOwnClock(b chain.Block) chain.Block {
	b.Time = b.Time.Add(inv.Clock)
	return b
}

// place updates a recorded transfer with its current state on the network.
func (inv *Invoice) place(t *Transfer, o Observation, now chain.Transfer) {
	// After a reorganisation a balance may rise in other steps.
	t.Presence, t.Amount, t.Unsure = Present, now.Amount, now.Unsure
	if t.Tx == "" {
		t.Tx = now.Tx
	}
	// A transfer that was found to be older stays so, even if the birth block leaves the chain.
	t.Old = (t.Sighted || t.Old) && t.FirstSeen.Before(inv.CreatedAt)
	if now.Block == nil {
		t.Block, t.Confirmations = nil, 0
		return
	}
	block := inv.onOwnClock(*now.Block)
	known := 0 // confirmations to keep, since a scan that stopped below the tip does not reduce them
	if t.Block == nil || t.Block.Hash != block.Hash {
		t.Block = &block
	} else if o.Snapshot.Behind {
		known = t.Confirmations
	}
	if t.ConfirmedAt.IsZero() {
		t.ConfirmedAt = block.Time
	}
	if need := o.Required[t.ID]; t.Required == 0 || (need > t.Required && inv.State.Status != Paid && !t.Confirmed()) {
		t.Required = max(need, 1)
	}
	t.Old = t.Old || inv.olderThanInvoice(o.Network, t.Asset, block)
	deep := int(o.Snapshot.Tip.Height-block.Height) + 1
	t.Confirmations = min(max(deep, known), t.Required)
}

// missing updates a recorded transfer that is not shown, as far as the coverage of the snapshot
// allows a conclusion.
func (inv *Invoice) missing(t *Transfer, o Observation) {
	if t.Block != nil {
		if o.Snapshot.Covers(t.Block.Height) {
			t.Presence, t.Block, t.Confirmations = Reorged, nil, 0
		}
		return
	}
	taken := slices.ContainsFunc(o.Snapshot.Conflicts, func(c chain.Conflict) bool {
		return c.Tx != t.Tx && slices.Contains(t.Spends, c.Outpoint) &&
			(c.Block != nil || c.Seen.Add(inv.Clock).After(t.FirstSeen))
	})
	timedOut := o.Snapshot.Started.Add(inv.Clock).Sub(t.FirstSeen) > unconfirmedTTL
	if o.Snapshot.Unconfirmed == chain.Complete || taken || timedOut {
		t.Presence = Replaced
		if !t.ConfirmedAt.IsZero() {
			t.Presence = Reorged
		}
	}
}

// olderThanInvoice reports whether a block is the invoice's birth block or one of its ancestors. If
// no such block is known for sure, it also reports true for a block whose time is clearly before
// creation.
func (inv *Invoice) olderThanInvoice(network chain.ID, asset string, b chain.Block) bool {
	var method Method
	for _, m := range inv.Methods {
		if m.Asset.Network == network && (method.Birth.IsZero() || m.Asset.Code == asset) {
			method = m
		}
	}
	sure := !method.Birth.IsZero() && !method.Forked
	if !sure && b.Time.Before(inv.CreatedAt.Add(-clockSkew)) {
		return true
	}
	return !method.Birth.IsZero() && b.Height <= method.Birth.Height
}

// moveBirth replaces a birth block that left the chain by the fork point or, if that point is not
// known, by the block below the covered range.
func (inv *Invoice) moveBirth(o Observation) {
	for i, m := range inv.Methods {
		if m.Asset.Network != o.Network || m.Birth.IsZero() {
			continue
		}
		if at, known := forkBelow(m.Birth, o.Forks); known {
			inv.Methods[i].Birth, inv.Methods[i].Forked = at, true
			continue
		}
		if m.Birth.Height <= o.Snapshot.From.Height {
			continue
		}
		hash, covered := o.Snapshot.Blocks[m.Birth.Height]
		if covered && hash != m.Birth.Hash || m.Birth.Height > o.Snapshot.Tip.Height && !o.Snapshot.Behind {
			inv.Methods[i].Birth, inv.Methods[i].Forked = o.Snapshot.From, true
		}
	}
}
