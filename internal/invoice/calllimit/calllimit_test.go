package calllimit_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"chequer/internal/invoice/calllimit"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func TestStart_waits_longer_after_each_failure(t *testing.T) {
	t.Parallel()
	l, now := calllimit.New(), noon
	for _, wait := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second} {
		for range 2 {
			if !l.Start("a", now) {
				t.Fatalf("no call at %s", now)
			}
		}
		l.End("a", now, true)
		l.End("a", now, true) // fails together with the other
		if soon := wait*3/4 - time.Millisecond; l.Start("a", now.Add(soon)) {
			t.Errorf("a call %s after a failure, want none before three quarters of %s", soon, wait)
		}
		if !l.Start("b", now) {
			t.Error("no call to another provider")
		}
		now = now.Add(wait)
	}
	if !l.Start("a", now.Add(-time.Hour)) {
		t.Error("no call after the clock was set back")
	}
	if !l.Start("a", now) {
		t.Fatal("no call")
	}
	l.End("a", now, false)
	if !l.Start("a", now) {
		t.Error("no call after a success")
	}
}

func TestStart_bounds_the_calls_at_once(t *testing.T) {
	t.Parallel()
	l := calllimit.New()
	for range 64 {
		if !l.Start("a", noon) {
			t.Fatal("no call")
		}
	}
	if l.Start("a", noon) {
		t.Error("more than 64 calls")
	}
	l.End("a", noon, false)
	if !l.Start("a", noon) {
		t.Error("no call after one has ended")
	}
}

func TestReserve_bounds_the_calls_for_an_invoice(t *testing.T) {
	t.Parallel()
	l := calllimit.New()
	for i := range 10 {
		done, err := l.Reserve("i", times(i), noon)
		if err != nil {
			t.Fatal(err)
		}
		pending := l.Pending("i")
		if _, err := l.Reserve("i", times(i), noon); !errors.Is(err, calllimit.ErrRunning) || pending == nil {
			t.Errorf("a second call at once: %v, want ErrRunning", err)
		}
		done()
		<-pending
	}
	if l.Pending("i") != nil {
		t.Error("a call is pending after its end")
	}
	if _, err := l.Reserve("i", times(10), noon.Add(time.Hour)); !errors.Is(err, calllimit.ErrTooMany) {
		t.Errorf("the eleventh call in an hour: %v, want ErrTooMany", err)
	}
	if _, err := l.Reserve("i", times(20), noon.Add(2*time.Hour)); !errors.Is(err, calllimit.ErrTooMany) {
		t.Errorf("the twenty-first request: %v, want ErrTooMany", err)
	}
	if _, err := l.Reserve("i", times(10), noon.Add(2*time.Hour)); err != nil {
		t.Errorf("an hour later: %v", err)
	}
	for i := range 20_000 { // old invoices are forgotten
		done, err := l.Reserve(fmt.Sprint(i), nil, noon.Add(time.Duration(i)*time.Second))
		if err != nil {
			t.Fatal(err)
		}
		done()
	}
}

func TestReserve_counts_the_requests_of_other_processes(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		made []time.Time
		want error
	}{
		"ten besides that of the creation": {slices.Repeat([]time.Time{noon}, 11), calllimit.ErrTooMany},
		"nine":                             {slices.Repeat([]time.Time{noon}, 10), nil},
		"an hour ago":                      {slices.Repeat([]time.Time{noon.Add(-time.Hour)}, 11), nil},
	} {
		if _, err := calllimit.New().Reserve("i", test.made, noon.Add(time.Second)); !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", name, err, test.want)
		}
	}
}

// times returns the times of n requests that were made long ago.
func times(n int) []time.Time { return make([]time.Time, n) }

func TestClaim_accepts_a_hash_once(t *testing.T) {
	t.Parallel()
	l := calllimit.New()
	if !l.Claim("aa", noon) || l.Claim("aa", noon) || !l.Claim("bb", noon) {
		t.Error("Claim does not accept each hash once")
	}
}

func TestCancel_calls_again_after_a_failure(t *testing.T) {
	t.Parallel()
	for fails, want := range map[int]int{0: 1, 2: 3, 9: 4} {
		synctest.Test(t, func(t *testing.T) {
			l, calls := calllimit.New(), 0
			cancel := func(context.Context) error {
				calls++
				if calls <= fails {
					return errors.New("down")
				}
				return nil
			}
			l.Cancel("aa", noon, cancel)
			l.Cancel("aa", noon, cancel) // it is begun already
			time.Sleep(time.Hour)
			synctest.Wait()
			if calls != want {
				t.Errorf("%d calls after %d failures, want %d", calls, fails, want)
			}
			l.Close()
		})
	}
}

func TestClose_ends_the_calls(t *testing.T) {
	t.Parallel()
	l := calllimit.New()
	ended := false
	l.Go(func(ctx context.Context) {
		<-ctx.Done()
		ended = true
	})
	l.Close()
	l.Cancel("aa", noon, func(context.Context) error {
		t.Error("a request is cancelled after Close")
		return nil
	})
	if !ended || l.Start("a", noon) {
		t.Error("calls go on after Close")
	}
	if _, err := l.Reserve("i", nil, noon); err == nil {
		t.Error("a call is reserved after Close")
	}
}
