// Package clock reads the machine's clock.
package clock

import "time"

// Now returns the time in UTC, truncated to milliseconds as in storage, so that a decision is the
// same before and after its time is saved.
func Now() time.Time { return Precise(time.Now()) }

// Precise returns a time in UTC, truncated to milliseconds.
func Precise(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }
