package books

import (
	"fmt"
	"time"

	"chequer/internal/report"
)

// Month is a calendar month, in the form 2026-11.
type Month string

// firstYear is the year of the first block of Bitcoin.
const firstYear = 2009

// monthLayout is the form of a Month.
const monthLayout = "2006-01"

// ParseMonth parses a month in the form 2026-11.
func ParseMonth(text string) (Month, error) {
	if at, err := time.Parse(monthLayout, text); err != nil || at.Year() < firstYear {
		return "", fmt.Errorf("%q is not a month such as 2026-11", text)
	}
	return Month(text), nil
}

// MonthOf returns the month of a time in a zone.
func MonthOf(at time.Time, zone *time.Location) Month {
	return Month(report.DayOf(at, zone).Date().Format(monthLayout))
}

// period returns the days of the month.
func (m Month) period() report.Period {
	p, err := report.ParsePeriod(string(m))
	if err != nil {
		panic("books: month " + string(m))
	}
	return p
}

// End returns the first moment after the month in a zone.
func (m Month) End(zone *time.Location) time.Time { return m.period().End(zone) }

// lastDay returns the last day of the month.
func (m Month) lastDay() report.Day { return m.period().Last() }

// Next returns the month after m.
func (m Month) Next() Month { return Month(m.period().To.Date().Format(monthLayout)) }
