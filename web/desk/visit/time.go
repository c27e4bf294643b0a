package visit

import (
	"strconv"
	"time"

	"chequer/internal/report"
	"chequer/internal/wire"
)

// Zone returns the time zone of the times and the days on the page: the time zone of the shop's books. On the pages of all
// shops it is the common time zone of the shops, or UTC if they have different ones.
func (v *Visit) Zone() *time.Location {
	if v.zone == nil {
		return time.UTC
	}
	return v.zone
}

// Today returns the present day in the zone of the page.
func (v *Visit) Today() report.Day { return report.DayOf(v.Now(), v.Zone()) }

// Clock returns the time of day of a moment, with its day if that is not today. It names no zone, because the frame of
// the page does, except on a page without a shop.
func (v *Visit) Clock(at time.Time) string {
	if v.zone == nil {
		return v.Words.TimeOfDay(wire.Time(at), v.Now())
	}
	at = at.In(v.zone)
	id, now := "desk.clock.day", v.Now().In(v.zone)
	if at.Format(time.DateOnly) == now.Format(time.DateOnly) {
		id = "desk.clock"
	}
	return v.Text(id, "Day", strconv.Itoa(at.Day()), "Month", v.Words.Month(at.Month()), "Hour", at.Format("15"), "Minute", at.Format("04"))
}

// Ago returns the time since a moment in words: "now" or "5 minutes ago". It returns the moment itself if it is more than
// an hour ago, and the text for "never" if the moment is zero.
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

// Months calls add with each month of a list of periods, the current month first. value is the month in MonthLayout, and
// text the month in words.
func (v *Visit) Months(add func(value, text string)) {
	first := report.Month(v.Today()).From.Date()
	for i := range listedMonths {
		at := first.AddDate(0, -i, 0)
		add(at.Format(MonthLayout), v.Month(at))
	}
}
