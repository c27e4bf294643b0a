package report

import "time"

// Day is a day in UTC, as the number of days since 1 January 1970.
type Day int64

const dayLength = 24 * time.Hour

// DayOf returns the day of a time.
func DayOf(t time.Time) Day {
	ms, length := t.UnixMilli(), dayLength.Milliseconds()
	day := ms / length
	if ms%length < 0 { // before 1970
		day--
	}
	return Day(day)
}

// Start returns the first moment of the day.
func (d Day) Start() time.Time { return time.UnixMilli(int64(d) * dayLength.Milliseconds()).UTC() }

// String returns the day in the form 2026-11-29.
func (d Day) String() string { return d.Start().Format(time.DateOnly) }
