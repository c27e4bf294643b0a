package report_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"chequer/internal/report"
	"chequer/internal/zone"
)

func location(t *testing.T, name string) *time.Location {
	t.Helper()
	l, err := zone.Load(name)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestDayOf_follows_the_time_zone(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ at, zone, want string }{
		{"1970-01-01T00:00:00Z", "UTC", "1970-01-01"},
		{"1969-12-31T23:59:59Z", "UTC", "1969-12-31"},
		{"2026-11-30T00:30:00+01:00", "UTC", "2026-11-29"},
		{"2026-11-29T23:30:00Z", "Europe/Berlin", "2026-11-30"},
		{"2026-11-29T22:59:59Z", "Europe/Berlin", "2026-11-29"},
		{"2026-06-29T22:00:00Z", "Europe/Berlin", "2026-06-30"},
		{"2026-11-29T18:14:59Z", "Asia/Kathmandu", "2026-11-29"},
		{"2026-11-29T18:15:00Z", "Asia/Kathmandu", "2026-11-30"},
		{"2026-11-29T03:29:59Z", "America/St_Johns", "2026-11-28"},
		{"2026-11-29T03:30:00Z", "America/St_Johns", "2026-11-29"},
		{"2026-11-29T11:00:00Z", "Pacific/Apia", "2026-11-30"},
		{"2011-12-30T09:59:59Z", "Pacific/Apia", "2011-12-29"}, // 30 December was skipped
		{"2011-12-30T10:00:00Z", "Pacific/Apia", "2011-12-31"},
		// The clock was set back from 0:01 to 23:01 of the day before.
		{"2010-11-07T02:29:59Z", "America/St_Johns", "2010-11-06"},
		{"2010-11-07T02:30:00Z", "America/St_Johns", "2010-11-07"},
		{"2010-11-07T03:00:00Z", "America/St_Johns", "2010-11-07"},
	} {
		at, err := time.Parse(time.RFC3339, tt.at)
		if got := report.DayOf(at, location(t, tt.zone)).String(); err != nil || got != tt.want {
			t.Errorf("%s in %s: got %s, error %v, want %s", tt.at, tt.zone, got, err, tt.want)
		}
	}
}

// Days on which the clock is set have another length.
func TestDay_Start_follows_changes_of_the_clock(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		zone, day, start string
		length           time.Duration
	}{
		{"UTC", "2026-03-29", "2026-03-29T00:00:00Z", 24 * time.Hour},
		{"Europe/Berlin", "2026-03-28", "2026-03-27T23:00:00Z", 24 * time.Hour},
		{"Europe/Berlin", "2026-03-29", "2026-03-28T23:00:00Z", 23 * time.Hour},
		{"Europe/Berlin", "2026-10-25", "2026-10-24T22:00:00Z", 25 * time.Hour},
		{"Asia/Kathmandu", "2026-10-25", "2026-10-24T18:15:00Z", 24 * time.Hour},
		{"America/St_Johns", "2026-03-08", "2026-03-08T03:30:00Z", 23 * time.Hour},
		{"America/St_Johns", "2026-11-01", "2026-11-01T02:30:00Z", 25 * time.Hour},
		{"America/St_Johns", "2010-11-07", "2010-11-07T02:30:00Z", 25 * time.Hour},
		{"Australia/Lord_Howe", "2026-04-05", "2026-04-04T13:00:00Z", 24*time.Hour + 30*time.Minute},
		{"Pacific/Apia", "2026-11-29", "2026-11-28T11:00:00Z", 24 * time.Hour},
		{"Pacific/Apia", "2011-12-29", "2011-12-29T10:00:00Z", 24 * time.Hour},
		{"Pacific/Apia", "2011-12-30", "2011-12-30T10:00:00Z", 0},
		{"Pacific/Apia", "2011-12-31", "2011-12-30T10:00:00Z", 24 * time.Hour},
		{"Africa/Cairo", "2026-04-24", "2026-04-23T22:00:00Z", 23 * time.Hour}, // begins at 1:00
		{"America/Havana", "2026-11-01", "2026-11-01T04:00:00Z", 25 * time.Hour},
	} {
		day, err := report.ParseDay(tt.day)
		if err != nil {
			t.Fatal(err)
		}
		l := location(t, tt.zone)
		start, end := day.Start(l), (day + 1).Start(l)
		if got := start.Format(time.RFC3339); got != tt.start || end.Sub(start) != tt.length {
			t.Errorf("%s in %s: starts at %s and lasts %s, want %s and %s", tt.day, tt.zone, got, end.Sub(start), tt.start, tt.length)
		}
	}
}

// In every zone, each moment is in exactly one day, and nearly always in that of the date that the clock shows.
func TestDay_contains_its_moments(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for _, name := range zone.Names() {
		l := location(t, name)
		for range 50 {
			at := time.Unix(random.Int64N(4_000_000_000), 0)
			day := report.DayOf(at, l)
			if day.Start(l).After(at) || !(day + 1).Start(l).After(at) {
				t.Errorf("%s in %s is on %s, which is from %s until %s", at.UTC(), name, day, day.Start(l), (day + 1).Start(l))
			}
			if date := at.In(l).Format(time.DateOnly); at.Year() > 2012 && day.String() != date {
				t.Errorf("%s in %s is on %s, but the clock shows %s", at.UTC(), name, day, date)
			}
		}
	}
}
