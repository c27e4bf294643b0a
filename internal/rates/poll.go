package rates

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"time"
)

// retryAfter is how soon a source that failed is asked again at the latest.
const retryAfter = 5 * time.Minute

// dueEvery is how often the reference is asked while a newer table is due.
const dueEvery = 15 * time.Minute

// maxAhead is how far ahead of the clock a reference table may be dated.
const maxAhead = 24 * time.Hour

// feed is a source and how it does.
type feed struct {
	source    Source
	every     time.Duration
	reference bool

	tried   time.Time // the last time it was asked
	heard   time.Time // the last time it answered
	fault   error     // of the last time
	silent  bool      // it did not answer the last time
	doubted string    // pairs on which the others do not bear it out
}

// Jitter spreads a wait by a fifth either way, so that many servers do not ask
// at the same moment.
func Jitter(wait time.Duration) time.Duration {
	if wait <= 0 {
		return wait
	}
	return wait - wait/5 + rand.N(wait/5*2+1)
}

// Run asks each source in a loop of its own until the context ends, and returns
// nil then.
func (t *Table) Run(ctx context.Context) error {
	var loops sync.WaitGroup
	for _, f := range t.feeds {
		loops.Go(func() { t.follow(ctx, f) })
	}
	loops.Wait()
	return nil
}

// Step asks every source once, all at the same time. The error says what was
// wrong with which; the table has taken the rest.
func (t *Table) Step(ctx context.Context) error {
	faults := make([]error, len(t.feeds))
	var asking sync.WaitGroup
	for i, f := range t.feeds {
		asking.Go(func() { faults[i] = t.poll(ctx, f) })
	}
	asking.Wait()
	return errors.Join(faults...)
}

func (t *Table) follow(ctx context.Context, f *feed) {
	for {
		timer := time.NewTimer(t.wait(f, t.poll(ctx, f)))
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
	}
}

// wait is how long to leave a source alone after it answered or failed.
func (t *Table) wait(f *feed, err error) time.Duration {
	wait := f.every
	if f.reference && t.referenceDue() {
		wait = min(wait, dueEvery)
	}
	if err != nil {
		wait = min(wait, retryAfter)
	}
	wait = t.Jitter(wait)
	if busy := (*busyError)(nil); errors.As(err, &busy) {
		wait = max(wait, busy.pause)
	}
	return wait
}

// referenceDue reports whether a reference table newer than the newest one here should be
// published.
func (t *Table) referenceDue() bool {
	t.mu.RLock()
	defer t.mu.RUnlock()
	var newest time.Time
	for _, w := range t.reference {
		if w.Time.After(newest) {
			newest = w.Time
		}
	}
	return !newest.IsZero() && missedTables(newest, t.Now()) > 0
}

// poll asks one source once.
func (t *Table) poll(ctx context.Context, f *feed) error {
	asked, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	tickers, err := f.source.Fetch(asked)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if f.reference {
		tickers, err = t.dated(tickers, err)
	}
	t.take(f, tickers, err)
	if err != nil {
		return fmt.Errorf("ask %s: %w", f.source.Name(), err)
	}
	return nil
}

// dated refuses a table of the future.
func (t *Table) dated(tickers []Ticker, err error) ([]Ticker, error) {
	for _, ticker := range tickers {
		if ticker.Time.Sub(t.Now()) > maxAhead {
			return nil, errors.Join(err, fmt.Errorf("%w: a table of %s", ErrAbsurd, ticker.Time.Format(time.DateOnly)))
		}
	}
	return tickers, err
}

// take puts an answer into the table and logs what has changed with its source.
// The caller holds the lock.
func (t *Table) take(f *feed, tickers []Ticker, err error) {
	name, now := f.source.Name(), t.Now()
	first, wasSilent, wasDoubted := f.tried.IsZero(), f.silent, f.doubted
	f.tried, f.fault, f.silent = now, err, len(tickers) == 0
	t.forget(now)
	switch {
	case f.silent:
		if first || !wasSilent {
			t.Log.Warn("rate source is silent", "source", name, "error", brief(err))
		}
		return
	case first || wasSilent:
		t.Log.Info("rate source answers", "source", name, "pairs", len(tickers))
	}
	f.heard = now
	if f.reference {
		t.hearReference(name, tickers, now)
		return
	}
	f.doubted = strings.Join(t.hear(name, tickers, now), " ")
	switch {
	case f.doubted == wasDoubted:
	case f.doubted == "":
		t.Log.Info("rate source is borne out", "source", name)
	default:
		t.Log.Warn("rate source is doubted", "source", name, "pairs", f.doubted)
	}
}
