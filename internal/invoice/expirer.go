package invoice

import (
	"context"
	"log/slog"
	"time"
)

// Expirer expires overdue invoices.
type Expirer struct {
	service *Service
	every   time.Duration
	log     *slog.Logger
}

// NewExpirer returns a new Expirer that checks at the given interval.
func NewExpirer(s *Service, every time.Duration, log *slog.Logger) *Expirer {
	return &Expirer{service: s, every: every, log: log}
}

// Run checks for overdue invoices until the context ends, and returns nil then.
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

// batch is the largest number of invoices that one check takes.
const batch = 200
