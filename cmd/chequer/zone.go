package main

import (
	"time"
	_ "time/tzdata" // for systems without a time zone database

	"chequer/internal/config"
)

// setZone sets the time zone of printed times: the shop's, or UTC if that is requested. JSON always
// has UTC.
func (s *shell) setZone(cfg config.Config) {
	s.zone = cfg.Location()
	if s.utc {
		s.zone = time.UTC
	}
}

// when converts a time of a row to the zone of printed times, in RFC 3339; "" for none.
func (s *shell) when(text string) string {
	at, err := time.Parse(time.RFC3339, text)
	if err != nil || s.zone == nil {
		return text
	}
	return at.In(s.zone).Format(time.RFC3339)
}

// clock formats a time for lists that are continued.
func (s *shell) clock(t time.Time) string {
	if s.zone != nil {
		t = t.In(s.zone)
	}
	return t.Format(time.DateTime)
}
