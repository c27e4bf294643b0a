package console

import (
	"fmt"
	"time"
	_ "time/tzdata" // for systems without a time zone database
)

// SetZone sets the time zone of printed times, unless they are printed in UTC. Times in JSON are
// always UTC.
func (p *Printer) SetZone(zone *time.Location) {
	p.zone = zone
	if p.UTC {
		p.zone = time.UTC
	}
}

// Stamp formats a time for JSON and lists; "" for the zero time.
func Stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

// Time returns a row's RFC 3339 time in the zone of printed times. It returns other texts, such as "",
// unchanged.
func (p *Printer) Time(text string) string {
	at, err := time.Parse(time.RFC3339, text)
	if err != nil || p.zone == nil {
		return text
	}
	return at.In(p.zone).Format(time.RFC3339)
}

// Clock formats a time for the lines of a log, in the zone of printed times.
func (p *Printer) Clock(t time.Time) string {
	if p.zone != nil {
		t = t.In(p.zone)
	}
	return t.Format(time.DateTime)
}

// ParseDay parses the day of a flag, which begins in the zone of printed times. An empty text is the
// zero time.
func (p *Printer) ParseDay(flag, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	at, err := time.ParseInLocation(time.DateOnly, text, p.zone)
	if err != nil {
		return at, fmt.Errorf("--%s must be a day such as 2026-11-27", flag)
	}
	return at.UTC(), nil
}

// ParseTime parses the time of a flag, or its day as ParseDay does.
func (p *Printer) ParseTime(flag, text string) (time.Time, error) {
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return at.UTC().Truncate(time.Millisecond), nil
	}
	at, err := p.ParseDay(flag, text)
	if err != nil {
		return at, fmt.Errorf("--%s must be a day such as 2026-12-31, or a time such as 2026-12-31T18:00:00+01:00", flag)
	}
	return at, nil
}
