package zone_test

import (
	"strings"
	"testing"
	"time"

	"chequer/internal/zone"
)

func TestLoad_accepts_only_names_of_known_zones(t *testing.T) {
	t.Parallel()
	for _, name := range zone.Names() {
		l, err := zone.Load(name)
		if err != nil || l.String() != name {
			t.Errorf("%s: got %v, error %v", name, l, err)
		}
	}
	for name, want := range map[string]string{
		"europe/berlin": "Europe/Berlin", "Asia/Katmandu": "Asia/Katmandu", "Asia/Calcutta": "Asia/Calcutta", "utc": "UTC", "Etc/GMT+5": "Etc/GMT+5",
	} {
		l, err := zone.Load(name)
		if err != nil || l.String() != want {
			t.Errorf("%s: got %v, error %v, want %s", name, l, err, want)
		}
		if again, _ := zone.Load(name); again != l {
			t.Errorf("%s: a second call returns another pointer", name)
		}
	}
	for _, name := range []string{"", "Local", "localtime", "Europe/Berln", "right/Europe/Berlin", "../etc/passwd", "CEST", "+01:00"} {
		if l, err := zone.Load(name); err == nil || !strings.Contains(err.Error(), `"`+name+`"`) {
			t.Errorf("%q is the zone %v, error %v", name, l, err)
		}
	}
}

func TestLabel_has_the_offset_at_the_time(t *testing.T) {
	t.Parallel()
	winter := time.Date(2026, 11, 29, 10, 0, 0, 0, time.UTC)
	summer := winter.AddDate(0, -4, 0)
	for _, tt := range []struct {
		name string
		at   time.Time
		want string
	}{
		{"UTC", winter, "UTC"},
		{"Europe/Berlin", winter, "Europe/Berlin (CET, UTC+01:00)"},
		{"Europe/Berlin", summer, "Europe/Berlin (CEST, UTC+02:00)"},
		{"Asia/Kathmandu", winter, "Asia/Kathmandu (UTC+05:45)"},
		{"America/St_Johns", winter, "America/St_Johns (NST, UTC-03:30)"},
		{"Pacific/Apia", winter, "Pacific/Apia (UTC+13:00)"},
	} {
		l, err := zone.Load(tt.name)
		if err != nil {
			t.Fatal(err)
		}
		if got := zone.Label(l, tt.at); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}
