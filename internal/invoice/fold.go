package invoice

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"math/big"
	"slices"
	"strings"
	"time"

	"chequer/internal/chain"
	"chequer/internal/money"
)

// An attacker can send thousands of tiny transfers to one invoice. To bound the cost of reading and
// evaluating an invoice, small transfers beyond foldThreshold are folded into aggregates, which are
// rows of Transfers with Folded above 0:
//
//   - A transfer that was recorded individually stays recorded individually. Large transfers are
//     always recorded individually. So are the rises of a balance, money that may be a merchant's
//     gas, and transfers whose transaction competes with a recorded transaction: their effect
//     depends on more than their sum.
//   - While a block can be reorganised, it has one aggregate for each asset and destination. A
//     snapshot shows every transfer above the cursor, so the aggregate is computed anew from each
//     snapshot that covers its block: a rescan changes nothing, and an aggregate leaves the chain
//     together with its block. While its block is on the chain the aggregate only grows: if a
//     source does not show a transfer of that block, nothing is concluded. All transfers of a block
//     have its time, and the value is linear in the amount, so the rules treat the aggregate like
//     the single transfers.
//   - A confirmed aggregate at or below a snapshot's cursor is not shown again. It is added to the
//     settled aggregate with the same asset, destination and class, see foldClass. The settled
//     aggregate keeps its highest block: transfers that a rescan shows up to that block are in the
//     sum already. A reorganisation that is deeper than the cursor and reaches that block removes
//     the whole sum, and the merchant decides.
//   - A small unconfirmed transfer beyond the bound is not recorded before it is in a
//     block, and its first sighting is the time of that block. Dust beyond the bound is
//     not recorded, since it changes nothing.
//   - The market value of a late aggregate is that of the sum. It is rounded down once, and not for
//     each transfer.
//
// The rows are at most foldThreshold small transfers, the large transfers (each of which costs its
// sender a thousandth of the price), one aggregate for each block above the cursor, and one settled
// aggregate for each asset, destination and class.

// foldThreshold is the number of transfers of an invoice that are recorded individually before small
// transfers are folded.
const foldThreshold = 1000

// smallDivisor sets the limit of small transfers: an amount below price/smallDivisor.
const smallDivisor = 1000

// The prefixes of the IDs of aggregates.
const (
	foldedPrefix  = "folded:"  // of one block
	settledPrefix = "settled:" // of all blocks that are final
)

// foldID returns the ID of the aggregate that a transfer in a block would be folded into.
func foldID(network chain.ID, t chain.Transfer) string {
	flags := []byte{'0', '0'}
	if t.Coinbase {
		flags[0] = '1'
	}
	if t.Unsure {
		flags[1] = '1'
	}
	key := strings.Join([]string{string(network), t.Asset, t.Script, t.Block.Hash, string(flags)}, "\x00")
	sum := sha256.Sum256([]byte(key))
	return foldedPrefix + hex.EncodeToString(sum[:20])
}

// isSettled reports whether t is an aggregate of blocks that are final.
func (t Transfer) isSettled() bool { return t.Folded > 0 && strings.HasPrefix(t.ID, settledPrefix) }

// fold collects the small transfers of an observation that are not recorded individually.
type fold struct {
	inv         *Invoice
	observation Observation
	threshold   int                 // see foldThreshold
	recorded    int                 // number of transfers that are recorded individually
	spent       map[string]bool     // outpoints that recorded transfers spend
	settled     map[recipient]int64 // highest block of the settled aggregates
	aggregates  map[string]bool     // IDs of the recorded aggregates of single blocks
	groups      map[string]*foldGroup
}

// foldGroup holds the transfers of one aggregate that a snapshot shows.
type foldGroup struct {
	transfer chain.Transfer // a transfer with the fields that all transfers of the group share
	sum      money.Amount
	count    int
	required int
}

func (inv *Invoice) newFold(o Observation, threshold int) *fold {
	f := &fold{inv: inv, observation: o, threshold: threshold, spent: map[string]bool{}, settled: map[recipient]int64{}, aggregates: map[string]bool{}, groups: map[string]*foldGroup{}}
	for i := range inv.Transfers {
		t := &inv.Transfers[i]
		if t.Folded == 0 {
			f.countRecorded(t.Spends)
			continue
		}
		if t.Network == o.Network && !t.isSettled() {
			f.aggregates[t.ID] = true
		}
		if t.Network == o.Network && t.isSettled() && t.Presence == Present {
			inv.reorgSettled(t, o.Snapshot)
		}
		if t.Network == o.Network && t.isSettled() && t.Presence == Present {
			f.settled[t.recipient()] = max(f.settled[t.recipient()], t.Block.Height)
		}
	}
	return f
}

// reorgSettled marks a settled aggregate as reorged if its highest block left the chain.
func (inv *Invoice) reorgSettled(t *Transfer, s chain.Snapshot) {
	hash, known := s.Blocks[t.Block.Height]
	isGone := known && hash != t.Block.Hash || t.Block.Height > s.Tip.Height && !s.Behind
	if isGone && t.Block.Height > s.From.Height {
		t.Presence, t.Block, t.Confirmations = Reorged, nil, 0
	}
}

