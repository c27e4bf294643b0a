package notify

import (
	"math/rand/v2"
	"time"
)

// steps are the times from the first attempt to each later attempt.
var steps = []time.Duration{
	time.Minute, 5 * time.Minute, 15 * time.Minute, 30 * time.Minute, time.Hour, 2 * time.Hour, 4 * time.Hour,
	8 * time.Hour, 12 * time.Hour, 18 * time.Hour, 24 * time.Hour,
}

// jitter is the maximum random delay of an attempt, as a fraction of the interval since the previous step.
const jitter = 0.1

// nextAttempt returns the time of the next attempt, or zero if the message is given up.
func nextAttempt(first, now time.Time) time.Time {
	elapsed, before := now.Sub(first), time.Duration(0)
	for _, step := range steps {
		if step > elapsed {
			return first.Add(step + time.Duration(rand.Float64()*jitter*float64(step-before)))
		}
		before = step
	}
	return time.Time{}
}
