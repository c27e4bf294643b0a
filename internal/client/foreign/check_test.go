package foreign_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"chequer/internal/api"
	"chequer/internal/client"
	"chequer/internal/client/foreign"
)

// full is an answer with most fields of Chequer's resource, and one element in each list.
const full = `{"foreign_id":"f-1","order_id":"1042","mode":"live","version":3,"status":"created","exceptions":["underpaid"],
	"created_at":"2026-11-27T12:00:00.000Z","expired_at":"2026-11-27T12:15:00.000Z","paid_at":"","paid_currency":"","paid_tx":"",
	"client_amount":"56.50","client_currency":"EUR","vat_rate":"19","net_amount":"47.48","vat_amount":"9.02","paid_amount":"0","due_amount":"56.5","overpaid_amount":"0","seconds_left":900,
	"payment_methods":[{"crypto_currency":"BTC","symbol":"BTC","name":"Bitcoin","network":"bitcoin","network_name":"Bitcoin","decimals":8,
		"address":"bc1q","expected_amount":"0.0006","due_amount":"0.0006","smallest_amount":"0","rate_eur":"86420","rate_usd":"93333.6","rate_client":"86420",
		"payment_uri":"bitcoin:bc1q","payment_code":"bitcoin:bc1q","address_code":"","confirmations":1,"watched":true}],
	"payments":[{"id":"p1","crypto_currency":"BTC","address":"bc1q","amount":"0.0001","fiat_amount":"9","tx":"ab","confirmations":0,
		"required":1,"state":"seen","first_seen_at":"2026-11-27T12:01:00.000Z"}],
	"quotes":[{"number":1,"from":"2026-11-27T12:00:00.000Z","until":"2026-11-27T12:15:00.000Z","due_amount":"56.5",
		"prices":[{"crypto_currency":"BTC","expected_amount":"0.0006","rate_eur":"86420","rate_usd":"93333.6","rate_client":"86420"}]}],
	"rate_source":"demo","merchant_name":"Atelier Nord","description":"Chair","metadata":{"a":"b"},"language":"de",
	"url_success":"https://shop.example/ok","url_failure":"http://localhost:8080/no","refund_address":"bc1r",
	"personal_data_removed_at":"2028-12-27T12:15:00.000Z","watched_until":"2026-12-27T12:15:00.000Z"}`

// specification is the answer of a service that implements only the specification.
const specification = `{"foreign_id":"f-1","status":"created","expired_at":"2026-11-27T12:15:00Z","client_amount":56.50,"client_currency":"EUR",
	"addresses":[{"address":"bc1q","expected_amount":6.5379e-4,"crypto_currency":"BTC","rate_usd":93333.6,"rate_eur":86420.0}]}`

// changed returns an answer with a field set to a JSON value. "payments.amount" is the amount of
// the first payment.
func changed(t *testing.T, answer, field, value string) string {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(answer))
	d.UseNumber()
	var object map[string]any
	if err := d.Decode(&object); err != nil {
		t.Fatal(err)
	}
	names, parent := strings.Split(field, "."), object
	for _, name := range names[:len(names)-1] {
		parent = parent[name].([]any)[0].(map[string]any)
	}
	parent[names[len(names)-1]] = json.RawMessage(value)
	body, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// hostile returns a client of a service that answers every request with the same answer. If specOnly
// is true, it answers only the requests of the specification.
func hostile(t testing.TB, specOnly bool, status int, header map[string]string, body string) *foreign.Client {
	t.Helper()
	return answering(t, func(w http.ResponseWriter, r *http.Request) {
		if specOnly && strings.HasPrefix(r.URL.Path, api.PathInvoices) {
			http.NotFound(w, r)
			return
		}
		for name, value := range header {
			w.Header()[name] = []string{value}
		}
		w.WriteHeader(status)
		io.WriteString(w, body)
	})
}

func quoted(text string) string {
	body, _ := json.Marshal(text)
	return string(body)
}

