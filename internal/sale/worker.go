// Package sale sells the coins that paid an invoice for euro, on the merchant's own account at an
// exchange. It sells them exactly once, even after faults between Chequer and the exchange.
//
// An order is stored before it is sent to the exchange, under a name derived from its invoice.
// While the outcome of an order is unknown, nothing else is sold. An order counts as lost only when
// three conditions hold: the exchange can no longer execute it, two searches have not found it, and
// the account does not hold less of the coin than before. In other doubtful cases the operator
// decides.
package sale

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"golang.org/x/sync/errgroup"

	"chequer/internal/exchange"
	"chequer/internal/invoice"
	"chequer/internal/logonce"
)

const (
	// pollInterval is the interval at which storage is checked for due sales.
	pollInterval = time.Second
	// workTimeout bounds the time of work on one sale; claimTTL is the duration of its claim.
	workTimeout = 60 * time.Second
	claimTTL    = workTimeout + 30*time.Second
	// maxConcurrent is the number of accounts that are processed concurrently.
	maxConcurrent = 4

	// recheckDelay is the time until the next check of an order that the exchange has accepted.
	recheckDelay = 5 * time.Second
	// searchDelay is the time until the next search for an order that was not found. After
	// requiredSearches unsuccessful searches the order counts as lost.
	searchDelay      = time.Minute
	requiredSearches = 2
	// maxOpenTime is the time after its end during which an order may still be reported as open.
	maxOpenTime = 10 * time.Minute
	// maxWait is the time that a sale waits before the operator must decide.
	maxWait = 7 * 24 * time.Hour
	// maxOrders bounds the number of orders that one sale makes automatically.
	maxOrders = 20
	// minPause and maxPause bound the pause before the next attempt.
	minPause = 15 * time.Second
	maxPause = 30 * time.Minute
)

// Config holds the dependencies of a Worker.
type Config struct {
	Storage   Storage
	Invoices  Invoices
	Exchanges []exchange.Exchange
	Now       func() time.Time
	Log       *slog.Logger
}

// Worker sells due sales. Several workers with one storage, also in other processes, share
// the work.
type Worker struct {
	storage   Storage
	invoices  Invoices
	exchanges map[string]exchange.Exchange
	now       func() time.Time
	log       *slog.Logger
	failure   logonce.Failure // of steps
}

// New returns a new Worker.
func New(c Config) *Worker {
	w := &Worker{storage: c.Storage, invoices: c.Invoices, exchanges: map[string]exchange.Exchange{}, now: c.Now, log: c.Log}
	for _, x := range c.Exchanges {
		w.exchanges[x.Name()] = x
	}
	return w
}

// Run sells until the context ends, and then returns nil.
func (w *Worker) Run(ctx context.Context) error {
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for {
		done, err := w.Step(ctx)
		if w.failure.IsNew(ctx, err) {
			w.log.Error("selling failed", "error", err)
		}
		if done > 0 && err == nil {
			continue // more may be due
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// Step processes due sales, one per account, and returns their number.
func (w *Worker) Step(ctx context.Context) (done int, err error) {
	var group errgroup.Group
	for done < maxConcurrent && ctx.Err() == nil {
		now := w.now()
		claim, err := w.storage.ClaimSale(ctx, now, now.Add(claimTTL))
		if errors.Is(err, ErrNothing) {
			break
		}
		if err != nil {
			return done, errors.Join(err, group.Wait())
		}
		done++
		group.Go(func() error { return w.handle(ctx, claim) })
	}
	return done, group.Wait()
}

// handle processes a claimed sale.
func (w *Worker) handle(ctx context.Context, c Claim) error {
	bounded, cancel := context.WithTimeout(ctx, workTimeout)
	defer cancel()
	_, err := invoice.SkipUnreadable(ctx, w.storage, w.advance(bounded, c), w.now())
	// If the release fails, the claim expires after claimTTL.
	if released := w.storage.ReleaseSale(ctx, c); err == nil && ctx.Err() == nil {
		err = released
	}
	if errors.Is(err, errClaimLost) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("sell %s of invoice %s: %w", c.Coin, c.InvoiceID, err)
	}
	return nil
}
