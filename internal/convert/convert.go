// Package convert sells what paid an invoice for euro, on the merchant's own account
// at an exchange: once, whatever happens between us and the exchange.
//
// An order is written down before the exchange hears of it, under a name made of its
// invoice. While it is not known what became of it nothing else is sold; it is taken
// for lost only when the exchange cannot carry it out any more, lists it nowhere,
// twice, and has not less of the coin than before. What cannot be told so, a person
// decides.
package convert

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"golang.org/x/sync/errgroup"

	"chequer/internal/exchange"
)

const (
	// tick is how often it is looked for what is due.
	tick = time.Second
	// work is how long one conversion is worked at, claimed how long it is ours.
	work    = 60 * time.Second
	claimed = work + 30*time.Second
	// parallel is how many accounts are worked at side by side.
	parallel = 4

	// glance is when to look again at an order that the exchange has.
	glance = 5 * time.Second
	// again is when to look again for an order that was not there, and looks how often
	// it must not be there before it is lost.
	again = time.Minute
	looks = 2
	// stuck is how long after an order must be over it may still be said to be open.
	stuck = 10 * time.Minute
	// patience is how long something waits before a person is asked.
	patience = 7 * 24 * time.Hour
	// maxOrders is how many orders one conversion makes by itself.
	maxOrders = 20
	// shortest and longest bound the pause before the next try.
	shortest = 15 * time.Second
	longest  = 30 * time.Minute
)

// Config is what a Worker is made of.
type Config struct {
	Storage   Storage
	Invoices  Invoices
	Exchanges []exchange.Exchange
	Now       func() time.Time
	Log       *slog.Logger
}

// Worker sells what is due. Several on one storage, also in other processes, share
// the work.
type Worker struct {
	storage   Storage
	invoices  Invoices
	exchanges map[string]exchange.Exchange
	now       func() time.Time
	log       *slog.Logger
	fault     string // of the last look, told once
}

// New makes a Worker.
func New(c Config) *Worker {
	w := &Worker{storage: c.Storage, invoices: c.Invoices, exchanges: map[string]exchange.Exchange{}, now: c.Now, log: c.Log}
	for _, x := range c.Exchanges {
		w.exchanges[x.Name()] = x
	}
	return w
}

// Run sells until the context ends, and returns nil then.
func (w *Worker) Run(ctx context.Context) error {
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for {
		done, err := w.Step(ctx)
		w.note(ctx, err)
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

// Step works at what is due, one conversion for each account, and tells how many
// those were.
func (w *Worker) Step(ctx context.Context) (done int, err error) {
	var group errgroup.Group
	for done < parallel && ctx.Err() == nil {
		now := w.now()
		claim, err := w.storage.ClaimConversion(ctx, now, now.Add(claimed))
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

// note logs an error of a step once, as long as it stays the same.
func (w *Worker) note(ctx context.Context, err error) {
	text := ""
	if err != nil {
		text = err.Error()
	}
	if text != "" && text != w.fault && ctx.Err() == nil {
		w.log.Error("selling failed", "error", err)
	}
	w.fault = text
}

// handle works at a claimed conversion.
func (w *Worker) handle(ctx context.Context, c Claim) error {
	bounded, cancel := context.WithTimeout(ctx, work)
	defer cancel()
	err := w.advance(bounded, c)
	// Without it the claim runs out by itself.
	if released := w.storage.ReleaseConversion(ctx, c); err == nil && ctx.Err() == nil {
		err = released
	}
	if errors.Is(err, errLost) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("sell %s of invoice %s: %w", c.Coin, c.InvoiceID, err)
	}
	return nil
}
