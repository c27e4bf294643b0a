package notify

import (
	"math/rand/v2"
	"time"
)

// steps are the times of the next attempts after the first attempt.
var steps = []time.Duration{
	time.Minute, 5 * time.Minute, 15 * time.Minute, 30 * time.Minute, time.Hour, 2 * time.Hour, 4 * time.Hour,
	8 * time.Hour, 12 * time.Hour, 18 * time.Hour, 24 * time.Hour,
}

// jitter is the maximum delay of an attempt as a part of its step.
const jitter = 0.1

// nextTry returns the time of the next attempt, or zero if the message is given up.
func nextTry(first, now time.Time) time.Time {
	elapsed, before := now.Sub(first), time.Duration(0)
	for _, step := range steps {
		if step > elapsed {
			return first.Add(step + time.Duration(rand.Float64()*jitter*float64(step-before)))
		}
		before = step
	}
	return time.Time{}
}
