package webhook

import (
	"math/rand/v2"
	"time"
)

// steps are the times from the first attempt to each later attempt. Attempts after the last step follow at
// intervals of repeatInterval.
var steps = []time.Duration{
	time.Minute, 5 * time.Minute, 15 * time.Minute, 30 * time.Minute, 60 * time.Minute,
	90 * time.Minute, 120 * time.Minute, 180 * time.Minute,
}

const (
	repeatInterval = 240 * time.Minute
	// retryTime is the maximum time from the first attempt to the last attempt.
	retryTime = 72 * time.Hour
	// OrderingTime is the time after its first attempt during which a delivery delays later deliveries of
	// the same invoice.
	OrderingTime = 20 * time.Minute
	// jitter is the maximum random delay of an attempt, as a fraction of the interval since the previous step, so
	// that deliveries that failed together are not retried together.
	jitter = 0.1
)

// nextAttempt returns the time of the next attempt, or zero if the delivery is given up. The attempt is
// not before the end of retryAfter, the pause that the receiver requested, and never after retryTime.
func nextAttempt(first, now time.Time, retryAfter time.Duration) time.Time {
	end := first.Add(retryTime)
	if !now.Before(end) {
		return time.Time{}
	}
	next := first.Add(nextStep(now.Sub(first)))
	if next.After(end) && retryAfter == 0 {
		return time.Time{}
	}
	if requested := now.Add(retryAfter); requested.After(next) {
		next = requested
	}
	if next.After(end) {
		return end
	}
	return next
}

// nextStep returns the first step that is later than elapsed, with jitter. Both are times since the
// first attempt.
func nextStep(elapsed time.Duration) time.Duration {
	at, before := time.Duration(0), time.Duration(0)
	for _, s := range steps {
		if at = s; at > elapsed {
			break
		}
		before = at
	}
	for at <= elapsed {
		before, at = at, at+repeatInterval
	}
	return at + time.Duration(rand.Float64()*jitter*float64(at-before))
}
