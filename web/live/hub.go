// Package live streams the changes of invoices' pages to their viewers. All viewers of one invoice share one
// subscription to its changes, and a changed page is rendered and compressed once per language.
package live

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"
)

const (
	// beatSlots is the number of seconds between two heartbeats of a stream. Each viewer has a slot, the second
	// of its heartbeat. A heartbeat keeps proxies from closing a silent stream, and shows the page that the stream
	// is open.
	beatSlots = 20
	// lifetime is the longest life of a stream. A browser that still shows the page then connects again.
	lifetime = 10 * time.Minute
	// readTimeout is the time that the state of an invoice may take to be read and rendered.
	readTimeout = 15 * time.Second
	// retryInterval is the pause after a state could not be read.
	retryInterval = time.Second
	// maxWorkers is the number of invoices that are read and rendered concurrently.
	maxWorkers = 4
)

// ErrShown means that the viewer shows the final version already, so that there is nothing to stream.
var ErrShown = errors.New("the final version is shown")

// ErrClosed means that the hub was closed before the stream began.
var ErrClosed = errors.New("hub closed")

// Source reads the states of invoices. It is safe for concurrent use.
type Source interface {
	// Read returns the present state of an invoice.
	Read(ctx context.Context, id string) (State, error)
	// Watch calls changed when the state of an invoice may have changed, with the new version of the
	// invoice or with 0, until cancel is called. It does not block, nor does changed.
	Watch(id string, changed func(version int64)) (cancel func())
	// IsGone reports whether an error of Read means that there is no such invoice.
	IsGone(err error) bool
}

// State is the page of an invoice at one time.
type State struct {
	PageVersion string        // changes when the page changes
	Version     int64         // the invoice's version, as Watch reports it
	Final       bool          // the page will not change any more
	Language    string        // code of the invoice's own language; empty if it has none
	ExpiresIn   time.Duration // time until the page changes without a new version of the invoice; 0 if it changes only with one
	// Render returns the live part of the page.
	Render func(context.Context, Variant) (string, error)
}

// Variant selects one of the pages of a state.
type Variant struct {
	Language string // its code
	Explicit bool   // the page's address names the language
	Modal    bool   // the page's address has present.ModalView
}

// Hub streams the changes of pages to their viewers. It is safe for concurrent use.
type Hub struct {
	source Source
	log    *slog.Logger
	ctx    context.Context //nolint:containedctx // ends the work in the background when the hub is closed
	cancel context.CancelFunc

	mu      sync.Mutex
	limits  *limits
	closed  bool
	topics  map[string]*topic
	queue   []*topic                        // topics that must be read
	workers int                             // number of goroutines that read the topics of the queue
	beats   [beatSlots]map[*Viewer]struct{} // viewers by their slot
	second  int                             // number of calls of beat, which selects the slot
	clock   *time.Timer                     // calls beat every second while there are viewers; otherwise nil
}

// New returns a hub without viewers.
func New(source Source, l Limits, log *slog.Logger) *Hub {
	h := &Hub{source: source, log: log, limits: newLimits(l), topics: map[string]*topic{}}
	h.ctx, h.cancel = context.WithCancel(context.Background())
	for i := range h.beats {
		h.beats[i] = map[*Viewer]struct{}{}
	}
	return h
}

// Close ends every stream and all work in the background.
func (h *Hub) Close() {
	h.cancel()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	for _, t := range h.topics {
		for v := range t.viewers {
			v.end(ErrClosed)
		}
		h.remove(t)
	}
}

// Join adds a viewer of an invoice. It returns false if a limit of streams is reached. The caller calls
// Leave when the stream ends.
func (h *Hub) Join(id string, r Request) (*Viewer, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	release, ok := h.limits.acquire(r.Address)
	if !ok {
		return nil, false
	}
	v := &Viewer{hub: h, request: r, shown: r.Shown, release: release, expiresAt: time.Now().Add(lifetime), ready: make(chan struct{}, 1), slot: h.second % beatSlots}
	if h.closed {
		v.end(ErrClosed)
		return v, true
	}
	h.beats[v.slot][v] = struct{}{}
	h.startClock()
	h.topic(id).add(v)
	return v, true
}

// topic returns the topic of an invoice, and creates it if there is none.
func (h *Hub) topic(id string) *topic {
	t, ok := h.topics[id]
	if !ok {
		t = &topic{hub: h, id: id, viewers: map[*Viewer]struct{}{}}
		h.topics[id] = t
		t.unwatch = h.source.Watch(id, t.changed)
	}
	return t
}

// leave removes a viewer. It also removes the topic of the invoice if that has no other viewer.
func (h *Hub) leave(v *Viewer) {
	h.mu.Lock()
	defer h.mu.Unlock()
	v.release()
	delete(h.beats[v.slot], v)
	if t := v.topic; t != nil {
		delete(t.viewers, v)
		if len(t.viewers) == 0 {
			h.remove(t)
		}
	}
}

// remove removes a topic, ends its subscription and stops its timer. It stops the clock if no topic is left.
func (h *Hub) remove(t *topic) {
	if t.removed {
		return
	}
	t.removed = true
	t.unwatch()
	t.stopTimer()
	delete(h.topics, t.id)
	if len(h.topics) == 0 && h.clock != nil {
		h.clock.Stop()
		h.clock = nil
	}
}

// startClock starts the clock unless it runs already.
func (h *Hub) startClock() {
	if h.clock == nil {
		h.clock = time.AfterFunc(time.Second, h.beat)
	}
}

// beat sends a heartbeat to the viewers of the next slot, or ends their streams after their lifetime.
func (h *Hub) beat() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.clock == nil {
		return
	}
	h.clock.Reset(time.Second)
	h.second++
	now := time.Now()
	for v := range h.beats[h.second%beatSlots] {
		switch {
		case !now.Before(v.expiresAt):
			v.end(nil)
		case v.opened:
			v.queueText(beatText)
		}
	}
}

// enqueue makes a worker read a topic.
func (h *Hub) enqueue(t *topic) {
	h.queue = append(h.queue, t)
	if h.workers < maxWorkers {
		h.workers++
		go h.work()
	}
}

// work reads the topics of the queue until it is empty.
func (h *Hub) work() {
	for {
		h.mu.Lock()
		if len(h.queue) == 0 {
			h.queue = nil
			h.workers--
			h.mu.Unlock()
			return
		}
		t := h.queue[0]
		h.queue = h.queue[1:]
		h.mu.Unlock()
		t.refresh()
	}
}
