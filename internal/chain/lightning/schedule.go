package lightning

import (
	"math/rand/v2"
	"time"

	"chequer/internal/chain"
)

// Limits of the lookups of one connection.
const (
	lookupsAtOnce    = 4
	lookupsPerSecond = 5
	lookupTimeout    = 5 * time.Second
	// scanTime is the time after which a scan begins no other lookup.
	scanTime = 8 * time.Second
)

const (
	// subscribedInterval is the least interval of the lookups of a request while notifications are received.
	subscribedInterval = 30 * time.Second
	// notifiedTime is the time after the notification of a payment for which the request is looked up as without notifications,
	// because a provider may notify a payment before its lookups show it.
	notifiedTime = time.Minute
	// maxInterval is the longest interval.
	maxInterval = time.Hour
	// lastLookup is the time before the end of the lookups at which a request is looked up for the last time.
	lastLookup = time.Minute
)

// interval returns the time until the next lookup of a request, which is one of a number of requests.
func interval(r chain.PendingRequest, count int, now time.Time, subscribed bool) time.Duration {
	age := now.Sub(r.MadeAt)
	shown := r.ShownUntil.Sub(r.MadeAt)
	every := maxInterval
	switch {
	case age < 2*time.Minute:
		every = 3 * time.Second
	case age < shown:
		every = 10 * time.Second
	case age < shown+time.Hour:
		every = time.Minute
	case age < shown+24*time.Hour:
		every = 10 * time.Minute
	}
	if subscribed {
		every = max(every, subscribedInterval)
	}
	every = max(every, pace(count))
	if last := r.Until.Add(chain.LookupGrace - lastLookup).Sub(now); last > 0 {
		every = min(every, last)
	}
	return every
}

// pace returns the least interval of the lookups of a number of requests, which needs half of lookupsPerSecond.
func pace(count int) time.Duration {
	return time.Duration(count) * 2 * time.Second / lookupsPerSecond
}

// isFresh reports whether a request may be shown to a shopper.
func isFresh(r chain.PendingRequest, now time.Time) bool {
	return now.Before(r.ShownUntil.Add(chain.LookupGrace)) && now.Before(r.Until.Add(chain.LookupGrace))
}

// The waits after failures.
const (
	minBackoff = time.Second
	maxBackoff = time.Minute
)

// backoff delays calls after failures.
type backoff struct {
	wait  time.Duration // last wait; zero if the last call succeeded
	until time.Time
}

// next returns a wait that is longer than the one before, with jitter.
func (b *backoff) next() time.Duration {
	b.wait = min(max(2*b.wait, minBackoff), maxBackoff)
	return b.wait/2 + rand.N(b.wait/2)
}

// fail begins the next wait.
func (b *backoff) fail(now time.Time) { b.until = now.Add(b.next()) }

// reset ends the waits.
func (b *backoff) reset() { *b = backoff{} }

// isWaiting reports whether a wait is running. If the clock was set back, none is.
func (b *backoff) isWaiting(now time.Time) bool {
	return now.Before(b.until) && b.until.Sub(now) <= maxBackoff
}
