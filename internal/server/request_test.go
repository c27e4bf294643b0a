package server_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"chequer/internal/api"
)

// checkRefused checks that an answer is an error of the common form, and returns the error's message.
func checkRefused(t *testing.T, r *http.Response, status int, code string) (message string) {
	t.Helper()
	body := read(t, r)
	if got := r.Header.Get(api.HeaderErrorCode); r.StatusCode != status || got != code {
		t.Fatalf("answer %d %q, want %d %q: %s", r.StatusCode, got, status, code, body)
	}
	var got api.Error
	strict := json.NewDecoder(strings.NewReader(body))
	strict.DisallowUnknownFields()
	if err := strict.Decode(&got); err != nil {
		t.Fatalf("error body %s does not decode: %v", body, err)
	}
	want := api.Error{StatusCode: status, Error: http.StatusText(status), Message: got.Message}
	if got != want || got.Message == "" {
		t.Errorf("error body %s does not match the status", body)
	}
	if strings.Contains(body, "expired_at") {
		t.Errorf("error body contains the text expired_at: %s", body)
	}
	if mediaType := r.Header.Get("Content-Type"); mediaType != "application/json" {
		t.Errorf("Content-Type = %q", mediaType)
	}
	return got.Message
}

// refusal is a body of invoice/new with its expected error.
type refusal struct {
	body    string
	code    string
	message string // part of the error's message
}

// checkRefusals checks that invoice/new refuses each body with its error, and creates no invoice.
func checkRefusals(t *testing.T, tests map[string]refusal) {
	t.Helper()
	f := newFixture(t, nil)
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			response := f.send(message{method: "POST", target: "/api/v2/invoice/new", key: "all", body: test.body, header: http.Header{"Content-Type": {"application/json"}}})
			message := checkRefused(t, response, http.StatusBadRequest, test.code)
			if !strings.Contains(message, test.message) {
				t.Errorf("message %q, want %q in it", message, test.message)
			}
		})
	}
	if created := f.storage.Count(); created != 0 {
		t.Errorf("%d invoices were created, want none", created)
	}
}

