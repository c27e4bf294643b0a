package server_test

import (
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"chequer/internal/api"
	"chequer/internal/merchant"
	"chequer/internal/signature"
)

const minimalBody = `{"amount":1,"fiat_currency":"EUR"}`

// creation returns m as a request to create an invoice, with minimalBody if it has no body.
func creation(m message) message {
	m.method, m.target = "POST", "/api/v2/invoice/new"
	if m.body == "" {
		m.body = minimalBody
	}
	return m
}

// headerWith returns a header with one value.
func headerWith(name, value string) http.Header {
	return http.Header{http.CanonicalHeaderKey(name): {value}}
}

func TestAuth_checks_the_scheme_of_the_API_family(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	validSignature := signature.Sign("secret of all", []byte(minimalBody))
	tests := map[string]struct {
		change func(http.Header)
		status int
		code   string
		text   string
	}{
		"signed":                         {func(http.Header) {}, 200, "", ""},
		"in capitals":                    {func(h http.Header) { h.Set(api.HeaderSignature, strings.ToUpper(validSignature)) }, 200, "", ""},
		"no key":                         {func(h http.Header) { h.Del(api.HeaderKey) }, 403, "no_key_header", "No key header"},
		"empty key":                      {func(h http.Header) { h.Set(api.HeaderKey, "") }, 403, "no_key_header", "No key header"},
		"neither key nor signature":      {func(h http.Header) { h.Del(api.HeaderKey); h.Del(api.HeaderSignature) }, 403, "no_key_header", "No key header"},
		"unknown key":                    {func(h http.Header) { h.Set(api.HeaderKey, publicKey("nobody")) }, 403, "bad_key_header", "Bad key header"},
		"key of another shape":           {func(h http.Header) { h.Set(api.HeaderKey, "' OR 1=1 --") }, 403, "bad_key_header", "Bad key header"},
		"revoked key":                    {func(h http.Header) { h.Set(api.HeaderKey, publicKey("revoked")) }, 403, "bad_key_header", "Bad key header"},
		"two keys":                       {func(h http.Header) { h.Add(api.HeaderKey, publicKey("all")) }, 403, "bad_key_header", "Bad key header"},
		"no signature":                   {func(h http.Header) { h.Del(api.HeaderSignature) }, 403, "no_signature_header", "No signature header"},
		"empty signature":                {func(h http.Header) { h.Set(api.HeaderSignature, "") }, 403, "no_signature_header", "No signature header"},
		"signature of other bytes":       {func(h http.Header) { h.Set(api.HeaderSignature, signature.Sign("secret of all", []byte("{}"))) }, 403, "bad_signature_header", "Bad signature header"},
		"signature by other secret":      {func(h http.Header) { h.Set(api.HeaderSignature, signature.Sign("secret", []byte(minimalBody))) }, 403, "bad_signature_header", "Bad signature header"},
		"half a signature":               {func(h http.Header) { h.Set(api.HeaderSignature, validSignature[:64]) }, 403, "bad_signature_header", "Bad signature header"},
		"not hexadecimal":                {func(h http.Header) { h.Set(api.HeaderSignature, "zz") }, 403, "bad_signature_header", "Bad signature header"},
		"two signatures":                 {func(h http.Header) { h.Add(api.HeaderSignature, validSignature) }, 403, "bad_signature_header", "Bad signature header"},
		"a timestamp without nonce":      {func(h http.Header) { h.Set(api.HeaderTimestamp, "1795812932") }, 403, "no_nonce_header", "No nonce header"},
		"a nonce without timestamp":      {func(h http.Header) { h.Set(api.HeaderNonce, "0123456789abcdef") }, 403, "no_timestamp_header", "No timestamp header"},
		"an empty timestamp and a nonce": {func(h http.Header) { h.Set(api.HeaderTimestamp, ""); h.Set(api.HeaderNonce, "0123456789abcdef") }, 403, "no_timestamp_header", "No timestamp header"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := f.request(creation(message{key: "all"}))
			test.change(r.Header)
			response := f.serve(r)
			if test.status == http.StatusOK {
				if response.StatusCode != http.StatusOK {
					t.Errorf("answer %d: %s", response.StatusCode, read(t, response))
				}
				return
			}
			if text := checkRefused(t, response, test.status, test.code); text != test.text {
				t.Errorf("message %q, want %q", text, test.text)
			}
		})
	}
}

