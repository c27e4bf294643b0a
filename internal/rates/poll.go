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

// maxRetryDelay bounds the pause after a failed request.
const maxRetryDelay = 5 * time.Minute

// dueInterval is the interval of requests to the reference while a new table is due.
const dueInterval = 15 * time.Minute

// maxFuture is the time by which the date of a reference table may be ahead of the clock.
const maxFuture = 24 * time.Hour

// feed is a source and its state.
type feed struct {
	source    Source
	interval  time.Duration
	reference bool

	attemptedAt  time.Time // time of the last request
	receivedAt   time.Time // time of the last answer
	err          error     // of the last request
	silent       bool      // the last request had no answer
	contradicted string    // pairs on which the other sources contradict it
}

// Jitter changes a wait by up to a fifth at random, so that servers do not send their requests at the
// same moment.
func Jitter(wait time.Duration) time.Duration {
	if wait <= 0 {
		return wait
	}
	return wait - wait/5 + rand.N(wait/5*2+1)
}

// Run polls each source in a separate loop until the context ends, and then returns nil.
func (t *Table) Run(ctx context.Context) error {
	var loops sync.WaitGroup
	for _, f := range t.feeds {
		loops.Go(func() { t.runFeed(ctx, f) })
	}
	loops.Wait()
	return nil
}

// Step polls every source once, all concurrently. The error names every fault; the table uses all
// valid tickers.
func (t *Table) Step(ctx context.Context) error {
	errs := make([]error, len(t.feeds))
	var group sync.WaitGroup
	for i, f := range t.feeds {
		group.Go(func() { errs[i] = t.poll(ctx, f) })
	}
	group.Wait()
	return errors.Join(errs...)
}

func (t *Table) runFeed(ctx context.Context, f *feed) {
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

// wait returns the pause until the next request to a source.
func (t *Table) wait(f *feed, err error) time.Duration {
	wait := f.interval
	if f.reference && t.referenceDue() {
		wait = min(wait, dueInterval)
	}
	if err != nil {
		wait = min(wait, maxRetryDelay)
	}
	wait = t.Jitter(wait)
	if busy := (*busyError)(nil); errors.As(err, &busy) {
		wait = max(wait, busy.pause)
	}
	return wait
}

// referenceDue reports whether a newer reference table should have been published.
func (t *Table) referenceDue() bool {
	t.mu.RLock()
	defer t.mu.RUnlock()
	var newest time.Time
	for _, q := range t.reference {
		if q.Time.After(newest) {
			newest = q.Time
		}
	}
	return !newest.IsZero() && missedTables(newest, t.Now()) > 0
}

// poll polls one source once.
func (t *Table) poll(ctx context.Context, f *feed) error {
	bounded, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	tickers, err := f.source.Fetch(bounded)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if f.reference {
		tickers, err = t.checkDates(tickers, err)
	}
	t.record(f, tickers, err)
	if err != nil {
		return fmt.Errorf("fetch %s: %w", f.source.Name(), err)
	}
	return nil
}

// checkDates returns an error for a table that is dated in the future.
func (t *Table) checkDates(tickers []Ticker, err error) ([]Ticker, error) {
	for _, ticker := range tickers {
		if ticker.Time.Sub(t.Now()) > maxFuture {
			return nil, errors.Join(err, fmt.Errorf("%w: a table of %s", ErrImplausible, ticker.Time.Format(time.DateOnly)))
		}
	}
	return tickers, err
}

// record stores an answer in the table and logs changes of the source's state. The caller must hold
// the lock.
func (t *Table) record(f *feed, tickers []Ticker, err error) {
	name, now := f.source.Name(), t.Now()
	first, wasSilent, wasContradicted := f.attemptedAt.IsZero(), f.silent, f.contradicted
	f.attemptedAt, f.err, f.silent = now, err, len(tickers) == 0
	log := t.Log.With("source", name)
	if coin := coinOf(f.source); coin != "" {
		log = log.With("only", coin)
	}
	t.dropFuture(now)
	switch {
	case f.silent:
		if first || !wasSilent {
			log.Warn("rate source does not answer", "error", faultText(err))
		}
		return
	case first || wasSilent:
		log.Info("rate source answers", "pairs", len(tickers))
	}
	f.receivedAt = now
	if f.reference {
		t.storeReference(name, tickers, now)
		return
	}
	f.contradicted = strings.Join(t.store(name, tickers, now), " ")
	switch {
	case f.contradicted == wasContradicted:
	case f.contradicted == "":
		log.Info("rate source agrees with the others")
	default:
		log.Warn("rate source contradicts the others", "pairs", f.contradicted)
	}
}
