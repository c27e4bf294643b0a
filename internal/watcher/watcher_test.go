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
	onEachEngine(t, func(t *testing.T, first, _ *process, _ *clocktest.Clock) {
		first.step()
		<-first.net.Wake() // for the first block
		first.net.behind = 3
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- first.watcher.Run(ctx) }() // the interval of scans is an hour
		for first.progress().Sequence < 5 {
			<-first.saved
		}
		stop()
		if err := <-done; err != nil {
			t.Errorf("run: %v", err)
		}
		first.wantScans(5)
	})
}

func TestStep_keeps_the_cursor_when_a_scan_fails(t *testing.T) {
	onEachEngine(t, func(t *testing.T, first, _ *process, clock *clocktest.Clock) {
		first.step()
		inv := first.create()
		tx := first.pay(inv)
		first.confirm(tx)
		for range 30 { // so that the cursor can advance
			first.confirm()
		}
		before := first.progress()
		errNode := errors.New("node is unreachable")
		first.net.err = errNode
		clock.Advance(time.Second)
		if _, err := first.watcher.Step(t.Context()); !errors.Is(err, errNode) {
			t.Errorf("got error %v, want %v", err, errNode)
		}
		if got := first.progress(); !cmp.Equal(got, before) {
			t.Errorf("progress changed from %v to %v", before, got)
		}
		first.net.err = nil
		first.step()
		if got := first.progress(); got.Cursor.Height <= before.Cursor.Height || got.Sequence != before.Sequence+1 {
			t.Errorf("progress changed from %v to %v, want it to advance", before, got)
		}
		if got := first.reload(inv).State.Status; got != invoice.Paid {
			t.Errorf("invoice is %s, want %s", got, invoice.Paid)
		}
	})
}

func TestStep_finds_destinations_that_are_newer_than_the_last_scan(t *testing.T) {
	onEachEngine(t, func(t *testing.T, first, second *process, _ *clocktest.Clock) {
		for range 3 {
			first.step()
			inv := second.create() // in the process without the lease
			second.pay(inv)
			first.step()
			if got := second.reload(inv).State.Status; got != invoice.Pending {
				t.Errorf("invoice is %s, want %s", got, invoice.Pending)
			}
		}
	})
}

func TestStep_keeps_destinations_when_the_clock_was_ahead_for_one_scan(t *testing.T) {
	onEachEngine(t, func(t *testing.T, first, _ *process, clock *clocktest.Clock) {
		first.step()
		inv := first.create()
		first.step()
		clock.Advance(40 * 24 * time.Hour)
		first.step()
		clock.Advance(-40 * 24 * time.Hour)
		first.step()
		first.confirm(first.pay(inv))
		first.confirm()
		first.step()
		for range 200 {
			first.confirm()
		}
		first.step()
		if got := first.reload(inv).State.Status; got != invoice.Paid {
			t.Errorf("invoice is %s, want %s", got, invoice.Paid)
		}
	})
}

func TestStep_fails_when_a_recorded_transfer_is_missing_from_its_block(t *testing.T) {
	onEachEngine(t, func(t *testing.T, first, _ *process, _ *clocktest.Clock) {
		first.step()
		inv := first.create()
		first.confirm(first.pay(inv))
		first.confirm()
		first.step()
		before := first.progress()
		first.net.hide = true
		if _, err := first.watcher.Step(t.Context()); err == nil {
			t.Error("a scan without a recorded transfer returned no error")
		}
		if diff := cmp.Diff(before, first.progress()); diff != "" {
			t.Errorf("progress (-before +after):\n%s", diff)
		}
		if got := first.reload(inv).State.Status; got != invoice.Paid {
			t.Errorf("invoice is %s, want %s", got, invoice.Paid)
		}
		first.net.hide = false
		first.confirm()
		first.step()
	})
}

// While the lease is released for a moment, nothing is scanned, and the log must not report a
// success.
func TestRun_reports_success_only_after_a_scan(t *testing.T) {
	onEachEngine(t, func(t *testing.T, first, _ *process, clock *clocktest.Clock) {
		log := &logtest.Journal{}
		first.watcher.Log = slog.New(slog.NewTextHandler(log, nil))
		first.step()
		first.net.err = errors.New("node is unreachable")
		for range 120 {
			first.watcher.StepAndReport(t.Context())
			clock.Advance(time.Second)
		}
		if text := log.String(); strings.Contains(text, "scan succeeded again") || strings.Count(text, "scan failed") != 1 {
			t.Errorf("log without a node:\n%s", text)
		}
		first.net.err = nil
		for range 30 {
			first.watcher.StepAndReport(t.Context())
			clock.Advance(time.Second)
		}
		if text := log.String(); strings.Count(text, "scan succeeded again") != 1 {
			t.Errorf("log after the return of the node:\n%s", text)
		}
	})
}
