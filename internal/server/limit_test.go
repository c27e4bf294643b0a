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
		create := message{method: "POST", target: "/api/v2/invoice/new", key: "all", body: fine}
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

// refused sends a message some times and counts what was refused as too many.
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

// A request that failed is not one that was made: sent again it is answered.
func TestAFailedCreationGivesItsNonceBack(t *testing.T) {
	t.Parallel()
	l := newLab(t, nil)
	m := message{method: "POST", target: "/api/v2/invoice/new", key: "all", body: fine, own: true, nonce: "nonce1234567890123"}
	l.rates.gone.Store(true)
	if got := l.send(m).StatusCode; got != http.StatusServiceUnavailable {
		t.Fatalf("without rates: %d", got)
	}
	l.rates.gone.Store(false)
	if got := l.send(m).StatusCode; got != http.StatusOK {
		t.Errorf("the same request once there are rates: %d", got)
	}
	if got := l.send(m).StatusCode; got != http.StatusForbidden {
		t.Errorf("once more, without an idempotency key: %d", got)
	}
}

func TestOwnSchemeCanBeCompulsory(t *testing.T) {
	t.Parallel()
	l := newLab(t, nil)
	l.config.OwnScheme = true
	l.begin()
	m := message{method: "POST", target: "/api/v2/invoice/new", key: "all", body: fine}
	resp := l.send(m)
	if got := resp.Header.Get("X-Error-Code"); resp.StatusCode != http.StatusForbidden || got != "no_timestamp_header" {
		t.Errorf("signed by the family's scheme: %d %s", resp.StatusCode, got)
	}
	m.own = true
	if got := l.send(m).StatusCode; got != http.StatusOK {
		t.Errorf("signed by our own: %d", got)
	}
}

// One customer of a provider has a whole /64 of IPv6: that is one address.
func TestLimitsCountNetworksOfIPv6(t *testing.T) {
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
