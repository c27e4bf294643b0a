package main

import (
	"time"
	_ "time/tzdata" // for systems without a time zone database

	"chequer/internal/config"
)

// setZone sets the time zone of printed times: the zone of the settings, or UTC with --utc. Times in
// JSON are always UTC.
func (s *shell) setZone(cfg config.Config) {
	s.zone = cfg.Location()
	if s.utc {
		s.zone = time.UTC
	}
}

// when returns a row's RFC 3339 time in the zone of printed times. It returns other texts, such as "",
// unchanged.
func (s *shell) when(text string) string {
	at, err := time.Parse(time.RFC3339, text)
	if err != nil || s.zone == nil {
		return text
	}
	return at.In(s.zone).Format(time.RFC3339)
}

// clock formats a time for the lines of chequer logs, in the zone of printed times.
func (s *shell) clock(t time.Time) string {
	if s.zone != nil {
		t = t.In(s.zone)
	}
	return t.Format(time.DateTime)
}