// countRecorded counts a transfer that is recorded individually, and marks its outpoints as spent.
func (f *fold) countRecorded(spends []string) {
	f.recorded++
	for _, o := range spends {
		f.spent[o] = true
	}
}

// add adds a transfer that is not recorded yet to its aggregate. It returns false if the transfer is
// not folded, so that the caller must record it.
func (f *fold) add(t chain.Transfer) bool {
	if f.recorded < f.threshold || !f.inv.foldable(f.observation.Network, t) {
		return false
	}
	// Once a block has an aggregate, the transfers in the aggregate stay in it.
	competes := slices.ContainsFunc(t.Spends, func(o string) bool { return f.spent[o] })
	if competes && (t.Block == nil || !f.aggregates[foldID(f.observation.Network, t)]) {
		return false
	}
	dust := f.inv.isDust(f.observation.Network, t)
	if dust || t.Block == nil || t.Block.Height <= f.settled[recipient{f.observation.Network, t.Asset, t.Script}] {
		return true
	}
	id := foldID(f.observation.Network, t)
	g := f.groups[id]
	if g == nil {
		g = &foldGroup{sum: money.Zero(t.Amount.Currency())}
		g.transfer = chain.Transfer{ID: id, Asset: t.Asset, Script: t.Script, Block: t.Block, Coinbase: t.Coinbase, Unsure: t.Unsure}
		f.groups[id] = g
	}
	g.sum, g.count = g.sum.Add(t.Amount), g.count+1
	g.required = max(g.required, f.observation.Required[t.ID])
	return true
}

// foldable reports whether a transfer is small, and only its amount matters.
func (inv *Invoice) foldable(network chain.ID, t chain.Transfer) bool {
	if t.IsRise() {
		return false
	}
	m, known := inv.Method(network, t.Asset)
	if !known { // without a price, less than a hundredth of a coin is small
		unit := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(t.Amount.Currency().Decimals)), nil)
		return new(big.Int).Mul(t.Amount.Minor(), big.NewInt(100)).Cmp(unit) < 0
	}
	if !m.Asset.Policy.Gas.IsZero() {
		return false
	}
	price, priced := inv.firstPrice(t.Asset)
	if !priced {
		return false
	}
	return inv.isDust(network, t) || new(big.Int).Mul(t.Amount.Minor(), big.NewInt(smallDivisor)).Cmp(price.Expected.Minor()) < 0
}

// isDust reports whether a transfer is below the dust limit of its method.
func (inv *Invoice) isDust(network chain.ID, t chain.Transfer) bool {
	m, known := inv.Method(network, t.Asset)
	return known && t.Amount.Cmp(m.Asset.Dust) < 0
}

