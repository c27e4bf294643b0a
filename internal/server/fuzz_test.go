package server_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha512"
	"encoding/hex"
	"encoding/json"
	"io"
	"math/big"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"chequer/internal/api"
)

// checkAnswer checks that a response is an invoice as the specification defines it, or an error of the
// common form. It returns the invoice and reports whether there is one.
func checkAnswer(t *testing.T, r *http.Response) (api.Invoice, bool) {
	t.Helper()
	body := read(t, r)
	strict := json.NewDecoder(strings.NewReader(body))
	strict.DisallowUnknownFields()
	var created api.Invoice
	var e api.Error
	switch {
	case r.StatusCode == http.StatusOK:
		if err := strict.Decode(&created); err != nil {
			t.Fatalf("answer %s is not an invoice of the specification: %v", body, err)
		}
		return created, true
	case r.StatusCode >= 500 && r.Header.Get("Retry-After") == "":
		t.Fatalf("answer %d has no Retry-After: %s", r.StatusCode, body)
	}
	checkForbiddenText(t, r, body)
	if err := strict.Decode(&e); err != nil || e.StatusCode != r.StatusCode || e.Message == "" || r.Header.Get(api.HeaderErrorCode) == "" {
		t.Fatalf("error %d has the body %s", r.StatusCode, body)
	}
	return created, false
}

// checkForbiddenText checks that an error does not contain the text by which one public client recognises
// success.
func checkForbiddenText(t *testing.T, r *http.Response, body string) {
	t.Helper()
	for name, values := range r.Header {
		body += name + strings.Join(values, "")
	}
	if strings.Contains(strings.ToLower(body), "expired_at") {
		t.Fatalf("error contains the text expired_at: %s", body)
	}
}

func FuzzCreate(f *testing.F) {
	for _, body := range []string{
		minimalBody, `{}`, `[]`, `{"amount":1,"amount":2}`, `{"Amount":1}`, `{"expired_at":1}`, "{\"\xff\":1}", `{"amount":1,"fiat_currency":"EUR","metadata":{"a":"\ud800"}}`,
		`{"amount":"1.5","fiat_currency":"USD","url_success":"https://shop.example/","expires_in":900,"payment_methods":["BTC"],"language":"de","order_id":"\u0000"}`,
		`{"amount":[[[[[[1]]]]]]}`, `{"amount":1e18,"fiat_currency":"EUR"} {}`,
	} {
		f.Add(body)
	}
	srv := newFixture(f, nil)
	f.Fuzz(func(t *testing.T, body string) {
		created, ok := checkAnswer(t, srv.send(message{
			method: "POST", target: "/api/v2/invoice/new", key: "all", body: body, header: headerWith("Content-Type", "application/json"),
		}))
		if !ok {
			return
		}
		// The invoice has the price that encoding/json reads from the body.
		var loose map[string]json.RawMessage
		if err := json.Unmarshal([]byte(body), &loose); err != nil {
			t.Fatalf("%s was accepted, but is not an object: %v", body, err)
		}
		if !sameNumber(strings.Trim(string(loose["amount"]), `"`), created.ClientAmount.String()) {
			t.Fatalf("amount of %s = %s", body, created.ClientAmount)
		}
	})
}

func FuzzCreate_amount(f *testing.F) {
	for _, literal := range []string{`1`, `"1.50"`, `5.0E-4`, `1e-2`, `-0`, `0e5`, `1E18`, `"0001"`, `100000000e-8`, `"1e5"`, `"５"`} {
		f.Add(literal)
	}
	srv := newFixture(f, nil)
	f.Fuzz(func(t *testing.T, literal string) {
		created, ok := checkAnswer(t, srv.send(creation(message{key: "all", body: `{"fiat_currency":"EUR","amount":` + literal + `}`})))
		if !ok {
			return
		}
		price := created.ClientAmount.String()
		if strings.ContainsAny(price, "eE+-") || strings.HasSuffix(price, ".") || strings.Contains(price, ".") && strings.HasSuffix(price, "0") {
			t.Fatalf("%s is not in plain digits", price)
		}
		if !strings.ContainsAny(literal, `,:`) && !sameNumber(strings.Trim(strings.TrimSpace(literal), `"`), price) {
			t.Fatalf("%s was priced at %s, want the same number", literal, price)
		}
	})
}

// sameNumber reports whether two numbers are exactly equal.
func sameNumber(a, b string) bool {
	x, okX := new(big.Rat).SetString(a)
	y, okY := new(big.Rat).SetString(b)
	return okX && okY && x.Cmp(y) == 0
}

func FuzzStatus_query(f *testing.F) {
	for _, query := range []string{"id=", "id=inv00000000000000000000000000001", "id=a&id=b", "%zz", ";", "id=%00", "id=expired_at", "ID=1"} {
		f.Add(query)
	}
	srv := newFixture(f, nil)
	id := srv.create(f, "all", minimalBody)
	f.Fuzz(func(t *testing.T, query string) {
		r := srv.request(message{method: "GET", target: "/api/v2/invoice/status"})
		r.URL = &url.URL{Path: r.URL.Path, RawQuery: query}
		if got, ok := checkAnswer(t, srv.serve(r)); ok && got.ForeignID != id {
			t.Fatalf("query %q returns invoice %s", query, got.ForeignID)
		}
	})
}

