package main

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// program is a program for tests.
type program struct {
	run   func(context.Context) error
	close func() error
}

func (p program) Run(ctx context.Context) error { return p.run(ctx) }
func (p program) Close() error                  { return p.close() }

// Container runtimes need an end within the time limit, also while the database does not answer.
func TestRunUntilDone_ends_within_5_seconds(t *testing.T) {
	t.Parallel()
	atOnce := func() error { return nil }
	untilDone := func(ctx context.Context) error { <-ctx.Done(); return nil }
	for name, stuck := range map[string]func(release chan struct{}) program{
		"a loop does not end": func(release chan struct{}) program {
			return program{func(context.Context) error { <-release; return nil }, atOnce}
		},
		"closing does not end": func(release chan struct{}) program { return program{untilDone, func() error { <-release; return nil }} },
		"both end, but too late": func(chan struct{}) program {
			late := func() error { time.Sleep(4 * time.Second); return nil }
			return program{func(ctx context.Context) error { <-ctx.Done(); return late() }, late}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				release := make(chan struct{})
				ctx, stop := context.WithCancel(t.Context())
				ended := make(chan error, 1)
				go func() { ended <- runUntilDone(ctx, stuck(release)) }()
				synctest.Wait()
				select {
				case err := <-ended:
					t.Fatalf("ended before it was told to: %v", err)
				default:
				}
				stop()
				select {
				case err := <-ended:
					if !errors.Is(err, errStopTimeout) {
						t.Errorf("err = %v, want errStopTimeout", err)
					}
				case <-time.After(5 * time.Second):
					t.Error("still running 5 seconds after the stop")
				}
				close(release)
				time.Sleep(time.Minute)
			})
		})
	}
}

func TestRunUntilDone_returns_every_fault(t *testing.T) {
	t.Parallel()
	one, other := errors.New("one"), errors.New("other")
	err := runUntilDone(t.Context(), program{func(context.Context) error { return one }, func() error { return other }})
	if !errors.Is(err, one) || !errors.Is(err, other) {
		t.Errorf("err = %v, want both", err)
	}
}
