package invoice

import (
	"context"
	"sync"
	"time"
)

// slowTick is the interval at which a waiting reader reads the table without a notification: a
// notification is only a hint, and reaches only the process that made the change.
const slowTick = 3 * time.Second

// Wait returns an invoice once its version differs from the given one, or ErrNotModified after the
// given time.
func (s *Service) Wait(ctx context.Context, id string, version int64, wait time.Duration) (*Invoice, error) {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	changed, leave := s.waiters.subscribe(id)
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
		case <-changed:
		case <-tick.C:
		}
	}
}

// waiters notifies readers that wait for a change of an invoice.
type waiters struct {
	mu        sync.Mutex
	listeners map[string]map[chan struct{}]bool
}

// subscribe returns a channel that receives a value when the invoice changes, until leave is called.
func (w *waiters) subscribe(id string) (changed <-chan struct{}, leave func()) {
	c := make(chan struct{}, 1)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.listeners == nil {
		w.listeners = map[string]map[chan struct{}]bool{}
	}
	if w.listeners[id] == nil {
		w.listeners[id] = map[chan struct{}]bool{}
	}
	w.listeners[id][c] = true
	return c, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.listeners[id], c)
		if len(w.listeners[id]) == 0 {
			delete(w.listeners, id)
		}
	}
}

// notify wakes the readers of an invoice. It never blocks.
func (w *waiters) notify(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for c := range w.listeners[id] {
		select {
		case c <- struct{}{}:
		default:
		}
	}
}
