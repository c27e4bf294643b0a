package app

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"
)

// maxSkew is the difference between clocks from which the operator is warned. One process may set
// the deadline of an invoice and another may apply it.
const maxSkew = 5 * time.Second

// skewInterval is the interval at which a server compares its clock with the database's.
const skewInterval = time.Minute

// watchClock returns a loop that warns if this process's clock differs from the database's.
func (c *Core) watchClock(log *slog.Logger) func(context.Context) error {
	return func(ctx context.Context) error {
		tick := time.NewTicker(skewInterval)
		defer tick.Stop()
		for skewed := false; ; {
			skewed = c.compareClock(ctx, log, skewed)
			select {
			case <-ctx.Done():
				return nil
			case <-tick.C:
			}
		}
	}
}

// compareClock reports whether the clock is wrong, and logs a change of that.
func (c *Core) compareClock(ctx context.Context, log *slog.Logger, skewed bool) bool {
	skew, margin, err := c.Storage.MeasureSkew(ctx, c.Now)
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
func (c *Core) examineClocks(ctx context.Context, say func(Level, string, string, ...any)) error {
	leaders, err := c.Storage.LeaderSkews(ctx)
	if err != nil {
		return err
	}
	skew, margin, err := c.Storage.MeasureSkew(ctx, c.Now)
	if err != nil {
		return err
	}
	if skew.Abs() > maxSkew+margin {
		say(LevelWarn, "clock", "this machine's is %s the database's: set both by NTP", skewText(skew))
	} else {
		say(LevelOK, "clock", "agrees with the database's")
	}
	for _, network := range slices.Sorted(maps.Keys(leaders)) {
		if leaders[network].Abs() > maxSkew {
			say(LevelWarn, "clock", "that of the process that watches %s is %s the database's: set both by NTP", network, skewText(leaders[network]))
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
