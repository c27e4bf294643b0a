package invoice

import (
	"context"
	"sync"
	"time"
)

// Wait returns an invoice once its version differs from the given one, or ErrNotModified after the
// given time.
func (s *Service) Wait(ctx context.Context, id string, version int64, wait time.Duration) (*Invoice, error) {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	changed := make(chan struct{}, 1)
	defer s.Subscribe(id, func(int64) {
		select {
		case changed <- struct{}{}:
		default:
		}
	})()
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
		}
	}
}

// Subscribe registers a function that is called with the new version when an invoice changes, and
// with 0 when another part of its resource may have changed. A call is a hint: it can be repeated,
// and one call can be under way while cancel returns. The function must not block. Changes by other
// processes are noticed while a Follower runs.
func (s *Service) Subscribe(id string, changed func(version int64)) (cancel func()) {
	return s.subscriptions.add(id, changed)
}

// subscriptions holds the functions that are called when an invoice changes.
type subscriptions struct {
	mu   sync.Mutex
	byID map[string]*subscription
}

// subscription holds the functions of the subscribers of one invoice.
type subscription struct {
	version int64 // newest version that the subscribers were called with; 0 before the first call
	calls   map[*func(version int64)]bool
}

func (s *subscriptions) add(id string, changed func(version int64)) (cancel func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byID == nil {
		s.byID = map[string]*subscription{}
	}
	of, ok := s.byID[id]
	if !ok {
		of = &subscription{calls: map[*func(int64)]bool{}}
		s.byID[id] = of
	}
	of.version = 0 // a new subscriber knows no version
	of.calls[&changed] = true
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(of.calls, &changed)
		if len(of.calls) == 0 && s.byID[id] == of {
			delete(s.byID, id)
		}
	}
}

// notify calls the subscribers of an invoice, unless they know this version or a newer one. The
// version 0 is always new.
func (s *subscriptions) notify(id string, version int64) {
	for _, changed := range s.toCall(id, version) {
		changed(version)
	}
}

// toCall returns the functions that notify calls. They are called without the lock, because they may
// call cancel.
func (s *subscriptions) toCall(id string, version int64) (calls []func(version int64)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	of, ok := s.byID[id]
	if !ok || version != 0 && version <= of.version {
		return nil
	}
	of.version = max(of.version, version)
	for changed := range of.calls {
		calls = append(calls, *changed)
	}
	return calls
}

// ids returns the invoices with subscribers.
func (s *subscriptions) ids() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	ids := make([]string, 0, len(s.byID))
	for id := range s.byID {
		ids = append(ids, id)
	}
	return ids
}
