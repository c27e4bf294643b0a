package light

import (
	"cmp"
	"iter"
	"maps"
	"slices"

	"github.com/btcsuite/btcd/chaincfg/chainhash"

	"chequer/internal/chain"
	"chequer/internal/chain/bitcoin"
)

// maxClaims is how many transactions that spend the same output are kept.
const maxClaims = 100

// interest are the relevant transactions: seen transactions that pay watched destinations, and
// those that spend the same outputs.
type interest struct {
	taken map[chainhash.Hash]*entry
	// claims are the entries that spend an outpoint, by outpoint that a transaction to a
	// watched destination spends. The last seen entry counts as its spender.
	claims map[string][]*entry
	// mined are the claimed outpoints that a transaction in a block spends, by the
	// transaction's ID.
	mined  map[string][]string
	inputs []input
	number uint64 // of the newest input

	most     usage               // limit of total
	total    usage               // of all relevant entries
	accounts map[uint64]*account // by the hash of a destination's script
	grown    map[uint64]bool     // accounts that may be beyond their limit
}

// input is a script of an output that an entry spends.
type input struct {
	number uint64
	script string
	by     *entry
}

func newInterest(mark uint64) interest {
	return interest{
		taken: map[chainhash.Hash]*entry{}, claims: map[string][]*entry{}, mined: map[string][]string{}, number: mark,
		most: maxRelevant, accounts: map[uint64]*account{}, grown: map[uint64]bool{},
	}
}

// take adds claims for the outputs that an entry spends: for all of them if it pays a watched
// destination, otherwise only for those that are claimed already. It reports whether the entry
// has claims.
func (n *interest) take(e *entry) bool {
	message := e.message()
	for _, in := range message.TxIn {
		outpoint := in.PreviousOutPoint.String()
		if !e.payer && n.claims[outpoint] == nil || slices.Contains(e.claimed, outpoint) {
			continue
		}
		if e.tx == nil {
			tx := bitcoin.NewTx(message)
			e.tx, n.taken[e.id] = &tx, e
			e.size = e.memory()
			n.total.add(e)
		}
		e.claimed = append(e.claimed, outpoint)
		n.claims[outpoint] = append(n.claims[outpoint], e)
		if script := scriptSpent(in); script != "" {
			n.number++
			n.inputs = append(n.inputs, input{n.number, script, e})
		}
	}
	n.charge(e, e.paid)
	return e.tx != nil
}

// drop removes an entry and its claims.
func (n *interest) drop(e *entry) {
	for _, o := range e.claimed {
		n.claims[o] = slices.DeleteFunc(n.claims[o], func(c *entry) bool { return c == e })
		if len(n.claims[o]) == 0 {
			delete(n.claims, o)
		}
	}
	delete(n.taken, e.id)
	if e.tx != nil {
		n.inputs = slices.DeleteFunc(n.inputs, func(i input) bool { return i.by == e })
		n.uncharge(e)
	}
	e.tx, e.claimed = nil, nil
}

// excessClaim returns the entry to forget if too many claim the same output; otherwise nil.
func (n *interest) excessClaim(e *entry) *entry {
	for _, o := range e.claimed {
		if len(n.claims[o]) > maxClaims {
			return slices.MinFunc(n.claims[o], bySeen)
		}
	}
	return nil
}

// list returns the relevant entries, first seen first.
func (n *interest) list() []*entry { return slices.SortedFunc(maps.Values(n.taken), bySeen) }

// bySeen compares entries by the time at which they were seen.
func bySeen(a, b *entry) int {
	return cmp.Or(a.seen.Compare(b.seen), slices.Compare(a.id[:], b.id[:]))
}

// isLast reports whether an entry is the last seen spender of every output that it claims.
func (n *interest) isLast(e *entry) bool {
	return !slices.ContainsFunc(e.claimed, func(o string) bool { return slices.MaxFunc(n.claims[o], bySeen) != e })
}

// conflicts returns the outputs with several claims, each with its last seen spender.
func (n *interest) conflicts() []chain.Conflict {
	var found []chain.Conflict
	for _, o := range slices.Sorted(maps.Keys(n.claims)) {
		if len(n.claims[o]) > 1 {
			last := slices.MaxFunc(n.claims[o], bySeen)
			found = append(found, chain.Conflict{Outpoint: o, Tx: last.tx.ID, Seen: last.seen})
		}
	}
	return found
}

// since returns the scripts of inputs that were added after a mark.
func (n *interest) since(mark uint64) (iter.Seq[string], uint64) {
	var added []string
	for _, i := range n.inputs {
		if i.number > mark {
			added = append(added, i.script)
		}
	}
	return slices.Values(added), n.number
}

// block records the transactions of a block that spend claimed outputs.
func (n *interest) block(txs []bitcoin.Tx) {
	for _, tx := range txs {
		var spent []string
		for _, o := range tx.Spends {
			if n.claims[o] != nil {
				spent = append(spent, o)
			}
		}
		if spent != nil {
			n.mined[tx.ID] = spent
		}
	}
}

// buried returns the entries, including the transaction itself, that claim the outputs that a
// deeply buried transaction spent.
func (n *interest) buried(id string) []*entry {
	var over []*entry
	for _, o := range n.mined[id] {
		over = append(over, n.claims[o]...)
	}
	delete(n.mined, id)
	if hash, err := chainhash.NewHashFromStr(id); err == nil && n.taken[*hash] != nil {
		for _, o := range n.taken[*hash].claimed {
			over = append(over, n.claims[o]...)
		}
	}
	return over
}
