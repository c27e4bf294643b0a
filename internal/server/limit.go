package server

import (
	"context"
	"net/http"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"chequer/internal/api"
	"chequer/internal/caller"
	"chequer/internal/invoice"
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

	mu       sync.Mutex
	byCaller map[string]*rate.Limiter
}

func newBuckets(perSecond, burst int) *buckets {
	return &buckets{perSecond: perSecond, burst: burst, byCaller: map[string]*rate.Limiter{}}
}

// allow counts one call of a caller and reports whether it is within the limit.
func (b *buckets) allow(caller string, now time.Time) bool {
	return b.perSecond == 0 || b.limiter(caller, now).AllowN(now, 1)
}

// limiter returns the rate limiter of a caller.
func (b *buckets) limiter(caller string, now time.Time) *rate.Limiter {
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
func (b *buckets) evict(now time.Time) {
	for caller, limiter := range b.byCaller {
		if limiter.TokensAt(now) >= float64(b.burst) {
			delete(b.byCaller, caller)
		}
	}
	if len(b.byCaller) >= maxBuckets {
		clear(b.byCaller)
	}
}

// limitClass is the class of a request for an invoice in the limits of unpaid invoices.
type limitClass int

const (
	// signed requests carry a signature of the merchant, or the secret of a terminal.
	signed limitClass = iota
	// published are requests for a product or a checkout link of the merchant.
	published
	// openForm are requests of the storefront, for any amount.
	openForm
)

var (
	errTooManyUnpaid = &problem{
		status: http.StatusTooManyRequests, code: api.CodeTooManyUnpaid, retry: 60,
		message: "The shop has reached its limit of unpaid invoices: try again in some minutes",
	}
	errTooManyUnpaidNetwork = &problem{
		status: http.StatusTooManyRequests, code: api.CodeTooManyUnpaidNetwork, retry: 60,
		message: "The network of the shopper has reached its limit of unpaid invoices: try again in some minutes",
	}
)

// unpaidLimits returns the limits of unpaid invoices for a request. Each address block around the
// shopper has a share of the whole limit, so that no network can use all of it. The storefront has
// half of the whole limit, so that it is refused before products and links are.
func (s *server) unpaidLimits(ctx context.Context, class limitClass, k call) []invoice.UnpaidLimit {
	if s.MaxUnpaid == 0 || class == signed {
		return nil
	}
	var limits []invoice.UnpaidLimit
	if k.key.Builtin { // calls with other keys come over the network, and their context has no shopper
		for _, block := range caller.Blocks(caller.FromContext(ctx)) {
			limits = append(limits, invoice.UnpaidLimit{Group: block.Prefix, Max: block.ShareOf(s.MaxUnpaid)})
		}
	}
	perMerchant := s.MaxUnpaid
	if class == openForm {
		perMerchant = (perMerchant + 1) / 2
	}
	return append(limits, invoice.UnpaidLimit{Max: perMerchant})
}
