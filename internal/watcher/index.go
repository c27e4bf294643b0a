package watcher

import (
	"time"

	"chequer/internal/invoice"
)

// index answers "is this ours?" from memory. It is kept from scan to scan.
type index struct {
	owners    map[string]Destination
	outpoints map[string]bool
	marks     Marks
	dropped   time.Time
}

func newIndex() *index {
	return &index{owners: map[string]Destination{}, outpoints: map[string]bool{}}
}

// Destination implements chain.Watched.
func (x *index) Destination(script string) bool {
	_, ours := x.owners[script]
	return ours
}

// Outpoint implements chain.Watched.
func (x *index) Outpoint(outpoint string) bool { return x.outpoints[outpoint] }

// owner finds whose destination a script is.
func (x *index) owner(script string) (invoice.Owner, bool) {
	d, ours := x.owners[script]
	return d.Owner, ours
}

// add takes in destinations that were committed since the last marks.
func (x *index) add(list []Destination, marks Marks) {
	for _, d := range list {
		x.owners[d.Script] = d
	}
	x.marks = marks
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
	for script, d := range x.owners {
		if scanned.After(d.Until) {
			delete(x.owners, script)
		}
	}
}