func TestCreate_refuses_invalid_objects(t *testing.T) {
	t.Parallel()
	rest := `,"fiat_currency":"EUR"}`
	deep := strings.Repeat("[", 10_000)
	checkRefusals(t, map[string]refusal{
		"nothing":                        {``, "invalid_json", "JSON object"},
		"a text":                         {`"amount"`, "invalid_json", "JSON object"},
		"a list":                         {`[{"amount":1}]`, "invalid_json", "JSON object"},
		"null":                           {`null`, "invalid_json", "JSON object"},
		"two objects":                    {`{"amount":1,"fiat_currency":"EUR"}{}`, "invalid_json", "JSON object"},
		"trailing text":                  {`{"amount":1,"fiat_currency":"EUR"} x`, "invalid_json", "JSON object"},
		"a truncated object":             {`{"amount":1`, "invalid_json", "JSON object"},
		"a trailing comma":               {`{"amount":1,"fiat_currency":"EUR",}`, "invalid_json", "JSON object"},
		"a comment":                      {`{"amount":1/**/` + rest, "invalid_json", "JSON object"},
		"a byte order mark":              {"\ufeff" + `{"amount":1` + rest, "invalid_json", "JSON object"},
		"invalid UTF-8":                  {"{\"amount\":1,\"order_id\":\"\xff\"" + rest, "invalid_json", "UTF-8"},
		"ten thousand lists":             {`{"amount":` + deep + strings.Repeat("]", 10_000) + rest, "invalid_json", "JSON object"},
		"nested lists in a field":        {`{"amount":[[[1]]]` + rest, "invalid_amount", "nested"},
		"nested lists in metadata":       {`{"amount":1,"metadata":` + deep[:9_000] + strings.Repeat("]", 9_000) + rest, "invalid_metadata", "nested"},
		"a name twice":                   {`{"amount":"100.00","amount":"0.01"` + rest, "duplicate_field", `"amount"`},
		"a name twice, once escaped":     {`{"amount":1,"am\u006funt":2` + rest, "duplicate_field", `"amount"`},
		"a name twice, once null":        {`{"amount":null,"amount":2` + rest, "duplicate_field", `"amount"`},
		"a name in another case":         {`{"amount":"100.00","Amount":"1.00","AMOUNT":"0.01"` + rest, "unknown_field", `"Amount" must be written amount`},
		"an unknown name":                {`{"amount":1,"price":2` + rest, "unknown_field", `Field "price" is unknown`},
		"a long name":                    {`{"` + strings.Repeat("x", 65) + `":1}`, "unknown_field", "A field is unknown"},
		"a name of 64 characters":        {`{"` + strings.Repeat("ü", 64) + `":1}`, "unknown_field", strings.Repeat("ü", 64)},
		"text that no error may contain": {`{"expired_at":"2026"}`, "unknown_field", "A field is unknown"},
		"forbidden text, escaped":        {`{"e\u0078pired_\u0061t":1}`, "unknown_field", "A field is unknown"},
		"forbidden text inside a name":   {`{"my_expired_at_2":1}`, "unknown_field", "A field is unknown"},
		"U+0000 in a name":               {`{"a\u0000":1}`, "unknown_field", "U+0000"},
		"U+0000 in a text":               {`{"amount":1,"description":"a\u0000b"` + rest, "invalid_description", "U+0000"},
		"U+0000 in metadata":             {`{"amount":1,"metadata":{"a":"\u0000"}` + rest, "invalid_metadata", "U+0000"},
		"half a surrogate pair":          {`{"amount":1,"order_id":"\ud800"` + rest, "invalid_order_id", "surrogate"},
		"the other half of a pair":       {`{"amount":1,"order_id":"x\udc00"` + rest, "invalid_order_id", "surrogate"},
		"two first halves":               {`{"amount":1,"order_id":"\ud83d\ud83d"` + rest, "invalid_order_id", "surrogate"},
		"half a pair in a name":          {`{"amount":1,"metadata":{"\ud800":"1"}` + rest, "invalid_metadata", "surrogate"},
		"metadata with a name twice":     {`{"amount":1,"metadata":{"a":"1","a":"2"}` + rest, "invalid_metadata", "twice"},
		"metadata in metadata":           {`{"amount":1,"metadata":{"a":{"b":"c"}}` + rest, "invalid_metadata", "strings"},
		"metadata with numbers":          {`{"amount":1,"metadata":{"a":1}` + rest, "invalid_metadata", "strings"},
		"metadata too large":             {`{"amount":1,"metadata":{"a":"` + strings.Repeat("x", 8192) + `"}` + rest, "invalid_metadata", "8 KiB"},
		"no amount":                      {`{"fiat_currency":"EUR"}`, "invalid_amount", "amount is required"},
		"amount is null":                 {`{"amount":null,"fiat_currency":"EUR"}`, "invalid_amount", "amount is required"},
		"no currency":                    {`{"amount":1}`, "invalid_fiat_currency", "fiat_currency is required"},
		"currency in lower case":         {`{"amount":1,"fiat_currency":"eur"}`, "invalid_fiat_currency", "EUR or USD"},
		"an unknown currency":            {`{"amount":1,"fiat_currency":"GBP"}`, "invalid_fiat_currency", "EUR or USD"},
		"currency is a number":           {`{"amount":1,"fiat_currency":978}`, "invalid_fiat_currency", "string"},
		"a boolean as a text":            {`{"amount":1,"allow_paid_expired":"true"` + rest, "invalid_allow_paid_expired", "true or false"},
		"a boolean as a number":          {`{"amount":1,"disable_convert":1` + rest, "invalid_disable_convert", "true or false"},
		"a long order":                   {`{"amount":1,"order_id":"` + strings.Repeat("x", 129) + `"` + rest, "invalid_order_id", "128"},
		"a long description":             {`{"amount":1,"description":"` + strings.Repeat("x", 513) + `"` + rest, "invalid_description", "512"},
		"a number as order":              {`{"amount":1,"order_id":1042` + rest, "invalid_order_id", "string"},
		"an invalid language":            {`{"amount":1,"language":"deutsch!"` + rest, "invalid_language", "language tag"},
		"held too short":                 {`{"amount":1,"expires_in":59` + rest, "invalid_expires_in", "from 60 to 86400"},
		"held too long":                  {`{"amount":1,"expires_in":86401` + rest, "invalid_expires_in", "from 60 to 86400"},
		"held for a fraction":            {`{"amount":1,"expires_in":900.5` + rest, "invalid_expires_in", "whole"},
		"held for a text":                {`{"amount":1,"expires_in":"900"` + rest, "invalid_expires_in", "whole"},
		"no methods":                     {`{"amount":1,"payment_methods":[]` + rest, "invalid_payment_methods", "not empty"},
		"one method as a text":           {`{"amount":1,"payment_methods":"BTC"` + rest, "invalid_payment_methods", "list"},
		"a method twice":                 {`{"amount":1,"payment_methods":["BTC","BTC"]` + rest, "invalid_payment_methods", "twice"},
		"a method in lower case":         {`{"amount":1,"payment_methods":["btc"]` + rest, "invalid_payment_methods", "codes"},
		"a method that is a number":      {`{"amount":1,"payment_methods":[1]` + rest, "invalid_payment_methods", "codes"},
	})
}

