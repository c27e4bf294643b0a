package server_test

import (
	"encoding/json"
	"math/big"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"chequer/internal/api"
)

// answered checks that any answer is either the specification's or an error of
// the one shape.
func answered(t *testing.T, r *http.Response) (api.Invoice, bool) {
	t.Helper()
	body := read(t, r)
	strict := json.NewDecoder(strings.NewReader(body))
	strict.DisallowUnknownFields()
	var made api.Invoice
	var e api.Error
	switch {
	case r.StatusCode == http.StatusOK:
		if err := strict.Decode(&made); err != nil {
			t.Fatalf("answer %s: %v", body, err)
		}
		return made, true
	case r.StatusCode >= 500 && r.Header.Get("Retry-After") == "":
		t.Fatalf("answer %d: %s", r.StatusCode, body)
	case strings.Contains(body, "expired_at"):
		t.Fatalf("error holds the letters expired_at: %s", body)
	}
	if err := strict.Decode(&e); err != nil || e.StatusCode != r.StatusCode || e.Message == "" || r.Header.Get(api.HeaderErrorCode) == "" {
		t.Fatalf("error %d has the body %s", r.StatusCode, body)
	}
	return made, false
}

func FuzzCreate(f *testing.F) {
	for _, body := range []string{
		fine, `{}`, `[]`, `{"amount":1,"amount":2}`, `{"Amount":1}`, `{"expired_at":1}`, "{\"\xff\":1}", `{"amount":1,"fiat_currency":"EUR","metadata":{"a":"\ud800"}}`,
		`{"amount":"1.5","fiat_currency":"USD","url_success":"https://shop.example/","expires_in":900,"payment_methods":["BTC"],"language":"de","order_id":"\u0000"}`,
		`{"amount":[[[[[[1]]]]]]}`, `{"amount":1e18,"fiat_currency":"EUR"} {}`,
	} {
		f.Add(body)
	}
	l := newLab(f, nil)
	f.Fuzz(func(t *testing.T, body string) {
		made, ok := answered(t, l.send(message{
			method: "POST", target: "/api/v2/invoice/new", key: "all", body: body, header: set("Content-Type", "application/json"),
		}))
		if !ok {
			return
		}
		// Whatever encoding/json would take for the price is what was priced.
		var loose map[string]json.RawMessage
		if err := json.Unmarshal([]byte(body), &loose); err != nil {
			t.Fatalf("%s was taken, and is no object: %v", body, err)
		}
		if !sameNumber(strings.Trim(string(loose["amount"]), `"`), made.ClientAmount.String()) {
			t.Fatalf("%s was priced at %s", body, made.ClientAmount)
		}
	})
}

func FuzzCreate_amount(f *testing.F) {
	for _, literal := range []string{`1`, `"1.50"`, `5.0E-4`, `1e-2`, `-0`, `0e5`, `1E18`, `"0001"`, `100000000e-8`, `"1e5"`, `"５"`} {
		f.Add(literal)
	}
	l := newLab(f, nil)
	f.Fuzz(func(t *testing.T, literal string) {
		made, ok := answered(t, l.send(create(message{key: "all", body: `{"fiat_currency":"EUR","amount":` + literal + `}`})))
		if !ok {
			return
		}
		price := made.ClientAmount.String()
		if strings.ContainsAny(price, "eE+-") || strings.HasSuffix(price, ".") || strings.Contains(price, ".") && strings.HasSuffix(price, "0") {
			t.Fatalf("%s is not in plain digits", price)
		}
		if !strings.ContainsAny(literal, `,:`) && !sameNumber(strings.Trim(strings.TrimSpace(literal), `"`), price) {
			t.Fatalf("%s was priced at %s", literal, price)
		}
	})
}

// sameNumber compares two numbers exactly.
func sameNumber(a, b string) bool {
	x, okX := new(big.Rat).SetString(a)
	y, okY := new(big.Rat).SetString(b)
	return okX && okY && x.Cmp(y) == 0
}

func FuzzStatus_query(f *testing.F) {
	for _, query := range []string{"id=", "id=inv00000000000000000000000000001", "id=a&id=b", "%zz", ";", "id=%00", "id=expired_at", "ID=1"} {
		f.Add(query)
	}
	l := newLab(f, nil)
	id := l.create(f, "all", fine)
	f.Fuzz(func(t *testing.T, query string) {
		r := l.request(message{method: "GET", target: "/api/v2/invoice/status"})
		r.URL = &url.URL{Path: r.URL.Path, RawQuery: query}
		if got, ok := answered(t, l.serve(r)); ok && got.ForeignID != id {
			t.Fatalf("%q shows %s", query, got.ForeignID)
		}
	})
}
