package e2e_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"chequer/internal/app"
	"chequer/internal/config"
	"chequer/internal/merchant"
	"chequer/internal/programtest"
)

// freeAddress returns an unused address on this machine.
func freeAddress(t testing.TB) string {
	t.Helper()
	return programtest.FreeAddress(t, "127.0.0.1")
}

// settings returns the settings of a program with a new data directory and an unused address.
func settings(t testing.TB, more ...string) config.Config {
	t.Helper()
	c, err := config.Load(append([]string{
		"CHEQUER_LISTEN=" + freeAddress(t), "CHEQUER_DATA_DIR=" + t.TempDir(),
	}, more...))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// program is a running server in the test's process.
type program struct {
	url  string
	key  merchant.Key // the demo shop's key
	app  *app.App
	stop func()
}

// start runs the server until the test ends or stop is called. The log is discarded unless the options
// have a logger.
func start(t testing.TB, c config.Config, o app.Options) *program {
	t.Helper()
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	a, err := app.New(t.Context(), c, o)
	if err != nil {
		t.Fatal(err)
	}
	return &program{url: "http://" + a.Addr(), key: a.DemoKey(), app: a, stop: runApp(t, a)}
}

// runApp runs a until the test ends or stop is called. stop waits until a has ended and is closed.
func runApp(t testing.TB, a *app.App) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx) }()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("run: %v", err)
		}
		if err := a.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	}
	t.Cleanup(stop)
	return stop
}

// until waits until the condition holds, and fails the test after the limit.
func until(t testing.TB, limit time.Duration, condition string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	late := time.After(limit)
	for !holds() {
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("not true within %s: %s", limit, condition)
		}
	}
}
