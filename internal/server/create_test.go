package server_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/api"
	"chequer/internal/merchant"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// golden compares a body with a file of testdata. The file is indented; the body must be compact
// and is indented before it is compared.
func golden(t *testing.T, name, body string) {
	t.Helper()
	var compact bytes.Buffer
	if err := json.Compact(&compact, []byte(body)); err != nil || compact.String() != body {
		t.Errorf("answer is not compact JSON (%v): %q", err, body)
	}
	var indented strings.Builder
	value := json.RawMessage(body)
	encoder := json.NewEncoder(&indented)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(value); err != nil {
		t.Fatalf("answer is not JSON: %v\n%s", err, body)
	}
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(indented.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(indented.String(), string(want)); diff != "" {
		t.Errorf("answer differs from %s (-got +want):\n%s", name, diff)
	}
}

func TestCreate_returns_the_invoice(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	response := f.send(message{method: "POST", target: "/api/v2/invoice/new", key: "all", body: `{"amount":56.50,"fiat_currency":"EUR"}`})
	if response.StatusCode != http.StatusOK {
		t.Fatalf("status = %d, want 200", response.StatusCode)
	}
	golden(t, "invoice_new.json", read(t, response))
	got := map[string]string{}
	for _, name := range []string{"Location", "Etag", "Content-Type", "Cache-Control", api.HeaderErrorCode} {
		got[name] = response.Header.Get(name)
	}
	want := map[string]string{
		"Location": "https://pay.example/shop/invoice/inv00000000000000000000000000001", "Etag": `"1"`,
		"Content-Type": "application/json", "Cache-Control": "no-store", api.HeaderErrorCode: "",
	}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("headers differ (-got +want):\n%s", diff)
	}
}

func TestCreate_accepts_dollars(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	response := f.send(message{method: "POST", target: "/v2/invoice/new", key: "live", body: `{"amount":"20.0","fiat_currency":"USD"}`})
	golden(t, "invoice_new_usd.json", read(t, response))
}

// The response has the same fields for every currency: six, five per address, rates in euro and dollars.
func TestCreate_accepts_an_enabled_currency(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	f.enableFiats(chf, jpy)
	response := f.send(message{method: "POST", target: "/api/v2/invoice/new", key: "all", body: `{"amount":"5000.00","fiat_currency":"JPY"}`})
	golden(t, "invoice_new_jpy.json", read(t, response))
	id := "inv00000000000000000000000000001"
	f.simulateAction(t, id, `{"action":"exact"}`)
	golden(t, "resource_jpy.json", read(t, f.send(message{method: "GET", target: "/api/v2/invoices/" + id, key: "read", signRequest: true})))
	events := f.storage.Events()
	golden(t, "event_jpy.json", string(events[len(events)-1].Body))
}

// Clients of services with the same API depend on these responses.
func TestCreate_accepts_the_requests_of_public_clients(t *testing.T) {
	t.Parallel()
	compact := `{"amount":20.0,"fiat_currency":"EUR"}`
	spaced := `{"amount": 20.0, "fiat_currency": "EUR"}`
	tests := map[string]struct {
		message message
		want    string // client_amount
	}{
		"compact is signed and spaced is sent": {message{body: spaced, signed: compact}, "20"},
		"an exponent":                          {message{body: `{"amount":2.05E1,"fiat_currency":"EUR"}`}, "20.5"},
		"a small exponent":                     {message{body: `{"amount":5.0E-1,"fiat_currency":"EUR"}`}, "0.5"},
		"a large exponent":                     {message{body: `{"amount":1.234567E5,"fiat_currency":"EUR"}`}, "123456.7"},
		"a zero after the dot":                 {message{body: compact}, "20"},
		"two leading slashes":                  {message{target: "//api/v2/invoice/new", body: compact}, "20"},
		"repeated slashes":                     {message{target: "//api//v2///invoice//new", body: compact}, "20"},
		"without api":                          {message{target: "/v2/invoice/new", body: compact}, "20"},
		"a charset":                            {message{body: compact, header: http.Header{"Content-Type": {"application/json; charset=utf-8"}}}, "20"},
		"a charset in capitals":                {message{body: compact, header: http.Header{"Content-Type": {"Application/JSON;charset=UTF-8"}}}, "20"},
		"optional fields are null or empty":    {message{body: `{"amount":20,"fiat_currency":"EUR","url_success":null,"url_failure":"","allow_paid_expired":null}`}, "20"},
	}
	f := newFixture(t, nil)
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := test.message
			m.method, m.key = "POST", "all"
			if m.target == "" {
				m.target = "/api/v2/invoice/new"
			}
			response := f.send(m)
			body := read(t, response)
			var got api.Invoice
			strict := json.NewDecoder(strings.NewReader(body))
			strict.DisallowUnknownFields()
			if err := strict.Decode(&got); err != nil || response.StatusCode != http.StatusOK {
				t.Fatalf("answer %d: %s (%v)", response.StatusCode, body, err)
			}
			if got.ClientAmount.String() != test.want || !strings.Contains(body, `"client_amount":`+test.want+`,`) {
				t.Errorf("client_amount in %s, want %s", body, test.want)
			}
		})
	}
}

