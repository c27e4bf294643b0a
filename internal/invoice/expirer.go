package invoice

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// Expirer expires overdue invoices.
type Expirer struct {
	service  *Service
	interval time.Duration
	log      *slog.Logger
}

// NewExpirer returns a new Expirer that checks at the given interval.
func NewExpirer(s *Service, interval time.Duration, log *slog.Logger) *Expirer {
	return &Expirer{service: s, interval: interval, log: log}
}

// Run checks for overdue invoices until the context ends, and returns nil then.
func (e *Expirer) Run(ctx context.Context) error {
	tick := time.NewTicker(e.interval)
	defer tick.Stop()
	for {
		if _, err := e.service.Expire(ctx, expireBatch); err != nil && ctx.Err() == nil {
			e.log.Error("expirer failed", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// expireBatch is the largest number of invoices in one check.
const expireBatch = 200

// Expire evaluates at most limit invoices whose state may have changed with time alone, and returns
// their number.
func (s *Service) Expire(ctx context.Context, limit int) (int, error) {
	ids, err := s.storage.DueInvoices(ctx, s.now(), limit)
	if err != nil {
		return 0, fmt.Errorf("expire: %w", err)
	}
	var errs []error
	for _, id := range ids {
		if _, err := s.update(ctx, id, Lease{}, func(*Invoice) error { return nil }); err != nil {
			errs = append(errs, fmt.Errorf("expire invoice %s: %w", id, err))
		}
	}
	return len(ids), errors.Join(errs...)
}
