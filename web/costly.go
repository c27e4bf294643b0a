package web

import (
	"net/http"
	"sync"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/labstack/echo/v4/middleware"

	"chequer/internal/caller"
)

// How often one network may read costly invoices, and how many of these are known.
const (
	costlyPerSecond = 2
	costlyBurst     = 30
	maxCostly       = 10_000
)

// costly limits how often one network of callers reads invoices with more payments
// than the resource shows. Reading them costs more than reading others, and any payer
// can make an invoice such. It is safe for concurrent use.
type costly struct {
	readers *middleware.RateLimiterMemoryStore

	mu  sync.Mutex
	ids map[string]bool
}

func newCostly() *costly {
	return &costly{ids: map[string]bool{}, readers: middleware.NewRateLimiterMemoryStoreWithConfig(middleware.RateLimiterMemoryStoreConfig{
		Rate: costlyPerSecond, Burst: costlyBurst, ExpiresIn: 5 * time.Minute,
	})}
}

// check returns the error 429 if the invoice is known to be costly and the network of
// the caller has read such invoices too often.
func (l *costly) check(c echo.Context, id string) error {
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

// note records whether an invoice that was read is costly.
func (l *costly) note(id string, morePayments int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case morePayments == 0:
		delete(l.ids, id)
	case len(l.ids) < maxCostly:
		l.ids[id] = true
	}
}
