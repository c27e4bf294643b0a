package webhook

import (
	"math/rand/v2"
	"time"
)

// steps are how long after the first try the next ones are; then one is made
// every lastStep until the end.
var steps = []time.Duration{
	time.Minute, 5 * time.Minute, 15 * time.Minute, 30 * time.Minute, 60 * time.Minute,
	90 * time.Minute, 120 * time.Minute, 180 * time.Minute,
}

const (
	lastStep = 240 * time.Minute
	// span is how long after the first try the last one is at most.
	span = 72 * time.Hour
	// strict is how long after its first try a delivery holds up later ones of the
	// same invoice.
	strict = 20 * time.Minute
	// jitter is by what part of its step a try may be later, so that what failed
	// together does not come back together.
	jitter = 0.1
)

// nextTry is when to try again what was first tried at a time and failed now; zero
// when it is given up. It is not before the receiver asked for, if he did, and the
// end is the same for all.
func nextTry(first, now time.Time, retryAfter time.Duration) time.Time {
	end := first.Add(span)
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

// step is the first one after some time since the first try, with its jitter.
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
