package light

import (
	"cmp"
	"maps"
	"slices"
)

// Limits of the relevant transactions. Peers of as many groups as Trust requires can announce
// invented transactions that pay a watched destination, and a transaction without a block
// costs them nothing.
var (
	maxPerDestination = usage{count: 200, bytes: 1 << 20}
	maxRelevant       = usage{count: 10_000, bytes: 32 << 20}
)

// usage is a number of transactions and their memory in bytes.
type usage struct{ count, bytes int }

func (u *usage) add(e *entry)  { u.count, u.bytes = u.count+1, u.bytes+e.size }
func (u *usage) drop(e *entry) { u.count, u.bytes = u.count-1, u.bytes-e.size }

// exceeds reports whether the usage is beyond a limit.
func (u usage) exceeds(limit usage) bool { return u.count > limit.count || u.bytes > limit.bytes }

// destinationUsage has the transactions that are kept because of one destination: those that pay it
// and those that spend the same outputs.
type destinationUsage struct {
	usage
	entries map[*entry]struct{}
}

// memory estimates the memory of a relevant transaction, in bytes.
func (e *entry) memory() int {
	const (
		perOutput = 64  // without the script
		perInput  = 300 // the outpoint as text, its claim, and the spent script
	)
	size := len(e.raw)
	for _, out := range e.tx.Outputs {
		size += perOutput + len(out.Script)
	}
	return size + perInput*len(e.tx.Spends)
}

// charge adds destinations to those of an entry, and to those of the entries that spend the same
// outputs. It adds the destinations of these entries to the entry too.
func (r *relevantTxs) charge(e *entry, destinations []uint64) {
	r.addToDestinations(e, destinations)
	for _, o := range e.claimed {
		for _, c := range r.claims[o] {
			r.addToDestinations(c, destinations)
			r.addToDestinations(e, c.destinations)
		}
	}
}

// addToDestinations adds an entry to the usage of destinations, once to each.
func (r *relevantTxs) addToDestinations(e *entry, destinations []uint64) {
	for _, d := range destinations {
		if slices.Contains(e.destinations, d) {
			continue
		}
		e.destinations = append(e.destinations, d)
		a := r.destinations[d]
		if a == nil {
			a = &destinationUsage{entries: map[*entry]struct{}{}}
			r.destinations[d] = a
		}
		a.entries[e] = struct{}{}
		a.add(e)
		r.unchecked[d] = true
	}
}

// removeFromDestinations removes an entry from the usage of all its destinations.
func (r *relevantTxs) removeFromDestinations(e *entry) {
	r.total.drop(e)
	for _, d := range e.destinations {
		a := r.destinations[d]
		if a.drop(e); a.count == 0 {
			delete(r.destinations, d)
		}
		delete(a.entries, e)
	}
	e.destinations, e.size = nil, 0
}

// beyondLimits returns the entries to forget so that the others are within the limits. Entries
// without a block are forgotten first. Beyond a number of transactions, the most recent are
// forgotten; beyond a number of bytes, the largest. Entries of the destinations with the
// largest usage are forgotten before others.
func (r *relevantTxs) beyondLimits() []*entry {
	removed := map[*entry]bool{}
	for d := range r.unchecked {
		if a := r.destinations[d]; a != nil && a.exceeds(maxPerDestination) {
			r.trim(slices.Collect(maps.Keys(a.entries)), a.usage, maxPerDestination, removed)
		}
	}
	clear(r.unchecked)
	total := r.total
	for e := range removed {
		total.drop(e)
	}
	if total.exceeds(r.limit) {
		var kept []*entry
		for _, e := range r.entries {
			if !removed[e] {
				kept = append(kept, e)
			}
		}
		// Cut below the limit, because each cut sorts the whole list.
		r.trim(kept, total, usage{r.limit.count / 16 * 15, r.limit.bytes / 16 * 15}, removed)
	}
	return slices.SortedFunc(maps.Keys(removed), bySeen)
}

// trim adds entries to removed until the other entries are within a limit.
func (r *relevantTxs) trim(entries []*entry, sum, limit usage, removed map[*entry]bool) {
	tooLarge := sum.bytes > limit.bytes
	slices.SortFunc(entries, func(a, b *entry) int {
		if c := cmp.Compare(r.inBlock(a), r.inBlock(b)); c != 0 {
			return c
		}
		if tooLarge {
			return cmp.Or(cmp.Compare(r.largestUsage(b).bytes, r.largestUsage(a).bytes), cmp.Compare(b.size, a.size), bySeen(b, a))
		}
		return cmp.Or(cmp.Compare(r.largestUsage(b).count, r.largestUsage(a).count), bySeen(b, a))
	})
	for _, e := range entries {
		if !sum.exceeds(limit) {
			return
		}
		removed[e] = true
		sum.drop(e)
	}
}

// inBlock returns 1 for a transaction in a block, otherwise 0.
func (r *relevantTxs) inBlock(e *entry) int {
	if r.spentInBlock[e.tx.ID] != nil {
		return 1
	}
	return 0
}

// largestUsage returns the largest usage of the destinations of an entry.
func (r *relevantTxs) largestUsage(e *entry) (largest usage) {
	for _, d := range e.destinations {
		largest.count = max(largest.count, r.destinations[d].count)
		largest.bytes = max(largest.bytes, r.destinations[d].bytes)
	}
	return largest
}
