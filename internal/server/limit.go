package server

import (
	"net/http"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Limits are rate limits of calls. The zero value sets no limit.
type Limits struct {
	// PerKey is the number of signed calls per second of one key, with a burst of five times that.
	PerKey int
	// PerAddress is the number of unsigned calls per second of one address, with a burst of twice
	// that. Signed calls whose key or signature is refused also count.
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

// maxBuckets is the maximum number of callers in memory. When it is reached, callers with a full burst
// are removed, which does not change their limit.
const maxBuckets = 10_000

// buckets holds a rate limiter for each caller. It is safe for concurrent use.
type buckets struct {
	perSecond, burst int

	mu   sync.Mutex
	each map[string]*rate.Limiter
}

func newBuckets(perSecond, burst int) *buckets {
	return &buckets{perSecond: perSecond, burst: burst, each: map[string]*rate.Limiter{}}
}

// take counts one call of a caller and reports whether it is within the limit.
func (b *buckets) take(caller string, now time.Time) bool {
	return b.perSecond == 0 || b.limiter(caller, now).AllowN(now, 1)
}

// limiter returns the rate limiter of a caller.
func (b *buckets) limiter(caller string, now time.Time) *rate.Limiter {
	b.mu.Lock()
	defer b.mu.Unlock()
	l, known := b.each[caller]
	if !known {
		if len(b.each) >= maxBuckets {
			b.evict(now)
		}
		l = rate.NewLimiter(rate.Limit(b.perSecond), b.burst)
		b.each[caller] = l
	}
	return l
}

// evict removes the callers with a full burst and, if none has a full burst, all callers.
func (b *buckets) evict(now time.Time) {
	for caller, limiter := range b.each {
		if limiter.TokensAt(now) >= float64(b.burst) {
			delete(b.each, caller)
		}
	}
	if len(b.each) >= maxBuckets {
		clear(b.each)
	}
}
