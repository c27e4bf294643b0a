package desk

import (
	"time"

	"chequer/internal/wire"
)

// clock returns the time of day of a moment with its zone, and with its day if that is not today.
func (v *visit) clock(at time.Time) string { return v.Words.TimeOfDay(wire.Time(at), v.Now()) }

// machine returns a time for programs.
func machine(at time.Time) string { return wire.Time(at) }

// ago returns the time since a moment in words: "now", "5 minutes ago", or the moment itself if it is
// more than an hour ago. It is the text for "never" if the moment is zero.
func (v *visit) ago(at time.Time) string {
	since := v.Now().Sub(at)
	switch {
	case at.IsZero():
		return v.text("desk.never")
	case since < 2*time.Minute:
		return v.text("desk.now")
	case since < time.Hour:
		return v.Words.Count("desk.minutes", int(since/time.Minute))
	}
	return v.clock(at)
}