// apply updates the aggregates from the snapshot.
func (f *fold) apply() {
	required := map[string]int{}
	for id, g := range f.groups {
		required[id] = g.required
	}
	observation := f.observation
	observation.Required = required
	lost, gained := map[recipient]money.Amount{}, map[recipient]money.Amount{}
	known := map[string]bool{}
	for i := range f.inv.Transfers {
		t := &f.inv.Transfers[i]
		if t.Folded == 0 || t.isSettled() || t.Network != observation.Network {
			continue
		}
		g := f.groups[t.ID]
		if t.Block != nil && observation.Snapshot.Covers(t.Block.Height) && observation.Snapshot.Blocks[t.Block.Height] == t.Block.Hash && (g == nil || g.count < t.Folded) {
			g = f.inv.recordedGroup(*t, observation.Required)
		}
		if g != nil {
			known[t.ID] = true
			f.inv.refold(t, observation, g)
			continue
		}
		if t.Presence == Present {
			f.inv.markMissing(t, observation)
		}
		if t.Presence != Present {
			addTo(lost, t.recipient(), t.Amount)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(f.groups)) {
		if g := f.groups[id]; !known[id] {
			g.transfer.Amount = g.sum
			t := f.inv.newRecord(observation, g.transfer)
			f.inv.refold(&t, observation, g)
			f.inv.Transfers = append(f.inv.Transfers, t)
			addTo(gained, t.recipient(), g.sum)
		}
	}
	f.inv.dropMoved(observation.Network, lost, gained)
	f.inv.settleFolds(observation)
}

// recordedGroup returns the group that an aggregate was recorded from.
func (inv *Invoice) recordedGroup(t Transfer, required map[string]int) *foldGroup {
	block := *t.Block
	block.Time = block.Time.Add(-inv.Clock)
	like := chain.Transfer{ID: t.ID, Asset: t.Asset, Script: t.Script, Block: &block, Coinbase: t.Coinbase, Unsure: t.Unsure}
	return &foldGroup{transfer: like, sum: t.Amount, count: t.Folded, required: required[t.ID]}
}

// refold sets the aggregate of a block to the sum that the snapshot shows.
func (inv *Invoice) refold(t *Transfer, o Observation, g *foldGroup) {
	if t.Market != nil && t.Amount.Cmp(g.sum) != 0 {
		fiat := t.Market.Currency()
		scaled := new(big.Rat).Mul(minor(*t.Market), new(big.Rat).SetFrac(g.sum.Minor(), t.Amount.Minor()))
		market := money.RoundDown(major(scaled, fiat), fiat)
		t.Market = &market
	}
	t.Folded = g.count
	g.transfer.Amount = g.sum
	inv.updateTransfer(t, o, g.transfer)
}

// dropMoved removes aggregates that lost their block if other blocks contain at least the same
// amount: the transfers were mined again.
func (inv *Invoice) dropMoved(network chain.ID, lost, gained map[recipient]money.Amount) {
	inv.Transfers = slices.DeleteFunc(inv.Transfers, func(t Transfer) bool {
		if t.Folded == 0 || t.isSettled() || t.Network != network || t.Presence == Present || slices.Contains(inv.Accepted, t.ID) {
			return false
		}
		regained, found := gained[t.recipient()]
		return found && regained.Cmp(lost[t.recipient()]) >= 0
	})
}

// settleFolds adds the aggregates of final blocks to the settled aggregates.
func (inv *Invoice) settleFolds(o Observation) {
	settled := map[string]int{} // index of each settled aggregate by its class
	key := func(t Transfer) string {
		return strings.Join([]string{string(t.Network), t.Asset, t.Script, string(inv.foldClass(t))}, "\x00")
	}
	for i, t := range inv.Transfers {
		if t.isSettled() && t.Presence == Present && !slices.Contains(inv.Accepted, t.ID) {
			settled[key(t)] = i
		}
	}
	merged := map[int]bool{}
	for i := range inv.Transfers {
		t := &inv.Transfers[i]
		final := t.Folded > 0 && !t.isSettled() && t.Network == o.Network && t.Final() && t.Block.Height <= o.Snapshot.From.Height &&
			t.FirstSeen.Before(o.Snapshot.Started.Add(inv.Clock)) && !slices.Contains(inv.Accepted, t.ID)
		if !final {
			continue
		}
		class := key(*t)
		target, found := settled[class]
		if !found {
			t.ID = settledPrefix + strings.TrimPrefix(t.ID, foldedPrefix)
			settled[class] = i
			continue
		}
		inv.Transfers[target].merge(*t)
		merged[i] = true
	}
	if len(merged) == 0 {
		return
	}
	var kept []Transfer
	for i, t := range inv.Transfers {
		if !merged[i] {
			kept = append(kept, t)
		}
	}
	inv.Transfers = kept
}

// merge adds an aggregate to t, which is of the same class.
func (t *Transfer) merge(u Transfer) {
	t.Amount, t.Folded = t.Amount.Add(u.Amount), t.Folded+u.Folded
	t.Required = max(t.Required, u.Required)
	t.Confirmations = t.Required
	if u.Block.Height > t.Block.Height {
		t.Block = u.Block
	}
	if u.ConfirmedAt.After(t.ConfirmedAt) {
		t.ConfirmedAt = u.ConfirmedAt
	}
	if t.Market != nil && u.Market != nil {
		sum := t.Market.Add(*u.Market)
		t.Market = &sum
	}
	if t.Rate.IsZero() {
		t.Rate = u.Rate
	}
}

// foldClass returns a key of a confirmed aggregate's properties and of the results of comparing its
// times with every time that the rules use. The rules give the same result for two aggregates of one
// class and for their sum. A quote or a refusal that is added later is later than the times of both
// aggregates.
func (inv *Invoice) foldClass(t Transfer) []byte {
	var class bytes.Buffer
	flag := func(set bool) {
		if set {
			class.WriteByte('1')
		} else {
			class.WriteByte('0')
		}
	}
	order := func(a, b time.Time) { class.WriteByte(byte('1' + a.Compare(b))) }
	flag(t.Coinbase)
	flag(t.Old)
	flag(t.Unsure)
	flag(t.Sighted)
	flag(t.Market != nil)
	flag(!inv.DeclinedAt.IsZero() && t.FirstSeen.After(inv.DeclinedAt))
	order(t.FirstSeen, inv.CreatedAt)
	m, known := inv.Method(t.Network, t.Asset)
	if !known {
		return class.Bytes()
	}
	earliest := t.FirstSeen
	if t.Block.Time.Before(earliest) {
		earliest = t.Block.Time
	}
	for _, q := range inv.Quotes {
		order(t.FirstSeen, q.From)
		order(t.FirstSeen, q.Until)
		order(t.FirstSeen, q.Until.Add(m.Asset.Policy.BlockGrace))
		order(earliest, q.Until.Add(inv.Terms.Rules.BlindWindow))
		order(t.ConfirmedAt, q.Until.Add(inv.Terms.Rules.ConfirmWindow))
	}
	whole := allocation{amount: t.Amount.Minor(), firstSeen: t.FirstSeen}
	value, _, late := inv.valueOf(t, m, whole)
	flag(late && inv.lateCounts(t, whole, value))
	return class.Bytes()
}

// addTo adds an amount to the sum of a recipient.
func addTo(sums map[recipient]money.Amount, to recipient, amount money.Amount) {
	if sum, found := sums[to]; found {
		amount = sum.Add(amount)
	}
	sums[to] = amount
}
