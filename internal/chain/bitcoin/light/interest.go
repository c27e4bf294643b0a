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

// mostClaims is how many transactions that spend the same output are kept.
const mostClaims = 100

// interest is what is known of seen transactions that pay watched destinations,
// and of those that spend the same outputs.
type interest struct {
	taken map[chainhash.Hash]*entry
	// claims are, by outpoint that pays for a watched destination, the entries that
	// spend it. The one that was seen last has it.
	claims map[string][]*entry
	// mined are, by the ID of a transaction in a block, the claimed outpoints that
	// it spends.
	mined  map[string][]string
	inputs []input
	number uint64 // of the newest input

	most     tally               // bound of total
	total    tally               // of what was taken
	accounts map[uint64]*account // by the hash of a destination's script
	grown    map[uint64]bool     // accounts that may be beyond their bounds
}

// input is a script that an entry spends from.
type input struct {
	number uint64
	script string
	by     *entry
}

func newInterest(mark uint64) interest {
	return interest{
		taken: map[chainhash.Hash]*entry{}, claims: map[string][]*entry{}, mined: map[string][]string{}, number: mark,
		most: mostOfInterest, accounts: map[uint64]*account{}, grown: map[uint64]bool{},
	}
}

// take lets an entry claim the outputs that it spends, all of them if it pays a
// watched destination, else those that such a one claims. It tells whether there
// are any.
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

// drop forgets an entry.
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

// crowd is an entry that may be forgotten because too many claim the same output.
func (n *interest) crowd(e *entry) *entry {
	for _, o := range e.claimed {
		if len(n.claims[o]) > mostClaims {
			return slices.MinFunc(n.claims[o], later)
		}
	}
	return nil
}

// list is what was taken, first seen first.
func (n *interest) list() []*entry { return slices.SortedFunc(maps.Values(n.taken), later) }

// later orders entries by when they were seen.
func later(a, b *entry) int {
	return cmp.Or(a.seen.Compare(b.seen), slices.Compare(a.id[:], b.id[:]))
}

// has tells whether every output that an entry spends is still its own.
func (n *interest) has(e *entry) bool {
	return !slices.ContainsFunc(e.claimed, func(o string) bool { return slices.MaxFunc(n.claims[o], later) != e })
}

// conflicts are the claimed outputs that several spend, each with who has it.
func (n *interest) conflicts() []chain.Conflict {
	var found []chain.Conflict
	for _, o := range slices.Sorted(maps.Keys(n.claims)) {
		if len(n.claims[o]) > 1 {
			last := slices.MaxFunc(n.claims[o], later)
			found = append(found, chain.Conflict{Outpoint: o, Tx: last.tx.ID, Seen: last.seen})
		}
	}
	return found
}

// since lists the scripts that were spent from after a mark.
func (n *interest) since(mark uint64) (iter.Seq[string], uint64) {
	var fresh []string
	for _, i := range n.inputs {
		if i.number > mark {
			fresh = append(fresh, i.script)
		}
	}
	return slices.Values(fresh), n.number
}

// block notes which transactions of a block spend claimed outputs.
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

// buried lists the entries that claim what a transaction deep in the chain spent,
// itself among them.
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