func TestClient_refuses_an_answer_with_an_invalid_field(t *testing.T) {
	t.Parallel()
	amounts := []string{`""`, `"-1"`, `"1e5"`, `"0x1"`, `"1."`, `"01"`, `"1,5"`, `"NaN"`, `"1\n"`, `"` + strings.Repeat("1", 41) + `"`, `"` + strings.Repeat("1", 500_000) + `"`}
	rates := amounts[1:]
	counters := []string{`-1`, `1000001`}
	words := func(maximum int) []string {
		return []string{`"a\nb"`, `"a\u0000"`, `"a\u007f"`, `"a\u0085"`, `"a\u2028"`, `"a\u2029"`, quoted(strings.Repeat("ä", maximum+1))}
	}
	times := []string{`"tomorrow"`, `"2026-11-27"`, `"2026-11-27T12:00:00Z\n"`, `"0000-01-01T00:00:00+01:00"`, `"2026-11-27T12:00:00.` + strings.Repeat("0", 500_000) + `Z"`}
	urls := append(words(2048), `"javascript:alert(1)"`, `"//evil.example"`, `"https://"`, `"https://a@evil.example"`, `"https:\\\\evil.example"`, `"https://evil.example/ x"`, `"/x"`)
	for field, values := range map[string][]string{
		"mode":                            {`"demo"`},
		"version":                         counters,
		"status":                          {`""`, `"Paid"`, `"paid\n\ndata: x"`, `"unknown"`},
		"exceptions":                      {`["stolen"]`, `[""]`, `["late","late","late","late","late","late","late","late","late","late"]`},
		"created_at":                      times,
		"expired_at":                      times,
		"paid_at":                         times,
		"watched_until":                   times,
		"personal_data_removed_at":        times,
		"paid_currency":                   words(64),
		"paid_tx":                         words(200),
		"client_amount":                   amounts,
		"client_currency":                 words(64),
		"vat_rate":                        {`"-1"`, `"50.01"`, `"19 %"`, `"7.705"`, `"1e1"`, `"1\n"`, `"` + strings.Repeat("1", 500_000) + `"`},
		"net_amount":                      amounts,
		"vat_amount":                      amounts,
		"paid_amount":                     amounts,
		"due_amount":                      amounts,
		"overpaid_amount":                 amounts,
		"tolerance_amount":                rates,
		"first_paid_at":                   times,
		"language":                        words(64),
		"url_success":                     urls,
		"url_failure":                     urls,
		"refund_address":                  words(200),
		"metadata":                        {`{"a":"` + strings.Repeat("x", 8<<10) + `"}`},
		"payment_methods.crypto_currency": append(words(64), `""`),
		"payment_methods.network":         words(64),
		"payment_methods.contract":        words(200),
		"payment_methods.chain_id":        words(64),
		"payment_methods.decimals":        {`-1`, `37`},
		"payment_methods.address":         append(words(200), `""`),
		"payment_methods.expected_amount": amounts,
		"payment_methods.due_amount":      amounts,
		"payment_methods.smallest_amount": amounts,
		"payment_methods.rate_eur":        rates,
		"payment_methods.rate_usd":        rates,
		"payment_methods.rate_client":     rates,
		"payment_methods.payment_uri":     words(2048),
		"payment_methods.payment_code":    words(2048),
		"payment_methods.address_code":    words(2048),
		"payment_methods.confirmations":   counters,
		"payments.id":                     words(200),
		"payments.crypto_currency":        words(64),
		"payments.address":                words(200),
		"payments.amount":                 amounts,
		"payments.fiat_amount":            amounts,
		"payments.tx":                     words(200),
		"payments.confirmations":          counters,
		"payments.required":               counters,
		"payments.state":                  {`""`, `"lost"`},
		"payments.first_seen_at":          times,
		"quotes.number":                   counters,
		"quotes.from":                     times,
		"quotes.until":                    times,
		"quotes.due_amount":               amounts,
		"quotes.prices.crypto_currency":   words(64),
		"quotes.prices.expected_amount":   amounts,
		"quotes.prices.rate_eur":          rates,
		"quotes.prices.rate_usd":          rates,
		"quotes.prices.rate_client":       rates,
	} {
		for _, value := range values {
			c := hostile(t, false, 200, nil, changed(t, full, field, value))
			got, err := c.Invoice(t.Context(), "f-1")
			wantInvalidField(t, err, field, value)
			if got.ETag != "" || got.Resource.ForeignID != "" {
				t.Errorf("%s: %.40s: part of the answer is returned", field, value)
			}
		}
	}
}

