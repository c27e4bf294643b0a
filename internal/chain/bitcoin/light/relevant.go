package light

import (
	"cmp"
	"iter"
	"maps"
	"slices"

	"github.com/btcsuite/btcd/chaincfg/chainhash"

	"chequer/internal/chain"
	"chequer/internal/chain/bitcoin"
	"chequer/internal/chain/utxo"
)

// maxClaims is the largest number of stored transactions that spend the same output.
const maxClaims = 100

// relevantTxs holds the relevant transactions: seen transactions that pay watched destinations, and
// those that spend the same outputs.
type relevantTxs struct {
	entries map[chainhash.Hash]*entry
	// claims holds all entries that spend an outpoint, for each outpoint that a transaction to a
	// watched destination spends. The last seen entry counts as its spender.
	claims map[string][]*entry
	// spentInBlock are the claimed outpoints that a transaction in a block spends, by the
	// transaction's ID.
	spentInBlock map[string][]string
	inputs       []input
	lastInput    uint64 // number of the newest input

	limit        usage                        // limit of total
	total        usage                        // of all relevant entries
	destinations map[uint64]*destinationUsage // by the hash of a destination's script
	unchecked    map[uint64]bool              // destinations that may be beyond their limit
}

// input is a script of an output that an entry spends.
type input struct {
	number  uint64
	script  string
	spender *entry
}

func newRelevantTxs(mark uint64) relevantTxs {
	return relevantTxs{
		entries: map[chainhash.Hash]*entry{}, claims: map[string][]*entry{}, spentInBlock: map[string][]string{}, lastInput: mark,
		limit: maxRelevant, destinations: map[uint64]*destinationUsage{}, unchecked: map[uint64]bool{},
	}
}

// addClaims adds claims for the outputs that an entry spends: for all of them if it pays a watched
// destination, otherwise only for those that are claimed already. It reports whether the entry
// has claims.
func (r *relevantTxs) addClaims(e *entry) bool {
	message := e.message()
	for _, in := range message.TxIn {
		outpoint := in.PreviousOutPoint.String()
		if !e.paysWatched && r.claims[outpoint] == nil || slices.Contains(e.claimed, outpoint) {
			continue
		}
		if !e.isRelevant() {
			tx := bitcoin.NewTx(message)
			e.tx, r.entries[e.id] = &tx, e
			e.size = e.memory()
			r.total.add(e)
		}
		e.claimed = append(e.claimed, outpoint)
		r.claims[outpoint] = append(r.claims[outpoint], e)
		if script := scriptSpent(in); script != "" {
			r.lastInput++
			r.inputs = append(r.inputs, input{r.lastInput, script, e})
		}
	}
	r.charge(e, e.watchedOutputs)
	return e.isRelevant()
}

// drop removes an entry and its claims.
func (r *relevantTxs) drop(e *entry) {
	for _, o := range e.claimed {
		r.claims[o] = slices.DeleteFunc(r.claims[o], func(c *entry) bool { return c == e })
		if len(r.claims[o]) == 0 {
			delete(r.claims, o)
		}
	}
	delete(r.entries, e.id)
	if e.isRelevant() {
		r.inputs = slices.DeleteFunc(r.inputs, func(i input) bool { return i.spender == e })
		r.removeFromDestinations(e)
	}
	e.tx, e.claimed = nil, nil
}

// oldestExcessClaim returns the first seen of the entries that claim an output of e if there are more
// than maxClaims; otherwise nil.
func (r *relevantTxs) oldestExcessClaim(e *entry) *entry {
	for _, o := range e.claimed {
		if len(r.claims[o]) > maxClaims {
			return slices.MinFunc(r.claims[o], bySeen)
		}
	}
	return nil
}

// list returns the relevant entries, first seen first.
func (r *relevantTxs) list() []*entry { return slices.SortedFunc(maps.Values(r.entries), bySeen) }

// bySeen compares entries by the time at which they were seen.
func bySeen(a, b *entry) int {
	return cmp.Or(a.seen.Compare(b.seen), slices.Compare(a.id[:], b.id[:]))
}

// isLatestSpender reports whether an entry is the last seen spender of every output that it claims.
func (r *relevantTxs) isLatestSpender(e *entry) bool {
	return !slices.ContainsFunc(e.claimed, func(o string) bool { return slices.MaxFunc(r.claims[o], bySeen) != e })
}

// conflicts returns the outputs with several claims, each with its last seen spender.
func (r *relevantTxs) conflicts() []chain.Conflict {
	var found []chain.Conflict
	for _, o := range slices.Sorted(maps.Keys(r.claims)) {
		if len(r.claims[o]) > 1 {
			last := slices.MaxFunc(r.claims[o], bySeen)
			found = append(found, chain.Conflict{Outpoint: o, Tx: last.tx.ID, Seen: last.seen})
		}
	}
	return found
}

// since returns the scripts of inputs that were added after a mark.
func (r *relevantTxs) since(mark uint64) (iter.Seq[string], uint64) {
	var added []string
	for _, i := range r.inputs {
		if i.number > mark {
			added = append(added, i.script)
		}
	}
	return slices.Values(added), r.lastInput
}

// recordBlock records the transactions of a block that spend claimed outputs.
func (r *relevantTxs) recordBlock(txs []utxo.Tx) {
	for _, tx := range txs {
		var spent []string
		for _, o := range tx.Spends {
			if r.claims[o] != nil {
				spent = append(spent, o)
			}
		}
		if spent != nil {
			r.spentInBlock[tx.ID] = spent
		}
	}
}

// takeBuried returns the entries that claim an output that a deeply buried transaction spent, including the
// entry of that transaction, and deletes the record of the spent outputs.
func (r *relevantTxs) takeBuried(id string) []*entry {
	var found []*entry
	for _, o := range r.spentInBlock[id] {
		found = append(found, r.claims[o]...)
	}
	delete(r.spentInBlock, id)
	if hash, err := chainhash.NewHashFromStr(id); err == nil && r.entries[*hash] != nil {
		for _, o := range r.entries[*hash].claimed {
			found = append(found, r.claims[o]...)
		}
	}
	return found
}
