package webhook_test

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"chequer/internal/guard"
	"chequer/internal/merchant"
	"chequer/internal/webhook"
)

// frozenStorage is a storage whose database receives statements and never answers.
type frozenStorage struct{ webhook.Storage }

func (frozenStorage) DueEndpoints(ctx context.Context, _ time.Time) ([]merchant.Endpoint, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func (frozenStorage) DeleteEvents(ctx context.Context, _ time.Time, _ int) (int, error) {
	<-ctx.Done()
	return 0, ctx.Err()
}

func TestRun_ends_although_the_database_does_not_answer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := webhook.New(webhook.Config{
			Storage: frozenStorage{}, Dialer: &guard.Dialer{}, Now: time.Now, Log: slog.New(slog.DiscardHandler),
		})
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- w.Run(ctx) }()
		synctest.Wait()
		stop()
		select {
		case err := <-done:
			if err != nil {
				t.Errorf("run: %v", err)
			}
		case <-time.After(3 * time.Second):
			t.Error("still running 3 seconds after the stop")
		}
	})
}
