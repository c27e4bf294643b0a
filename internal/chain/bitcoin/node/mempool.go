package node

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/btcsuite/btcd/chaincfg/chainhash"

	"chequer/internal/chain"
	"chequer/internal/chain/bitcoin"
)

// keptSightings is how long a sighting is kept once its transaction does not wait
// any more: longer than until the block that took it is read.
const keptSightings = 2 * time.Hour

// mempool is what waits, as it was listed last. It may be large, so that only
// what pays watched destinations is kept whole.
type mempool struct {
	entries map[chainhash.Hash]*entry
	gone    map[chainhash.Hash]gone // sightings of what does not wait any more
	listed  time.Time               // when it was asked for last; zero when it was not, or not whole
	number  uint32                  // of the list
	mark    uint64                  // destinations up to here were looked for
}

// entry is a transaction that waits.
type entry struct {
	list   *list
	number uint32      // of the last list that it is in
	paid   []uint64    // hashes of scripts; nil until it is read
	tx     *bitcoin.Tx // nil unless it pays a destination
	took   []string    // outpoints that were watched when it was read
	seen   time.Time   // zero while it is not known
	asked  bool        // whether the node was asked for its time
}

// list is the time between two lists of the mempool: what is in the second only
// came in between. After is zero when there was none before.
type list struct{ after, by time.Time }

// gone is a transaction that does not wait any more.
type gone struct{ seen, since time.Time }

func newMempool() mempool {
	return mempool{entries: map[chainhash.Hash]*entry{}, gone: map[chainhash.Hash]gone{}}
}

// Seen implements bitcoin.Source. It is not known when a transaction was seen that
// waited before our first look and was never looked at.
func (n *Node) Seen(tx string) time.Time {
	id, err := chainhash.NewHashFromStr(tx)
	if err != nil {
		return time.Time{}
	}
	if e := n.mempool.entries[*id]; e != nil {
		return e.seen
	}
	return n.mempool.gone[*id].seen
}

// forget forgets the sighting of a transaction.
func (m *mempool) forget(tx string) {
	if id, err := chainhash.NewHashFromStr(tx); err == nil {
		delete(m.gone, *id)
	}
}

// update takes in which transactions wait.
func (m *mempool) update(s state) error {
	times := &list{after: m.listed, by: s.end}
	m.number++
	for _, text := range s.ids {
		id, err := parseHash(text)
		if err != nil {
			return err
		}
		e := m.entries[id]
		if e == nil {
			e = m.enter(id, times)
		}
		e.number = m.number
	}
	for id, e := range m.entries {
		if e.number != m.number {
			m.leave(id, e, s.end)
		}
	}
	for id, g := range m.gone {
		if s.end.Sub(g.since) > keptSightings {
			delete(m.gone, id)
		}
	}
	// What a node reads from its file while it starts came before.
	m.listed = s.begin
	if s.loading() {
		m.listed = time.Time{}
	}
	return nil
}

// enter takes in a transaction that waits. It keeps its first sighting when a
// block that held it was taken off the chain.
func (m *mempool) enter(id chainhash.Hash, times *list) *entry {
	e := &entry{list: times}
	if !times.after.IsZero() {
		e.seen = times.by
	}
	if g := m.gone[id]; !g.seen.IsZero() {
		e.seen, e.asked = g.seen, true
	}
	delete(m.gone, id)
	m.entries[id] = e
	return e
}

func (m *mempool) leave(id chainhash.Hash, e *entry, now time.Time) {
	delete(m.entries, id)
	m.gone[id] = gone{seen: e.seen, since: now}
}

// paying are the transactions that pay watched destinations, in the order in
// which they were seen.
func (m *mempool) paying(watched chain.Watched) []bitcoin.Tx {
	type sighted struct {
		tx   bitcoin.Tx
		seen time.Time
	}
	var all []sighted
	for _, e := range m.entries {
		if e.tx != nil && pays(*e.tx, watched) {
			all = append(all, sighted{*e.tx, e.seen})
		}
	}
	slices.SortFunc(all, func(a, b sighted) int {
		return cmp.Or(a.seen.Compare(b.seen), strings.Compare(a.tx.ID, b.tx.ID))
	})
	var txs []bitcoin.Tx
	for _, s := range all {
		txs = append(txs, s.tx)
	}
	return txs
}

func pays(tx bitcoin.Tx, watched chain.Watched) bool {
	return slices.ContainsFunc(tx.Outputs, func(out bitcoin.Output) bool { return watched.Destination(out.Script) })
}

// take keeps what matters of a transaction.
func (e *entry) take(tx bitcoin.Tx, watched chain.Watched) {
	e.paid = make([]uint64, len(tx.Outputs)) // not nil
	for i, out := range tx.Outputs {
		e.paid[i] = hashScript(out.Script)
	}
	if pays(tx, watched) {
		e.tx = &tx
	}
	for _, o := range tx.Spends {
		if watched.Outpoint(o) {
			e.took = append(e.took, o)
		}
	}
}

// conflicts are the transactions that have watched outpoints now: of those that
// spend the same, one waits.
func (m *mempool) conflicts(watched chain.Watched, now time.Time) (all []chain.Conflict) {
	for id, e := range m.entries {
		for _, o := range e.took {
			if watched.Outpoint(o) {
				all = append(all, chain.Conflict{Outpoint: o, Tx: id.String(), Seen: now})
			}
		}
	}
	slices.SortFunc(all, func(a, b chain.Conflict) int { return strings.Compare(a.Outpoint, b.Outpoint) })
	return all
}
