package server_test

import (
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"chequer/internal/server"
)

func TestLimits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, time.Now)
		l.limit(server.Limits{PerKey: 2, PerAddress: 1})
		create := message{method: "POST", target: "/api/v2/invoice/new", key: "all", body: minimalBody}
		status := message{method: "GET", target: "/api/v2/invoice/status?id=nobody"}
		forged := create
		forged.signed = "something else"
		if got := l.refused(t, create, 15); got != 5 { // a burst of five times two
			t.Errorf("%d of 15 signed calls were refused, want 5", got)
		}
		if got := l.refused(t, status, 5); got != 3 { // a burst of two
			t.Errorf("%d of 5 unsigned calls were refused, want 3", got)
		}
		time.Sleep(time.Second)
		if got := l.refused(t, create, 3); got != 1 {
			t.Errorf("a second later %d of 3 signed calls were refused, want 1", got)
		}
		if got := l.refused(t, forged, 3); got != 2 {
			t.Errorf("%d of 3 forged calls were refused as too many, want 2", got)
		}
		l.limit(server.Limits{})
		if got := l.refused(t, create, 200); got != 0 {
			t.Errorf("%d of 200 calls were refused without a limit", got)
		}
	})
}

// refused sends a message a number of times and returns how many calls the rate limit refused.
func (l *lab) refused(t *testing.T, m message, times int) (refused int) {
	t.Helper()
	for range times {
		resp := l.send(m)
		if resp.StatusCode != http.StatusTooManyRequests {
			continue
		}
		refused++
		if got := resp.Header.Get("Retry-After"); got != "1" {
			t.Errorf("Retry-After = %q", got)
		}
	}
	return refused
}

// A failed call does not use up its nonce: the same request can be sent again.
func TestCreate_failure_does_not_use_up_the_nonce(t *testing.T) {
	t.Parallel()
	l := newLab(t, nil)
	m := message{method: "POST", target: "/api/v2/invoice/new", key: "all", body: minimalBody, own: true, nonce: "nonce1234567890123"}
	l.rates.gone.Store(true)
	if got := l.send(m).StatusCode; got != http.StatusServiceUnavailable {
		t.Fatalf("without rates: answer %d, want 503", got)
	}
	l.rates.gone.Store(false)
	if got := l.send(m).StatusCode; got != http.StatusOK {
		t.Errorf("same request with rates: answer %d, want 200", got)
	}
	if got := l.send(m).StatusCode; got != http.StatusForbidden {
		t.Errorf("same nonce again: answer %d, want 403", got)
	}
}

func TestAuth_own_scheme_can_be_compulsory(t *testing.T) {
	t.Parallel()
	l := newLab(t, nil)
	l.config.OwnScheme = true
	l.restart()
	m := message{method: "POST", target: "/api/v2/invoice/new", key: "all", body: minimalBody}
	resp := l.send(m)
	if got := resp.Header.Get("X-Error-Code"); resp.StatusCode != http.StatusForbidden || got != "no_timestamp_header" {
		t.Errorf("signed by the API family's scheme: answer %d %s, want 403", resp.StatusCode, got)
	}
	m.own = true
	if got := l.send(m).StatusCode; got != http.StatusOK {
		t.Errorf("with a request signature: answer %d, want 200", got)
	}
}

// A provider assigns a whole /64 of IPv6 to one customer, so that a /64 counts as one address.
func TestLimits_count_IPv6_networks(t *testing.T) {
	t.Parallel()
	l := newLab(t, nil)
	l.limit(server.Limits{PerKey: 1, PerAddress: 1})
	refused := 0
	for i := range 10 {
		r := l.request(message{method: "GET", target: "/api/v2/invoice/status?id=nobody"})
		r.RemoteAddr = fmt.Sprintf("[2001:db8::%d]:1", i+1)
		if l.serve(r).StatusCode == http.StatusTooManyRequests {
			refused++
		}
	}
	if refused != 8 { // a burst of two
		t.Errorf("%d of 10 calls from one network were refused, want 8", refused)
	}
}
