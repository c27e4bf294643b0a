package client_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"chequer/internal/client"
)

// polled is a service with one invoice, which counts requests.
type polled struct {
	mu      sync.Mutex
	version int
	changed chan struct{}
	reads   int   // calls of Invoice
	waits   int   // calls of WaitInvoice
	waiting int   // calls of WaitInvoice that have not returned
	instant bool  // WaitInvoice returns at once
	err     error // of WaitInvoice
}

func (p *polled) snapshot() client.Snapshot {
	return client.Snapshot{ETag: fmt.Sprint(p.version)}
}

func (p *polled) Invoice(context.Context, string) (client.Snapshot, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.reads++
	return p.snapshot(), nil
}

func (p *polled) WaitInvoice(ctx context.Context, _, etag string, wait time.Duration) (client.Snapshot, error) {
	p.mu.Lock()
	p.waits++
	p.waiting++
	changed, instant, err, current := p.changed, p.instant, p.err, p.snapshot()
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.waiting--
	}()
	if err != nil || instant || current.ETag != etag {
		return current, err
	}
	select {
	case <-changed:
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.snapshot(), nil
	case <-time.After(wait):
		return client.Snapshot{}, client.ErrNotModified
	case <-ctx.Done():
		return client.Snapshot{}, ctx.Err()
	}
}

func (p *polled) change() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.version++
	close(p.changed)
	p.changed = make(chan struct{})
}

func (p *polled) want(t *testing.T, reads, waits, waiting int) {
	t.Helper()
	synctest.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.reads != reads || p.waits != waits || p.waiting != waiting {
		t.Errorf("%d reads, %d long polls, %d of them now; want %d, %d, %d", p.reads, p.waits, p.waiting, reads, waits, waiting)
	}
}

func TestPoller_polls_once_for_each_invoice(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		service := &polled{version: 1, changed: make(chan struct{})}
		p := client.NewPoller(service)
		calls := 0
		cancel := p.Watch("a", func(int64) { calls++ })
		service.want(t, 0, 0, 0) // there is no version yet
		for range 3 {
			if got, err := p.Invoice(t.Context(), "a"); err != nil || got.ETag != "1" {
				t.Fatalf("read %q, %v; want version 1", got.ETag, err)
			}
		}
		service.want(t, 3, 1, 1)
		service.change()
		service.want(t, 3, 2, 1)
		if got, err := p.Invoice(t.Context(), "a"); err != nil || got.ETag != "2" || calls != 1 {
			t.Errorf("read %q, %v after %d calls; want version 2 after one call", got.ETag, err, calls)
		}
		service.want(t, 3, 2, 1) // the poll returned the snapshot
		time.Sleep(26 * time.Second)
		service.want(t, 3, 3, 1)
		if calls != 1 {
			t.Errorf("%d calls, want 1", calls)
		}
		cancel()
		service.want(t, 3, 3, 0)
	})
}

func TestPoller_limits_its_requests(t *testing.T) {
	t.Parallel()
	for name, service := range map[string]*polled{
		"a service that does not wait": {version: 1, instant: true},
		"a service that fails":         {version: 1, err: errors.New("connection refused")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := client.NewPoller(service)
				cancel := p.Watch("a", func(int64) { t.Error("called without a change") })
				if _, err := p.Invoice(t.Context(), "a"); err != nil {
					t.Fatal(err)
				}
				time.Sleep(10*time.Second + time.Millisecond)
				service.want(t, 1, 11, 0)
				cancel()
				synctest.Wait()
			})
		})
	}
}
