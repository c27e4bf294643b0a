package app

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

// pipes is a listener whose connections are in memory, so that they can be used in a synctest
// bubble.
type pipes struct {
	accepted chan net.Conn
	closed   chan struct{}
}

func newPipes() *pipes { return &pipes{accepted: make(chan net.Conn), closed: make(chan struct{})} }

func (p *pipes) dial() net.Conn {
	local, remote := net.Pipe()
	p.accepted <- remote
	return local
}

// Accept implements net.Listener.
func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.accepted:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (p *pipes) Close() error {
	select {
	case <-p.closed:
		return net.ErrClosed
	default:
		close(p.closed)
		return nil
	}
}

// Addr implements net.Listener.
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

func TestServeHTTP_stops_within_5_seconds(t *testing.T) {
	t.Parallel()
	const half = "POST /read HTTP/1.1\r\nHost: shop.example\r\nContent-Length: 100\r\n\r\n{\"amount\":"
	for name, tt := range map[string]struct {
		sent    string        // "" opens no connection; "-" opens a connection and sends nothing
		maximum time.Duration // maximum duration of the stop
	}{
		"idle":                     {"", 0},
		"half_a_request_line":      {"POST /re", 5 * time.Second},
		"half_a_body":              {half, 5 * time.Second},
		"handler_that_never_ends":  {"GET /hang HTTP/1.1\r\nHost: shop.example\r\n\r\n", 5 * time.Second},
		"stream":                   {"GET /stream HTTP/1.1\r\nHost: shop.example\r\n\r\n", time.Second},
		"connection_without_bytes": {"-", time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				stopping := make(chan struct{})
				handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					switch r.URL.Path {
					case "/read":
						_, _ = io.ReadAll(r.Body)
					case "/hang":
						<-r.Context().Done()
					case "/stream":
						w.WriteHeader(http.StatusOK)
						_ = http.NewResponseController(w).Flush()
						<-stopping
					}
				})
				log := slog.New(slog.DiscardHandler)
				server := newHTTPServer(handler, log, func() { close(stopping) })
				ctx, stop := context.WithCancel(t.Context())
				l, stopped := newPipes(), make(chan error, 1)
				go func() { stopped <- serveHTTP(ctx, server, l, log) }()
				if tt.sent != "" {
					c := l.dial()
					defer c.Close()
					go func() { _, _ = io.Copy(io.Discard, bufio.NewReader(c)) }()
					if tt.sent != "-" {
						if _, err := c.Write([]byte(tt.sent)); err != nil {
							t.Fatal(err)
						}
					}
				}
				synctest.Wait()
				begun := time.Now()
				stop()
				if err := <-stopped; err != nil {
					t.Errorf("stop: %v", err)
				}
				if elapsed := time.Since(begun); elapsed > tt.maximum {
					t.Errorf("the stop takes %s, want at most %s", elapsed, tt.maximum)
				}
			})
		})
	}
}

func TestServeHTTP_lets_requests_end(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			time.Sleep(3 * time.Second)
			w.WriteHeader(http.StatusNoContent)
		})
		log := slog.New(slog.DiscardHandler)
		server := newHTTPServer(handler, log, func() {})
		ctx, stop := context.WithCancel(t.Context())
		l, stopped := newPipes(), make(chan error, 1)
		go func() { stopped <- serveHTTP(ctx, server, l, log) }()
		c := l.dial()
		defer c.Close()
		if _, err := c.Write([]byte("GET / HTTP/1.1\r\nHost: shop.example\r\n\r\n")); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		stop()
		answer, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != http.StatusNoContent {
			t.Errorf("answer %d, want %d", answer.StatusCode, http.StatusNoContent)
		}
		if err := <-stopped; err != nil {
			t.Errorf("stop: %v", err)
		}
	})
}

func TestServeHTTP_returns_the_error_of_the_listener(t *testing.T) {
	t.Parallel()
	log := slog.New(slog.DiscardHandler)
	l := newPipes()
	l.Close()
	err := serveHTTP(t.Context(), newHTTPServer(http.NotFoundHandler(), log, func() {}), l, log)
	if !errors.Is(err, net.ErrClosed) {
		t.Errorf("got error %v, want %v", err, net.ErrClosed)
	}
}
