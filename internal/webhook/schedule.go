package webhook

import (
	"math/rand/v2"
	"time"
)

// steps are the times of the next attempts after the first one. Later attempts follow at intervals
// of lastStep until the end.
var steps = []time.Duration{
	time.Minute, 5 * time.Minute, 15 * time.Minute, 30 * time.Minute, 60 * time.Minute,
	90 * time.Minute, 120 * time.Minute, 180 * time.Minute,
}

const (
	lastStep = 240 * time.Minute
	// retryTime is the time from the first attempt to the latest possible last one.
	retryTime = 72 * time.Hour
	// orderingTime is how long after its first attempt a delivery delays later ones of the same invoice.
	orderingTime = 20 * time.Minute
	// jitter is the maximum delay of an attempt as a part of its step, so that deliveries that
	// failed together are not retried together.
	jitter = 0.1
)

// nextTry returns the time of the next attempt, or zero if the delivery is given up. It is not
// before the time that the receiver requested, if any. The end is the same for all deliveries.
func nextTry(first, now time.Time, retryAfter time.Duration) time.Time {
	end := first.Add(retryTime)
	if !now.Before(end) {
		return time.Time{}
	}
	next := first.Add(step(now.Sub(first)))
	if next.After(end) && retryAfter == 0 {
		return time.Time{}
	}
	if asked := now.Add(retryAfter); asked.After(next) {
		next = asked
	}
	if next.After(end) {
		return end
	}
	return next
}

// step returns the first step after a time since the first attempt, with jitter.
func step(elapsed time.Duration) time.Duration {
	at, before := time.Duration(0), time.Duration(0)
	for _, s := range steps {
		if at = s; at > elapsed {
			break
		}
		before = at
	}
	for at <= elapsed {
		before, at = at, at+lastStep
	}
	return at + time.Duration(rand.Float64()*jitter*float64(at-before))
}
