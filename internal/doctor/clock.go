package doctor

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"chequer/internal/keys"
	"chequer/internal/readiness"
)

// maxSkew is the difference between clocks from which the operator is warned. One process may set
// the deadline of an invoice and another may apply it.
const maxSkew = 5 * time.Second

// skewInterval is the interval at which a server compares its clock with the database's.
const skewInterval = time.Minute

// Clock compares clocks.
type Clock interface {
	// MeasureSkew returns the time by which a clock is ahead of the database's, and the largest error of
	// the result.
	MeasureSkew(ctx context.Context, now func() time.Time) (skew, margin time.Duration, err error)
}

// WatchClock returns a loop that warns if this process's clock differs from the database's.
func WatchClock(c Clock, now func() time.Time, log *slog.Logger) func(context.Context) error {
	return func(ctx context.Context) error {
		tick := time.NewTicker(skewInterval)
		defer tick.Stop()
		for skewed := false; ; {
			skewed = compareClock(ctx, c, now, log, skewed)
			select {
			case <-ctx.Done():
				return nil
			case <-tick.C:
			}
		}
	}
}

// compareClock reports whether the clock is wrong, and logs when this changes.
func compareClock(ctx context.Context, c Clock, now func() time.Time, log *slog.Logger, skewed bool) bool {
	skew, margin, err := c.MeasureSkew(ctx, now)
	if err != nil || margin > maxSkew {
		return skewed // the skew is unknown
	}
	wrong := skew.Abs() > maxSkew+margin
	switch {
	case wrong && !skewed:
		log.Warn("clock differs from the database's", "ahead", skew.Round(time.Millisecond))
	case !wrong && skewed:
		log.Info("clock agrees with the database's")
	}
	return wrong
}

// examineClocks compares the clock of this machine, and of each process that watches a network,
// with the database's clock.
func (e *examination) examineClocks(ctx context.Context) error {
	leaders, err := e.Storage.LeaderSkews(ctx)
	if err != nil {
		return err
	}
	skew, margin, err := e.Storage.MeasureSkew(ctx, e.Now)
	if err != nil {
		return err
	}
	if skew.Abs() > maxSkew+margin {
		e.warn("clock", "this machine's clock is %s the database's: set both by NTP", skewText(skew))
	} else {
		e.ok("clock", "agrees with the database's")
	}
	for _, network := range slices.Sorted(maps.Keys(leaders)) {
		if leaders[network].Abs() > maxSkew {
			e.warn("clock", "the clock of the process that watches %s is %s the database's: set both by NTP", network, skewText(leaders[network]))
		}
	}
	return nil
}

// skewText describes a skew in words.
func skewText(skew time.Duration) string {
	if skew < 0 {
		return fmt.Sprintf("%s behind", (-skew).Round(time.Second))
	}
	return fmt.Sprintf("%s ahead of", skew.Round(time.Second))
}

// Bounds of the difference between a block's time and this machine's clock. Bitcoin's consensus
// allows blocks two hours ahead and sets no bound for old ones. EVM blocks come every few seconds
// and are refused when they are ahead.
const (
	maxBitcoinAhead = 2 * time.Hour
	maxEVMAhead     = 15 * time.Second
	maxEVMBehind    = 2 * time.Minute
)

// reportBlockTime warns when the block times of a network contradict this machine's clock.
func (e *examination) reportBlockTime(h readiness.Network, wallet string, subject string) {
	if h.TipTime == nil || h.Fault != "" || h.Progress != "" {
		return
	}
	ahead, isEVM := h.TipTime.Sub(e.Now()), wallet == string(keys.ETH)
	switch {
	case isEVM && ahead > maxEVMAhead || !isEVM && ahead > maxBitcoinAhead:
		e.warn(subject, "the newest block is %s ahead of this machine's clock: set the clock by NTP, because a wrong clock changes which payments are late", ahead.Round(time.Second))
	case isEVM && ahead < -maxEVMBehind:
		e.warn(subject, "the newest block is %s old: the network makes no blocks, its endpoints are stale, or this machine's clock is ahead", (-ahead).Round(time.Second))
	}
}
