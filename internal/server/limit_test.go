package server_test

import (
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"chequer/internal/httpapi"
)

func TestLimits_refuse_bursts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, time.Now)
		f.limit(httpapi.Limits{PerKey: 2, PerAddress: 1})
		create := message{method: "POST", target: "/api/v2/invoice/new", key: "all", body: minimalBody}
		status := message{method: "GET", target: "/api/v2/invoice/status?id=nobody"}
		forged := create
		forged.signed = "something else"
		if got := f.countRefused(t, create, 15); got != 5 { // a burst of five times two
			t.Errorf("%d of 15 signed calls were refused, want 5", got)
		}
		if got := f.countRefused(t, status, 5); got != 3 { // a burst of two
			t.Errorf("%d of 5 unsigned calls were refused, want 3", got)
		}
		time.Sleep(time.Second)
		if got := f.countRefused(t, create, 3); got != 1 {
			t.Errorf("a second later %d of 3 signed calls were refused, want 1", got)
		}
		if got := f.countRefused(t, forged, 3); got != 2 {
			t.Errorf("%d of 3 forged calls were refused as too many, want 2", got)
		}
		f.limit(httpapi.Limits{})
		if got := f.countRefused(t, create, 200); got != 0 {
			t.Errorf("%d of 200 calls were refused without a limit", got)
		}
	})
}

// countRefused sends a message a number of times and returns the number of calls that the rate limit refused.
func (f *fixture) countRefused(t *testing.T, m message, times int) (refused int) {
	t.Helper()
	for range times {
		resp := f.send(m)
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
func TestCreate_that_fails_does_not_use_up_the_nonce(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	m := message{method: "POST", target: "/api/v2/invoice/new", key: "all", body: minimalBody, signRequest: true, nonce: "nonce1234567890123"}
	f.rates.unavailable.Store(true)
	if got := f.send(m).StatusCode; got != http.StatusServiceUnavailable {
		t.Fatalf("without rates: answer %d, want 503", got)
	}
	f.rates.unavailable.Store(false)
	if got := f.send(m).StatusCode; got != http.StatusOK {
		t.Errorf("same request with rates: answer %d, want 200", got)
	}
	if got := f.send(m).StatusCode; got != http.StatusForbidden {
		t.Errorf("same nonce again: answer %d, want 403", got)
	}
}

func TestAuth_can_require_the_scheme_of_Chequer_for_invoices(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	f.config.RequireNonce = true
	f.restart()
	m := message{method: "POST", target: "/api/v2/invoice/new", key: "all", body: minimalBody}
	resp := f.send(m)
	if got := resp.Header.Get("X-Error-Code"); resp.StatusCode != http.StatusForbidden || got != "no_timestamp_header" {
		t.Errorf("signed by the API family's scheme: answer %d %s, want 403", resp.StatusCode, got)
	}
	m.signRequest = true
	if got := f.send(m).StatusCode; got != http.StatusOK {
		t.Errorf("with a request signature: answer %d, want 200", got)
	}
}

// A provider assigns a whole /64 of IPv6 to one customer, so that a /64 counts as one address.
func TestLimits_count_IPv6_networks(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	f.limit(httpapi.Limits{PerKey: 1, PerAddress: 1})
	refused := 0
	for i := range 10 {
		r := f.request(message{method: "GET", target: "/api/v2/invoice/status?id=nobody"})
		r.RemoteAddr = fmt.Sprintf("[2001:db8::%d]:1", i+1)
		if f.serve(r).StatusCode == http.StatusTooManyRequests {
			refused++
		}
	}
	if refused != 8 { // a burst of two
		t.Errorf("%d of 10 calls from one network were refused, want 8", refused)
	}
}