// The vector is from the API family's public documentation.
func TestAuth_accepts_the_published_vector(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	f.merchants.keys[publicKey("vector")] = merchant.Key{ID: "vector", Key: publicKey("vector"), Secret: "AbCdEfG123456", Scopes: merchant.AllScopes}
	r := f.request(creation(message{body: `{"currency":"BTC","foreign_id":"123456"}`}))
	r.Header.Set(api.HeaderKey, publicKey("vector"))
	r.Header.Set(api.HeaderSignature, "03c25fcf7cd35e7d995e402cd5d51edd72d48e1471e865907967809a0c189ba55b90815f20e2bb10f82c7a9e9d865546fda58989c2ae9e8e2ff7bc29195fa1ec")
	checkRefused(t, f.serve(r), http.StatusBadRequest, "unknown_field") // the signature is valid; the fields are those of another call
}

func TestAuth_checks_the_scheme_of_Chequer(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	now := noon.Unix()
	type parts struct{ timestamp, nonce, method, target, idempotency, body string }
	at := func(seconds int64) string { return strconv.FormatInt(now+seconds, 10) }
	tests := map[string]struct {
		sign  func(*parts) // changes both the signed and the sent request
		forge func(*parts) // changes only the sent headers
		code  string
	}{
		"signed":                       {nil, nil, ""},
		"five minutes old":             {func(p *parts) { p.timestamp = at(-299) }, nil, ""},
		"five minutes ahead":           {func(p *parts) { p.timestamp = at(300) }, nil, ""},
		"more than five minutes old":   {func(p *parts) { p.timestamp = at(-301) }, nil, "bad_timestamp_header"},
		"more than five minutes ahead": {func(p *parts) { p.timestamp = at(302) }, nil, "bad_timestamp_header"},
		"in milliseconds":              {func(p *parts) { p.timestamp = at(0) + "000" }, nil, "bad_timestamp_header"},
		"a timestamp with a plus sign": {func(p *parts) { p.timestamp = "+" + at(0) }, nil, "bad_timestamp_header"},
		"a short nonce":                {func(p *parts) { p.nonce = "0123456789abcde" }, nil, "bad_nonce_header"},
		"a long nonce":                 {func(p *parts) { p.nonce = strings.Repeat("x", 65) }, nil, "bad_nonce_header"},
		"a nonce with a hyphen":        {func(p *parts) { p.nonce = "0123456789-abcdef" }, nil, "bad_nonce_header"},
		"another timestamp":            {nil, func(p *parts) { p.timestamp = at(1) }, "bad_signature_header"},
		"another nonce":                {nil, func(p *parts) { p.nonce = "fedcba9876543210" }, "bad_signature_header"},
		"another method":               {nil, func(p *parts) { p.method = "PUT" }, "bad_signature_header"},
		"without the base path":        {nil, func(p *parts) { p.target = "/api/v2/invoice/new" }, "bad_signature_header"},
		"another idempotency key":      {nil, func(p *parts) { p.idempotency = "key" }, "bad_signature_header"},
		"another body":                 {nil, func(p *parts) { p.body = "{}" }, "bad_signature_header"},
		"only the body is signed":      {nil, func(p *parts) { p.timestamp = "" }, "bad_signature_header"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := parts{timestamp: at(0), nonce: "nonce" + strings.Map(keepLetter, name) + "0123456789", method: "POST", target: "/shop/api/v2/invoice/new", body: minimalBody}
			if test.sign != nil {
				test.sign(&p)
			}
			r := f.request(creation(message{}))
			r.Header.Set(api.HeaderKey, publicKey("all"))
			r.Header.Set(api.HeaderTimestamp, p.timestamp)
			r.Header.Set(api.HeaderNonce, p.nonce)
			if test.forge != nil {
				test.forge(&p)
			}
			signed := signature.Request{Timestamp: p.timestamp, Nonce: p.nonce, Method: p.method, Target: p.target, IdempotencyKey: p.idempotency, Body: []byte(p.body)}.Message()
			if p.timestamp == "" {
				signed = []byte(minimalBody)
			}
			r.Header.Set(api.HeaderSignature, signature.Sign("secret of all", signed))
			response := f.serve(r)
			if test.code == "" {
				if response.StatusCode != http.StatusOK {
					t.Errorf("answer %d: %s", response.StatusCode, read(t, response))
				}
				return
			}
			checkRefused(t, response, http.StatusForbidden, test.code)
		})
	}
}

