package main

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// stubRunner is a program for tests.
type stubRunner struct {
	run   func(context.Context) error
	close func() error
}

func (p stubRunner) Run(ctx context.Context) error { return p.run(ctx) }
func (p stubRunner) Close() error                  { return p.close() }

// Container runtimes kill a program that does not end in time, also if its database does not answer.
func TestRunUntilDone_ends_within_5_seconds(t *testing.T) {
	t.Parallel()
	immediate := func() error { return nil }
	untilDone := func(ctx context.Context) error { <-ctx.Done(); return nil }
	for name, hanging := range map[string]func(release chan struct{}) stubRunner{
		"a loop does not end": func(release chan struct{}) stubRunner {
			return stubRunner{func(context.Context) error { <-release; return nil }, immediate}
		},
		"closing does not end": func(release chan struct{}) stubRunner {
			return stubRunner{untilDone, func() error { <-release; return nil }}
		},
		"both end, but too late": func(chan struct{}) stubRunner {
			slow := func() error { time.Sleep(4 * time.Second); return nil }
			return stubRunner{func(ctx context.Context) error { <-ctx.Done(); return slow() }, slow}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				release := make(chan struct{})
				ctx, stop := context.WithCancel(t.Context())
				done := make(chan error, 1)
				go func() { done <- runUntilDone(ctx, hanging(release)) }()
				synctest.Wait()
				select {
				case err := <-done:
					t.Fatalf("ended before the stop: %v", err)
				default:
				}
				stop()
				select {
				case err := <-done:
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
	runFault, closeFault := errors.New("run"), errors.New("close")
	err := runUntilDone(t.Context(), stubRunner{func(context.Context) error { return runFault }, func() error { return closeFault }})
	if !errors.Is(err, runFault) || !errors.Is(err, closeFault) {
		t.Errorf("err = %v, want both", err)
	}
}
