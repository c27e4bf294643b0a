package web

import (
	"net/http"
	"sync"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/labstack/echo/v4/middleware"

	"chequer/internal/caller"
)

// Limits for reading costly invoices.
const (
	costlyPerSecond = 2      // rate limit of a network of callers
	costlyBurst     = 30     // burst of a network of callers
	maxCostly       = 10_000 // largest number of invoices that are known to be costly
)

// costlyLimiter limits the rate at which one network of callers reads costly invoices: those with more
// payments than their API resource contains. Any payer can make an invoice costly to read by sending many
// payments. It is safe for concurrent use.
type costlyLimiter struct {
	readers *middleware.RateLimiterMemoryStore

	mu  sync.Mutex
	ids map[string]bool // of costly invoices
}

func newCostlyLimiter() *costlyLimiter {
	return &costlyLimiter{ids: map[string]bool{}, readers: middleware.NewRateLimiterMemoryStoreWithConfig(middleware.RateLimiterMemoryStoreConfig{
		Rate: costlyPerSecond, Burst: costlyBurst, ExpiresIn: 5 * time.Minute,
	})}
}

// check returns an error with status 429 if the invoice is known to be costly and the network of
// the caller exceeds the rate limit.
func (l *costlyLimiter) check(c echo.Context, id string) error {
	l.mu.Lock()
	isCostly := l.ids[id]
	l.mu.Unlock()
	if !isCostly {
		return nil
	}
	if allowed, err := l.readers.Allow(caller.Network(c.RealIP())); err != nil || !allowed {
		return echo.NewHTTPError(http.StatusTooManyRequests).SetInternal(err)
	}
	return nil
}

// record records whether the invoice that was read is costly. morePayments is the number of payments that its
// resource does not contain.
func (l *costlyLimiter) record(id string, morePayments int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case morePayments == 0:
		delete(l.ids, id)
	case len(l.ids) < maxCostly:
		l.ids[id] = true
	}
}
