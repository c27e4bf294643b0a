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
	// perEndpoint is the maximum number of concurrent attempts for one endpoint. An endpoint that
	// has accepted nothing yet, or whose last attempt failed, gets one at a time. Endpoints whose
	// last attempt failed get at most failingPool together, so that they do not delay the others.
	perEndpoint = 8
	failingPool = maxAttempts / 2
	// maxEndpointPause bounds how long a busy endpoint (429, 503) gets no attempts at all. The event
	// with that answer waits for the whole time of its Retry-After.
	maxEndpointPause = time.Hour
)

// placement distributes the places in the pool among endpoints.
type placement struct {
	now func() time.Time

	mu         sync.Mutex
	byEndpoint map[string]*endpointPlaces
	running    int
}

// endpointPlaces is the state of one endpoint.
type endpointPlaces struct {
	running     int
	proven      bool      // its last attempt was accepted
	failing     bool      // its last attempt failed
	pausedUntil time.Time // no attempts before this time, by its Retry-After
}

func newPlacement(now func() time.Time) *placement {
	return &placement{now: now, byEndpoint: map[string]*endpointPlaces{}}
}

// take reserves as many places for an endpoint as it may have, and returns their number.
func (a *placement) take(endpointID string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	l := a.byEndpoint[endpointID]
	if l == nil {
		l = &endpointPlaces{}
		a.byEndpoint[endpointID] = l
	}
	room := min(perEndpoint-l.running, maxAttempts-a.running)
	switch {
	case l.pausedUntil.After(a.now()):
		room = 0
	case l.failing:
		room = min(1-l.running, failingPool-a.failing(), room)
	case !l.proven:
		room = min(1-l.running, room)
	}
	room = max(room, 0)
	l.running += room
	a.running += room
	return room
}

// failing returns the number of places of endpoints whose last attempt failed.
func (a *placement) failing() (places int) {
	for _, l := range a.byEndpoint {
		if l.failing {
			places += l.running
		}
	}
	return places
}

// release releases places.
func (a *placement) release(endpointID string, places int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	l := a.byEndpoint[endpointID]
	l.running -= places
	a.running -= places
}

// record records the result of an attempt at an endpoint.
func (a *placement) record(endpointID string, t merchant.Try, retryAfter time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	l := a.byEndpoint[endpointID]
	l.proven, l.failing = t.Done(), !t.Done()
	if t.Status == http.StatusTooManyRequests || t.Status == http.StatusServiceUnavailable {
		l.pausedUntil = a.now().Add(min(retryAfter, maxEndpointPause))
	}
}
