package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"syscall"
	"time"

	"chequer/internal/config"
	"chequer/internal/metrics"
	"chequer/internal/requestlog"
)

// listen opens the port and creates the HTTP server.
func (a *App) listen(ctx context.Context, c config.Config, h http.Handler) error {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", c.Listen)
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("%s is in use by another program: choose another address, as in CHEQUER_LISTEN=127.0.0.1:8081", c.Listen)
	}
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	a.listener = l
	requests := requestlog.Config{Now: time.Now}
	if c.AccessLog {
		requests.Access = a.log
	}
	a.http = newHTTPServer(requestlog.New(requests, h), a.log, func() {
		close(a.stopping)
		for _, end := range a.onShutdown {
			end()
		}
	})
	return nil
}

// listenMetrics opens the port for Prometheus, if the settings have its address.
func (a *App) listenMetrics(ctx context.Context, c config.Config, m *metrics.Metrics) error {
	if c.Metrics == "" {
		return nil
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", c.Metrics)
	if err != nil {
		return fmt.Errorf("CHEQUER_METRICS: listen: %w", err)
	}
	a.close = append(a.close, func() error {
		if err := l.Close(); !errors.Is(err, net.ErrClosed) {
			return err
		}
		return nil
	})
	a.loops = append(a.loops, m.Serve(l))
	return nil
}