// keepLetter is a mapping for strings.Map that keeps only lower-case letters.
func keepLetter(r rune) rune {
	if r >= 'a' && r <= 'z' {
		return r
	}
	return -1
}

func TestAuth_signs_the_target_as_it_was_sent(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	for _, target := range []string{"//api//v2/invoice/new", "/api/v2/invoice/new?x=%20", "/v2/invoice/new"} {
		response := f.send(message{method: "POST", target: target, key: "all", body: minimalBody, signRequest: true})
		if response.StatusCode != http.StatusOK {
			t.Errorf("%s: answer %d: %s", target, response.StatusCode, read(t, response))
		}
	}
}

func TestAuth_accepts_a_nonce_once(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	id := f.create(t, "all", minimalBody)
	m := creation(message{key: "all", signRequest: true, nonce: "0123456789abcdef"})
	if response := f.send(m); response.StatusCode != http.StatusOK {
		t.Fatalf("answer %d: %s", response.StatusCode, read(t, response))
	}
	checkRefused(t, f.send(m), http.StatusForbidden, "bad_nonce_header")

	m.nonce, m.header = "0123456789abcdeg", headerWith(api.HeaderIdempotencyKey, "order-1")
	first, second := read(t, f.send(m)), read(t, f.send(m))
	if first != second || !strings.Contains(first, "foreign_id") {
		t.Errorf("answer to a retry with the same idempotency key = %s, want %s", second, first)
	}
	m.header = nil
	checkRefused(t, f.send(m), http.StatusForbidden, "bad_nonce_header")

	readAgain := message{method: "GET", target: "/api/v2/invoices/" + id, key: "all", signRequest: true, nonce: "0123456789abcdeh"}
	for range 2 { // reads do not use up the nonce
		if response := f.send(readAgain); response.StatusCode != http.StatusOK {
			t.Errorf("answer %d: %s", response.StatusCode, read(t, response))
		}
	}
	simulate := message{method: "POST", target: "/api/v2/test/invoices/" + id + "/simulate", key: "all", signRequest: true, nonce: "0123456789abcdei", body: `{"action":"under"}`}
	if response := f.send(simulate); response.StatusCode != http.StatusOK {
		t.Errorf("answer %d: %s", response.StatusCode, read(t, response))
	}
	checkRefused(t, f.send(simulate), http.StatusForbidden, "bad_nonce_header")
	if actions := f.simnet.takeActions(); len(actions) != 1 {
		t.Errorf("actions = %v, want one", actions)
	}
}

