package invoice

import (
	"context"
	"log/slog"
	"time"
)

// Expirer looks at invoices whose time has come.
type Expirer struct {
	service *Service
	every   time.Duration
	log     *slog.Logger
}

// NewExpirer makes an Expirer that looks every so often.
func NewExpirer(s *Service, every time.Duration, log *slog.Logger) *Expirer {
	return &Expirer{service: s, every: every, log: log}
}

// Run looks until the context ends, and returns nil then.
func (e *Expirer) Run(ctx context.Context) error {
	tick := time.NewTicker(e.every)
	defer tick.Stop()
	for {
		if _, err := e.service.Expire(ctx, batch); err != nil && ctx.Err() == nil {
			e.log.Error("expirer failed", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// batch is how many invoices one look takes.
const batch = 200
