// Package calllimit runs the calls to the providers of payment requests within limits: for each provider, for each invoice,
// and for each payment request.
package calllimit

import (
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"sync"
	"time"
)

var (
	// ErrRunning means that a call for the invoice is running.
	ErrRunning = errors.New("a payment request is being made already")
	// ErrTooMany means that no other call is made for the invoice, now or at all.
	ErrTooMany = errors.New("too many payment requests were made for this invoice")
)

// Limiter runs calls within their limits. It is safe for concurrent use.
type Limiter struct {
	ctx   context.Context // of the calls; it ends with Close
	stop  context.CancelFunc
	group sync.WaitGroup // of the calls

	mu        sync.Mutex
	providers map[string]*providerState // by network
	invoices  map[string]*invoiceCalls  // by ID
	claimed   map[string]time.Time      // payment hashes, and when their requests were made
	cancelled map[string]time.Time      // payment hashes, and when their requests were cancelled
}

// providerState describes the calls to a provider for new invoices.
type providerState struct {
	running int
	wait    time.Duration // last wait after a failure; zero if the last call succeeded
	until   time.Time     // end of the wait
}

// invoiceCalls describes the calls for an invoice after its creation.
type invoiceCalls struct {
	at      []time.Time   // of the last hour
	running chan struct{} // closed when the running call ends; nil if none runs
}

const (
	// MaxRequests is the largest number of payment requests of an invoice.
	MaxRequests = 20
	// maxPerHour is the largest number of calls for an invoice in an hour, after its creation.
	maxPerHour = 10
	// maxAtOnce is the largest number of simultaneous calls to a provider for new invoices.
	maxAtOnce = 64
	// window is the time in which maxPerHour applies, and for which payment hashes are remembered.
	window = time.Hour
	// maxRemembered is the number of invoices, and of hashes, above which old ones are forgotten.
	maxRemembered = 10_000
	// minWait and maxWait bound the waits after the failures of a provider.
	minWait, maxWait = time.Second, time.Minute
	// jitter is the part of a wait by which it is shortened at random, so that servers that failed together do not call
	// together: a quarter.
	jitter = 4
)

// cancelWaits are the waits after the failures to cancel a request.
var cancelWaits = []time.Duration{2 * time.Second, 15 * time.Second, 2 * time.Minute}

// New returns a new Limiter.
func New() *Limiter {
	ctx, stop := context.WithCancel(context.Background())
	return &Limiter{
		ctx: ctx, stop: stop, providers: map[string]*providerState{}, invoices: map[string]*invoiceCalls{},
		claimed: map[string]time.Time{}, cancelled: map[string]time.Time{},
	}
}

// Close ends the calls and waits for them.
func (l *Limiter) Close() {
	l.stop()
	l.group.Wait()
}

// Go runs a call in the background. Its context ends with Close.
func (l *Limiter) Go(call func(ctx context.Context)) {
	l.group.Go(func() { call(l.ctx) })
}

// Start begins a call for a new invoice. It returns false if the provider failed just before, or has too many calls.
func (l *Limiter) Start(network string, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.providers[network]
	if p == nil {
		p = &providerState{}
		l.providers[network] = p
	}
	isWaiting := now.Before(p.until) && p.until.Sub(now) <= maxWait // otherwise the clock was set back
	if isWaiting || p.running >= maxAtOnce || l.ctx.Err() != nil {
		return false
	}
	p.running++
	return true
}

// End ends a call that Start began. failed is true if the provider did not answer, or refused the call.
func (l *Limiter) End(network string, now time.Time, failed bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.providers[network]
	p.running--
	switch {
	case !failed:
		p.wait, p.until = 0, time.Time{}
	case !now.Before(p.until): // one of several calls that failed together
		p.wait = min(max(2*p.wait, minWait), maxWait)
		p.until = now.Add(p.wait - rand.N(p.wait/jitter+1))
	}
}

// Reserve begins a call for an existing invoice whose payment requests were made at some times, by any process. The caller
// must end the call with done. The errors are ErrRunning and ErrTooMany.
func (l *Limiter) Reserve(invoiceID string, made []time.Time, now time.Time) (done func(), err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.invoices) >= maxRemembered {
		maps.DeleteFunc(l.invoices, func(_ string, i *invoiceCalls) bool {
			return i.running == nil && (len(i.at) == 0 || now.Sub(i.at[len(i.at)-1]) > window)
		})
	}
	i := l.invoices[invoiceID]
	if i == nil {
		i = &invoiceCalls{}
		l.invoices[invoiceID] = i
	}
	for len(i.at) > 0 && now.Sub(i.at[0]) > window {
		i.at = i.at[1:]
	}
	switch {
	case i.running != nil:
		return nil, ErrRunning
	case max(len(i.at), madeWithin(made, now)) >= maxPerHour || len(made) >= MaxRequests || l.ctx.Err() != nil:
		return nil, ErrTooMany
	}
	i.at = append(i.at, now)
	running := make(chan struct{})
	i.running = running
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		i.running = nil
		close(running)
	}, nil
}

// madeWithin counts the payment requests of the last window that were made after the creation of the invoice, which the
// first one belongs to.
func madeWithin(made []time.Time, now time.Time) (n int) {
	for i, at := range made {
		if i > 0 && now.Sub(at) <= window {
			n++
		}
	}
	return n
}

// Pending returns a channel that is closed when the running call for an invoice ends; nil if none runs.
func (l *Limiter) Pending(invoiceID string) <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if i := l.invoices[invoiceID]; i != nil {
		return i.running
	}
	return nil
}

// Claim reports whether a payment hash was not claimed before, and claims it.
func (l *Limiter) Claim(hash string, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return remember(l.claimed, hash, now)
}

// Cancel begins to cancel the request with a payment hash, unless that was begun before. It calls cancel again after a
// failure, after each of cancelWaits.
func (l *Limiter) Cancel(hash string, now time.Time, cancel func(ctx context.Context) error) {
	l.mu.Lock()
	begins := l.ctx.Err() == nil && remember(l.cancelled, hash, now)
	l.mu.Unlock()
	if !begins {
		return
	}
	l.Go(func(ctx context.Context) {
		for _, wait := range cancelWaits {
			if cancel(ctx) == nil {
				return
			}
			select {
			case <-time.After(wait):
			case <-ctx.Done():
				return
			}
		}
		_ = cancel(ctx)
	})
}

// remember adds a hash and reports whether it is new.
func remember(hashes map[string]time.Time, hash string, now time.Time) bool {
	if _, known := hashes[hash]; known {
		return false
	}
	if len(hashes) >= maxRemembered {
		maps.DeleteFunc(hashes, func(_ string, at time.Time) bool { return now.Sub(at) > window })
	}
	hashes[hash] = now
	return true
}
