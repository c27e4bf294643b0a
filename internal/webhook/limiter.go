package webhook

import (
	"net/http"
	"sync"
	"time"

	"chequer/internal/merchant"
)

const (
	// maxAttempts is the maximum number of concurrent attempts.
	maxAttempts = 128
	// maxPerEndpoint is the maximum number of concurrent attempts for one endpoint. The maximum is 1
	// for an endpoint whose last attempt failed, or that had no attempt in this process.
	maxPerEndpoint = 8
	// maxFailing is the maximum number of concurrent attempts for all endpoints together whose last
	// attempt failed, so that they do not delay the others.
	maxFailing = maxAttempts / 2
	// maxEndpointPause is the longest pause of a busy endpoint, which answered 429 or 503. The delivery
	// that was answered so waits for the whole time of its Retry-After.
	maxEndpointPause = time.Hour
)

// endpointLimiter limits the concurrent attempts, in total and for each endpoint.
type endpointLimiter struct {
	now func() time.Time

	mu         sync.Mutex
	byEndpoint map[string]*endpointState
	running    int
}

// endpointState is the state of an endpoint since the start of the process.
type endpointState struct {
	running     int
	proven      bool      // the last attempt was accepted
	failing     bool      // the last attempt failed
	pausedUntil time.Time // end of the pause that the endpoint asked for
}

func newEndpointLimiter(now func() time.Time) *endpointLimiter {
	return &endpointLimiter{now: now, byEndpoint: map[string]*endpointState{}}
}

// acquire reserves as many attempts as an endpoint may have, and returns their number.
func (l *endpointLimiter) acquire(endpointID string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.byEndpoint[endpointID]
	if e == nil {
		e = &endpointState{}
		l.byEndpoint[endpointID] = e
	}
	room := min(maxPerEndpoint-e.running, maxAttempts-l.running)
	switch {
	case e.pausedUntil.After(l.now()):
		room = 0
	case e.failing:
		room = min(1-e.running, maxFailing-l.runningAtFailing(), room)
	case !e.proven:
		room = min(1-e.running, room)
	}
	room = max(room, 0)
	e.running += room
	l.running += room
	return room
}

// runningAtFailing returns the number of running attempts at endpoints whose last attempt failed.
func (l *endpointLimiter) runningAtFailing() (running int) {
	for _, e := range l.byEndpoint {
		if e.failing {
			running += e.running
		}
	}
	return running
}

// release releases reserved attempts.
func (l *endpointLimiter) release(endpointID string, attempts int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.byEndpoint[endpointID]
	e.running -= attempts
	l.running -= attempts
}

// record records the result of an attempt at an endpoint.
func (l *endpointLimiter) record(endpointID string, t merchant.Attempt, retryAfter time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.byEndpoint[endpointID]
	e.proven, e.failing = t.Accepted(), !t.Accepted()
	if t.Status == http.StatusTooManyRequests || t.Status == http.StatusServiceUnavailable {
		e.pausedUntil = l.now().Add(min(retryAfter, maxEndpointPause))
	}
}
