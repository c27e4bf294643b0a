package lightningtest

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"chequer/internal/chain/lightning"
	"chequer/internal/guard"
)

// Host is the host of every server of a Network.
const Host = "example.com"

// Config returns the configuration of a provider for a pasted connection. Its log is discarded.
func Config(t testing.TB, text string, dialer guard.Connector) lightning.ProviderConfig {
	t.Helper()
	c, err := lightning.ParseConnection(text)
	if err != nil {
		t.Fatal(err)
	}
	return lightning.ProviderConfig{Connection: c, Dialer: dialer, Now: time.Now, Log: slog.New(slog.DiscardHandler)}
}

// Server is a server of a provider. It implements guard.Connector, and is the only host that can be reached.
type Server struct {
	*httptest.Server
	down  atomic.Bool
	Calls atomic.Int64
}

var _ guard.Connector = (*Server)(nil)

// NewServer starts a server with https.
func NewServer(t testing.TB, h http.Handler) *Server {
	t.Helper()
	s := &Server{}
	s.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.Calls.Add(1)
		h.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

// TLS returns a configuration that trusts the server.
func (s *Server) TLS() *tls.Config {
	return s.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
}

// SetDown makes the server unreachable, or reachable again.
func (s *Server) SetDown(down bool) { s.down.Store(down) }

// Dial implements guard.Connector.
func (s *Server) Dial(ctx context.Context, target guard.Target, hostport string) (net.Conn, error) {
	switch {
	case hostport != Host+":443" || target.Plain || !target.Live:
		return nil, errors.New("no such host: " + hostport)
	case s.down.Load():
		return nil, errors.New("connection refused")
	}
	return new(net.Dialer).DialContext(ctx, "tcp", s.Listener.Addr().String())
}
