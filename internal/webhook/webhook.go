// Package webhook sends events to the endpoints of merchants. It retries each delivery until the
// endpoint accepts it, for at most three days.
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

	"chequer/internal/guard"
	"chequer/internal/logonce"
	"chequer/internal/merchant"
)

const (
	// claimTTL is the duration of a claim, which is longer than an attempt.
	claimTTL = attemptTimeout + 5*time.Second
	// pollInterval is the interval at which storage is checked for due deliveries.
	pollInterval = 200 * time.Millisecond
	// shutdownTimeout is the time that running attempts and statements may take when the program stops.
	// Unfinished attempts are repeated when their claims expire.
	shutdownTimeout = 2 * time.Second
	// eventTTL is the time that events are stored. deleteInterval is the interval at which old events are
	// deleted, and deleteBatch the maximum number per merchant in one deletion.
	eventTTL       = 30 * 24 * time.Hour
	deleteInterval = time.Minute
	deleteBatch    = 500
)

// Config holds the dependencies of a Worker.
type Config struct {
	Storage Storage
	Dialer  guard.Connector
	// Complete returns the body of an attempt at the delivery of a message to a shop plug-in.
	Complete func(ctx context.Context, e merchant.Endpoint, d merchant.Delivery, stored []byte) ([]byte, error)
	// TLS is set only in tests; nil uses the system's certificates.
	TLS *tls.Config
	Now func() time.Time
	Log *slog.Logger
}

// Worker sends due deliveries. Several workers with one storage, also in other processes, share the
// work.
type Worker struct {
	storage   Storage
	sender    sender
	complete  func(ctx context.Context, e merchant.Endpoint, d merchant.Delivery, stored []byte) ([]byte, error)
	limiter   *endpointLimiter
	now       func() time.Time
	log       *slog.Logger
	wake      chan struct{} // signals that deliveries may be due
	attempts  sync.WaitGroup
	failure   logonce.Failure // of steps
	deletedAt time.Time       // time of the last complete deletion of old events
}

// New returns a new Worker.
func New(c Config) *Worker {
	return &Worker{
		storage: c.Storage, sender: sender{dialer: c.Dialer, now: c.Now, tls: c.TLS}, now: c.Now, log: c.Log,
		complete: c.Complete, wake: make(chan struct{}, 1), limiter: newEndpointLimiter(c.Now),
	}
}

// Run sends deliveries until the context ends, and then returns nil.
func (w *Worker) Run(ctx context.Context) error {
	work, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	context.AfterFunc(ctx, func() { time.AfterFunc(shutdownTimeout, stop) })
	defer w.attempts.Wait()
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for {
		if ctx.Err() != nil {
			return nil
		}
		if err := w.Step(work); w.failure.IsNew(work, err) {
			w.log.Error("webhooks failed", "error", err)
		}
		w.deleteOldEvents(ctx)
		select {
		case <-ctx.Done():
		case <-w.wake:
		case <-ticker.C:
		}
	}
}

// Step claims due deliveries, within the limits of endpointLimiter, and starts to send them. Wait
// waits until they are sent.
func (w *Worker) Step(ctx context.Context) error {
	endpoints, err := w.storage.DueEndpoints(ctx, w.now())
	var group errgroup.Group
	for _, e := range endpoints {
		room := w.limiter.acquire(e.ID)
		if room == 0 {
			continue
		}
		group.Go(func() error { return w.startAttempts(ctx, e, room) })
	}
	return errors.Join(err, group.Wait())
}

// Wait waits until no attempt is running.
func (w *Worker) Wait() { w.attempts.Wait() }

// startAttempts claims at most limit deliveries of an endpoint and sends each. The caller has reserved limit attempts in
// the limiter; those without a delivery are released.
func (w *Worker) startAttempts(ctx context.Context, e merchant.Endpoint, limit int) error {
	now := w.now()
	claims, err := w.storage.ClaimDeliveries(ctx, e.ID, now, now.Add(-OrderingTime), now.Add(claimTTL), limit)
	w.limiter.release(e.ID, limit-len(claims))
	for _, c := range claims {
		w.attempts.Go(func() {
			w.attempt(ctx, e, c)
			w.limiter.release(e.ID, 1)
			w.wakeUp() // more may be due
		})
	}
	return err
}

// attempt sends a claimed delivery once and stores the result.
func (w *Worker) attempt(ctx context.Context, e merchant.Endpoint, c Claim) {
	body := c.Body
	if e.Plugin {
		var err error
		if body, err = w.complete(ctx, e, c.delivery(), c.Body); err != nil {
			w.log.Error("message to a plug-in not completed, will be repeated", "endpoint", e.ID, "event", c.EventID, "error", err)
			return
		}
	}
	t, retryAfter := w.sender.send(ctx, e, c.EventID, body)
	if ctx.Err() != nil {
		return // the program is stopping; the claim expires
	}
	w.limiter.record(e.ID, t, retryAfter)
	o := outcome(c, t, w.now(), retryAfter)
	if err := w.storage.SaveAttempt(ctx, c, t, o); err != nil {
		w.log.Error("delivery attempt not stored, will be repeated", "endpoint", e.ID, "event", c.EventID, "error", err)
		return
	}
	attributes := []any{"endpoint", e.ID, "event", c.EventID, "type", c.EventType, "invoice", c.InvoiceID, "attempts", c.Attempts + 1, "status", t.Status}
	switch {
	case c.EventType == merchant.EventTest: // the caller that sends a test event shows the result
	case o.State == merchant.DeliveryDone:
		w.log.Debug("event delivered", attributes...)
	case o.State == merchant.DeliveryFailed:
		w.log.Error("delivery of an event given up: chequer endpoint resend sends it again", append(attributes, "fault", t.Fault)...)
	case c.Attempts == 0:
		w.log.Warn("event not delivered yet", append(attributes, "fault", t.Fault, "next_try_at", o.NextAttemptAt)...)
	}
}

// outcome returns the state of a delivery after an attempt. A status of 2xx completes it; 410 and the end of the retry
// schedule fail it; all other results are retried. A test event is sent only once.
func outcome(c Claim, t merchant.Attempt, now time.Time, retryAfter time.Duration) Outcome {
	switch {
	case t.Accepted():
		return Outcome{State: merchant.DeliveryDone}
	case t.Status == http.StatusGone || c.EventType == merchant.EventTest:
		return Outcome{State: merchant.DeliveryFailed}
	}
	first := c.FirstAttemptAt
	if first.IsZero() {
		first = t.At
	}
	next := nextAttempt(first, now, retryAfter)
	if next.IsZero() {
		return Outcome{State: merchant.DeliveryFailed}
	}
	return Outcome{State: merchant.DeliveryPending, NextAttemptAt: next}
}

// wakeUp wakes Run.
func (w *Worker) wakeUp() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// deleteOldEvents deletes old events at intervals, in batches.
func (w *Worker) deleteOldEvents(ctx context.Context) {
	now := w.now()
	if now.Sub(w.deletedAt).Abs() < deleteInterval {
		return
	}
	n, err := w.storage.DeleteEvents(ctx, now.Add(-eventTTL), deleteBatch)
	if err != nil && ctx.Err() == nil {
		w.log.Warn("old events not deleted", "error", err)
	}
	if n < deleteBatch || err != nil {
		w.deletedAt = now
	}
}
