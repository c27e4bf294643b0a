package invoice

import (
	"cmp"
	"math"
	"slices"
	"time"

	"chequer/internal/chain"
	"chequer/internal/money"
)

// unconfirmedTTL is the time after which an unconfirmed transfer that is not announced again is
// dropped. It applies to partial coverage, under which the absence of a transfer allows no conclusion.
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
	// Instant are the IDs of the unconfirmed transfers that may count without a confirmation, computed over the whole
	// snapshot.
	Instant map[string]bool
	// Market returns the current value of an amount in the invoice's currency, or nil without a
	// rate. Market itself may be nil.
	Market func(asset string, amount money.Amount) *money.Amount
	// Rate returns the current market rate of an asset. Rate itself may be nil.
	Rate func(asset string) MarketRate
	// Forks are the blocks that recently left the network's chain.
	Forks []Fork
}

// Observe records the facts of a scan. It changes only the facts, and Evaluate evaluates them.
// Observing the same facts again changes nothing.
func (inv *Invoice) Observe(o Observation) { inv.observe(o, foldThreshold) }

// observe is Observe with a given foldThreshold.
func (inv *Invoice) observe(observation Observation, threshold int) {
	inv.moveBirth(observation)
	index := map[string]int{} // of each recorded transfer in inv.Transfers
	for i, t := range inv.Transfers {
		if t.Network == observation.Network {
			index[t.ID] = i
		}
	}
	fold := inv.newFold(observation, threshold)
	shown := map[string]bool{}
	for _, t := range sortedByBlock(observation.Transfers) {
		if t.Amount.IsZero() {
			continue
		}
		shown[t.ID] = true
		i, known := index[t.ID]
		if !known && fold.add(t) {
			continue
		}
		if !known {
			fold.countRecorded(t.Spends)
			i = len(inv.Transfers)
			index[t.ID] = i
			inv.Transfers = append(inv.Transfers, inv.newRecord(observation, t))
		}
		inv.updateTransfer(&inv.Transfers[i], observation, t)
	}
	for i := range inv.Transfers {
		t := &inv.Transfers[i]
		if t.Network == observation.Network && t.Folded == 0 && !shown[t.ID] && t.Presence == Present {
			inv.markMissing(t, observation)
		}
	}
	fold.apply()
}

