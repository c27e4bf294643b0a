package webhook

import (
	"net/http"
	"sync"
	"time"

	"chequer/internal/merchant"
)

const (
	// pool is how many tries are under way at most.
	pool = 128
	// perEndpoint is how many of them go to one endpoint. One that has taken nothing
	// yet, or whose last try failed, gets one at a time, and those that failed
	// together no more than half of the pool: who answers is not held up by who does
	// not.
	perEndpoint = 8
	failingPool = pool / 2
	// longestRest is how long an endpoint that is busy (429, 503) is left alone as a
	// whole at most; the event that was answered so waits for as long as was asked.
	longestRest = time.Hour
)

// lanes shares the places in the pool out among endpoints.
type lanes struct {
	now func() time.Time

	mu         sync.Mutex
	byEndpoint map[string]*lane
	running    int
}

// lane is how one endpoint does.
type lane struct {
	running int
	proven  bool      // its last try was taken
	failing bool      // its last try failed
	rest    time.Time // until when it asked to be left alone
}

func newLanes(now func() time.Time) *lanes { return &lanes{now: now, byEndpoint: map[string]*lane{}} }

// take takes as many places for an endpoint as it may have.
func (a *lanes) take(endpointID string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	l := a.byEndpoint[endpointID]
	if l == nil {
		l = &lane{}
		a.byEndpoint[endpointID] = l
	}
	room := min(perEndpoint-l.running, pool-a.running)
	switch {
	case l.rest.After(a.now()):
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

// failing is how many places endpoints have whose last try failed.
func (a *lanes) failing() (places int) {
	for _, l := range a.byEndpoint {
		if l.failing {
			places += l.running
		}
	}
	return places
}

// giveBack gives places back.
func (a *lanes) giveBack(endpointID string, places int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	l := a.byEndpoint[endpointID]
	l.running -= places
	a.running -= places
}

// judge notes how a try of an endpoint went.
func (a *lanes) judge(endpointID string, t merchant.Try, retryAfter time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	l := a.byEndpoint[endpointID]
	l.proven, l.failing = t.Done(), !t.Done()
	if t.Status == http.StatusTooManyRequests || t.Status == http.StatusServiceUnavailable {
		l.rest = a.now().Add(min(retryAfter, longestRest))
	}
}
