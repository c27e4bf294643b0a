package storage

import (
	"context"
	"fmt"
	"time"

	"chequer/internal/chain"
)

// MeasureSkew returns the time by which this process's clock is ahead of the database's, and the
// largest error of the result, which is half of the round trip. The result is stored with the
// leases that this process holds.
func (s *Storage) MeasureSkew(ctx context.Context, now func() time.Time) (skew, margin time.Duration, err error) {
	asked := now()
	clock, err := s.engine.Clock(ctx)
	if err != nil {
		return 0, 0, fmt.Errorf("read the database's clock: %w", err)
	}
	margin = now().Sub(asked) / 2
	skew = asked.Add(margin).Sub(clock)
	s.skew.Store(skew.Milliseconds())
	return skew, margin, nil
}

// LeaderSkews returns, for each watched network, the time by which the clock of the process that
// watches it is ahead of the database's.
func (s *Storage) LeaderSkews(ctx context.Context) (map[chain.ID]time.Duration, error) {
	skews, err := answer(ctx, s.read, func(ctx context.Context, q querier) (map[chain.ID]time.Duration, error) {
		skews := map[chain.ID]time.Duration{}
		err := visitRows(ctx, q, func(row scanner) error {
			var network string
			var skew int64
			err := row.Scan(&network, &skew)
			skews[chain.ID(network)] = time.Duration(skew) * time.Millisecond
			return err
		}, "SELECT network, clock_skew FROM networks WHERE holder <> ''")
		return skews, err
	})
	if err != nil {
		return nil, fmt.Errorf("read clocks of leases: %w", err)
	}
	return skews, nil
}
