// Package watcher scans the networks: one loop for each network, in one process at a time, from the
// cursor on.
package watcher

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"chequer/internal/chain"
	"chequer/internal/invoice"
)

// Observer records the results of a scan.
type Observer interface {
	Observe(ctx context.Context, lease invoice.Lease, snapshot chain.Snapshot, reached invoice.Progress, owners invoice.Owners) error
	// ObserveRefunds records the payments of refunds.
	ObserveRefunds(ctx context.Context, lease invoice.Lease, snapshot invoice.RefundSnapshot, owners invoice.RefundOwners) error
}

// Config holds the dependencies of a Watcher.
type Config struct {
	Network  chain.Scanner
	Storage  Storage
	Observer Observer
	Holder   string // identifies this process among those that share a database
	// Every is the interval of scans when nothing wakes the watcher.
	Every time.Duration
	Now   func() time.Time
	Log   *slog.Logger
	// Scanned is called with each recorded scan and its duration. It may be nil.
	Scanned func(chain.Snapshot, time.Duration)
}

// leaseTTL is the time that a lease lasts without a renewal.
const leaseTTL = 10 * time.Second

// releaseTimeout bounds the time for releasing the lease when a watcher ends.
const releaseTimeout = 2 * time.Second

// Watcher scans one network.
type Watcher struct {
	Config
	index         *index
	epoch         int64
	renewInterval time.Duration // interval at which the lease is renewed during a step
	failingSince  time.Time     // start of the current failure of scans; zero if there is none
	pausedUntil   time.Time     // end of the pause in which another process may take the lease
	failureLogged bool          // the current failure of scans was logged
	scanned       bool          // the last step scanned without an error
	coins         coinReading
}

// coinReading describes the last reading of the transactions of refunds.
type coinReading struct {
	stated []chain.SentCoin
	tip    string // hash
	at     time.Time
}

// New returns a new Watcher.
func New(c Config) *Watcher {
	return &Watcher{Config: c, index: newIndex(nil), renewInterval: leaseTTL / 3}
}

// Run scans until the context ends, then releases the lease and returns nil.
func (w *Watcher) Run(ctx context.Context) error {
	defer w.release(ctx)
	tick := time.NewTicker(w.Every)
	defer tick.Stop()
	var wake <-chan struct{}
	if waker, ok := w.Network.(chain.Waker); ok {
		wake = waker.Wake()
	}
	for {
		behind, err := w.Step(ctx)
		w.report(ctx, err)
		if behind && ctx.Err() == nil {
			continue
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		case <-wake:
		}
	}
}

// Step scans once, records the results and saves the cursor. behind is true if the scan stopped below
// the tip. Step does nothing while another process has the lease.
func (w *Watcher) Step(ctx context.Context) (behind bool, err error) {
	network := w.Network.ID()
	w.scanned = false
	if remaining := w.pausedUntil.Sub(w.Now()); remaining > 0 && remaining <= yieldTime { // otherwise the clock was set back
		return false, nil
	}
	epoch, err := w.acquireLease(ctx)
	if errors.Is(err, invoice.ErrFenced) {
		if w.epoch != 0 {
			w.index, w.epoch = newIndex(w.index), 0 // the new holder records what this index would miss
		}
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("watch %s: lease: %w", network, err)
	}
	if epoch != w.epoch {
		if !w.failureLogged { // while scans fail, the lease is released and taken repeatedly
			w.Log.Info("watching network", "network", network, "epoch", epoch)
		}
		w.index, w.epoch = newIndex(w.index), epoch
	}
	leaseCtx, done := w.keepLease(ctx)
	defer done()
	behind, err = w.scan(leaseCtx, epoch)
	w.scanned = err == nil
	if w.shouldYield(ctx, err) {
		done()
		w.release(ctx)
		w.index, w.epoch = newIndex(w.index), 0
	}
	if err != nil && errors.Is(context.Cause(leaseCtx), invoice.ErrFenced) {
		return false, fmt.Errorf("watch %s: %w", network, invoice.ErrFenced)
	}
	return behind, err
}

