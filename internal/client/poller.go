package client

import (
	"context"
	"errors"
	"sync"
	"time"
)

// Waiter is the part of a client that a Poller needs.
type Waiter interface {
	Invoice(ctx context.Context, id string) (Snapshot, error)
	WaitInvoice(ctx context.Context, id, etag string, wait time.Duration) (Snapshot, error)
}

const (
	// pollPause limits the rate of requests to a service that does not wait, or that returns errors.
	pollPause = time.Second
	// pollWait is the time that the service is asked to wait. It is shorter than MaxWait, because the
	// answer may take a moment.
	pollWait = 25 * time.Second
)

// Poller watches invoices of a service, each with one long poll. It is safe for concurrent use.
type Poller struct {
	client Waiter

	mu    sync.Mutex
	polls map[string]*poll
}

// poll is the long poll of one invoice.
type poll struct {
	etag   string        // of the last returned snapshot
	unread *Snapshot     // snapshot that the poll returned, and that Invoice has not returned yet
	read   chan struct{} // closed by the first call of Invoice
	once   sync.Once
}

// NewPoller returns a new Poller.
func NewPoller(client Waiter) *Poller { return &Poller{client: client, polls: map[string]*poll{}} }

// Invoice returns an invoice. If it is watched and its poll returned a new snapshot, it returns that
// without a request.
func (p *Poller) Invoice(ctx context.Context, id string) (Snapshot, error) {
	if snapshot := p.takeUnread(id); snapshot != nil {
		return *snapshot, nil
	}
	snapshot, err := p.client.Invoice(ctx, id)
	if err != nil {
		return snapshot, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if current, ok := p.polls[id]; ok {
		current.etag = snapshot.ETag
		current.once.Do(func() { close(current.read) })
	}
	return snapshot, nil
}

// takeUnread returns the snapshot that the poll of an invoice returned since the last call; nil if there is
// none.
func (p *Poller) takeUnread(id string) (snapshot *Snapshot) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if current, ok := p.polls[id]; ok {
		snapshot, current.unread = current.unread, nil
	}
	return snapshot
}

// Watch calls changed after each change of an invoice until cancel is called. The first call of Invoice after Watch
// returns the state from which changes are counted. The version is always 0, because a service does not send the
// version of a change. An invoice has at most one watch.
func (p *Poller) Watch(id string, changed func(version int64)) (cancel func()) {
	ctx, end := context.WithCancel(context.Background())
	current := &poll{read: make(chan struct{})}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.polls[id] = current
	go p.run(ctx, id, current, changed)
	return func() {
		end()
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.polls[id] == current {
			delete(p.polls, id)
		}
	}
}

// run polls an invoice until the context ends.
func (p *Poller) run(ctx context.Context, id string, current *poll, changed func(version int64)) {
	select {
	case <-current.read:
	case <-ctx.Done():
	}
	for ctx.Err() == nil {
		requestedAt, etag := time.Now(), p.etag(current)
		snapshot, err := p.client.WaitInvoice(ctx, id, etag, pollWait)
		if err == nil && snapshot.ETag != etag {
			p.setUnread(current, snapshot)
			changed(0)
			continue
		}
		if !errors.Is(err, ErrNotModified) || time.Since(requestedAt) < pollPause {
			select {
			case <-time.After(pollPause):
			case <-ctx.Done():
			}
		}
	}
}

func (p *Poller) etag(current *poll) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return current.etag
}

func (p *Poller) setUnread(current *poll, snapshot Snapshot) {
	p.mu.Lock()
	defer p.mu.Unlock()
	current.etag, current.unread = snapshot.ETag, &snapshot
}
