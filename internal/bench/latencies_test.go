package bench_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// latencies holds the duration of each request of a load.
type latencies struct {
	sorted []time.Duration
	span   time.Duration // of the load
}

// newLatencies returns latencies without a span. It sorts the list.
func newLatencies(list []time.Duration) latencies {
	slices.Sort(list)
	return latencies{sorted: list}
}

func (l latencies) perSecond() float64 { return float64(len(l.sorted)) / l.span.Seconds() }

// percentile returns the latency that a share of the requests did not exceed, in milliseconds.
func (l latencies) percentile(share float64) float64 {
	return milliseconds(l.sorted[min(int(share*float64(len(l.sorted))), len(l.sorted)-1)])
}

// report reports the rate of the given requests, and the 50th, 95th and 99th percentiles.
func (l latencies) report(b *testing.B, requests string) {
	b.Helper()
	b.ReportMetric(l.perSecond(), requests+"/s")
	b.ReportMetric(l.percentile(.5), "p50-ms")
	b.ReportMetric(l.percentile(.95), "p95-ms")
	b.ReportMetric(l.percentile(.99), "p99-ms")
}

// repeat lets clients repeat a request for the span of the settings.
func repeat(b *testing.B, clients int, request func(context.Context) error) latencies {
	b.Helper()
	got, err := load(b.Context(), clients, settings.span, request)
	if err != nil {
		b.Fatal(err)
	}
	return got
}

// load lets clients repeat a request for a duration, each without pause.
func load(ctx context.Context, clients int, span time.Duration, request func(context.Context) error) (latencies, error) {
	ctx, cancel := context.WithTimeout(ctx, span+30*time.Second)
	defer cancel()
	var mu sync.Mutex
	var durations []time.Duration
	var firstErr error
	start := time.Now()
	var group sync.WaitGroup
	for range clients {
		group.Go(func() {
			var clientDurations []time.Duration
			for time.Since(start) < span {
				sentAt := time.Now()
				if err := request(ctx); err != nil {
					mu.Lock()
					firstErr = err
					mu.Unlock()
					break
				}
				clientDurations = append(clientDurations, time.Since(sentAt))
			}
			mu.Lock()
			defer mu.Unlock()
			durations = append(durations, clientDurations...)
		})
	}
	group.Wait()
	if firstErr != nil {
		return latencies{}, firstErr
	}
	slices.Sort(durations)
	return latencies{sorted: durations, span: time.Since(start)}, nil
}

// median returns the median of durations.
func median(list []time.Duration) time.Duration {
	slices.Sort(list)
	return list[len(list)/2]
}

func TestLatencies_have_a_rate_and_percentiles(t *testing.T) {
	t.Parallel()
	l := latencies{span: 2 * time.Second}
	for ms := range 100 {
		l.sorted = append(l.sorted, time.Duration(ms)*time.Millisecond)
	}
	if got := l.perSecond(); got != 50 {
		t.Errorf("%.0f/s, want 50", got)
	}
	for _, test := range []struct{ share, want float64 }{{.5, 50}, {.95, 95}, {.99, 99}, {1, 99}} {
		if got := l.percentile(test.share); got != test.want {
			t.Errorf("latency at %.2f is %.1f ms, want %.1f", test.share, got, test.want)
		}
	}
}

func TestMedian_is_the_middle_duration(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		list []time.Duration
		want time.Duration
	}{
		{[]time.Duration{7}, 7},
		{[]time.Duration{9, 1, 5}, 5},
		{[]time.Duration{4, 1, 3, 2}, 3},
	} {
		if got := median(test.list); got != test.want {
			t.Errorf("median of %v is %d, want %d", test.list, got, test.want)
		}
	}
}

func TestLoad_repeats_a_request(t *testing.T) {
	t.Parallel()
	var calls atomic.Int64
	got, err := load(t.Context(), 3, 20*time.Millisecond, func(context.Context) error {
		calls.Add(1)
		return nil
	})
	if err != nil || int64(len(got.sorted)) != calls.Load() || len(got.sorted) < 3 || got.span < 20*time.Millisecond {
		t.Errorf("%d latencies of %d requests in %s, %v", len(got.sorted), calls.Load(), got.span, err)
	}
	refused := errors.New("refused")
	if _, err := load(t.Context(), 3, time.Minute, func(context.Context) error { return refused }); !errors.Is(err, refused) {
		t.Errorf("a failing request: %v, want %v", err, refused)
	}
}
