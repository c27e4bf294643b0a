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

// hooks are the endpoints that receive deliveries.
type hooks struct {
	base string // address of the listening endpoints

	mu        sync.Mutex
	latencies []time.Duration // times from the event to its arrival at healthy endpoints
	complete  chan struct{}   // closed when all deliveries have arrived; body and last do not change afterwards
	body      []byte          // body of the last event
	last      time.Time       // time of its arrival
}

func newHooks(b *testing.B) *hooks {
	b.Helper()
	ctx, cancel := context.WithCancel(b.Context())
	h := &hooks{complete: make(chan struct{})}
	mux := http.NewServeMux()
	mux.HandleFunc("/healthy/", h.receive)
	mux.HandleFunc("/plain", func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) })
	mux.HandleFunc("/slow/", func(http.ResponseWriter, *http.Request) { wait(ctx, slowDelay) })
	mux.HandleFunc("/silent/", func(http.ResponseWriter, *http.Request) { wait(ctx, deliveryTimeout) })
	s := httptest.NewServer(mux)
	b.Cleanup(func() {
		cancel()
		s.CloseClientConnections()
		s.Close()
	})
	h.base = s.URL
	return h
}

func wait(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// receive records the time from an event to its arrival.
func (h *hooks) receive(w http.ResponseWriter, r *http.Request) {
	now := time.Now()
	body, err := io.ReadAll(r.Body)
	var e api.Event
	if err == nil {
		err = json.Unmarshal(body, &e)
	}
	createdAt, parsed := time.Parse(api.TimeLayout, e.CreatedAt)
	if err != nil || parsed != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.latencies = append(h.latencies, now.Sub(createdAt))
	if len(h.latencies) == paidAtOnce*healthy {
		h.body, h.last = body, now
		close(h.complete)
	}
}

// arrived returns the times that are recorded so far.
func (h *hooks) arrived() []time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.latencies)
}
