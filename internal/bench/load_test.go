package main

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"
)

func TestLatencies(t *testing.T) {
	t.Parallel()
	l := latencies{span: 2 * time.Second}
	for ms := range 100 {
		l.each = append(l.each, time.Duration(ms)*time.Millisecond)
	}
	if got, want := l.String(), "50/s, p50 50.0, p95 95.0, p99 99.0 ms"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := l.at(1); got != 99 {
		t.Errorf("the largest latency is %.0f ms, want 99", got)
	}
}

func TestMedian(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ list, want []time.Duration }{
		{[]time.Duration{7}, []time.Duration{7}},
		{[]time.Duration{9, 1, 5}, []time.Duration{5}},
		{[]time.Duration{4, 1, 3, 2}, []time.Duration{3}},
	} {
		if got := median(test.list); got != test.want[0] {
			t.Errorf("median of %v is %d, want %d", test.list, got, test.want[0])
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
	if err != nil || int64(len(got.each)) != calls.Load() || len(got.each) < 3 || got.span < 20*time.Millisecond {
		t.Errorf("%d latencies of %d requests in %s, %v", len(got.each), calls.Load(), got.span, err)
	}
	fault := errors.New("refused")
	if _, err := load(t.Context(), 3, time.Minute, func(context.Context) error { return fault }); !errors.Is(err, fault) {
		t.Errorf("a failing request: %v, want %v", err, fault)
	}
}