// Every error has the common form and does not contain the text expired_at, even if the request contains
// it.
func FuzzErrors(f *testing.F) {
	forbidden := "expired_at"
	for _, seed := range []struct {
		method, target, body, kind, idempotency string
		own                                     bool
	}{
		{"POST", "/api/v2/invoice/new", `{"expired_at":1}`, "application/json", forbidden, false},
		{"POST", "/v2/invoice/new", `{"Expired_At":1,"amount":{"expired_at":1}}`, "application/json; charset=expired_at", "", true},
		{"POST", "/api/v2/invoice/new", `{"amount":1,"fiat_currency":"expired_at"}`, "application/json", "k", false},
		{"POST", "/api/v2/invoice/new", `{"amount":"expired_at"}`, forbidden, "k", false},
		{"POST", "/api/v2/invoice/new", `{"amount":1,"fiat_currency":"EUR","payment_methods":["expired_at"],"language":"expired_at"}`, "application/json", "", false},
		{"POST", "/api/v2/invoice/new", `{"expired\u005fat\u0000":1}`, "application/json", "", false},
		{"expired_at", "/api/v2/invoice/new", "", "", "", false},
		{"GET", "/api/v2/expired_at?expired_at=1", "", "", "", false},
		{"GET", "/api/v2/invoice/status?id=expired_at", "", "", "", false},
		{"HEAD", "/api/v2/invoices/expired_at", "", "", "", true},
		{"POST", "/api/v2/test/invoices/expired_at/simulate", `{"action":"expired_at","payment_method":"expired_at"}`, "application/json", "", true},
		{"OPTIONS", "//api//v2/invoice/new%2f..", "", "", "", false},
	} {
		f.Add(seed.method, seed.target, seed.body, seed.kind, seed.idempotency, seed.own)
	}
	srv := newFixture(f, nil)
	f.Fuzz(func(t *testing.T, method, target, body, kind, idempotency string, own bool) {
		if _, err := url.ParseRequestURI("/shop" + target); err != nil || strings.ContainsAny(target, " \t\r\n") || !token.MatchString(method) {
			t.Skip() // net/http refuses it
		}
		header := headerWith("Content-Type", kind)
		header.Set(api.HeaderIdempotencyKey, idempotency)
		r := srv.send(message{method: method, target: target, key: "all", body: body, header: header, signRequest: own})
		if r.StatusCode < 400 {
			return
		}
		checkAnswer(t, r)
	})
}

var token = regexp.MustCompile("^[!#$%&'*+.^_`|~0-9A-Za-z-]+$")

// A call is accepted only with an HMAC of its content. The test computes the HMAC independently.
func FuzzAuth(f *testing.F) {
	sign := func(message string) string {
		mac := hmac.New(sha512.New, []byte("secret of all"))
		mac.Write([]byte(message))
		return hex.EncodeToString(mac.Sum(nil))
	}
	const target = "/shop/api/v2/invoice/new"
	own := func(timestamp, nonce, idempotency, body string) string {
		sum := sha512.Sum512([]byte(body))
		return strings.Join([]string{"chequer-v1", timestamp, nonce, "POST", target, idempotency, hex.EncodeToString(sum[:])}, "\n")
	}
	now := strconv.FormatInt(noon.Unix(), 10)
	spaced := `{"amount": 1, "fiat_currency": "EUR"}`
	for _, seed := range [][5]string{
		{sign(minimalBody), "", "", "", minimalBody},
		{strings.ToUpper(sign(minimalBody)), "", "", "k", minimalBody},
		{sign(minimalBody), "", "", "", spaced},
		{sign(own(now, "0123456789abcdef", "k", minimalBody)), now, "0123456789abcdef", "k", minimalBody},
		{sign(own(now, "0123456789abcdef", "k", minimalBody)), now, "", "k", minimalBody},
		{sign(minimalBody), now, "0123456789abcdef", "", minimalBody},
		{sign(own("+1", "0", "", minimalBody)), "+1", "0", "", minimalBody},
		{sign(minimalBody) + "0", "", "", "", minimalBody},
		{" " + sign(minimalBody), "", "", "", minimalBody},
		{"", "", "", "", ""},
	} {
		f.Add(seed[0], seed[1], seed[2], seed[3], seed[4])
	}
	srv := newFixture(f, nil)
	f.Fuzz(func(t *testing.T, signature, timestamp, nonce, idempotency, body string) {
		header := headerWith("Content-Type", "application/json")
		for name, value := range map[string]string{
			api.HeaderTimestamp: timestamp, api.HeaderNonce: nonce, api.HeaderIdempotencyKey: idempotency,
		} {
			if value != "" {
				header.Set(name, value)
			}
		}
		r := srv.request(creation(message{body: body, header: header}))
		if body == "" {
			r.Body, body = io.NopCloser(strings.NewReader(minimalBody)), minimalBody
		}
		r.Header.Set(api.HeaderKey, publicKey("all"))
		r.Header.Set(api.HeaderSignature, signature)
		response := srv.serve(r)
		checkAnswer(t, response)
		lowerCase := strings.ToLower(signature)
		var compact bytes.Buffer
		signed := timestamp == "" && nonce == "" &&
			(lowerCase == sign(body) || json.Compact(&compact, []byte(body)) == nil && lowerCase == sign(compact.String())) ||
			lowerCase == sign(own(timestamp, nonce, idempotency, body))
		code := response.Header.Get(api.HeaderErrorCode)
		if !signed && response.StatusCode != http.StatusForbidden && response.StatusCode != http.StatusRequestEntityTooLarge {
			t.Fatalf("answer %d %s to a forged call", response.StatusCode, code)
		}
		if signed && code == "bad_signature_header" {
			t.Fatal("a signed call was refused")
		}
	})
}
