// Package clock reads the machine's clock.
package clock

import (
	"context"
	"time"
)

// Now returns the time in UTC, truncated to milliseconds as in storage, so that a decision is the
// same before and after its time is saved.
func Now() time.Time { return Precise(time.Now()) }

// Precise returns a time in UTC, truncated to milliseconds.
func Precise(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }

// Sleep waits for a duration. It returns false if the context ends first.
func Sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
