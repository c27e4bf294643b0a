package server

import (
	"net/http"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Limits are how often may be called. The zero value limits nothing.
type Limits struct {
	// PerKey is how many signed calls a second one key may make, with a burst of
	// five times that.
	PerKey int
	// PerAddress is how many unsigned calls a second one address may make, with a
	// burst of twice that. Calls whose key or signature is refused count, too.
	PerAddress int
}

var (
	errTooManyByKey = &problem{
		status: http.StatusTooManyRequests, code: "rate_limited", retry: 1,
		message: "This key makes too many requests",
	}
	errTooManyByAddress = &problem{
		status: http.StatusTooManyRequests, code: "rate_limited", retry: 1,
		message: "This address makes too many requests",
	}
)

// maxBuckets bounds the memory of callers. When it is full, those who have their
// whole burst left are forgotten, which changes nothing for them.
const maxBuckets = 10_000

// buckets holds a limiter for each caller. It is safe for concurrent use.
type buckets struct {
	perSecond, burst int

	mu   sync.Mutex
	each map[string]*rate.Limiter
}

func newBuckets(perSecond, burst int) *buckets {
	return &buckets{perSecond: perSecond, burst: burst, each: map[string]*rate.Limiter{}}
}

// take takes one call of a caller and tells whether it was left.
func (b *buckets) take(caller string, now time.Time) bool {
	return b.perSecond == 0 || b.of(caller, now).AllowN(now, 1)
}

func (b *buckets) of(caller string, now time.Time) *rate.Limiter {
	b.mu.Lock()
	defer b.mu.Unlock()
	limiter, known := b.each[caller]
	if !known {
		if len(b.each) >= maxBuckets {
			b.forget(now)
		}
		limiter = rate.NewLimiter(rate.Limit(b.perSecond), b.burst)
		b.each[caller] = limiter
	}
	return limiter
}

// forget drops callers that have not called for a while and, when all of them
// have, everybody.
func (b *buckets) forget(now time.Time) {
	for caller, limiter := range b.each {
		if limiter.TokensAt(now) >= float64(b.burst) {
			delete(b.each, caller)
		}
	}
	if len(b.each) >= maxBuckets {
		clear(b.each)
	}
}