func TestAuth_enforces_scopes(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	test, live := f.create(t, "all", minimalBody), f.create(t, "live", minimalBody)
	simulation := `{"action":"under"}`
	tests := []struct {
		name, key, method, target, body string
		status                          int
		code                            string
	}{
		{"create may create", "create", "POST", "/api/v2/invoice/new", minimalBody, 200, ""},
		{"read may not create", "read", "POST", "/api/v2/invoice/new", minimalBody, 403, "key_may_not"},
		{"page may not create", "page", "POST", "/api/v2/invoice/new", minimalBody, 403, "key_may_not"},
		{"read reads an invoice of its shop", "read", "GET", "/api/v2/invoices/" + test, "", 200, ""},
		{"read does not read another mode", "read", "GET", "/api/v2/invoices/" + live, "", 404, "invoice_not_found"},
		{"liveread does not read a test invoice", "liveread", "GET", "/api/v2/invoices/" + test, "", 404, "invoice_not_found"},
		{"read does not read an invoice of another shop", "other", "GET", "/api/v2/invoices/" + test, "", 404, "invoice_not_found"},
		{"page reads a test invoice", "page", "GET", "/api/v2/invoices/" + test, "", 200, ""},
		{"page reads a live invoice", "page", "GET", "/api/v2/invoices/" + live, "", 200, ""},
		{"page needs the exact id", "page", "GET", "/api/v2/invoices/" + test[:31], "", 404, "invoice_not_found"},
		{"page does not read an invalid id", "page", "GET", "/api/v2/invoices/%00", "", 404, "invoice_not_found"},
		{"create may not read", "create", "GET", "/api/v2/invoices/" + test, "", 403, "key_may_not"},
		{"page simulates a test invoice", "page", "POST", "/api/v2/test/invoices/" + test + "/simulate", simulation, 200, ""},
		{"page does not simulate a live invoice", "page", "POST", "/api/v2/test/invoices/" + live + "/simulate", simulation, 403, "live_invoice"},
		{"admin simulates an invoice of its shop", "admin", "POST", "/api/v2/test/invoices/" + test + "/simulate", simulation, 200, ""},
		{"admin does not simulate an invoice of another shop", "other", "POST", "/api/v2/test/invoices/" + test + "/simulate", simulation, 404, "invoice_not_found"},
		{"a live admin does not simulate a test invoice", "liveread", "POST", "/api/v2/test/invoices/" + test + "/simulate", simulation, 404, "invoice_not_found"},
		{"a live admin does not simulate a live invoice", "liveread", "POST", "/api/v2/test/invoices/" + live + "/simulate", simulation, 403, "live_invoice"},
		{"read may not simulate", "read", "POST", "/api/v2/test/invoices/" + test + "/simulate", simulation, 403, "key_may_not"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			response := f.send(message{method: test.method, target: test.target, key: test.key, body: test.body, signRequest: true})
			if test.status == http.StatusOK {
				if response.StatusCode != http.StatusOK {
					t.Errorf("answer %d: %s", response.StatusCode, read(t, response))
				}
				return
			}
			text := checkRefused(t, response, test.status, test.code)
			if test.code == "key_may_not" && text != "Key may not do this" {
				t.Errorf("message %q", text)
			}
		})
	}
}

func TestAuth_requires_the_scheme_of_Chequer_for_its_own_calls(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	id := f.create(t, "all", minimalBody)
	checkRefused(t, f.send(message{method: "GET", target: "/api/v2/invoices/" + id, key: "all"}), 403, "no_timestamp_header")
	checkRefused(t, f.send(message{method: "POST", target: "/api/v2/test/invoices/" + id + "/simulate", key: "all", body: `{"action":"exact"}`}), 403, "no_timestamp_header")
	checkRefused(t, f.send(message{method: "GET", target: "/api/v2/invoices/" + id}), 403, "no_key_header")
}

