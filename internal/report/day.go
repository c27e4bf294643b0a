package report

import (
	"sort"
	"time"
)

// Day is a day of a calendar, as the number of days since 1 January 1970. When it begins depends on a time zone.
type Day int64

// DayOf returns the day at a time in a zone: the latest day whose start is not after the time. It is the date that
// the zone's clock shows, except where the clock was set back over midnight after it had shown the next day.
func DayOf(t time.Time, zone *time.Location) Day {
	d := dateDay(t.In(zone).Date())
	if offset(t.Add(-offsetMargin), zone) > offset(t, zone) { // a clock that was set back over midnight may show the date of the day before
		for !(d + 1).Start(zone).After(t) {
			d++
		}
	}
	return d
}

// dateDay returns the day of a date.
func dateDay(year int, month time.Month, day int) Day {
	return Day(time.Date(year, month, day, 0, 0, 0, 0, time.UTC).Unix() / int64(24*time.Hour/time.Second))
}

// Date returns the date of the day at midnight UTC. It serves to format and to compute dates, and is not the start of
// the day in any other zone.
func (d Day) Date() time.Time { return time.Date(1970, 1, 1+int(d), 0, 0, 0, 0, time.UTC) }

// offsetMargin is longer than any offset from UTC, and so short that a zone changes its offset at most once in twice this
// time.
const offsetMargin = 26 * time.Hour

// Start returns the first moment of the day in a zone: the first at which the zone's clock shows the day or a later
// one. It is not always midnight: where summer time begins at midnight, the day starts at 1:00, and a day that a zone
// skipped starts and ends at the same moment.
func (d Day) Start(zone *time.Location) time.Time {
	midnight := d.Date()
	before, after := offset(midnight.Add(-offsetMargin), zone), offset(midnight.Add(offsetMargin), zone)
	start := midnight.Add(-before)
	if before == after {
		return start
	}
	change := offsetChange(midnight.Add(-offsetMargin), midnight.Add(offsetMargin), zone)
	switch {
	case start.Before(change): // the clock showed midnight before the change
		return start
	case midnight.Add(-after).Before(change): // the change skipped midnight
		return change
	}
	return midnight.Add(-after)
}

// offset returns the offset of a zone from UTC at a time.
func offset(t time.Time, zone *time.Location) time.Duration {
	_, seconds := t.In(zone).Zone()
	return time.Duration(seconds) * time.Second
}

// offsetChange returns the first second after from with another offset than that of from. It does not use
// Time.ZoneBounds, which is wrong on the last day of leap years.
func offsetChange(from, to time.Time, zone *time.Location) time.Time {
	first := offset(from, zone)
	seconds := sort.Search(int(to.Sub(from)/time.Second), func(n int) bool { return offset(from.Add(time.Duration(n)*time.Second), zone) != first })
	return from.Add(time.Duration(seconds) * time.Second)
}

// String returns the day in the form 2026-11-29.
func (d Day) String() string { return d.Date().Format(time.DateOnly) }
