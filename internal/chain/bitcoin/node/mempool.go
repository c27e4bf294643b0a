package node

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/btcsuite/btcd/chaincfg/chainhash"

	"chequer/internal/chain"
	"chequer/internal/chain/utxo"
)

// sightingTTL is the time that a sighting is kept after its transaction left the mempool. It is
// longer than the time until the block with the transaction is read.
const sightingTTL = 2 * time.Hour

// mempool is the node's mempool as of its newest listing. It may be large, so only transactions to
// watched destinations are kept whole.
type mempool struct {
	entries  map[chainhash.Hash]*entry
	departed map[chainhash.Hash]departure // sightings of transactions that left the mempool
	listedAt time.Time                    // time of the newest listing; zero if there was none, or it was not complete
	number   uint32                       // of the newest listing
	mark     uint64                       // of the destinations that were searched for
}

// entry is a transaction in the mempool.
type entry struct {
	arrival       *arrival
	number        uint32    // of the last listing that contains it
	outputHashes  []uint64  // hashes of scripts; nil until it is read
	tx            *utxo.Tx  // nil unless it pays a destination
	spends        []string  // spent outpoints that were watched when it was read
	seen          time.Time // zero if unknown
	returned      bool      // true if it left the mempool before, and keeps its first sighting
	timeRequested bool      // true if the node was asked for its time and its fee
	fee           fee
}

// arrival is the time between two listings of the mempool: a transaction that only the second
// contains arrived in between. after is zero for the first listing.
type arrival struct{ after, until time.Time }

// departure is a transaction that left the mempool.
type departure struct{ seen, since time.Time }

func newMempool() mempool {
	return mempool{entries: map[chainhash.Hash]*entry{}, departed: map[chainhash.Hash]departure{}}
}

// Seen implements utxo.Source. It returns zero for a transaction that was in the mempool
// before the first listing and whose time was never requested.
func (n *Node) Seen(tx string) time.Time {
	id, err := chainhash.NewHashFromStr(tx)
	if err != nil {
		return time.Time{}
	}
	if e := n.mempool.entries[*id]; e != nil {
		return e.seen
	}
	return n.mempool.departed[*id].seen
}

// forget deletes the sighting of a transaction.
func (m *mempool) forget(tx string) {
	if id, err := chainhash.NewHashFromStr(tx); err == nil {
		delete(m.departed, *id)
	}
}

// update applies a new listing of the mempool.
func (m *mempool) update(s state) error {
	between := &arrival{after: m.listedAt, until: s.end}
	m.number++
	for _, text := range s.ids {
		id, err := parseHash(text)
		if err != nil {
			return err
		}
		e := m.entries[id]
		if e == nil {
			e = m.add(id, between)
		}
		e.number = m.number
	}
	for id, e := range m.entries {
		if e.number != m.number {
			m.leave(id, e, s.end)
		}
	}
	for id, d := range m.departed {
		if s.end.Sub(d.since) > sightingTTL {
			delete(m.departed, id)
		}
	}
	// Transactions that a starting node loads from its file were seen earlier.
	m.listedAt = s.start
	if s.loading() {
		m.listedAt = time.Time{}
	}
	return nil
}

// add adds a transaction. If it returns to the mempool after its block left the chain, it
// keeps its first sighting.
func (m *mempool) add(id chainhash.Hash, between *arrival) *entry {
	e := &entry{arrival: between}
	if !between.after.IsZero() {
		e.seen = between.until
	}
	if d := m.departed[id]; !d.seen.IsZero() {
		e.seen, e.returned = d.seen, true
	}
	delete(m.departed, id)
	m.entries[id] = e
	return e
}

// leave moves a transaction that left the mempool to departed.
func (m *mempool) leave(id chainhash.Hash, e *entry, now time.Time) {
	delete(m.entries, id)
	m.departed[id] = departure{seen: e.seen, since: now}
}

// paying returns the transactions that pay watched destinations, in the order of their first
// sighting.
func (m *mempool) paying(watched chain.Watched) []utxo.Tx {
	type sighted struct {
		tx   utxo.Tx
		seen time.Time
	}
	var matching []sighted
	for _, e := range m.entries {
		if e.tx != nil && e.tx.Pays(watched) {
			matching = append(matching, sighted{*e.tx, e.seen})
		}
	}
	slices.SortFunc(matching, func(a, b sighted) int {
		return cmp.Or(a.seen.Compare(b.seen), strings.Compare(a.tx.ID, b.tx.ID))
	})
	var txs []utxo.Tx
	for _, s := range matching {
		txs = append(txs, s.tx)
	}
	return txs
}

// setTx stores the relevant parts of a transaction.
func (e *entry) setTx(tx utxo.Tx, watched chain.Watched) {
	e.outputHashes = make([]uint64, len(tx.Outputs)) // not nil, even without outputs
	for i, out := range tx.Outputs {
		e.outputHashes[i] = hashScript(out.Script)
	}
	if tx.Pays(watched) {
		e.tx = &tx
	}
	for _, o := range tx.Spends {
		if watched.Outpoint(o) {
			e.spends = append(e.spends, o)
		}
	}
}

// conflicts returns the transactions in the mempool that spend watched outpoints. The mempool
// has at most one transaction that spends an outpoint.
func (m *mempool) conflicts(watched chain.Watched, now time.Time) (conflicts []chain.Conflict) {
	for id, e := range m.entries {
		for _, o := range e.spends {
			if watched.Outpoint(o) {
				conflicts = append(conflicts, chain.Conflict{Outpoint: o, Tx: id.String(), Seen: now})
			}
		}
	}
	slices.SortFunc(conflicts, func(a, b chain.Conflict) int { return strings.Compare(a.Outpoint, b.Outpoint) })
	return conflicts
}