func TestServer_errors_have_one_shape_on_every_path(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	tests := []struct {
		method, target string
		status         int
		code           string
		allow          string // methods that Allow must name
	}{
		{"GET", "/api/v2/", 404, "not_found", ""},
		{"GET", "/api", 404, "not_found", ""},
		{"GET", "/api/v1/invoice/status", 404, "not_found", ""},
		{"GET", "/api/v2/invoice/status/", 404, "not_found", ""},
		{"GET", "/v2/invoices/x", 404, "not_found", ""},
		{"GET", "/api/v2/../v2/invoice/status", 404, "not_found", ""},
		{"GET", "/api/v2/expired_at", 404, "not_found", ""},
		{"GET", "/api/v2/invoice/new", 405, "method_not_allowed", "POST"},
		{"DELETE", "/v2/invoice/new", 405, "method_not_allowed", "POST"},
		{"POST", "/api/v2/invoice/status", 405, "method_not_allowed", "GET HEAD"},
		{"POST", "/api/v2/invoices/x", 405, "method_not_allowed", "GET HEAD"},
		{"GET", "/api/v2/test/invoices/x/simulate", 405, "method_not_allowed", "POST"},
		{"GET", "/api/v2/invoice/status", 404, "invoice_not_found", ""},
		{"GET", "/api/v2/invoice/status?id=", 404, "invoice_not_found", ""},
		{"GET", "/api/v2/invoice/status?id=nobody", 404, "invoice_not_found", ""},
		{"GET", "/api/v2/invoice/status?id=%00%zz;expired_at", 404, "invoice_not_found", ""},
	}
	for _, test := range tests {
		t.Run(test.method+" "+test.target, func(t *testing.T) {
			t.Parallel()
			response := f.send(message{method: test.method, target: test.target})
			checkRefused(t, response, test.status, test.code)
			for _, method := range strings.Fields(test.allow) {
				if !strings.Contains(response.Header.Get("Allow"), method) {
					t.Errorf("Allow = %q, want %s in it", response.Header.Get("Allow"), method)
				}
			}
		})
	}
}

func TestServer_limits_the_body_size(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	sized := func(size int) string {
		head := `{"amount":1,"fiat_currency":"EUR"`
		return head + strings.Repeat(" ", size-len(head)-1) + "}"
	}
	if response := f.send(creation(message{key: "all", body: sized(64 << 10)})); response.StatusCode != http.StatusOK {
		t.Errorf("64 KiB: answer %d: %s", response.StatusCode, read(t, response))
	}
	checkRefused(t, f.send(creation(message{key: "all", body: sized(64<<10 + 1)})), 413, "body_too_large")
	r := f.request(creation(message{key: "all", body: sized(64<<10 + 1)}))
	r.ContentLength = -1 // chunked
	checkRefused(t, f.serve(r), 413, "body_too_large")
	r = f.request(creation(message{key: "all"}))
	r.Body = failing{}
	checkRefused(t, f.serve(r), 400, "unreadable_body")
}

func TestServer_hides_internal_errors(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	f.merchants.err = errors.New("dial tcp 10.0.0.7:5432: password of chequer is wrong")
	if text := checkRefused(t, f.send(creation(message{key: "all"})), 500, "internal_error"); text != "Internal error" {
		t.Errorf("message %q", text)
	}
	if log := f.log.String(); !strings.Contains(log, "authenticate: dial tcp") || !strings.Contains(log, "route=/shop/api/v2/invoice/new") {
		t.Errorf("log %q", log)
	}
}

func TestServer_survives_a_panic(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	r := f.request(creation(message{key: "all"}))
	r.Body = panicking{}
	checkRefused(t, f.serve(r), 500, "internal_error")
}

// failing is a body that ends early; panicking is a body whose Read panics.
type (
	failing   struct{}
	panicking struct{}
)

func (failing) Read([]byte) (int, error)   { return 0, io.ErrUnexpectedEOF }
func (failing) Close() error               { return nil }
func (panicking) Read([]byte) (int, error) { panic("body") }
func (panicking) Close() error             { return nil }

// A call and a signed link record that their key was used; a refused call does not.
func TestKeys_record_their_use(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	f.create(t, "create", minimalBody)
	f.pay(t, linkQuery("all", "order_id", "1042"))
	f.send(message{method: "POST", target: "/api/v2/invoice/new", key: "admin", body: minimalBody}) // the key lacks the scope
	f.send(creation(message{key: "all", signed: "something else"}))
	if got := strings.Join(f.merchants.usedKeys, " "); got != "key_create key_page key_all" && got != "key_create key_all key_page" {
		t.Errorf("recorded %q, want the uses of create, page and all", got)
	}
}
