package watcher

import (
	"time"

	"chequer/internal/invoice"
)

// Index is the index, for tests.
type Index struct{ *index }

// NewIndex is newIndex; before may be empty.
func NewIndex(before Index) Index { return Index{newIndex(before.index)} }

// Add is add.
func (x Index) Add(d Destination) { x.add(d) }

// Drop is drop, and tells whether it looked.
func (x Index) Drop(scanned time.Time) bool {
	before := x.dropped
	x.drop(scanned)
	return !x.dropped.Equal(before)
}

// Owner is owner.
func (x Index) Owner(script string) (invoice.Owner, bool) { return x.owner(script) }

// RenewEvery sets how often the lead is renewed during a step.
func (w *Watcher) RenewEvery(d time.Duration) { w.renew = d }
