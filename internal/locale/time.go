package locale

import (
	"fmt"
	"time"
)

// months are the keys of the names of months within a date, from January.
var months = [...]string{
	"month.1", "month.2", "month.3", "month.4", "month.5", "month.6",
	"month.7", "month.8", "month.9", "month.10", "month.11", "month.12",
}

// Month returns the name of a month as it is within a date.
func (l *Language) Month(m time.Month) string { return l.Text(months[m-1]) }

// Moment formats a time of the API, in RFC 3339, with its day and zone: "27 Nov 2026, 15:42 UTC". It
// returns "" if the time is invalid.
func (l *Language) Moment(wire string) string {
	t, err := time.Parse(time.RFC3339, wire)
	if err != nil {
		return ""
	}
	return l.date("date.moment", t.UTC())
}

// TimeOfDay formats a time of the API, in RFC 3339, with its zone, and with its day if that is not the day
// of now. It returns "" if the time is invalid.
func (l *Language) TimeOfDay(wire string, now time.Time) string {
	t, err := time.Parse(time.RFC3339, wire)
	if err != nil {
		return ""
	}
	if t.UTC().Format(time.DateOnly) == now.UTC().Format(time.DateOnly) {
		return l.date("date.time", t.UTC())
	}
	return l.date("date.day", t.UTC())
}

// date returns a message with a date and a time as its values.
func (l *Language) date(id string, t time.Time) string {
	return l.fill(id, map[string]string{
		"Day": fmt.Sprint(t.Day()), "Month": l.Month(t.Month()), "Year": fmt.Sprint(t.Year()),
		"Hour": t.Format("15"), "Minute": t.Format("04"), "Zone": t.Format("MST"),
	})
}
