package light

import (
	"cmp"
	"maps"
	"slices"
)

// Bounds on the transactions of interest. Peers of as many groups as Trust asks for
// can announce invented transactions that pay a watched destination, and a
// transaction without a block costs them nothing.
var (
	mostPerDestination = tally{count: 200, bytes: 1 << 20}
	mostOfInterest     = tally{count: 10_000, bytes: 32 << 20}
)

// tally is a number of transactions and the memory that they take.
type tally struct{ count, bytes int }

func (t *tally) add(e *entry)  { t.count, t.bytes = t.count+1, t.bytes+e.size }
func (t *tally) drop(e *entry) { t.count, t.bytes = t.count-1, t.bytes-e.size }

// exceeds reports whether a tally is beyond a bound.
func (t tally) exceeds(bound tally) bool { return t.count > bound.count || t.bytes > bound.bytes }

// account is what is kept because of one destination: the transactions that pay it
// and those that spend the same outputs.
type account struct {
	tally
	entries map[*entry]struct{}
}

// memory estimates the memory that a transaction of interest takes.
func (e *entry) memory() int {
	size := len(e.raw)
	for _, out := range e.tx.Outputs {
		size += 64 + len(out.Script)
	}
	const perInput = 300 // the outpoint as text, its claim, the script spent from
	return size + perInput*len(e.tx.Spends)
}

// charge adds destinations to those that account for an entry, and for the entries
// that spend the same outputs.
func (n *interest) charge(e *entry, destinations []uint64) {
	n.account(e, destinations)
	for _, o := range e.claimed {
		for _, c := range n.claims[o] {
			n.account(c, destinations)
			n.account(e, c.accounts)
		}
	}
}

func (n *interest) account(e *entry, destinations []uint64) {
	for _, d := range destinations {
		if slices.Contains(e.accounts, d) {
			continue
		}
		e.accounts = append(e.accounts, d)
		a := n.accounts[d]
		if a == nil {
			a = &account{entries: map[*entry]struct{}{}}
			n.accounts[d] = a
		}
		a.entries[e] = struct{}{}
		a.add(e)
		n.grown[d] = true
	}
}

// uncharge removes an entry from all tallies.
func (n *interest) uncharge(e *entry) {
	n.total.drop(e)
	for _, d := range e.accounts {
		a := n.accounts[d]
		if a.drop(e); a.count == 0 {
			delete(n.accounts, d)
		}
		delete(a.entries, e)
	}
	e.accounts, e.size = nil, 0
}

// excess returns the entries to forget so that the rest is within bounds.
// Entries without a block go first. Beyond a number of transactions the last seen
// go first, beyond a number of bytes the largest. The destinations that take the
// most give way to the others.
func (n *interest) excess() []*entry {
	gone := map[*entry]bool{}
	for d := range n.grown {
		if a := n.accounts[d]; a != nil && a.exceeds(mostPerDestination) {
			n.cut(slices.Collect(maps.Keys(a.entries)), a.tally, mostPerDestination, gone)
		}
	}
	clear(n.grown)
	total := n.total
	for e := range gone {
		total.drop(e)
	}
	if total.exceeds(n.most) {
		var rest []*entry
		for _, e := range n.taken {
			if !gone[e] {
				rest = append(rest, e)
			}
		}
		// Some room is made at once: the whole list is sorted.
		n.cut(rest, total, tally{n.most.count / 16 * 15, n.most.bytes / 16 * 15}, gone)
	}
	return slices.SortedFunc(maps.Keys(gone), later)
}

// cut adds entries to gone until the others are within a bound.
func (n *interest) cut(entries []*entry, sum, bound tally, gone map[*entry]bool) {
	tooLarge := sum.bytes > bound.bytes
	slices.SortFunc(entries, func(a, b *entry) int {
		if c := cmp.Compare(n.inBlock(a), n.inBlock(b)); c != 0 {
			return c
		}
		if tooLarge {
			return cmp.Or(cmp.Compare(n.share(b).bytes, n.share(a).bytes), cmp.Compare(b.size, a.size), later(b, a))
		}
		return cmp.Or(cmp.Compare(n.share(b).count, n.share(a).count), later(b, a))
	})
	for _, e := range entries {
		if !sum.exceeds(bound) {
			return
		}
		gone[e] = true
		sum.drop(e)
	}
}

// inBlock returns 1 for a transaction that a block holds, else 0.
func (n *interest) inBlock(e *entry) int {
	if n.mined[e.tx.ID] != nil {
		return 1
	}
	return 0
}

// share returns the largest tally of the destinations that account for an entry.
func (n *interest) share(e *entry) (most tally) {
	for _, d := range e.accounts {
		most.count = max(most.count, n.accounts[d].count)
		most.bytes = max(most.bytes, n.accounts[d].bytes)
	}
	return most
}
