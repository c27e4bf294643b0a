package invoice

import (
	"context"
	"sync"
	"time"
)

// slowTick is how often a waiting reader looks at the table by itself: the bell
// is only a hint, and rings only in the process that made the change.
const slowTick = 3 * time.Second

// Wait reads an invoice once its version differs from the given one; after the
// given time it is ErrNotModified.
func (s *Service) Wait(ctx context.Context, id string, version int64, wait time.Duration) (*Invoice, error) {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	ring, leave := s.bell.listen(id)
	defer leave()
	tick := time.NewTicker(slowTick)
	defer tick.Stop()
	for {
		inv, err := s.storage.Invoice(context.WithoutCancel(ctx), id)
		if err != nil {
			return nil, err
		}
		if inv.Version != version {
			return inv, nil
		}
		select {
		case <-ctx.Done():
			return nil, ErrNotModified
		case <-ring:
		case <-tick.C:
		}
	}
}

// bell wakes readers that wait for an invoice.
type bell struct {
	mu        sync.Mutex
	listeners map[string]map[chan struct{}]bool
}

// listen returns a channel that rings when the invoice changes, until leave.
func (b *bell) listen(id string) (ring <-chan struct{}, leave func()) {
	c := make(chan struct{}, 1)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.listeners == nil {
		b.listeners = map[string]map[chan struct{}]bool{}
	}
	if b.listeners[id] == nil {
		b.listeners[id] = map[chan struct{}]bool{}
	}
	b.listeners[id][c] = true
	return c, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.listeners[id], c)
		if len(b.listeners[id]) == 0 {
			delete(b.listeners, id)
		}
	}
}

// ring wakes who listens. It never waits.
func (b *bell) ring(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for c := range b.listeners[id] {
		select {
		case c <- struct{}{}:
		default:
		}
	}
}
