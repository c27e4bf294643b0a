// Package changes informs the open pages of the desk that their shop has changed. It does not say what has changed: the
// page requests its content again.
package changes

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"
)

// ErrClosed means that the hub was closed.
var ErrClosed = errors.New("hub closed")

// Config configures a Hub.
type Config struct {
	// Position returns the position of the newest event in a shop's feed, whichever process wrote it.
	Position func(ctx context.Context, shopID string) (int64, error)
	// Interval is the interval between two reads of a shop's position.
	Interval time.Duration
	Log      *slog.Logger
}

// Hub lets pages wait for changes of their shops. The position of a shop is read once per interval while at least one
// page waits, however many pages do. It is safe for concurrent use.
type Hub struct {
	config Config
	ctx    context.Context //nolint:containedctx // ends the reads when the hub is closed
	close  context.CancelFunc

	mu    sync.Mutex
	shops map[string]*shop // shops for which pages wait, by ID
}

// shop is the state of a shop for which pages wait.
type shop struct {
	position int64
	isKnown  bool          // the position was read
	waiting  int           // number of pages
	changed  chan struct{} // closed when the position changes
}

// New returns a new Hub.
func New(c Config) *Hub {
	h := &Hub{config: c, shops: map[string]*shop{}}
	h.ctx, h.close = context.WithCancel(context.Background())
	return h
}

// Close ends every Wait with ErrClosed.
func (h *Hub) Close() { h.close() }

// Position returns the current position of a shop.
func (h *Hub) Position(ctx context.Context, shopID string) (int64, error) {
	return h.config.Position(ctx, shopID)
}

// Wait waits until the position of a shop differs from the one that a page has seen, and returns the new position. It
// returns ErrClosed if the hub is closed, and the context's error if the context ends.
func (h *Hub) Wait(ctx context.Context, shopID string, seen int64) (int64, error) {
	s := h.join(shopID)
	defer h.leave(s)
	for {
		h.mu.Lock()
		position, isNew, changed := s.position, s.isKnown && s.position != seen, s.changed
		h.mu.Unlock()
		if isNew {
			return position, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-h.ctx.Done():
			return 0, ErrClosed
		}
	}
}

// join counts a page that waits, and starts reading the position of its shop if no other page waits.
func (h *Hub) join(shopID string) *shop {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.shops[shopID]
	if s == nil {
		s = &shop{changed: make(chan struct{})}
		h.shops[shopID] = s
		go h.read(shopID, s)
	}
	s.waiting++
	return s
}

// leave removes a page from the count of waiting pages.
func (h *Hub) leave(s *shop) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s.waiting--
}

// read reads the position of a shop once per interval until no page waits. It continues if a page waits again
// within the interval, as after a heartbeat.
func (h *Hub) read(shopID string, s *shop) {
	for h.ctx.Err() == nil {
		position, err := h.config.Position(h.ctx, shopID)
		if err != nil && h.ctx.Err() == nil {
			h.config.Log.WarnContext(h.ctx, "position of the feed not read, open pages of the desk are not updated", "error", err)
		}
		if err == nil {
			h.setPosition(s, position)
		}
		select {
		case <-time.After(h.config.Interval):
		case <-h.ctx.Done():
		}
		if h.removeUnused(shopID, s) {
			return
		}
	}
}

// setPosition stores a position that was read, and ends the waits of the pages if it differs from the last one.
func (h *Hub) setPosition(s *shop, position int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if s.isKnown && s.position == position {
		return
	}
	s.position, s.isKnown = position, true
	close(s.changed)
	s.changed = make(chan struct{})
}

// removeUnused removes a shop for which no page waits, and reports whether it did.
func (h *Hub) removeUnused(shopID string, s *shop) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if s.waiting > 0 {
		return false
	}
	delete(h.shops, shopID)
	return true
}
