package calllimit_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
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
		if l.Start("a", now.Add(wait-time.Millisecond)) {
			t.Errorf("a call %s after a failure, want none before %s", wait-time.Millisecond, wait)
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
		done, err := l.Reserve("i", i, noon)
		if err != nil {
			t.Fatal(err)
		}
		pending := l.Pending("i")
		if _, err := l.Reserve("i", i, noon); !errors.Is(err, calllimit.ErrRunning) || pending == nil {
			t.Errorf("a second call at once: %v, want ErrRunning", err)
		}
		done()
		<-pending
	}
	if l.Pending("i") != nil {
		t.Error("a call is pending after its end")
	}
	if _, err := l.Reserve("i", 10, noon.Add(time.Hour)); !errors.Is(err, calllimit.ErrTooMany) {
		t.Errorf("the eleventh call in an hour: %v, want ErrTooMany", err)
	}
	if _, err := l.Reserve("i", 20, noon.Add(2*time.Hour)); !errors.Is(err, calllimit.ErrTooMany) {
		t.Errorf("the twenty-first request: %v, want ErrTooMany", err)
	}
	if _, err := l.Reserve("i", 10, noon.Add(2*time.Hour)); err != nil {
		t.Errorf("an hour later: %v", err)
	}
	for i := range 20_000 { // old invoices are forgotten
		done, err := l.Reserve(fmt.Sprint(i), 0, noon.Add(time.Duration(i)*time.Second))
		if err != nil {
			t.Fatal(err)
		}
		done()
	}
}

func TestClaim_and_Cancel_accept_a_hash_once(t *testing.T) {
	t.Parallel()
	l := calllimit.New()
	for name, call := range map[string]func(string, time.Time) bool{"Claim": l.Claim, "Cancel": l.Cancel} {
		if !call("aa", noon) || call("aa", noon) || !call("bb", noon) {
			t.Errorf("%s does not accept each hash once", name)
		}
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
	if !ended || l.Start("a", noon) || l.Cancel("aa", noon) {
		t.Error("calls go on after Close")
	}
	if _, err := l.Reserve("i", 0, noon); err == nil {
		t.Error("a call is reserved after Close")
	}
}
