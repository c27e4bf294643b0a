package watcher_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/clocktest"
	"chequer/internal/invoice"
	"chequer/internal/logtest"
)

func TestRun_continues_immediately_below_the_tip(t *testing.T) {
	onBoth(t, func(t *testing.T, one, _ *process, _ *clocktest.Clock) {
		one.step()
		<-one.net.Wake() // for the first block
		one.net.behind = 3
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- one.watcher.Run(ctx) }() // the interval of scans is an hour
		for one.progress().Sequence < 5 {
			<-one.saved
		}
		stop()
		if err := <-ended; err != nil {
			t.Errorf("run: %v", err)
		}
		one.wantScans(5)
	})
}

func TestStep_keeps_the_cursor_when_a_scan_fails(t *testing.T) {
	onBoth(t, func(t *testing.T, one, _ *process, clock *clocktest.Clock) {
		one.step()
		inv := one.create()
		tx := one.pays(inv)
		one.confirm(tx)
		for range 30 { // so that the cursor can advance
			one.confirm()
		}
		before := one.progress()
		broken := errors.New("node is unreachable")
		one.net.fault = broken
		clock.Pass(time.Second)
		if _, err := one.watcher.Step(t.Context()); !errors.Is(err, broken) {
			t.Errorf("got error %v, want %v", err, broken)
		}
		if got := one.progress(); !cmp.Equal(got, before) {
			t.Errorf("progress changed from %v to %v", before, got)
		}
		one.net.fault = nil
		one.step()
		if got := one.progress(); got.Cursor.Height <= before.Cursor.Height || got.Sequence != before.Sequence+1 {
			t.Errorf("progress changed from %v to %v, want it to advance", before, got)
		}
		if got := one.reload(inv).State.Status; got != invoice.Paid {
			t.Errorf("invoice is %s, want %s", got, invoice.Paid)
		}
	})
}

func TestStep_finds_destinations_that_are_newer_than_the_last_scan(t *testing.T) {
	onBoth(t, func(t *testing.T, one, two *process, _ *clocktest.Clock) {
		for range 3 {
			one.step()
			inv := two.create() // in the process without the lease
			two.pays(inv)
			one.step()
			if got := two.reload(inv).State.Status; got != invoice.Pending {
				t.Errorf("invoice is %s, want %s", got, invoice.Pending)
			}
		}
	})
}

func TestStep_keeps_destinations_when_the_clock_was_ahead_for_one_scan(t *testing.T) {
	onBoth(t, func(t *testing.T, one, _ *process, clock *clocktest.Clock) {
		one.step()
		inv := one.create()
		one.step()
		clock.Pass(40 * 24 * time.Hour)
		one.step()
		clock.Pass(-40 * 24 * time.Hour)
		one.step()
		one.confirm(one.pays(inv))
		one.confirm()
		one.step()
		for range 200 {
			one.confirm()
		}
		one.step()
		if got := one.reload(inv).State.Status; got != invoice.Paid {
			t.Errorf("invoice is %s, want %s", got, invoice.Paid)
		}
	})
}

func TestStep_fails_when_a_recorded_transfer_is_missing_from_its_block(t *testing.T) {
	onBoth(t, func(t *testing.T, one, _ *process, _ *clocktest.Clock) {
		one.step()
		inv := one.create()
		one.confirm(one.pays(inv))
		one.confirm()
		one.step()
		before := one.progress()
		one.net.hide = true
		if _, err := one.watcher.Step(t.Context()); err == nil {
			t.Error("a scan without a recorded transfer returned no error")
		}
		if diff := cmp.Diff(before, one.progress()); diff != "" {
			t.Errorf("progress (-before +after):\n%s", diff)
		}
		if got := one.reload(inv).State.Status; got != invoice.Paid {
			t.Errorf("invoice is %s, want %s", got, invoice.Paid)
		}
		one.net.hide = false
		one.confirm()
		one.step()
	})
}

// While the lease is released for a moment, nothing is scanned, and the log must not report a
// success.
func TestRun_reports_success_only_after_a_scan(t *testing.T) {
	onBoth(t, func(t *testing.T, one, _ *process, clock *clocktest.Clock) {
		log := &logtest.Journal{}
		one.watcher.Log = slog.New(slog.NewTextHandler(log, nil))
		one.step()
		one.net.fault = errors.New("node is unreachable")
		for range 120 {
			one.watcher.StepAndReport(t.Context())
			clock.Pass(time.Second)
		}
		if text := log.String(); strings.Contains(text, "scan succeeded again") || strings.Count(text, "scan failed") != 1 {
			t.Errorf("log without a node:\n%s", text)
		}
		one.net.fault = nil
		for range 30 {
			one.watcher.StepAndReport(t.Context())
			clock.Pass(time.Second)
		}
		if text := log.String(); strings.Count(text, "scan succeeded again") != 1 {
			t.Errorf("log after the return of the node:\n%s", text)
		}
	})
}
