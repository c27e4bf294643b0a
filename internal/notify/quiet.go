package notify

import (
	"fmt"
	"time"
)

// Quiet is the part of each day in which messages wait. The zero Quiet has none. It may end on the next day.
type Quiet struct {
	From int `json:"from"` // minutes since midnight by the clock of the account
	To   int `json:"to"`   // exclusive
}

// maxQuiet bounds the search for the end of quiet hours: a day, and a change of the clock.
const maxQuiet = 27 * time.Hour

// ParseQuiet parses two times of day such as 22:00. Both "" are no quiet hours; otherwise the error is a
// *FieldError.
func ParseQuiet(from, to string) (q Quiet, err error) {
	if from == "" && to == "" {
		return Quiet{}, nil
	}
	if q.From, err = parseClock("quiet_from", from); err != nil {
		return Quiet{}, err
	}
	if q.To, err = parseClock("quiet_to", to); err != nil {
		return Quiet{}, err
	}
	if q.From == q.To {
		return Quiet{}, &FieldError{"quiet_to", "must differ from the beginning"}
	}
	return q, nil
}

func parseClock(field, text string) (int, error) {
	t, err := time.Parse("15:04", text)
	if err != nil {
		return 0, &FieldError{field, "must be a time of day like 22:00"}
	}
	return t.Hour()*60 + t.Minute(), nil
}

// Clocks returns the beginning and the end as ParseQuiet reads them.
func (q Quiet) Clocks() (from, to string) {
	if q == (Quiet{}) {
		return "", ""
	}
	return clockText(q.From), clockText(q.To)
}

// String returns the quiet hours such as "22:00–07:00"; "" if there are none.
func (q Quiet) String() string {
	if q == (Quiet{}) {
		return ""
	}
	return clockText(q.From) + "–" + clockText(q.To)
}

func clockText(minutes int) string { return fmt.Sprintf("%02d:%02d", minutes/60, minutes%60) }

// contains reports whether a clock that shows t is in the quiet hours.
func (q Quiet) contains(t time.Time) bool {
	m := t.Hour()*60 + t.Minute()
	if q.From <= q.To {
		return m >= q.From && m < q.To
	}
	return m >= q.From || m < q.To
}

// End returns the first time from t at which the clock of a time zone is outside the quiet hours. It
// follows the clock minute by minute, so that an hour that a change of summer time skips or repeats counts
// as the clock shows it.
func (q Quiet) End(t time.Time, zone *time.Location) time.Time {
	if q == (Quiet{}) || !q.contains(t.In(zone)) {
		return t
	}
	end := t.Truncate(time.Minute)
	for q.contains(end.In(zone)) && end.Sub(t) < maxQuiet {
		end = end.Add(time.Minute)
	}
	return end
}
