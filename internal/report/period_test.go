package report_test

import (
	"errors"
	"testing"
	"time"

	"chequer/internal/report"
)

var today = report.DayOf(time.Date(2026, 11, 29, 10, 0, 0, 0, time.UTC), time.UTC)

func TestParsePeriod_returns_the_period_and_its_predecessor(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, first, last, previousFirst, previousLast string }{
		{"2026-11-28", "2026-11-28", "2026-11-28", "2026-11-27", "2026-11-27"},
		{"2026-10", "2026-10-01", "2026-10-31", "2026-09-01", "2026-09-30"},
		{"2026-11", "2026-11-01", "2026-11-30", "2026-10-01", "2026-10-29"}, // compared until today
		{"2026-03", "2026-03-01", "2026-03-31", "2026-02-01", "2026-02-28"},
		{"2026-q3", "2026-07-01", "2026-09-30", "2026-04-01", "2026-06-30"},
		{"2026-q4", "2026-10-01", "2026-12-31", "2026-07-01", "2026-08-29"},
		{"2024", "2024-01-01", "2024-12-31", "2023-01-01", "2023-12-31"},
		{"2027-01", "2027-01-01", "2027-01-31", "2026-12-01", "2026-12-31"}, // has not begun
	} {
		p, err := report.ParsePeriod(tt.name)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		b := p.Previous(today)
		got := []string{p.From.String(), p.Last().String(), b.From.String(), b.Last().String()}
		if want := []string{tt.first, tt.last, tt.previousFirst, tt.previousLast}; got[0] != want[0] || got[1] != want[1] || got[2] != want[2] || got[3] != want[3] {
			t.Errorf("%s: got %q, want %q", tt.name, got, want)
		}
	}
	for _, name := range []string{"", "yesterday", "2026-13", "2026-q5", "2026-q0", "2026-q", "2026-q+1", "26-q1", "2026-11-31", "2026-1"} {
		if p, err := report.ParsePeriod(name); !errors.Is(err, report.ErrPeriod) {
			t.Errorf("%q is the period %v, error %v", name, p, err)
		}
	}
}

func TestNewPeriod_has_1_to_366_days(t *testing.T) {
	t.Parallel()
	first := today
	for days, want := range map[report.Day]error{0: nil, 365: nil, 366: report.ErrTooLong, -1: report.ErrReversed} {
		p, err := report.NewPeriod(first, first+days)
		if !errors.Is(err, want) || err == nil && p.Days() != int(days)+1 {
			t.Errorf("%d days later: %v with %d days, error %v, want %v", days, p, p.Days(), err, want)
		}
	}
	if p := report.LastDays(7, today); p.From.String() != "2026-11-23" || p.Last().String() != "2026-11-29" {
		t.Errorf("the last 7 days are %s to %s", p.From, p.Last())
	}
	if b := report.LastDays(7, today).Previous(today); b.From.String() != "2026-11-16" || b.Last().String() != "2026-11-22" {
		t.Errorf("the 7 days before are %s to %s", b.From, b.Last())
	}
}
