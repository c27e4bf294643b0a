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
	onBoth(t, func(t *testing.T, one, two *process, clock *clocktest.Clock) {
		for range 5 {
			one.step()
			two.step()
			clock.Pass(5 * time.Second) // each renewal is in time
		}
		one.wantScans(5)
		two.wantScans(0)
	})
}

// Two processes whose clocks differ must not take the lease from each other.
func TestStep_keeps_the_lease_with_any_clock_of_another_process(t *testing.T) {
	for _, ahead := range []time.Duration{-time.Hour, -15 * time.Second, 15 * time.Second, time.Hour} {
		t.Run(ahead.String(), func(t *testing.T) {
			onBoth(t, func(t *testing.T, one, two *process, clock *clocktest.Clock) {
				two.watcher.Now = func() time.Time { return clock.Now().Add(ahead) }
				for range 5 {
					one.step()
					two.step()
					clock.Pass(5 * time.Second)
				}
				one.wantScans(5)
				two.wantScans(0)
				two.takeOver(clock) // after the lease of the first process has ended
				clock.Pass(5 * time.Second)
				two.step()
				two.wantScans(2)
			})
		})
	}
}

func TestStep_waits_again_after_its_clock_was_set_back(t *testing.T) {
	onBoth(t, func(t *testing.T, one, two *process, clock *clocktest.Clock) {
		one.step()
		two.step()
		clock.Pass(-time.Hour)
		two.takeOver(clock)
		two.wantScans(1)
	})
}

func TestRun_releases_the_lease_when_it_stops(t *testing.T) {
	onBoth(t, func(t *testing.T, one, two *process, _ *clocktest.Clock) {
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- one.watcher.Run(ctx) }()
		for one.epoch() == 0 { // until it has saved a scan
			<-one.saved
		}
		two.step()
		two.wantScans(0)
		stop()
		if err := <-ended; err != nil {
			t.Errorf("run: %v", err)
		}
		two.step()
		two.wantScans(1)
		if got := two.epoch(); got <= one.epoch() {
			t.Errorf("got epoch %d after %d, want a higher one", got, one.epoch())
		}
	})
}

func TestRun_does_not_release_the_lease_of_another_process(t *testing.T) {
	onBoth(t, func(t *testing.T, one, two *process, clock *clocktest.Clock) {
		one.step()
		two.takeOver(clock)
		ctx, stop := context.WithCancel(t.Context())
		stop()
		if err := one.watcher.Run(ctx); err != nil {
			t.Errorf("run: %v", err)
		}
		one.step()
		one.wantScans(1)
		two.step()
		two.wantScans(2)
	})
}

func TestStep_takes_over_the_lease_of_a_process_that_disappeared(t *testing.T) {
	onBoth(t, func(t *testing.T, one, two *process, clock *clocktest.Clock) {
		one.step()
		two.step() // sees the lease for the first time
		clock.Pass(10*time.Second - time.Millisecond)
		two.step()
		two.wantScans(0)
		clock.Pass(time.Millisecond)
		two.step()
		two.wantScans(1)
		one.step() // runs again, but has lost the lease
		one.wantScans(1)
	})
}

func TestStep_fences_a_leader_that_paused(t *testing.T) {
	onBoth(t, func(t *testing.T, one, two *process, clock *clocktest.Clock) {
		inv := one.create()
		one.pays(inv)
		var paid *invoice.Invoice
		var reached invoice.Progress
		one.net.meanwhile = func(context.Context) { // the first process has scanned, but not yet recorded
			two.takeOver(clock)
			paid, reached = two.reload(inv), two.progress()
		}
		if _, err := one.watcher.Step(t.Context()); !errors.Is(err, invoice.ErrFenced) {
			t.Errorf("got error %v, want %v", err, invoice.ErrFenced)
		}
		if paid.State.Status != invoice.Pending {
			t.Errorf("invoice is %s, want %s", paid.State.Status, invoice.Pending)
		}
		if got := two.reload(inv); got.Version != paid.Version {
			t.Errorf("version changed from %d to %d", paid.Version, got.Version)
		}
		if got := two.progress(); !cmp.Equal(got, reached) {
			t.Errorf("progress changed from %v to %v", reached, got)
		}
	})
}

func TestStep_keeps_the_lease_during_a_long_scan(t *testing.T) {
	onBoth(t, func(t *testing.T, one, two *process, clock *clocktest.Clock) {
		one.watcher.RenewEvery(time.Millisecond)
		inv := one.create()
		one.pays(inv)
		one.net.meanwhile = func(context.Context) {
			for range 10 { // five times the duration of a lease
				clock.Pass(5 * time.Second)
				<-one.renewed // this renewal may have begun before the clock moved
				<-one.renewed
				two.step()
			}
		}
		one.step()
		two.wantScans(0)
		if got := one.reload(inv).State.Status; got != invoice.Pending {
			t.Errorf("invoice is %s, want %s", got, invoice.Pending)
		}
	})
}

func TestStep_ends_when_another_process_takes_the_lease(t *testing.T) {
	onBoth(t, func(t *testing.T, one, two *process, clock *clocktest.Clock) {
		one.step()
		one.watcher.RenewEvery(time.Millisecond)
		inv := one.create()
		one.pays(inv)
		one.net.cut = func(ctx context.Context) {
			resume := one.pause()
			two.takeOver(clock) // observes the transfer
			resume()
			<-ctx.Done()
			if got := context.Cause(ctx); !errors.Is(got, invoice.ErrFenced) {
				t.Errorf("cause of the end of the scan = %v, want %v", got, invoice.ErrFenced)
			}
		}
		if _, err := one.watcher.Step(t.Context()); !errors.Is(err, invoice.ErrFenced) {
			t.Errorf("got error %v, want %v", err, invoice.ErrFenced)
		}
		paid, reached := two.reload(inv), two.progress()
		one.step() // does not scan any more
		one.wantScans(2)
		if got := two.reload(inv); got.Version != paid.Version || !cmp.Equal(two.progress(), reached) {
			t.Errorf("version %d at %v, want %d at %v", got.Version, two.progress(), paid.Version, reached)
		}
		two.step()
		two.wantScans(2)
	})
}

func TestStep_releases_the_lease_to_a_process_that_can_scan(t *testing.T) {
	onBoth(t, func(t *testing.T, one, two *process, clock *clocktest.Clock) {
		one.step()
		inv := two.create()
		one.net.fault = errors.New("node is unreachable")
		two.confirm(two.pays(inv))
		two.confirm()
		for range 30 {
			_, _ = one.watcher.Step(t.Context())
			two.step()
			clock.Pass(time.Second)
		}
		if got := two.reload(inv).State.Status; got != invoice.Paid {
			t.Errorf("invoice is %s, want %s", got, invoice.Paid)
		}
	})
}

func TestStep_takes_the_lease_again_when_no_other_process_does(t *testing.T) {
	onBoth(t, func(t *testing.T, one, _ *process, clock *clocktest.Clock) {
		one.step()
		inv := one.create()
		one.pays(inv)
		one.net.fault = errors.New("node is unreachable")
		for range 21 { // until it releases the lease
			_, _ = one.watcher.Step(t.Context())
			clock.Pass(time.Second)
		}
		one.net.fault = nil
		for range 5 {
			one.step()
			clock.Pass(time.Second)
		}
		if got := one.reload(inv).State.Status; got != invoice.Pending {
			t.Errorf("invoice is %s, want %s", got, invoice.Pending)
		}
	})
}
