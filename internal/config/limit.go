package config

import (
	"fmt"
	"strconv"
)

// Limit is a setting that is a number; 0 means off.
type Limit int

// Days is a retention period in days; 0 means off.
type Days int

// The bounds of a period. The shortest is longer than the time for which the events of an invoice are stored after its end:
// they contain the same data.
const minDays, maxDays = 31, 36500

// UnmarshalText implements encoding.TextUnmarshaler.
func (d *Days) UnmarshalText(text []byte) error {
	if string(text) == "off" {
		*d = 0
		return nil
	}
	n, err := strconv.Atoi(string(text))
	if err != nil || n < minDays || n > maxDays || strconv.Itoa(n) != string(text) {
		return fmt.Errorf("%q is neither off nor a number of days from %d to %d", text, minDays, maxDays)
	}
	*d = Days(n)
	return nil
}

// String implements fmt.Stringer.
func (d Days) String() string { return Limit(d).String() }

// maxLimit is the largest limit.
const maxLimit = 9_999_999

// UnmarshalText implements encoding.TextUnmarshaler.
func (l *Limit) UnmarshalText(text []byte) error {
	if string(text) == "off" {
		*l = 0
		return nil
	}
	n, err := strconv.ParseUint(string(text), 10, 32)
	if err != nil || n == 0 || n > maxLimit || text[0] == '0' {
		return fmt.Errorf("%q is neither off nor a number from 1 to %d", text, maxLimit)
	}
	*l = Limit(n)
	return nil
}

// String implements fmt.Stringer.
func (l Limit) String() string {
	if l == 0 {
		return "off"
	}
	return strconv.Itoa(int(l))
}
