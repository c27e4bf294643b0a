package invoice

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"

	"chequer/internal/chain"
)

// asks keeps the calls to providers within their limits. It is safe for concurrent use.
type asks struct {
	ctx   context.Context // of the calls; it ends with close
	stop  context.CancelFunc
	group sync.WaitGroup // of the calls

	mu        sync.Mutex
	providers map[chain.ID]*providerState
	invoices  map[string]*invoiceAsks // by ID
	claimed   map[string]time.Time    // payment hashes, and when their requests were made
	cancelled map[string]time.Time    // payment hashes, and when their requests were cancelled
}

// providerState describes the calls to a provider for new invoices.
type providerState struct {
	running int
	wait    time.Duration // last wait after a failure; zero if the last call succeeded
	until   time.Time     // end of the wait
}

// invoiceAsks describes the calls for an invoice after its creation.
type invoiceAsks struct {
	at      []time.Time   // of the last hour
	running chan struct{} // closed when the running call ends; nil if none runs
}

const (
	// askWindow is the time in which maxAsksPerHour applies, and for which payment hashes are remembered.
	askWindow = time.Hour
	// maxRemembered is the number of invoices, and of hashes, above which old ones are forgotten.
	maxRemembered = 10_000
	// minAskWait and maxAskWait bound the waits after the failures of a provider.
	minAskWait, maxAskWait = time.Second, time.Minute
)

func newAsks() *asks {
	ctx, stop := context.WithCancel(context.Background())
	return &asks{
		ctx: ctx, stop: stop, providers: map[chain.ID]*providerState{}, invoices: map[string]*invoiceAsks{},
		claimed: map[string]time.Time{}, cancelled: map[string]time.Time{},
	}
}

// close ends the calls and waits for them.
func (a *asks) close() {
	a.stop()
	a.group.Wait()
}

// start begins a call for a new invoice. It returns false if the provider failed just before, or has too many calls.
func (a *asks) start(network chain.ID, now time.Time) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	p := a.providers[network]
	if p == nil {
		p = &providerState{}
		a.providers[network] = p
	}
	isWaiting := now.Before(p.until) && p.until.Sub(now) <= maxAskWait // otherwise the clock was set back
	if isWaiting || p.running >= maxAsksAtOnce || a.ctx.Err() != nil {
		return false
	}
	p.running++
	return true
}

// end ends a call that start began.
func (a *asks) end(network chain.ID, now time.Time, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	p := a.providers[network]
	p.running--
	switch {
	case err == nil || errors.Is(err, chain.ErrAmount):
		p.wait, p.until = 0, time.Time{}
	case !now.Before(p.until): // one of several calls that failed together
		p.wait = min(max(2*p.wait, minAskWait), maxAskWait)
		p.until = now.Add(p.wait)
	}
}

// reserve begins a call for an existing invoice, which the caller must end with done.
// The errors are ErrAsking and ErrTooManyRequests.
func (a *asks) reserve(inv *Invoice, now time.Time) (done func(), err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.invoices) >= maxRemembered {
		maps.DeleteFunc(a.invoices, func(_ string, i *invoiceAsks) bool {
			return i.running == nil && (len(i.at) == 0 || now.Sub(i.at[len(i.at)-1]) > askWindow)
		})
	}
	i := a.invoices[inv.ID]
	if i == nil {
		i = &invoiceAsks{}
		a.invoices[inv.ID] = i
	}
	for len(i.at) > 0 && now.Sub(i.at[0]) > askWindow {
		i.at = i.at[1:]
	}
	switch {
	case i.running != nil:
		return nil, ErrAsking
	case len(i.at) >= maxAsksPerHour || len(inv.PaymentRequests()) >= maxRequests || a.ctx.Err() != nil:
		return nil, ErrTooManyRequests
	}
	i.at = append(i.at, now)
	running := make(chan struct{})
	i.running = running
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		i.running = nil
		close(running)
	}, nil
}

// pending returns a channel that is closed when the running call for an invoice ends; nil if none runs.
func (a *asks) pending(invoiceID string) <-chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	if i := a.invoices[invoiceID]; i != nil {
		return i.running
	}
	return nil
}

// claim reports whether a payment hash was not claimed before, and claims it.
func (a *asks) claim(hash string, now time.Time) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return remember(a.claimed, hash, now)
}

// cancel reports whether the request with a payment hash was not cancelled before, and records that it is.
func (a *asks) cancel(hash string, now time.Time) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.ctx.Err() == nil && remember(a.cancelled, hash, now)
}

// remember adds a hash and reports whether it is new.
func remember(hashes map[string]time.Time, hash string, now time.Time) bool {
	if _, known := hashes[hash]; known {
		return false
	}
	if len(hashes) >= maxRemembered {
		maps.DeleteFunc(hashes, func(_ string, at time.Time) bool { return now.Sub(at) > askWindow })
	}
	hashes[hash] = now
	return true
}