func wantInvalidField(t *testing.T, err error, field, value string) {
	t.Helper()
	if !errors.Is(err, client.ErrInvalidAnswer) || !strings.HasSuffix(err.Error(), "the service sent an invalid answer: field "+field) {
		t.Errorf("%s: %.40s: error %v, want an invalid field", field, value, err)
	}
}

func TestPlain_service_answers_are_checked(t *testing.T) {
	t.Parallel()
	numbers := []string{`-1`, `1e19`, `1e-19`, `1e999999999`, strings.Repeat("1", 41), strings.Repeat("1", 500_000)}
	words := []string{`"a\nb"`, `"a\u2028"`, quoted(strings.Repeat("x", 201))}
	for _, test := range []struct {
		ofCreation, ofReading string // names of the same field in both answers
		values                []string
	}{
		{"status", "status", []string{`"settled"`, `"created\nid: 1"`}},
		{"expired_at", "expired_at", []string{`"tomorrow"`, `"x\ny"`}},
		{"client_amount", "client_amount", numbers},
		{"client_currency", "client_currency", words},
		{"addresses.address", "payment_methods.address", words},
		{"addresses.crypto_currency", "payment_methods.crypto_currency", words},
		{"addresses.expected_amount", "payment_methods.expected_amount", numbers},
		{"addresses.rate_eur", "payment_methods.rate_eur", numbers},
		{"addresses.rate_usd", "payment_methods.rate_usd", numbers},
	} {
		for _, value := range test.values {
			c := hostile(t, true, 200, nil, changed(t, specification, test.ofCreation, value))
			_, err := c.CreateInvoice(t.Context(), plainRequest, "")
			wantInvalidField(t, err, test.ofCreation, value)
			_, err = c.Invoice(t.Context(), "f-1")
			wantInvalidField(t, err, test.ofReading, value)
		}
	}
	paid := strings.Replace(specification, "created", "paid", 1)
	for name, field := range map[string]string{api.HeaderPaidAt: "paid_at", api.HeaderPaidTx: "paid_tx", api.HeaderPaidCurrency: "paid_currency"} {
		for _, value := range []string{"a\nb", "\x85", strings.Repeat("x", 201)} {
			_, err := hostile(t, true, 200, map[string]string{name: value}, paid).Invoice(t.Context(), "f-1")
			wantInvalidField(t, err, field, value)
		}
	}
}

func TestClient_accepts_only_identifiers_that_are_safe_in_URLs(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"//evil.x/", "<b>", "../../evil", ".", "a b", "a/b", "ä", "a\n", strings.Repeat("a", 65)} {
		for _, specOnly := range []bool{false, true} {
			c := hostile(t, specOnly, 200, nil, changed(t, specification, "foreign_id", quoted(id)))
			created, err := c.CreateInvoice(t.Context(), plainRequest, "")
			wantInvalidField(t, err, "foreign_id", id)
			if created != "" {
				t.Errorf("CreateInvoice() = %q", created)
			}
		}
		_, err := hostile(t, false, 200, nil, changed(t, full, "foreign_id", quoted(id))).Invoice(t.Context(), id)
		wantInvalidField(t, err, "foreign_id", id)
	}
	if _, err := hostile(t, false, 200, nil, full).Invoice(t.Context(), "f-2"); !errors.Is(err, client.ErrNotFound) {
		t.Errorf("answer with another invoice: error %v, want ErrNotFound", err)
	}
}

