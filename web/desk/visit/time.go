package visit

import (
	"time"

	"chequer/internal/wire"
)

// Clock returns the time of day of a moment with its zone, and with its day if that is not today.
func (v *Visit) Clock(at time.Time) string { return v.Words.TimeOfDay(wire.Time(at), v.Now()) }

// Ago returns the time since a moment in words: "now", "5 minutes ago", or the moment itself if it is
// more than an hour ago. It is the text for "never" if the moment is zero.
func (v *Visit) Ago(at time.Time) string {
	since := v.Now().Sub(at)
	switch {
	case at.IsZero():
		return v.Text("desk.never")
	case since < 2*time.Minute:
		return v.Text("desk.now")
	case since < time.Hour:
		return v.Words.Count("desk.minutes", int(since/time.Minute))
	}
	return v.Clock(at)
}
