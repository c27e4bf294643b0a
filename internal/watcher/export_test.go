package watcher

import (
	"context"
	"time"

	"chequer/internal/chain"
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

// Settle takes note of a recorded snapshot, and of what was loaded for it.
func (x Index) Settle(s chain.Snapshot, marks Marks) { x.recorded(s); x.marks = marks }

// Unsettled tells whether recorded rises are to be loaded.
func (x Index) Unsettled() bool { return x.unsettled }

// Load begins with what was recorded when an earlier index, or process, ended.
func (x Index) Load(was invoice.Progress, rises ...Rise) {
	x.forget(was)
	for _, r := range rises {
		x.rise(r)
	}
	x.unsettled = false
}

// StepAndReport is one round of Run.
func (w *Watcher) StepAndReport(ctx context.Context) {
	_, err := w.Step(ctx)
	w.report(ctx, err)
}
