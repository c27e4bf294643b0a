package sell

import (
	"testing"
	"time"
)

// An hour of one digit is accepted, and a time that the clocks skip is not.
func TestReadEnd_refuses_times_that_the_clock_skips(t *testing.T) {
	t.Parallel()
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"":                 "",
		"2026-12-31 9:05":  "2026-12-31T08:05:00.000Z",
		"2026-12-31":       "2026-12-30T23:00:00.000Z",
		"2026-03-29 02:30": "error",
		"tomorrow":         "error",
	} {
		got, err := readEnd(text, berlin)
		if err != nil {
			got = "error"
		}
		if got != want {
			t.Errorf("%q is %q, error %v, want %q", text, got, err, want)
		}
	}
}