func TestClient_truncates_and_cleans_shown_texts(t *testing.T) {
	t.Parallel()
	for field, test := range map[string]struct {
		maximum int
		text    func(api.Resource) string
	}{
		"order_id":                     {128, func(r api.Resource) string { return r.OrderID }},
		"merchant_name":                {200, func(r api.Resource) string { return r.MerchantName }},
		"description":                  {512, func(r api.Resource) string { return r.Description }},
		"rate_source":                  {64, func(r api.Resource) string { return r.RateSource }},
		"payment_methods.name":         {64, func(r api.Resource) string { return r.PaymentMethods[0].Name }},
		"payment_methods.symbol":       {64, func(r api.Resource) string { return r.PaymentMethods[0].Symbol }},
		"payment_methods.network_name": {64, func(r api.Resource) string { return r.PaymentMethods[0].NetworkName }},
		"payments.symbol":              {64, func(r api.Resource) string { return r.Payments[0].Symbol }},
		"payments.network_name":        {64, func(r api.Resource) string { return r.Payments[0].NetworkName }},
	} {
		for value, want := range map[string]string{
			"a\nb\u0085c\u2028d":                "a b c d",
			strings.Repeat("€", test.maximum):   strings.Repeat("€", test.maximum),
			strings.Repeat("€", test.maximum+1): strings.Repeat("€", test.maximum),
			strings.Repeat("😀", test.maximum*2): strings.Repeat("😀", test.maximum),
			strings.Repeat("x", 500_000):        strings.Repeat("x", test.maximum),
			"\u202eunchanged":                   "\u202eunchanged", // pages isolate the direction of texts
		} {
			got, err := hostile(t, false, 200, nil, changed(t, full, field, quoted(value))).Invoice(t.Context(), "f-1")
			if err != nil {
				t.Errorf("%s: %.40q: %v", field, value, err)
			} else if text := test.text(got.Resource); text != want {
				t.Errorf("%s: %.40q became %.40q", field, value, text)
			}
		}
	}
}

func TestClient_bounds_the_bridged_versions_of_a_token(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 65)
	symbols, err := json.Marshal(append([]string{"USD\nbC", long}, make([]string, 98)...))
	if err != nil {
		t.Fatal(err)
	}
	got, err := hostile(t, false, 200, nil, changed(t, full, "payment_methods.bridged", string(symbols))).Invoice(t.Context(), "f-1")
	if err != nil {
		t.Fatal(err)
	}
	list := got.Resource.PaymentMethods[0].Bridged
	if len(list) != 8 || list[0] != "USD bC" || list[1] != long[1:] {
		t.Errorf("%d bridged versions: %q", len(list), list)
	}
}

func TestClient_bounds_the_lists_of_an_answer(t *testing.T) {
	t.Parallel()
	list := func(element string, n int) string { return "[" + strings.Repeat(element+",", n-1) + element + "]" }
	payment := `{"amount":"1","fiat_amount":"1","state":"seen","confirmations":%d}`
	payments := make([]string, 2000)
	for i := range payments {
		payments[i] = fmt.Sprintf(payment, i)
	}
	body := changed(t, full, "payments", "["+strings.Join(payments, ",")+"]")
	body = changed(t, body, "payment_methods", list(`{"crypto_currency":"BTC","address":"a","expected_amount":"1","due_amount":"1","smallest_amount":"0"}`, 100))
	body = changed(t, body, "quotes", list(`{"due_amount":"1","prices":[]}`, 300))
	body = changed(t, body, "seconds_left", "9223372036854775807")
	got, err := hostile(t, false, 200, nil, body).Invoice(t.Context(), "f-1")
	if err != nil {
		t.Fatal(err)
	}
	r := got.Resource
	if len(r.PaymentMethods) != 32 || len(r.Payments) != 1000 || len(r.Quotes) != 100 || r.SecondsLeft != 315_360_000 {
		t.Errorf("%d methods, %d payments, %d quotes, %d s left", len(r.PaymentMethods), len(r.Payments), len(r.Quotes), r.SecondsLeft)
	}
	if r.Payments[999].Confirmations != 1999 {
		t.Error("the newest payment is missing")
	}
	body = changed(t, full, "payments", list("{}", 100_000))
	if _, err := hostile(t, false, 200, nil, body).Invoice(t.Context(), "f-1"); err == nil {
		t.Error("100,000 payments were accepted, want an error")
	}
}

