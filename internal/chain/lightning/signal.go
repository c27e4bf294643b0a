package lightning

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"chequer/internal/clock"

	"github.com/coder/websocket"
)

// The interval of the pings on a WebSocket connection, and the time until a pong.
const (
	pingInterval = 30 * time.Second
	pingTimeout  = 10 * time.Second
)

// Ping sends pings on a WebSocket connection until one is not answered, the context ends, or isOver returns true after a
// ping.
func Ping(ctx context.Context, conn *websocket.Conn, isOver func() bool) {
	for clock.Sleep(ctx, pingInterval) {
		pinging, cancel := context.WithTimeout(ctx, pingTimeout)
		err := conn.Ping(pinging)
		cancel()
		if err != nil || isOver() {
			return
		}
	}
}

// Signal is the part of a Waker that providers share: it keeps a stream of notifications open.
type Signal struct {
	wake       chan struct{}
	subscribed atomic.Bool

	mu     sync.Mutex
	hashes []string // of the notified payments
	all    bool     // payments may have been missed
}

// maxNotified is the number of notified payments above which all requests are looked up.
const maxNotified = 1000

// NewSignal returns a new Signal.
func NewSignal() *Signal { return &Signal{wake: make(chan struct{}, 1)} }

// Wake implements Waker.
func (s *Signal) Wake() <-chan struct{} { return s.wake }

// Subscribed implements Waker.
func (s *Signal) Subscribed() bool { return s.subscribed.Load() }

// Notified implements Waker.
func (s *Signal) Notified() (hashes []string, all bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	hashes, all = s.hashes, s.all
	s.hashes, s.all = nil, false
	return hashes, all
}

// Send signals the payment of the request with a payment hash, in hexadecimal digits. If hash is empty, any request may be paid.
func (s *Signal) Send(hash string) {
	s.mu.Lock()
	if hash == "" || len(s.hashes) >= maxNotified {
		s.hashes, s.all = nil, true
	} else {
		s.hashes = append(s.hashes, strings.ToLower(hash))
	}
	s.mu.Unlock()
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Keep calls receive until the context ends, with growing waits after errors. receive reports with connected that it
// receives notifications, and returns when the stream ends. Keep sends a signal at each new stream, because
// payments may have been missed before it.
func (s *Signal) Keep(ctx context.Context, log *slog.Logger, source string, receive func(ctx context.Context, connected func()) error) {
	var waits backoff
	for ctx.Err() == nil {
		err := receive(ctx, func() {
			waits.reset()
			if !s.subscribed.Swap(true) {
				s.Send("")
			}
		})
		s.subscribed.Store(false)
		if ctx.Err() != nil {
			return
		}
		log.Debug("stream of notifications ended", "provider", source, "error", err)
		if !clock.Sleep(ctx, waits.next()) {
			return
		}
	}
}