func TestCreate_refuses_amounts(t *testing.T) {
	t.Parallel()
	tests := map[string]refusal{}
	add := func(fault string, literals ...string) {
		for _, l := range literals {
			tests[l] = refusal{fmt.Sprintf(`{"amount":%s,"fiat_currency":"EUR"}`, l), "invalid_amount", fault}
		}
	}
	add("amount must be more than 0", `0`, `0.00`, `-0`, `-0.00`, `-1`, `0e5`, `0E-18`, `-5.0E-4`, `"0"`, `"0.00"`, `"000"`)
	add("amount must be a number", `true`, `[]`, `{}`, `""`, `" 5"`, `"5 "`, `"+5"`, `"-1"`, `"-0"`, `"0x10"`, `"1_000"`, `"５"`, `"5."`, `".5"`,
		`"NaN"`, `"Infinity"`, `"1e2"`, `"1,50"`, `"1.234,56"`, `"1,234.56"`, `"1 234.56"`, `"1'234.56"`, `"12,345"`, `"1.2.3"`)
	add("amount must have at most 2 decimals in EUR", `5.0E-4`, `0.001`, `1.005`, `"1.005"`, `1e-18`, `1.000000000000000000000000000000001e-18`)
	add("amount must be at most 1000000 EUR", `1000000.01`, `1e7`, `9e18`, `"99999999999999999999"`, `1.5E18`, `"000000001000001"`)
	add("amount must have at most 40 characters", strings.Repeat("1", 41), `"`+strings.Repeat("1", 41)+`"`, `1e`+strings.Repeat("0", 40)+`1`)
	add("amount must have an exponent from -18 to 18", `1e19`, `1e-19`, `1e400`, `1e-99999999999999999999`, `0e99`)
	add("is not one JSON object", `NaN`, `Infinity`, `+5`, `5.`, `.5`, `05`, `0x10`, `1_000`, `1,50`)
	for name, test := range tests {
		if strings.HasPrefix(test.message, "is not") {
			test.code = "invalid_json"
			tests[name] = test
		}
	}
	add("at most 1000000 EUR", `123456789012345678.901`)
	checkRefusals(t, tests)
}

func TestCreate_reads_amounts_without_loss(t *testing.T) {
	t.Parallel()
	tests := map[string]string{ // client_amount; "" if the amount is refused
		`0.01`: "0.01", `"0.01"`: "0.01", `1e0`: "1", `1E+2`: "100", `1e-2`: "0.01", `1000000`: "1000000", `1000000.00`: "1000000",
		`"0000000000000000000000000000000000000.10"`: "0.1", `1.000000000000000000000000000000000000`: "1", `1000000000000000000e-15`: "1000",
		`999999.99`: "999999.99", `0.1`: "0.1", `1.23456785E5`: "", `2.675E0`: "", `1e02`: "100",
	}
	f := newFixture(t, nil)
	for literal, want := range tests {
		t.Run(literal, func(t *testing.T) {
			t.Parallel()
			response := f.send(message{method: "POST", target: "/api/v2/invoice/new", key: "all", body: `{"fiat_currency":"EUR","amount":` + literal + `}`})
			if want == "" {
				checkRefused(t, response, 400, "invalid_amount")
				return
			}
			if body := read(t, response); !strings.Contains(body, `"client_amount":`+want+`,`) {
				t.Errorf("client_amount of %s is not %s: %s", literal, want, body)
			}
		})
	}
}

