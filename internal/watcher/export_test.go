package watcher

import (
	"context"
	"time"

	"chequer/internal/chain"
	"chequer/internal/invoice"
)

// Index exports index.
type Index struct{ *index }

// NewIndex is newIndex; before may be the zero value.
func NewIndex(before Index) Index { return Index{newIndex(before.index)} }

// Add is add.
func (x Index) Add(d Destination) { x.add(d) }

// Drop is dropExpired. It reports whether it checked the destinations.
func (x Index) Drop(scanned time.Time) bool {
	before := x.droppedAt
	x.dropExpired(scanned)
	return !x.droppedAt.Equal(before)
}

// Owner is owner.
func (x Index) Owner(script string) (invoice.Owner, bool) { return x.owner(script) }

// RefundOwners is refundOwners.
func (x Index) RefundOwners(script string) []invoice.Owner { return x.refundOwners(script) }

// RenewEvery sets the interval at which the lease is renewed during a step.
func (w *Watcher) RenewEvery(d time.Duration) { w.renewInterval = d }

// Settle records a snapshot, and the marks up to which destinations were loaded for it.
func (x Index) Settle(s chain.Snapshot, marks Marks) { x.applySnapshot(s); x.marks = marks }

// Unsettled reports whether recorded rises must be loaded.
func (x Index) Unsettled() bool { return x.unsettled }

// Load loads the state that an earlier index, or process, recorded.
func (x Index) Load(progress invoice.Progress, rises ...Rise) {
	x.resetAccounts(progress)
	for _, r := range rises {
		x.addRise(r)
	}
	x.unsettled = false
}

// StepAndReport carries out one iteration of Run.
func (w *Watcher) StepAndReport(ctx context.Context) {
	_, err := w.Step(ctx)
	w.report(ctx, err)
}
