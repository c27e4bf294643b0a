package watcher_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/clocktest"
	"chequer/internal/invoice"
)

func TestStep_scans_in_one_process_only(t *testing.T) {
	onEachEngine(t, func(t *testing.T, first, second *process, clock *clocktest.Clock) {
		for range 5 {
			first.step()
			second.step()
			clock.Advance(5 * time.Second) // each renewal is in time
		}
		first.wantScans(5)
		second.wantScans(0)
	})
}

// Two processes whose clocks differ must not take the lease from each other.
func TestStep_keeps_the_lease_with_any_clock_of_another_process(t *testing.T) {
	for _, ahead := range []time.Duration{-time.Hour, -15 * time.Second, 15 * time.Second, time.Hour} {
		t.Run("clock ahead by "+ahead.String(), func(t *testing.T) {
			onEachEngine(t, func(t *testing.T, first, second *process, clock *clocktest.Clock) {
				second.watcher.Now = func() time.Time { return clock.Now().Add(ahead) }
				for range 5 {
					first.step()
					second.step()
					clock.Advance(5 * time.Second)
				}
				first.wantScans(5)
				second.wantScans(0)
				second.takeOver(clock) // after the lease of the first process has ended
				clock.Advance(5 * time.Second)
				second.step()
				second.wantScans(2)
			})
		})
	}
}

func TestStep_waits_again_after_its_clock_was_set_back(t *testing.T) {
	onEachEngine(t, func(t *testing.T, first, second *process, clock *clocktest.Clock) {
		first.step()
		second.step()
		clock.Advance(-time.Hour)
		second.takeOver(clock)
		second.wantScans(1)
	})
}

func TestRun_releases_the_lease_when_it_stops(t *testing.T) {
	onEachEngine(t, func(t *testing.T, first, second *process, _ *clocktest.Clock) {
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- first.watcher.Run(ctx) }()
		for first.epoch() == 0 { // until it has saved a scan
			<-first.saved
		}
		second.step()
		second.wantScans(0)
		stop()
		if err := <-done; err != nil {
			t.Errorf("run: %v", err)
		}
		second.step()
		second.wantScans(1)
		if got := second.epoch(); got <= first.epoch() {
			t.Errorf("got epoch %d after %d, want a higher epoch", got, first.epoch())
		}
	})
}

func TestRun_does_not_release_the_lease_of_another_process(t *testing.T) {
	onEachEngine(t, func(t *testing.T, first, second *process, clock *clocktest.Clock) {
		first.step()
		second.takeOver(clock)
		ctx, stop := context.WithCancel(t.Context())
		stop()
		if err := first.watcher.Run(ctx); err != nil {
			t.Errorf("run: %v", err)
		}
		first.step()
		first.wantScans(1)
		second.step()
		second.wantScans(2)
	})
}

func TestStep_takes_over_the_lease_of_a_process_that_disappeared(t *testing.T) {
	onEachEngine(t, func(t *testing.T, first, second *process, clock *clocktest.Clock) {
		first.step()
		second.step() // sees the lease for the first time
		clock.Advance(10*time.Second - time.Millisecond)
		second.step()
		second.wantScans(0)
		clock.Advance(time.Millisecond)
		second.step()
		second.wantScans(1)
		first.step() // runs again, but has lost the lease
		first.wantScans(1)
	})
}

func TestStep_fences_a_leader_that_paused(t *testing.T) {
	onEachEngine(t, func(t *testing.T, first, second *process, clock *clocktest.Clock) {
		inv := first.create()
		first.pay(inv)
		var paid *invoice.Invoice
		var reached invoice.Progress
		first.net.beforeRecord = func(context.Context) { // the first process has scanned, but not yet recorded
			second.takeOver(clock)
			paid, reached = second.reload(inv), second.progress()
		}
		if _, err := first.watcher.Step(t.Context()); !errors.Is(err, invoice.ErrFenced) {
			t.Errorf("got error %v, want %v", err, invoice.ErrFenced)
		}
		if paid.State.Status != invoice.Pending {
			t.Errorf("invoice is %s, want %s", paid.State.Status, invoice.Pending)
		}
		if got := second.reload(inv); got.Version != paid.Version {
			t.Errorf("version changed from %d to %d", paid.Version, got.Version)
		}
		if got := second.progress(); !cmp.Equal(got, reached) {
			t.Errorf("progress changed from %v to %v", reached, got)
		}
	})
}

