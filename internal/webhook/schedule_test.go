package webhook_test

import (
	"testing"
	"time"

	"chequer/internal/webhook"
)

// noon is the time at which tests with a manual clock begin.
var noon = time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)

func TestSchedule_spreads_attempts_over_three_days(t *testing.T) {
	t.Parallel()
	want := []int{1, 5, 15, 30, 60, 90, 120, 180, 420, 660, 900, 1140, 1380, 1620, 1860, 2100, 2340, 2580, 2820, 3060, 3300, 3540, 3780, 4020, 4260}
	for range 100 { // jitter is random
		now, before := noon, 0
		for i, minutes := range want {
			next := webhook.NextAttempt(noon, now, 0)
			earliest := noon.Add(time.Duration(minutes) * time.Minute)
			latest := earliest.Add(time.Duration(minutes-before) * time.Minute / 10)
			if next.Before(earliest) || next.After(latest) {
				t.Fatalf("attempt %d: got %s after the first, want from %s to %s", i+2, next.Sub(noon), earliest.Sub(noon), latest.Sub(noon))
			}
			now, before = next, minutes
		}
		if next := webhook.NextAttempt(noon, now, 0); !next.IsZero() {
			t.Fatalf("after the last attempt: got another attempt after %s", next.Sub(noon))
		}
	}
}

func TestSchedule_observes_Retry_After(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name                string
		elapsed, retryAfter time.Duration
		minimum, maximum    time.Duration // after the first attempt; 0: given up
	}{
		{"longer than the step", 0, 2 * time.Minute, 2 * time.Minute, 2 * time.Minute},
		{"shorter than the step", 5 * time.Minute, time.Minute, 15 * time.Minute, 16 * time.Minute},
		{"beyond the end", time.Hour, 1000 * time.Hour, 72 * time.Hour, 72 * time.Hour},
		{"near the end", 71 * time.Hour, time.Minute, 72 * time.Hour, 72 * time.Hour},
		{"at the end", 72 * time.Hour, time.Hour, 0, 0},
		{"long after the end, as after a pause", 1000 * time.Hour, 0, 0, 0},
		{"after the program was down", 100 * time.Minute, 0, 120 * time.Minute, 123 * time.Minute},
	} {
		next := webhook.NextAttempt(noon, noon.Add(test.elapsed), test.retryAfter)
		got := next.Sub(noon)
		if next.IsZero() {
			got = 0
		}
		if got < test.minimum || got > test.maximum {
			t.Errorf("%s: got %s after the first attempt, want from %s to %s", test.name, got, test.minimum, test.maximum)
		}
	}
}