func TestClient_normalises_times(t *testing.T) {
	t.Parallel()
	for wire, want := range map[string]string{
		"2026-11-27T12:00:00Z":           "2026-11-27T12:00:00.000Z",
		"2026-11-27T12:00:00.1234+02:00": "2026-11-27T10:00:00.123Z",
		"":                               "",
	} {
		got, err := hostile(t, false, 200, nil, changed(t, full, "paid_at", quoted(wire))).Invoice(t.Context(), "f-1")
		if err != nil || got.Resource.PaidAt != want {
			t.Errorf("%q became %q, %v", wire, got.Resource.PaidAt, err)
		}
	}
}

func TestClient_bounds_an_error(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]string{
		"a\r\nb\u2029c":              "a  b c",
		strings.Repeat("x", 900_000): strings.Repeat("x", 300),
		"\n\n":                       "Conflict",
	} {
		for code, wantCode := range map[string]string{"price_held": "price_held", "a\nb": "", "<b>": "", strings.Repeat("x", 65): ""} {
			c := hostile(t, false, 409, map[string]string{api.HeaderErrorCode: code}, `{"message":`+quoted(message)+`}`)
			want := &client.Error{Status: 409, Code: wantCode, Message: want}
			_, err := c.CreateInvoice(t.Context(), plainRequest, "")
			checkError(t, err, want)
			_, err = c.Invoice(t.Context(), "f-1")
			checkError(t, err, want)
			checkError(t, c.Simulate(t.Context(), "f-1", api.SimulateRequest{Action: api.SimulateExact}), want)
		}
	}
}

func TestClient_computes_an_ETag_when_it_is_missing_or_invalid(t *testing.T) {
	t.Parallel()
	computed := regexp.MustCompile(`^"[0-9a-f]{24}"$`)
	read := func(tag, body string) string {
		got, err := hostile(t, false, 200, map[string]string{"Etag": tag}, body).Invoice(t.Context(), "f-1")
		if err != nil {
			t.Fatal(err)
		}
		return got.ETag
	}
	for _, tag := range []string{`"7"`, `W/"7"`, `"` + strings.Repeat("x", 98) + `"`} {
		if got := read(tag, full); got != tag {
			t.Errorf("%s became %s", tag, got)
		}
	}
	for _, tag := range []string{"", "\"7\n\ndata: x\"", `"a b"`, `"ä"`, `"` + strings.Repeat("x", 99) + `"`} {
		if got := read(tag, full); !computed.MatchString(got) {
			t.Errorf("%q became %q", tag, got)
		}
	}
	if read("", full) != read("", changed(t, full, "seconds_left", "5")) {
		t.Error("the remaining time changes the ETag")
	}
	if read("", full) == read("", changed(t, full, "status", `"paid"`)) {
		t.Error("another status has the same ETag")
	}
}

func TestClient_bounds_the_offset_of_the_services_clock(t *testing.T) {
	t.Parallel()
	for _, date := range []string{"Mon, 01 Jan 0001 00:00:00 GMT", "Fri, 31 Dec 9999 23:59:59 GMT", "x"} {
		c := hostile(t, true, 200, map[string]string{"Date": date}, specification)
		if _, err := c.CreateInvoice(t.Context(), plainRequest, ""); err != nil {
			t.Error(err)
		}
		got, err := c.Invoice(t.Context(), "f-1")
		if remaining := time.Duration(got.Resource.SecondsLeft) * time.Second; err != nil || remaining.Abs() > 10*365*24*time.Hour {
			t.Errorf("Date %s: %v, %s left", date, err, remaining)
		}
		if at, bad := time.Parse(api.TimeLayout, got.Resource.CreatedAt); bad == nil && at.Sub(clock()).Abs() > 10*365*24*time.Hour {
			t.Errorf("Date %s: created at %s, want a time within ten years of the clock", date, at)
		}
	}
}
