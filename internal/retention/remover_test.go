package retention_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/retention"
)

// runs is a Storage whose runs take a given number of transactions each. A run with a negative number fails.
type runs struct {
	mu        sync.Mutex
	remaining map[string]int // remaining transactions, by merchant
	calls     []string
}

// called returns the calls of RemovePersonalData.
func (r *runs) called() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.calls)
}

func (r *runs) RetentionShops(context.Context) ([]string, error) { return []string{"a", "b", "c"}, nil }

func (r *runs) RemovePluginMetadata(_ context.Context, days int, now time.Time) (bool, error) {
	return r.RemovePersonalData(context.Background(), fmt.Sprintf("plug-ins %d", days), now)
}

func (r *runs) BookShops(context.Context) ([]string, error) { return []string{"d"}, nil }

func (r *runs) RemoveBooks(ctx context.Context, merchantID string, now time.Time) (bool, error) {
	return r.RemovePersonalData(ctx, merchantID, now)
}

func (r *runs) RemovePersonalData(_ context.Context, merchantID string, now time.Time) (bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls = append(r.calls, now.Format("05.0 ")+merchantID)
	if r.remaining[merchantID] < 0 {
		return false, errors.New("disk full")
	}
	r.remaining[merchantID]--
	return r.remaining[merchantID] <= 0, nil
}

// A Remover pauses between the transactions of a run, and continues with the next shop if a run fails.
func TestRemover_pauses_and_continues_after_an_error(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		storage := &runs{remaining: map[string]int{"plug-ins 180": 2, "a": 3, "b": -1, "c": 1, "d": 2}}
		r := retention.New(retention.Config{
			Storage: storage, Now: func() time.Time { return time.Time{}.Add(time.Since(start)) }, Every: time.Minute, Pause: 100 * time.Millisecond, PluginDays: 180, Log: slog.New(slog.DiscardHandler),
		})
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- r.Run(ctx) }()
		time.Sleep(59 * time.Second)
		if diff := cmp.Diff([]string{"00.0 plug-ins 180", "00.1 plug-ins 180", "00.1 a", "00.2 a", "00.3 a", "00.3 b", "00.3 c", "00.3 d", "00.4 d"}, storage.called()); diff != "" {
			t.Errorf("calls (-want +got):\n%s", diff)
		}
		time.Sleep(2 * time.Second)
		if got := len(storage.called()); got != 14 {
			t.Errorf("%d calls after the interval, want 14", got)
		}
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}
