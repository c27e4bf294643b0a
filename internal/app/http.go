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

// The program stops within 5 seconds: container runtimes kill it after 10.
const (
	// shutdownTimeout is how long requests may go on while the server stops. Then
	// their connections are closed, as is one with a body that was sent in part.
	shutdownTimeout = 4 * time.Second
	// newConnTimeout is how long a connection without a request may still send one
	// while the server stops.
	newConnTimeout = 500 * time.Millisecond
)

// newHTTPServer returns a server of h. When it begins to stop it calls onShutdown,
// which ends streams and long polls: they would go on until shutdownTimeout.
func newHTTPServer(h http.Handler, log *slog.Logger, onShutdown func()) *http.Server {
	var unused newConns
	server := &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       30 * time.Second,
		WriteTimeout:      60 * time.Second, // event streams set their own
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
		ConnState:         unused.note,
	}
	server.RegisterOnShutdown(func() {
		onShutdown()
		time.AfterFunc(newConnTimeout, unused.close)
	})
	return server
}

// serveHTTP serves until the context ends, then lets requests end within
// shutdownTimeout.
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
	if fault := <-served; !errors.Is(fault, http.ErrServerClosed) {
		return fmt.Errorf("serve: %w", fault)
	}
	return err
}

// newConns are the connections on which no request has begun. http.Server.Shutdown
// waits 5 seconds for each.
type newConns struct{ all sync.Map }

func (n *newConns) note(c net.Conn, state http.ConnState) {
	if state == http.StateNew {
		n.all.Store(c, nil)
		return
	}
	n.all.Delete(c)
}

func (n *newConns) close() {
	for c := range n.all.Range {
		c.(net.Conn).Close()
	}
}