func TestCreate_checks_return_addresses(t *testing.T) {
	t.Parallel()
	tests := map[string]bool{
		`https://shop.example/ok`:                                true,
		`https://shop.example:8443/ok?a=1&b=%20#done`:            true,
		`HTTPS://Shop.Example/`:                                  true,
		`https://192.0.2.7/ok`:                                   true,
		`https://xn--mller-kva.example/`:                         true,
		`http://localhost:8080/ok`:                               true,
		`http://localhost`:                                       true,
		`http://shopxyz.onion/ok`:                                true,
		`https://shop.example/` + strings.Repeat("x", 2048-21):   true,
		`https://shop.example/` + strings.Repeat("x", 2048-21+1): false,
		`javascript:alert(1)`:                                    false,
		`JaVaScRiPt:alert(1)`:                                    false,
		`java\tscript:alert(1)`:                                  false,
		` javascript:alert(1)`:                                   false,
		` https://shop.example/`:                                 false,
		`https://shop.example/ `:                                 false,
		`https://shop.example/a b`:                               false,
		`data:text/html,<script>alert(1)</script>`:               false,
		`vbscript:x`:                                             false,
		`//evil.example`:                                         false,
		`/\\evil.example`:                                        false,
		`https:\\evil.example`:                                   false,
		`https:\\\\evil.example`:                                 false,
		`https:/evil.example`:                                    false,
		`https:evil.example`:                                     false,
		`https:///evil.example`:                                  false,
		`https://shop.example@evil.example`:                      false,
		`https://shop.example:pw@evil.example`:                   false,
		`https://@shop.example/`:                                 false,
		`https://shop.example\\@evil.example`:                    false,
		`https://shop.example\r\nX: y`:                           false,
		`https://shop.example/\u0000`:                            false,
		`https://shop.example/\u0085`:                            false,
		`https://shop.example/\u2028`:                            false,
		`http://shop.example`:                                    false,
		`http://localhost.evil.example/`:                         false,
		`http://evil.example/.onion`:                             false,
		`http://onion/`:                                          false,
		`intent://shop.example#Intent;scheme=https;end`:          false,
		`https://`:                    false,
		`https://:443/`:               false,
		`https://shop.example:/`:      false,
		`https://shop.example:0/`:     false,
		`https://shop.example:99999/`: false,
		`https://shop..example/`:      false,
		`https://-shop.example/`:      false,
		`https://müller.example/`:     true, // stored in Punycode
		`https://shop。example/`:       true, // browsers read this character as a dot
		`https://shop%2eexample/`:     false,
		`https://[::1]/`:              false,
		`https://shop.example/%zz`:    false,
		`shop.example/ok`:             false,
		`ftp://shop.example/`:         false,
		`file:///etc/passwd`:          false,
	}
	f := newFixture(t, nil)
	for address, valid := range tests {
		for _, field := range []string{"url_success", "url_failure"} {
			t.Run(field+" "+address, func(t *testing.T) {
				t.Parallel()
				body := fmt.Sprintf(`{"amount":1,"fiat_currency":"EUR","%s":"%s"}`, field, address)
				response := f.send(message{method: "POST", target: "/api/v2/invoice/new", key: "all", body: body})
				if valid && response.StatusCode != http.StatusOK {
					t.Errorf("answer %d: %s", response.StatusCode, read(t, response))
				}
				if !valid {
					message := checkRefused(t, response, http.StatusBadRequest, "invalid_"+field)
					if !strings.HasPrefix(message, field+" must ") {
						t.Errorf("message %q", message)
					}
				}
			})
		}
	}
}

func TestCreate_accepts_every_kind_of_text(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	for _, text := range []string{
		`\ud83d\ude00`, `😀`, `\\ud800`, `\u202e`, `a\"b`, `\u0001`, `\uFFFD`, "\ufffd", `Zażółć ☕`, strings.Repeat("ü", 128),
	} {
		body := `{"amount":1,"fiat_currency":"EUR","order_id":"` + text + `"}`
		var sent api.InvoiceRequest
		if err := json.Unmarshal([]byte(body), &sent); err != nil {
			t.Fatal(err)
		}
		id := f.create(t, "all", body)
		inv, err := f.invoices.Invoice(t.Context(), id)
		if err != nil || inv.Terms.OrderID != sent.OrderID {
			t.Errorf("order_id %q was stored as %q (%v)", sent.OrderID, inv.Terms.OrderID, err)
		}
	}
}
