package wire

import (
	"errors"
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

// ErrTime is the fault of a text that is not a time.
var ErrTime = errors.New("must be a time such as 2026-12-31T23:00:00Z")

// ParseTime parses a time in RFC 3339, and truncates it to milliseconds. An empty text gives the zero time. The
// error is ErrTime, also for a year before 1970 or after 9999.
func ParseTime(text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil || at.Year() < 1970 || at.Year() > 9999 {
		return time.Time{}, ErrTime
	}
	return at.UTC().Truncate(time.Millisecond), nil
}
