package report

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Period is a range of days, from From until before To.
type Period struct{ From, To Day }

// MaxDays is the greatest length of a period, in days: a leap year.
const MaxDays = 366

// Days returns the number of days of the period.
func (p Period) Days() int { return int(p.To - p.From) }

// Last returns the last day of the period.
func (p Period) Last() Day { return p.To - 1 }

// Start returns the first moment of the period in a zone.
func (p Period) Start(zone *time.Location) time.Time { return p.From.Start(zone) }

// End returns the first moment after the period in a zone.
func (p Period) End(zone *time.Location) time.Time { return p.To.Start(zone) }

// LastDays returns the period of the last n days, with today.
func LastDays(n int, today Day) Period { return Period{today + 1 - Day(n), today + 1} }

// Month returns the period of the month with a day.
func Month(d Day) Period {
	year, month, _ := d.Date().Date()
	return Period{dateDay(year, month, 1), dateDay(year, month+1, 1)}
}

// ErrPeriod means that a text is not the name of a period.
var ErrPeriod = errors.New("is not a day such as 2026-11-29, a month such as 2026-11, a quarter such as 2026-q4 or a year such as 2026")

// ParsePeriod parses the name of a period: a day, a month, a quarter or a year.
func ParsePeriod(name string) (Period, error) {
	if day, err := ParseDay(name); err == nil {
		return Period{day, day + 1}, nil
	}
	if at, err := time.Parse("2006-01", name); err == nil {
		return periodBetween(at, at.AddDate(0, 1, 0)), nil
	}
	if at, err := time.Parse("2006", name); err == nil {
		return periodBetween(at, at.AddDate(1, 0, 0)), nil
	}
	year, quarter, found := strings.Cut(name, "-q")
	at, err := time.Parse("2006", year)
	n, numberErr := strconv.Atoi(quarter)
	if !found || err != nil || numberErr != nil || len(quarter) != 1 || n < 1 || n > 4 {
		return Period{}, fmt.Errorf("%q %w", name, ErrPeriod)
	}
	at = at.AddDate(0, 3*(n-1), 0)
	return periodBetween(at, at.AddDate(0, 3, 0)), nil
}

// ParseDay parses a day in the form 2026-11-29.
func ParseDay(text string) (Day, error) {
	at, err := time.Parse(time.DateOnly, text)
	if err != nil {
		return 0, fmt.Errorf("%q is not a day such as 2026-11-29", text)
	}
	return dateDay(at.Date()), nil
}

// periodBetween returns the period from the date of from until before the date of to.
func periodBetween(from, to time.Time) Period {
	return Period{dateDay(from.Date()), dateDay(to.Date())}
}

// The errors of NewPeriod.
var (
	ErrReversed = errors.New("the last day is before the first")
	ErrTooLong  = fmt.Errorf("a period has at most %d days", MaxDays)
)

// NewPeriod returns the period from a first to a last day, or ErrReversed or ErrTooLong.
func NewPeriod(first, last Day) (Period, error) {
	switch {
	case last < first:
		return Period{}, ErrReversed
	case last-first >= MaxDays:
		return Period{}, ErrTooLong
	}
	return Period{first, last + 1}, nil
}

// Previous returns the period before: the month before a month, the quarter before a quarter, the year
// before a year, otherwise as many days. If the period has not ended today, the previous one is shortened to the
// number of days until today, so that both are comparable.
func (p Period) Previous(today Day) Period {
	before := p.preceding()
	if done := today + 1 - p.From; done > 0 && done < p.To-p.From {
		before.To = min(before.To, before.From+done)
	}
	return before
}

// preceding returns the whole period before p.
func (p Period) preceding() Period {
	from := p.From.Date()
	if from.Day() == 1 {
		for _, months := range []int{1, 3, 12} {
			if dateDay(from.AddDate(0, months, 0).Date()) == p.To && (int(from.Month())-1)%months == 0 {
				return Period{dateDay(from.AddDate(0, -months, 0).Date()), p.From}
			}
		}
	}
	return Period{p.From - (p.To - p.From), p.From}
}