func TestCreate_stores_the_extension_fields(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	id := f.create(t, "all", `{"amount":"10","fiat_currency":"EUR","url_success":"https://shop.example/ok?a=1&b=2","url_failure":"http://localhost:8080/no",
		"allow_paid_expired":true,"disable_convert":true,"order_id":"Bestellung 7","description":"Zwei Tassen","metadata":{"a":"1"},
		"language":"de-CH","expires_in":3600,"payment_methods":["EURC-BASE","BTC"]}`)
	response := f.send(message{method: "GET", target: "/api/v2/invoices/" + id, key: "read", signRequest: true})
	golden(t, "resource_full.json", read(t, response))
}

func TestCreate_refuses_methods_that_cannot_be_offered(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		change func(*fixture)
		body   string
		key    string
		status int
		code   string
	}{
		"no rate":                          {func(f *fixture) { f.rates.unavailable.Store(true) }, `{"amount":1,"fiat_currency":"EUR"}`, "all", 503, "no_rate"},
		"no wallet":                        {func(f *fixture) { f.merchants.wallets = nil }, `{"amount":1,"fiat_currency":"EUR"}`, "all", 503, "no_wallet"},
		"one unknown method":               {nil, `{"amount":1,"fiat_currency":"EUR","payment_methods":["BTC","EURC-BSE"]}`, "all", 400, "invalid_payment_methods"},
		"an unknown method":                {nil, `{"amount":1,"fiat_currency":"EUR","payment_methods":["DOGE"]}`, "all", 400, "invalid_payment_methods"},
		"held for too long":                {nil, `{"amount":1,"fiat_currency":"EUR","expires_in":7200,"payment_methods":["BTC"]}`, "all", 400, "invalid_expires_in"},
		"no rate of the dollar":            {func(f *fixture) { f.rates.lacks = "USD" }, `{"amount":1,"fiat_currency":"EUR"}`, "all", 503, "no_rate"},
		"no rate of one coin":              {func(f *fixture) { f.rates.lacks = "BTC" }, `{"amount":1,"fiat_currency":"EUR"}`, "all", 200, ""},
		"held for an hour":                 {nil, `{"amount":1,"fiat_currency":"EUR","expires_in":3600,"payment_methods":["BTC"]}`, "all", 200, ""},
		"held for an hour and a second":    {nil, `{"amount":1,"fiat_currency":"EUR","expires_in":3601,"payment_methods":["BTC"]}`, "all", 400, "invalid_expires_in"},
		"a stablecoin held for two hours":  {nil, `{"amount":1,"fiat_currency":"EUR","expires_in":7200}`, "all", 200, ""},
		"less than the smallest payment":   {nil, `{"amount":0.44,"fiat_currency":"EUR"}`, "live", 400, "invalid_amount"},
		"the smallest payment":             {nil, `{"amount":0.48,"fiat_currency":"EUR"}`, "live", 200, ""},
		"a small amount with a stablecoin": {nil, `{"amount":0.44,"fiat_currency":"EUR"}`, "all", 200, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, nil)
			if test.change != nil {
				test.change(f)
			}
			response := f.send(message{method: "POST", target: "/api/v2/invoice/new", key: test.key, body: test.body})
			body := read(t, response)
			if code := response.Header.Get(api.HeaderErrorCode); response.StatusCode != test.status || code != test.code {
				t.Errorf("answer %d %q, want %d %q: %s", response.StatusCode, code, test.status, test.code, body)
			}
			if retry := response.Header.Get("Retry-After"); (test.status == 503) != (retry != "") {
				t.Errorf("Retry-After = %q", retry)
			}
			if created := f.storage.Count(); (test.status == 200) != (created == 1) {
				t.Errorf("%d invoices were created", created)
			}
		})
	}
}

