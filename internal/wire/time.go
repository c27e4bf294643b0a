package wire

import (
	"time"

	"chequer/internal/api"
)

// Time formats a time; the zero time is empty.
func Time(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(api.TimeLayout)
}