func TestStep_keeps_the_lease_during_a_long_scan(t *testing.T) {
	onEachEngine(t, func(t *testing.T, first, second *process, clock *clocktest.Clock) {
		first.watcher.RenewEvery(time.Millisecond)
		inv := first.create()
		first.pay(inv)
		first.net.beforeRecord = func(context.Context) {
			for range 10 { // five times the duration of a lease
				clock.Advance(5 * time.Second)
				<-first.renewed // this renewal may have begun before the clock moved
				<-first.renewed
				second.step()
			}
		}
		first.step()
		second.wantScans(0)
		if got := first.reload(inv).State.Status; got != invoice.Pending {
			t.Errorf("invoice is %s, want %s", got, invoice.Pending)
		}
	})
}

func TestStep_ends_when_another_process_takes_the_lease(t *testing.T) {
	onEachEngine(t, func(t *testing.T, first, second *process, clock *clocktest.Clock) {
		first.step()
		first.watcher.RenewEvery(time.Millisecond)
		inv := first.create()
		first.pay(inv)
		first.net.cut = func(ctx context.Context) {
			resume := first.pause()
			second.takeOver(clock) // observes the transfer
			resume()
			<-ctx.Done()
			if got := context.Cause(ctx); !errors.Is(got, invoice.ErrFenced) {
				t.Errorf("cause of the end of the scan = %v, want %v", got, invoice.ErrFenced)
			}
		}
		if _, err := first.watcher.Step(t.Context()); !errors.Is(err, invoice.ErrFenced) {
			t.Errorf("got error %v, want %v", err, invoice.ErrFenced)
		}
		paid, reached := second.reload(inv), second.progress()
		first.step() // does not scan any more
		first.wantScans(2)
		if got := second.reload(inv); got.Version != paid.Version || !cmp.Equal(second.progress(), reached) {
			t.Errorf("version %d at %v, want %d at %v", got.Version, second.progress(), paid.Version, reached)
		}
		second.step()
		second.wantScans(2)
	})
}

func TestStep_releases_the_lease_to_a_process_that_can_scan(t *testing.T) {
	onEachEngine(t, func(t *testing.T, first, second *process, clock *clocktest.Clock) {
		first.step()
		inv := second.create()
		first.net.err = errors.New("node is unreachable")
		second.confirm(second.pay(inv))
		second.confirm()
		for range 30 {
			_, _ = first.watcher.Step(t.Context())
			second.step()
			clock.Advance(time.Second)
		}
		if got := second.reload(inv).State.Status; got != invoice.Paid {
			t.Errorf("invoice is %s, want %s", got, invoice.Paid)
		}
	})
}

func TestStep_takes_the_lease_again_when_no_other_process_does(t *testing.T) {
	onEachEngine(t, func(t *testing.T, first, _ *process, clock *clocktest.Clock) {
		first.step()
		inv := first.create()
		first.pay(inv)
		first.net.err = errors.New("node is unreachable")
		for range 21 { // until it releases the lease
			_, _ = first.watcher.Step(t.Context())
			clock.Advance(time.Second)
		}
		first.net.err = nil
		for range 5 {
			first.step()
			clock.Advance(time.Second)
		}
		if got := first.reload(inv).State.Status; got != invoice.Pending {
			t.Errorf("invoice is %s, want %s", got, invoice.Pending)
		}
	})
}