// sortedByBlock sorts transfers by their blocks, the unconfirmed last, and by their IDs, so that the
// order in a snapshot does not decide which transfers are recorded individually.
func sortedByBlock(transfers []chain.Transfer) []chain.Transfer {
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

// newRecord returns the record of a transfer that is not recorded yet.
func (inv *Invoice) newRecord(o Observation, t chain.Transfer) Transfer {
	record := Transfer{
		ID: t.ID, Network: o.Network, Tx: t.Tx, Asset: t.Asset, Script: t.Script,
		Amount: t.Amount, Spends: t.Spends, Coinbase: t.Coinbase, Unsure: t.Unsure, Contested: t.Contested,
	}
	switch {
	case !t.FirstSeen.IsZero():
		record.FirstSeen, record.Sighted = inv.clampFirstSeen(o.Network, t), true
	case t.Block == nil:
		// Only existing invoices are watched, so an earlier time means that the clock was set back.
		record.FirstSeen, record.Sighted = o.Snapshot.Started, true
		if record.FirstSeen.Before(inv.CreatedAt) {
			record.FirstSeen = inv.CreatedAt
		}
	case !t.Since.IsZero():
		record.FirstSeen = t.Since
		if createdAt := inv.CreatedAt.Add(-inv.Clock); record.FirstSeen.Before(createdAt) {
			record.FirstSeen = createdAt
		}
	default:
		record.FirstSeen = t.Block.Time
	}
	record.FirstSeen = record.FirstSeen.Add(inv.Clock)
	if o.Market != nil && record.FirstSeen.After(inv.Quotes[0].Until) {
		record.Market = o.Market(t.Asset, t.Amount)
	}
	if o.Rate != nil && inv.Mode == Live {
		record.Rate = o.Rate(t.Asset)
	}
	return record
}

// clockSkew is the largest difference between two clocks: a first sighting that a source reports as
// earlier than the invoice by at most clockSkew counts as a sighting at creation.
const clockSkew = 2 * time.Hour

// clampFirstSeen returns the first sighting that a source reports, on the real clock. A sighting
// shortly before creation is clamped to creation, because the source's clock may be slow and the
// destination did not exist before. It is not clamped if the block of the transfer is older than the
// invoice.
func (inv *Invoice) clampFirstSeen(network chain.ID, t chain.Transfer) time.Time {
	created := inv.CreatedAt.Add(-inv.Clock)
	early := t.FirstSeen.Before(created) && !t.FirstSeen.Before(created.Add(-clockSkew))
	if early && (t.Block == nil || !inv.olderThanInvoice(network, t.Asset, inv.onInvoiceClock(*t.Block))) {
		return created
	}
	return t.FirstSeen
}

// onInvoiceClock returns a block with its time on the invoice's own clock.
func (inv *Invoice) onInvoiceClock(b chain.Block) chain.Block {
	b.Time = b.Time.Add(inv.Clock)
	return b
}

// updateTransfer updates a recorded transfer with its current state on the network.
func (inv *Invoice) updateTransfer(t *Transfer, o Observation, current chain.Transfer) {
	// After a reorganisation a balance may rise in other steps.
	t.Presence, t.Amount, t.Unsure, t.Contested = Present, current.Amount, current.Unsure, current.Contested
	if t.Tx == "" {
		t.Tx = current.Tx
	}
	// A transfer that was found to be older stays older, even if the birth block leaves the chain.
	t.Old = (t.Sighted || t.Old) && t.FirstSeen.Before(inv.CreatedAt)
	if current.Block == nil {
		inv.applyCap(t, o, current)
		t.Block, t.Confirmations = nil, 0
		return
	}
	block := inv.onInvoiceClock(*current.Block)
	known := 0
	if t.Block == nil || t.Block.Hash != block.Hash {
		t.Block = &block
	} else {
		known = t.Confirmations
	}
	if t.ConfirmedAt.IsZero() {
		t.ConfirmedAt = block.Time
	}
	if required := o.Required[t.ID]; t.Required == 0 || (required > t.Required && inv.State.Status != Paid && !t.Final()) {
		t.Required = max(required, 1)
	}
	t.Old = t.Old || inv.olderThanInvoice(o.Network, t.Asset, block)
	t.Confirmations = confirmationsAt(o.Snapshot, block, known, t.Required)
}

// confirmationsAt returns the confirmations, up to the required number, of a transfer in a block that a snapshot shows. known is the number
// that is recorded for the same block: a scan that stopped below the tip does not reduce it.
func confirmationsAt(s chain.Snapshot, block chain.Block, known, required int) int {
	depth := max(int(s.Tip.Height-block.Height)+1, 0)
	if s.Behind {
		depth = max(depth, known)
	}
	return min(depth, required)
}

// applyCap decides once, when an unconfirmed transfer is first shown as firm, whether it counts without a confirmation. A
// transfer that was in a block, that was gone before, or that spends an outpoint of another recorded transaction does not.
func (inv *Invoice) applyCap(t *Transfer, o Observation, current chain.Transfer) {
	if !t.ConfirmedAt.IsZero() {
		t.Instant = false
	}
	if t.Firm || !current.Firm || o.Snapshot.Unconfirmed != chain.Complete {
		return
	}
	t.Firm = true
	t.Instant = o.Instant[t.ID] && t.ConfirmedAt.IsZero() && !inv.spentBefore(*t)
}

// spentBefore reports whether another recorded transaction spends an outpoint of t.
func (inv *Invoice) spentBefore(t Transfer) bool {
	return slices.ContainsFunc(inv.Transfers, func(other Transfer) bool {
		return other.Network == t.Network && other.Tx != t.Tx && slices.ContainsFunc(other.Spends, func(o string) bool { return slices.Contains(t.Spends, o) })
	})
}

// markMissing updates a recorded transfer that the snapshot does not show. It changes nothing if the
// snapshot's coverage allows no conclusion.
func (inv *Invoice) markMissing(t *Transfer, o Observation) {
	if t.Block != nil {
		if o.Snapshot.Covers(t.Block.Height) {
			t.Presence, t.Block, t.Confirmations, t.Instant = Reorged, nil, 0, false
		}
		return
	}
	spent := slices.ContainsFunc(o.Snapshot.Conflicts, func(c chain.Conflict) bool {
		return c.Tx != t.Tx && slices.Contains(t.Spends, c.Outpoint) &&
			(c.Block != nil || c.Seen.Add(inv.Clock).After(t.FirstSeen))
	})
	timedOut := o.Snapshot.Started.Add(inv.Clock).Sub(t.FirstSeen) > unconfirmedTTL
	if o.Snapshot.Unconfirmed == chain.Complete || spent || timedOut {
		t.Presence, t.Instant, t.Contested = Replaced, false, false
		t.Firm = true // applyCap leaves it out if it returns
		if !t.ConfirmedAt.IsZero() {
			t.Presence = Reorged
		}
	}
}

// olderThanInvoice reports whether a block is the invoice's birth block or one of its ancestors. If
// the birth block is unknown or left the chain, a block whose time is more than clockSkew before
// creation is also older.
func (inv *Invoice) olderThanInvoice(network chain.ID, asset string, b chain.Block) bool {
	var method Method
	for _, m := range inv.Methods {
		if m.Asset.Network == network && (method.Birth.IsZero() || m.Asset.Code == asset) {
			method = m
		}
	}
	known := !method.Birth.IsZero() && !method.Forked
	if !known && b.Time.Before(inv.CreatedAt.Add(-clockSkew)) {
		return true
	}
	return !method.Birth.IsZero() && b.Height <= method.Birth.Height
}

// moveBirth replaces each birth block that left the chain with the fork point or, if the fork point
// is not known, with the block below the covered range.
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
