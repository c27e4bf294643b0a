package server_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"chequer/internal/api"
	"chequer/internal/httpapi"
)

// fault is a fault of a request, in the order in which faults are reported.
type fault int

const (
	badPath fault = iota
	badMethod
	largeBody
	busyAddress
	noKey
	badKey
	noSignature
	noTimestamp // the signature cannot be verified without a timestamp or without a nonce
	noNonce
	badSignature
	badTimestamp
	badNonce
	badScope
	busyKey
	badMedia
	badJSON
	takenKey
	badPrice
	noRate
	usedNonce // recorded together with the invoice, so that a failed creation does not use it up
	noFault
)

// CONTRACT, "order of checks". Each request has a given fault and all later faults. The answer reports
// the given fault.
func TestServer_reports_the_first_fault(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		from   fault
		status int
		code   string
	}{
		{badPath, 404, "not_found"},
		{badMethod, 405, "method_not_allowed"},
		{largeBody, 413, "body_too_large"},
		{busyAddress, 429, "rate_limited"},
		{noKey, 403, "no_key_header"},
		{badKey, 403, "bad_key_header"},
		{noSignature, 403, "no_signature_header"},
		{noTimestamp, 403, "no_timestamp_header"},
		{noNonce, 403, "no_nonce_header"},
		{badSignature, 403, "bad_signature_header"},
		{badTimestamp, 403, "bad_timestamp_header"},
		{badNonce, 403, "bad_nonce_header"},
		{badScope, 403, "key_may_not"},
		{busyKey, 429, "rate_limited"},
		{badMedia, 415, "unsupported_media_type"},
		{badJSON, 400, "invalid_json"},
		{takenKey, 409, "idempotency_conflict"},
		{badPrice, 400, "invalid_amount"},
		{noRate, 503, "no_rate"},
		{usedNonce, 403, "bad_nonce_header"},
		{noFault, 200, ""},
	} {
		t.Run(fmt.Sprint(test.status, " ", test.code), func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, nil)
			f.prepare(t, test.from)
			response := f.serve(f.faulty(test.from))
			if test.from == noFault {
				if response.StatusCode != http.StatusOK {
					t.Errorf("answer %d: %s", response.StatusCode, read(t, response))
				}
				return
			}
			message := checkRefused(t, response, test.status, test.code)
			if subject := map[fault]string{busyAddress: "This address", busyKey: "This key"}[test.from]; !strings.HasPrefix(message, subject) {
				t.Errorf("message %q, want it to begin with %q", message, subject)
			}
		})
	}
}

const orderNonce = "0123456789abcdef"

// prepare creates the faults that are outside of the request.
func (f *fixture) prepare(t *testing.T, from fault) {
	t.Helper()
	f.send(keyedMessage("taken", minimalBody))
	if from <= usedNonce {
		f.send(creation(message{key: "all", signRequest: true, nonce: orderNonce}))
	}
	id := f.create(t, "all", minimalBody)
	f.limit(httpapi.Limits{PerKey: 1, PerAddress: 1})
	if from <= busyAddress {
		f.countRefused(t, message{method: "GET", target: "/api/v2/invoice/status?id=" + id}, 3)
	}
	if from <= busyKey {
		f.countRefused(t, creation(message{key: "all"}), 6)
		f.countRefused(t, message{method: "GET", target: "/api/v2/invoices/" + id, key: "read", signRequest: true}, 6)
	}
	f.rates.unavailable.Store(from <= noRate)
}

// faulty returns a request with a given fault and all later faults.
func (f *fixture) faulty(from fault) *http.Request {
	m := creation(message{key: "all", signRequest: true, nonce: orderNonce, header: headerWith(api.HeaderIdempotencyKey, "fresh")})
	for _, change := range []struct {
		fault fault
		apply func()
	}{
		{badPath, func() { m.target = "/api/v2/nothing" }},
		{badMethod, func() { m.method = "PUT" }},
		{badPrice, func() { m.body = `{"amount":0,"fiat_currency":"EUR"}` }},
		{takenKey, func() { m.header.Set(api.HeaderIdempotencyKey, "taken") }},
		{badJSON, func() { m.body += "{" }},
		{largeBody, func() { m.body += strings.Repeat(" ", 64<<10) }},
		{badMedia, func() { m.header.Set("Content-Type", "text/plain") }},
		{badScope, func() { m.key = "read" }},
		{badNonce, func() { m.nonce = "short" }},
		{badTimestamp, func() { m.skew = -time.Hour }},
	} {
		if from <= change.fault {
			change.apply()
		}
	}
	r := f.request(m)
	for name, fault := range map[string]fault{
		api.HeaderKey: noKey, api.HeaderSignature: noSignature, api.HeaderTimestamp: noTimestamp,
	} {
		if from <= fault {
			r.Header.Del(name)
		}
	}
	if from > noKey && from <= badKey {
		r.Header.Set(api.HeaderKey, publicKey("nobody"))
	}
	if from > noTimestamp && from <= noNonce { // without both headers the request would use the API family's scheme
		r.Header.Del(api.HeaderNonce)
	}
	if from > noSignature && from <= badSignature {
		r.Header.Set(api.HeaderSignature, strings.Repeat("0", 128))
	}
	return r
}