func TestCreate_names_the_smallest_amount_that_works(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	body := read(t, f.send(message{method: "POST", target: "/api/v2/invoice/new", key: "live", body: `{"amount":0.01,"fiat_currency":"EUR"}`}))
	want := `{"statusCode":400,"error":"Bad Request","message":"amount must be at least 0.48 EUR for the payment methods offered"}`
	if body != want {
		t.Errorf("answer %s, want %s", body, want)
	}
}

// Null for an optional field is equal to omitting the field.
func TestCreate_accepts_null_for_optional_fields(t *testing.T) {
	t.Parallel()
	withoutFields := read(t, newFixture(t, nil).send(creation(message{key: "all"})))
	for _, name := range []string{
		"url_success", "url_failure", "allow_paid_expired", "disable_convert", "order_id", "description", "metadata", "language",
		"expires_in", "payment_methods",
	} {
		body := `{"amount":1,"` + name + `":null,"fiat_currency":"EUR"}`
		if got := read(t, newFixture(t, nil).send(creation(message{key: "all", body: body}))); got != withoutFields {
			t.Errorf("%s null: answer %s, want %s", name, got, withoutFields)
		}
	}
}

// While another program keeps the database locked, the caller gets 503 within seconds, and may repeat the
// request with the same Idempotency-Key.
func TestCreate_does_not_wait_long_for_the_database(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, nil)
		release := make(chan struct{})
		f.merchants.walletsBlocked, f.merchants.entered = release, make(chan struct{}, 1)
		responses := make(chan *http.Response, 1)
		go func() { responses <- f.send(keyedMessage("order-1", minimalBody)) }()
		select {
		case response := <-responses:
			checkRefused(t, response, http.StatusServiceUnavailable, "unavailable")
			if retry := response.Header.Get("Retry-After"); retry != "1" {
				t.Errorf("Retry-After = %q, want 1", retry)
			}
		case <-time.After(6 * time.Second):
			t.Error("no answer after 6 seconds")
		}
		close(release)
		f.merchants.walletsBlocked = nil
		if response := f.send(keyedMessage("order-1", minimalBody)); response.StatusCode != http.StatusOK {
			t.Errorf("tried again: %d", response.StatusCode)
		}
	})
}

// An invoice offers the merchant's choice of payment methods in its order, unless the request has a
// choice. An unknown code is left out.
func TestCreate_offers_the_merchants_choice(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		choice merchant.Methods
		body   string
		want   string
	}{
		{"", `{"amount":5,"fiat_currency":"EUR"}`, "BTC EURC-BASE ETH"},
		{"EURC-BASE BTC", `{"amount":5,"fiat_currency":"EUR"}`, "EURC-BASE BTC"},
		{"GONE ETH", `{"amount":5,"fiat_currency":"EUR"}`, "ETH"},
		{"GONE", `{"amount":5,"fiat_currency":"EUR"}`, "BTC EURC-BASE ETH"},
		{"BTC", `{"amount":5,"fiat_currency":"EUR","payment_methods":["EURC-BASE","ETH"]}`, "EURC-BASE ETH"},
	} {
		f := newFixture(t, nil)
		f.merchants.choices = merchant.Choices{merchant.SettingMethods: string(tt.choice)}
		var offered []string
		for _, m := range f.resource(t, f.create(t, "all", tt.body)).PaymentMethods {
			offered = append(offered, m.CryptoCurrency)
		}
		if got := strings.Join(offered, " "); got != tt.want {
			t.Errorf("choice %q, %s: offered %s, want %s", tt.choice, tt.body, got, tt.want)
		}
	}
}
