// Package clock reads the machine's clock.
package clock

import "time"

// Now returns the time with the precision with which storage keeps times, so that a decision is the
// same before and after it is saved.
func Now() time.Time { return Precise(time.Now()) }

// Precise returns a time in UTC with the precision of Now.
func Precise(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }
