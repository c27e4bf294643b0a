package visit

import (
	"strconv"
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

// MonthLayout is the layout of a month in a query.
const MonthLayout = "2006-01"

// listedMonths is the number of months that a list of periods has.
const listedMonths = 12

// Month returns the month of a time in words.
func (v *Visit) Month(at time.Time) string {
	return v.Text("desk.date.month", "Month", v.Words.Month(at.Month()), "Year", strconv.Itoa(at.Year()))
}

// Months calls add with each month of a list of periods, as the query has it and in words: the current month first.
func (v *Visit) Months(add func(value, text string)) {
	now := v.Now().UTC()
	for i := range listedMonths {
		at := time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, time.UTC).AddDate(0, -i, 0)
		add(at.Format(MonthLayout), v.Month(at))
	}
}
