package report_test

import (
	"context"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"chequer/internal/report"
)

// idleFill is a FillStorage without work that counts how often it is asked.
type idleFill struct {
	asked atomic.Int64
	hints chan struct{}
}

func (i *idleFill) UnfilledSums(context.Context) ([]string, error) {
	i.asked.Add(1)
	return nil, nil
}

func (i *idleFill) SumsRestarted() <-chan struct{} { return i.hints }

func (i *idleFill) FillSums(context.Context, string) (bool, error) { return true, nil }

// A Filler asks at its interval, and at once after a hint.
func TestFiller_asks_at_its_interval_and_after_a_hint(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		storage := &idleFill{hints: make(chan struct{}, 1)}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- report.NewFiller(storage, time.Minute, slog.New(slog.DiscardHandler)).Run(ctx) }()
		want := func(n int64, when string) {
			t.Helper()
			synctest.Wait()
			if got := storage.asked.Load(); got != n {
				t.Errorf("%s: asked %d times, want %d", when, got, n)
			}
		}
		want(1, "at the start")
		time.Sleep(59 * time.Second)
		want(1, "before the interval")
		storage.hints <- struct{}{}
		want(2, "after a hint")
		time.Sleep(2 * time.Second)
		want(3, "after the interval")
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}
