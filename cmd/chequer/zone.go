package main

import (
	"time"
	_ "time/tzdata" // for systems without a time zone database

	"chequer/internal/config"
)

// setZone chooses the time zone of what commands print for people: the shop's, or UTC
// when that is asked for. JSON is always in UTC.
func (s *shell) setZone(cfg config.Config) {
	s.zone = cfg.Location()
	if s.utc {
		s.zone = time.UTC
	}
}

// when returns a time of a row, in RFC 3339, in the zone of what people read; "" for
// none.
func (s *shell) when(text string) string {
	at, err := time.Parse(time.RFC3339, text)
	if err != nil || s.zone == nil {
		return text
	}
	return at.In(s.zone).Format(time.RFC3339)
}

// clock returns a moment as a list that goes on shows it.
func (s *shell) clock(t time.Time) string {
	if s.zone != nil {
		t = t.In(s.zone)
	}
	return t.Format(time.DateTime)
}