// yieldAfter is the time that scans may fail before the lease is released for yieldTime, so that another
// process can take it.
const yieldAfter, yieldTime = 20 * time.Second, 5 * time.Second

// reportAfter is the time that scans may fail before the failure is logged, because a source may be slow
// to start.
const reportAfter = 10 * time.Second

// shouldYield reports whether the lease should be released because scans fail.
func (w *Watcher) shouldYield(ctx context.Context, err error) bool {
	now := w.Now()
	if err == nil || ctx.Err() != nil {
		w.failingSince = time.Time{}
		return false
	}
	if w.failingSince.IsZero() || now.Before(w.failingSince) {
		w.failingSince = now
	}
	if now.Sub(w.failingSince) < yieldAfter {
		return false
	}
	w.failingSince, w.pausedUntil = time.Time{}, now.Add(yieldTime)
	return true
}

// scan scans the network, records the results and saves the cursor, under the lease.
func (w *Watcher) scan(ctx context.Context, epoch int64) (behind bool, err error) {
	network := w.Network.ID()
	progress, err := w.Storage.Progress(ctx)
	if err != nil {
		return false, fmt.Errorf("watch %s: progress: %w", network, err)
	}
	before := progress[network]
	if err := w.load(ctx, before); err != nil {
		return false, fmt.Errorf("watch %s: %w", network, err)
	}
	start := time.Now()
	snapshot, err := w.scanFrom(ctx, before.Cursor)
	if err != nil {
		return false, fmt.Errorf("watch %s: %w", network, err)
	}
	lease := invoice.Lease{Network: network, Epoch: epoch, Sequence: before.Sequence + 1}
	reached := before.After(snapshot, lease.Sequence)
	if snapshot.Read.Hash != "" {
		reached.Read, reached.Loaded = snapshot.Read, w.index.marks
	}
	w.index.unsettled = true // until everything is recorded
	if err := w.Observer.Observe(ctx, lease, snapshot, reached, w.index.owner); err != nil {
		return false, err
	}
	if len(w.index.refunds) > 0 {
		if err := w.Observer.ObserveRefunds(ctx, lease, w.readCoins(ctx, snapshot, before), w.index.refundOwners); err != nil {
			return false, err
		}
	}
	if err := w.Storage.SaveProgress(ctx, lease, reached); err != nil {
		return false, fmt.Errorf("watch %s: save cursor: %w", network, err)
	}
	w.index.applySnapshot(snapshot)
	if reached.Scanned.Before(before.Scanned) { // the clock was set back, so that dropped destinations may be watched again
		w.index = newIndex(w.index)
	}
	w.index.dropExpired(reached.Scanned)
	if w.Scanned != nil {
		w.Scanned(snapshot, time.Since(start))
	}
	return snapshot.Behind, nil
}

// coinInterval is the shortest time between two readings of the same transactions of refunds.
const coinInterval = 15 * time.Second

// readCoins adds to a snapshot the transfers of the native coin by the transactions that merchants stated for refunds. It reads them at
// most once per coinInterval and tip, unless another transaction was stated.
func (w *Watcher) readCoins(ctx context.Context, s chain.Snapshot, before invoice.Progress) invoice.RefundSnapshot {
	refunds := invoice.RefundSnapshot{Snapshot: s}
	reader, readable := w.Network.(chain.CoinReader)
	i := slices.IndexFunc(w.Network.Assets(), func(a chain.Asset) bool { return a.Policy.Balance })
	if !readable || i < 0 {
		return refunds
	}
	stated, err := w.Storage.StatedRefunds(ctx, w.Network.ID(), w.Network.Assets()[i].Code, before.Scanned)
	isRead := slices.Equal(stated, w.coins.stated) && (s.Tip.Hash == w.coins.tip || w.Now().Sub(w.coins.at) < coinInterval)
	if err == nil && len(stated) > 0 && !isRead {
		w.coins = coinReading{stated, s.Tip.Hash, w.Now()}
		refunds.Coins, err = reader.CoinTransfers(ctx, stated)
	}
	if err != nil {
		w.Log.Debug("transactions of refunds not read", "network", w.Network.ID(), "error", err)
	}
	return refunds
}

