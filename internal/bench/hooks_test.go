package bench_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"chequer/internal/api"
)

// receivers are the endpoints that receive deliveries.
type receivers struct {
	base string // address of the listening endpoints

	mu        sync.Mutex
	latencies []time.Duration // times from the event to its arrival at healthy endpoints
	complete  chan struct{}   // closed when all deliveries have arrived; body and last do not change afterwards
	body      []byte          // body of the last event
	last      time.Time       // time of its arrival
}

func newReceivers(b *testing.B) *receivers {
	b.Helper()
	ctx, cancel := context.WithCancel(b.Context())
	r := &receivers{complete: make(chan struct{})}
	mux := http.NewServeMux()
	mux.HandleFunc("/healthy/", r.receive)
	mux.HandleFunc("/plain", func(_ http.ResponseWriter, request *http.Request) { _, _ = io.Copy(io.Discard, request.Body) })
	mux.HandleFunc("/slow/", func(http.ResponseWriter, *http.Request) { wait(ctx, slowDelay) })
	mux.HandleFunc("/silent/", func(http.ResponseWriter, *http.Request) { wait(ctx, deliveryTimeout) })
	s := httptest.NewServer(mux)
	b.Cleanup(func() {
		cancel()
		s.CloseClientConnections()
		s.Close()
	})
	r.base = s.URL
	return r
}

// wait waits for a duration, or until the context ends.
func wait(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// receive records the time from an event to its arrival.
func (r *receivers) receive(w http.ResponseWriter, request *http.Request) {
	now := time.Now()
	body, err := io.ReadAll(request.Body)
	var e api.Event
	if err == nil {
		err = json.Unmarshal(body, &e)
	}
	createdAt, parseErr := time.Parse(api.TimeLayout, e.CreatedAt)
	if err != nil || parseErr != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.latencies = append(r.latencies, now.Sub(createdAt))
	if len(r.latencies) == paidAtOnce*healthy {
		r.body, r.last = body, now
		close(r.complete)
	}
}

// arrived returns the times that are recorded so far.
func (r *receivers) arrived() []time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.latencies)
}
