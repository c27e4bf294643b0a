package watcher

import (
	"iter"
	"slices"
	"time"

	"chequer/internal/invoice"
)

// index answers "is this ours?" from memory. It is kept from scan to scan, and
// implements chain.Watched.
type index struct {
	owners    map[string]entry // by script
	order     []mark           // scripts as they came, for Since
	last      uint64           // number of the newest
	merchants []string         // entries name them by their place here
	places    map[string]uint32
	outpoints map[string]bool
	marks     Marks
	dropped   time.Time
}

// entry is whose destination a script is. A million of them must fit in memory.
type entry struct {
	invoice  string
	merchant uint32 // in merchants
	until    int64  // Unix seconds
}

// mark is a script with the number that it came as.
type mark struct {
	number uint64
	script string
}

// newIndex is an empty index whose scripts are numbered above those of the one
// before, so that all of them are new to who has a mark of that.
func newIndex(before *index) *index {
	var last uint64
	if before != nil {
		last = before.last
	}
	return &index{last: last, owners: map[string]entry{}, places: map[string]uint32{}, outpoints: map[string]bool{}}
}

// Destination implements chain.Watched.
func (x *index) Destination(script string) bool {
	_, ours := x.owners[script]
	return ours
}

// Since implements chain.Watched.
func (x *index) Since(number uint64) (iter.Seq[string], uint64) {
	first, _ := slices.BinarySearchFunc(x.order, number, func(m mark, n uint64) int {
		if m.number <= n {
			return -1
		}
		return 1
	})
	fresh := x.order[first:]
	return func(yield func(string) bool) {
		for _, m := range fresh {
			if !yield(m.script) {
				return
			}
		}
	}, x.last
}

// Outpoint implements chain.Watched.
func (x *index) Outpoint(outpoint string) bool { return x.outpoints[outpoint] }

// owner finds whose destination a script is.
func (x *index) owner(script string) (invoice.Owner, bool) {
	e, ours := x.owners[script]
	if !ours {
		return invoice.Owner{}, false
	}
	return invoice.Owner{InvoiceID: e.invoice, MerchantID: x.merchants[e.merchant]}, true
}

// add takes in a destination that was committed since the last marks.
func (x *index) add(d Destination) {
	if _, known := x.owners[d.Script]; !known {
		x.last++
		x.order = append(x.order, mark{x.last, d.Script})
	}
	place, known := x.places[d.MerchantID]
	if !known {
		place = uint32(len(x.merchants))
		x.merchants = append(x.merchants, d.MerchantID)
		x.places[d.MerchantID] = place
	}
	x.owners[d.Script] = entry{invoice: d.InvoiceID, merchant: place, until: d.Until.Unix()}
}

// watchSpends watches the inputs of transfers that no block holds yet.
func (x *index) watchSpends(recorded []invoice.Recorded) {
	clear(x.outpoints)
	for _, r := range recorded {
		if r.BlockHash != "" {
			continue
		}
		for _, o := range r.Spends {
			x.outpoints[o] = true
		}
	}
}

// drop forgets, once an hour, destinations whose time is over.
func (x *index) drop(scanned time.Time) {
	if scanned.Sub(x.dropped) < time.Hour {
		return
	}
	x.dropped = scanned
	kept := x.order[:0]
	for _, m := range x.order {
		if x.owners[m.script].until < scanned.Unix() {
			delete(x.owners, m.script)
			continue
		}
		kept = append(kept, m)
	}
	clear(x.order[len(kept):])
	x.order = kept
}