// scanFrom scans from a cursor. If the snapshot begins below the cursor, it covers recorded transfers
// that are not in the index, so scanFrom loads them and scans again.
func (w *Watcher) scanFrom(ctx context.Context, from chain.Cursor) (chain.Snapshot, error) {
	for above := from.Height; ; {
		recorded, err := w.Storage.TransfersAbove(ctx, w.Network.ID(), above)
		if err != nil {
			return chain.Snapshot{}, fmt.Errorf("load transfers: %w", err)
		}
		w.index.aboveCursor = recorded
		snapshot, err := w.Network.Scan(ctx, from, w.index)
		if err != nil {
			return chain.Snapshot{}, err
		}
		if snapshot.From.Height >= above || from.IsZero() {
			return snapshot, snapshot.CheckRecorded(w.index)
		}
		above = snapshot.From.Height
	}
}

// acquireLease takes or renews the lease.
func (w *Watcher) acquireLease(ctx context.Context) (epoch int64, err error) {
	return w.Storage.AcquireLease(ctx, w.Network.ID(), w.Holder, w.Now(), leaseTTL)
}

// keepLease renews the lease during a long step, and ends the step's context if another process
// takes the lease. The caller must call done.
func (w *Watcher) keepLease(ctx context.Context) (step context.Context, done func()) {
	step, cancel := context.WithCancelCause(ctx)
	epoch := w.epoch
	var group sync.WaitGroup
	group.Go(func() {
		tick := time.NewTicker(w.renewInterval)
		defer tick.Stop()
		for {
			select {
			case <-step.Done():
				return
			case <-tick.C:
			}
			if current, err := w.acquireLease(step); errors.Is(err, invoice.ErrFenced) || err == nil && current != epoch {
				cancel(invoice.ErrFenced)
			}
		}
	})
	return step, func() {
		cancel(nil)
		group.Wait()
	}
}

// load adds the destinations and transfers that were committed since the last scan to the index.
func (w *Watcher) load(ctx context.Context, before invoice.Progress) error {
	marks, err := w.Storage.Destinations(ctx, w.Network.ID(), w.index.marks, before.Scanned, w.index.add)
	if err != nil {
		return fmt.Errorf("load destinations: %w", err)
	}
	w.index.marks = marks
	if w.index.unsettled {
		if err := w.loadRises(ctx, before); err != nil {
			return err
		}
	}
	recorded, err := w.Storage.RecordedTransfers(ctx, w.Network.ID(), before.Cursor.Height)
	if err != nil {
		return fmt.Errorf("load transfers: %w", err)
	}
	w.index.watchSpends(recorded)
	return nil
}

// loadRises loads the recorded balances into the index.
func (w *Watcher) loadRises(ctx context.Context, before invoice.Progress) error {
	w.index.resetAccounts(before)
	if err := w.Storage.Rises(ctx, w.Network.ID(), before.Scanned, w.index.addRise); err != nil {
		return fmt.Errorf("load balances: %w", err)
	}
	w.index.unsettled = false
	return nil
}

// release releases the lease, so that another process can take it immediately.
func (w *Watcher) release(ctx context.Context) {
	if w.epoch == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	if err := w.Storage.ReleaseLease(ctx, w.Network.ID(), w.epoch); err != nil {
		w.Log.Warn("lease not released", "network", w.Network.ID(), "error", err)
	}
}

// report logs when scans begin to fail and when they succeed again.
func (w *Watcher) report(ctx context.Context, err error) {
	switch {
	case ctx.Err() != nil:
	case err != nil && !errors.Is(err, invoice.ErrFenced):
		if !w.failureLogged && w.Now().Sub(w.failingSince) >= reportAfter {
			w.Log.Error("scan failed", "network", w.Network.ID(), "error", err)
			w.failureLogged = true
		}
	case w.failureLogged && w.scanned:
		w.Log.Info("scan succeeded again", "network", w.Network.ID())
		w.failureLogged = false
	}
}
