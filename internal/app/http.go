package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"
)

// The server stops within 5 seconds, because container runtimes kill it after 10.
const (
	// shutdownTimeout is the time that running requests may take while the server stops. Then all
	// connections are closed, including those with a partly sent body.
	shutdownTimeout = 4 * time.Second
	// newConnTimeout is the time that a connection without a request may still send one while the server
	// stops.
	newConnTimeout = 500 * time.Millisecond
)

// newHTTPServer returns a server of h. When it begins to stop it calls onShutdown, which must end
// streams and long polls: they would otherwise run until shutdownTimeout.
func newHTTPServer(h http.Handler, log *slog.Logger, onShutdown func()) *http.Server {
	var unused newConns
	server := &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       30 * time.Second,
		WriteTimeout:      60 * time.Second, // event streams set their own deadline
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
		ConnState:         unused.update,
	}
	server.RegisterOnShutdown(func() {
		onShutdown()
		time.AfterFunc(newConnTimeout, unused.close)
	})
	return server
}

// serveHTTP serves until the context ends, then waits up to shutdownTimeout for running requests.
func serveHTTP(ctx context.Context, server *http.Server, l net.Listener, log *slog.Logger) error {
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	select {
	case err := <-served:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
	defer cancel()
	err := server.Shutdown(stop)
	if err != nil {
		log.Warn("requests were cut off at shutdown", "error", err)
		err = server.Close()
	}
	if serveErr := <-served; !errors.Is(serveErr, http.ErrServerClosed) {
		return fmt.Errorf("serve: %w", serveErr)
	}
	return err
}

// newConns are the connections that have not sent a request yet. http.Server.Shutdown waits 5 seconds
// for each.
type newConns struct{ conns sync.Map }

// update adds a new connection, and removes a connection that sends its first request or is closed.
func (n *newConns) update(c net.Conn, state http.ConnState) {
	if state == http.StateNew {
		n.conns.Store(c, nil)
		return
	}
	n.conns.Delete(c)
}

// close closes the connections.
func (n *newConns) close() {
	for c := range n.conns.Range {
		c.(net.Conn).Close()
	}
}
