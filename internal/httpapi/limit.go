package httpapi

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Limits are rate limits of calls. The zero value sets no limit.
type Limits struct {
	// PerKey is the number of authenticated calls per second of one key, with a burst of five times that.
	PerKey int
	// PerAddress is the number of unauthenticated calls per second of one address, with a burst of twice
	// that. Calls whose key or signature is refused count too.
	PerAddress int
}

// maxBuckets is the maximum number of callers in memory. When it is reached, the callers with a full burst
// are removed: a new limiter would allow them the same calls.
const maxBuckets = 10_000

// Buckets holds a rate limiter for each caller. It is safe for concurrent use.
type Buckets struct {
	perSecond, burst int

	mu       sync.Mutex
	byCaller map[string]*rate.Limiter
}

// NewBuckets returns new Buckets that allow perSecond calls per second of each caller, and burst calls at once. If
// perSecond is 0, there is no limit.
func NewBuckets(perSecond, burst int) *Buckets {
	return &Buckets{perSecond: perSecond, burst: burst, byCaller: map[string]*rate.Limiter{}}
}

// Allow counts one call of a caller and reports whether it is within the limit.
func (b *Buckets) Allow(caller string, now time.Time) bool {
	return b.perSecond == 0 || b.limiter(caller, now).AllowN(now, 1)
}

// limiter returns the rate limiter of a caller.
func (b *Buckets) limiter(caller string, now time.Time) *rate.Limiter {
	b.mu.Lock()
	defer b.mu.Unlock()
	l, known := b.byCaller[caller]
	if !known {
		if len(b.byCaller) >= maxBuckets {
			b.evict(now)
		}
		l = rate.NewLimiter(rate.Limit(b.perSecond), b.burst)
		b.byCaller[caller] = l
	}
	return l
}

// evict removes the callers with a full burst and, if none has a full burst, all callers.
func (b *Buckets) evict(now time.Time) {
	for caller, limiter := range b.byCaller {
		if limiter.TokensAt(now) >= float64(b.burst) {
			delete(b.byCaller, caller)
		}
	}
	if len(b.byCaller) >= maxBuckets {
		clear(b.byCaller)
	}
}
