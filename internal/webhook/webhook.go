// Package webhook sends events to the endpoints of merchants, each until it was
// taken or three days are over.
package webhook

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"chequer/internal/merchant"
)

const (
	// claimed is how long a delivery is ours: longer than a try takes.
	claimed = patience + 5*time.Second
	// tick is how often it is looked for what is due.
	tick = 200 * time.Millisecond
	// grace is how long tries and statements under way may go on when the program
	// ends. Tries that do not end by then are made again when their claims run out.
	grace = 2 * time.Second
	// keptFor is how long events are kept; forgetEvery is how often old ones are
	// looked for. At most forgetBatch of a merchant go between two looks for what is
	// due.
	keptFor     = 30 * 24 * time.Hour
	forgetEvery = time.Minute
	forgetBatch = 500
)

// Config is what a Worker is made of.
type Config struct {
	Storage Storage
	Dialer  Dialer
	// TLS is nil but in tests: the system's certificates count.
	TLS *tls.Config
	Now func() time.Time
	Log *slog.Logger
}

// Worker sends what is due. Several on one storage, also in other processes, share
// the work.
type Worker struct {
	storage  Storage
	sender   sender
	lanes    *lanes
	now      func() time.Time
	log      *slog.Logger
	wake     chan struct{} // something may be due
	tries    sync.WaitGroup
	fault    string    // of the last look, told once
	forgotAt time.Time // when there were no more old events
}

// New makes a Worker.
func New(c Config) *Worker {
	return &Worker{
		storage: c.Storage, sender: sender{dialer: c.Dialer, now: c.Now, tls: c.TLS}, now: c.Now, log: c.Log,
		wake: make(chan struct{}, 1), lanes: newLanes(c.Now),
	}
}

// Run sends until the context ends, and returns nil then.
func (w *Worker) Run(ctx context.Context) error {
	work, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	context.AfterFunc(ctx, func() { time.AfterFunc(grace, stop) })
	defer w.tries.Wait()
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for {
		if ctx.Err() != nil {
			return nil
		}
		if err := w.Step(work); work.Err() == nil {
			w.note(err)
		}
		w.forget(ctx)
		select {
		case <-ctx.Done():
		case <-w.wake:
		case <-ticker.C:
		}
	}
}

// Step claims what is due, as far as there is room, and begins to send it. Wait
// returns when that is done.
func (w *Worker) Step(ctx context.Context) error {
	endpoints, fault := w.storage.DueEndpoints(ctx, w.now())
	var group errgroup.Group
	for _, e := range endpoints {
		room := w.lanes.take(e.ID)
		if room == 0 {
			continue
		}
		group.Go(func() error { return w.begin(ctx, e, room) })
	}
	return errors.Join(fault, group.Wait())
}

// Wait returns when no try is under way.
func (w *Worker) Wait() { w.tries.Wait() }

// begin claims up to so many deliveries of an endpoint, for which places were
// taken, and sends each.
func (w *Worker) begin(ctx context.Context, e merchant.Endpoint, room int) error {
	now := w.now()
	claims, err := w.storage.ClaimDeliveries(ctx, e.ID, now, now.Add(-strict), now.Add(claimed), room)
	w.lanes.giveBack(e.ID, room-len(claims))
	for _, c := range claims {
		w.tries.Go(func() {
			w.try(ctx, e, c)
			w.lanes.giveBack(e.ID, 1)
			w.look() // more may be due
		})
	}
	return err
}

// try sends a claimed delivery once and saves what came of it.
func (w *Worker) try(ctx context.Context, e merchant.Endpoint, c Claim) {
	t, retryAfter := w.sender.send(ctx, e, c.EventID, c.Body)
	if ctx.Err() != nil {
		return // the program ends; the claim runs out by itself
	}
	w.lanes.judge(e.ID, t, retryAfter)
	o := outcome(c, t, w.now(), retryAfter)
	if err := w.storage.SaveTry(ctx, c, t, o); err != nil {
		w.log.Error("try of a delivery not saved, so it is made again", "endpoint", e.ID, "event", c.EventID, "error", err)
		return
	}
	attributes := []any{"endpoint", e.ID, "event", c.EventID, "type", c.EventType, "invoice", c.InvoiceID, "tries", c.Tries + 1, "status", t.Status}
	switch {
	case c.EventType == merchant.EventTest: // who sent it looks himself
	case o.State == merchant.DeliveryDone:
		w.log.Debug("event delivered", attributes...)
	case o.State == merchant.DeliveryFailed:
		w.log.Error("delivery of an event given up: chequer endpoint resend sends it again", append(attributes, "fault", t.Fault)...)
	case c.Tries == 0:
		w.log.Warn("event not delivered yet", append(attributes, "fault", t.Fault, "next_try_at", o.NextTryAt)...)
	}
}

// outcome is what follows from a try: 2xx is the end, and 410 as well; everything
// else is tried again. A test is made once.
func outcome(c Claim, t merchant.Try, now time.Time, retryAfter time.Duration) Outcome {
	switch {
	case t.Done():
		return Outcome{State: merchant.DeliveryDone}
	case t.Status == http.StatusGone || c.EventType == merchant.EventTest:
		return Outcome{State: merchant.DeliveryFailed}
	}
	first := c.FirstTryAt
	if first.IsZero() {
		first = t.At
	}
	next := nextTry(first, now, retryAfter)
	if next.IsZero() {
		return Outcome{State: merchant.DeliveryFailed}
	}
	return Outcome{State: merchant.DeliveryPending, NextTryAt: next}
}

// look has Run look at once for what is due.
func (w *Worker) look() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// note logs an error of a look once, as long as it stays the same.
func (w *Worker) note(err error) {
	text := ""
	if err != nil {
		text = err.Error()
	}
	if text != "" && text != w.fault {
		w.log.Error("webhooks failed", "error", err)
	}
	w.fault = text
}

// forget deletes events that are too old, now and then, and never many at a time.
func (w *Worker) forget(ctx context.Context) {
	now := w.now()
	if now.Sub(w.forgotAt).Abs() < forgetEvery {
		return
	}
	n, err := w.storage.ForgetEvents(ctx, now.Add(-keptFor), forgetBatch)
	if err != nil && ctx.Err() == nil {
		w.log.Warn("old events are kept for now", "error", err)
	}
	if n < forgetBatch || err != nil {
		w.forgotAt = now
	}
}
