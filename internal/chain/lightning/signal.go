package lightning

import (
	"context"
	"log/slog"
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
}

// NewSignal returns a new Signal.
func NewSignal() *Signal { return &Signal{wake: make(chan struct{}, 1)} }

// Wake implements Waker.
func (s *Signal) Wake() <-chan struct{} { return s.wake }

// Subscribed implements Waker.
func (s *Signal) Subscribed() bool { return s.subscribed.Load() }

// Send signals a payment.
func (s *Signal) Send() {
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
				s.Send()
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
