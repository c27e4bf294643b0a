package nwc

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"chequer/internal/guard"
)

// pipes is a listener and a connector without a network, so that it can be used in a synctest bubble.
type pipes struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once

	mu     sync.Mutex
	dialed []*stallable
}

// stallable is a connection that can stop to deliver.
type stallable struct {
	net.Conn
	stalled chan struct{}
	closed  chan struct{}
	once    sync.Once
}

func (s *stallable) Read(b []byte) (int, error) {
	n, err := s.Conn.Read(b)
	select {
	case <-s.stalled:
		<-s.closed
		return 0, net.ErrClosed
	default:
		return n, err
	}
}

func (s *stallable) Close() error {
	s.once.Do(func() { close(s.closed) })
	return s.Conn.Close()
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.done) })
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

// Dial implements guard.Connector.
func (p *pipes) Dial(ctx context.Context, target guard.Target, hostport string) (net.Conn, error) {
	if hostport != "relay.example:80" || !target.Plain || !target.AnyPort {
		return nil, errors.New("no such host")
	}
	client, server := net.Pipe()
	c := &stallable{Conn: client, stalled: make(chan struct{}), closed: make(chan struct{})}
	p.mu.Lock()
	p.dialed = append(p.dialed, c)
	p.mu.Unlock()
	select {
	case p.conns <- server:
		return c, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// stall lets the first connection read no more.
func (p *pipes) stall() {
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.dialed[0].stalled)
}

func (p *pipes) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.dialed)
}

// inBubble runs a test with the clock of synctest and a relay without a network.
func inBubble(t *testing.T, test func(t *testing.T, f *fixture, p *pipes)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := &pipes{conns: make(chan net.Conn), done: make(chan struct{})}
		mux := http.NewServeMux()
		f := newWallet(t, time.Now(), 1, "ws://relay.example", mux)
		server := &http.Server{Handler: mux}
		go func() { _ = server.Serve(p) }() // until Close
		f.open(t, p, nil)
		f.wallet.announce(t, "nip44_v2", receiving...)
		test(t, f, p)
		f.Close()
		f.wallet.relays[0].drop()
		_ = server.Close()
	})
}

func TestSession_is_used_again_and_ends_when_it_is_idle(t *testing.T) {
	inBubble(t, func(t *testing.T, f *fixture, p *pipes) {
		for range 5 {
			if _, err := f.Make(t.Context(), ask); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Minute)
		}
		r := f.relays[0]
		r.mu.Lock()
		s := r.current
		r.mu.Unlock()
		if isDone(s.done) || p.count() != 1 {
			t.Errorf("%d sessions, ended %t, want one that is open", p.count(), isDone(s.done))
		}
		time.Sleep(2 * time.Minute)
		if !isDone(s.done) {
			t.Error("the session is open after two idle minutes")
		}
		if _, err := f.Make(t.Context(), ask); err != nil || p.count() != 2 {
			t.Errorf("Make() = %v in session %d, want the second", err, p.count())
		}
	})
}

func TestRun_keeps_an_idle_session(t *testing.T) {
	inBubble(t, func(t *testing.T, f *fixture, p *pipes) {
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- f.Run(ctx) }()
		time.Sleep(time.Hour)
		if p.count() != 1 || !f.Subscribed() {
			t.Errorf("%d sessions within an hour, subscribed %t, want one", p.count(), f.Subscribed())
		}
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run() = %v", err)
		}
	})
}

func TestRun_replaces_a_session_whose_pings_are_not_answered(t *testing.T) {
	inBubble(t, func(t *testing.T, f *fixture, p *pipes) {
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- f.Run(ctx) }()
		time.Sleep(time.Minute)
		p.stall()
		time.Sleep(time.Minute)
		if p.count() != 2 || !f.Subscribed() {
			t.Errorf("%d sessions, subscribed %t, want a second one within a minute", p.count(), f.Subscribed())
		}
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run() = %v", err)
		}
	})
}
