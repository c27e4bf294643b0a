package server_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"chequer/internal/api"
	"chequer/internal/merchant"
)

func keyedMessage(key, body string) message {
	return creation(message{key: "all", body: body, header: headerWith(api.HeaderIdempotencyKey, key)})
}

func TestIdempotency_key_returns_the_same_invoice(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	first := read(t, f.send(keyedMessage("order-1", minimalBody)))
	tests := map[string]struct {
		message  message
		wantSame bool
		status   int
		code     string
	}{
		"the same request":                    {keyedMessage("order-1", minimalBody), true, 200, ""},
		"the same with spaces":                {keyedMessage("order-1", `{ "amount": 1, "fiat_currency": "EUR" }`), true, 200, ""},
		"the same at the other path":          {message{method: "POST", target: "/v2/invoice/new", key: "all", body: minimalBody, header: headerWith(api.HeaderIdempotencyKey, "order-1")}, true, 200, ""},
		"the same, with a request signature":  {message{method: "POST", target: "/v2/invoice/new", key: "all", body: minimalBody, signRequest: true, header: headerWith(api.HeaderIdempotencyKey, "order-1")}, true, 200, ""},
		"the same by another key":             {message{method: "POST", target: "/v2/invoice/new", key: "create", body: minimalBody, header: headerWith(api.HeaderIdempotencyKey, "order-1")}, true, 200, ""},
		"another body":                        {keyedMessage("order-1", `{"amount":2,"fiat_currency":"EUR"}`), false, 409, "idempotency_conflict"},
		"the same number written differently": {keyedMessage("order-1", `{"amount":1.0,"fiat_currency":"EUR"}`), false, 409, "idempotency_conflict"},
		"another key":                         {keyedMessage("order-2", minimalBody), false, 200, ""},
		"another shop":                        {message{method: "POST", target: "/v2/invoice/new", key: "other", body: minimalBody, header: headerWith(api.HeaderIdempotencyKey, "order-1")}, false, 200, ""},
		"live mode":                           {message{method: "POST", target: "/v2/invoice/new", key: "live", body: minimalBody, header: headerWith(api.HeaderIdempotencyKey, "order-1")}, false, 200, ""},
		"no key":                              {creation(message{key: "all"}), false, 200, ""},
		"an empty key":                        {keyedMessage("", minimalBody), false, 400, "invalid_idempotency_key"},
		"a key of 255":                        {keyedMessage(strings.Repeat("k", 255), minimalBody), false, 200, ""},
		"a key of 256":                        {keyedMessage(strings.Repeat("k", 256), minimalBody), false, 400, "invalid_idempotency_key"},
		"a key outside ASCII":                 {keyedMessage("sch\u00f6n", minimalBody), false, 400, "invalid_idempotency_key"},
		"two keys":                            {creation(message{key: "all", header: http.Header{api.HeaderIdempotencyKey: {"a", "b"}}}), false, 400, "invalid_idempotency_key"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			response := f.send(test.message)
			if test.status != http.StatusOK {
				checkRefused(t, response, test.status, test.code)
				return
			}
			if body := read(t, response); response.StatusCode != http.StatusOK || (body == first) != test.wantSame {
				t.Errorf("answer %d: %s, want equal to the first answer: %t", response.StatusCode, body, test.wantSame)
			}
		})
	}
}

// The answer to a repetition is the invoice in its current state. It has a header when a new invoice
// needs a new key.
func TestIdempotency_replay_returns_the_current_state(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		actions []string
		cancel  bool
		status  string
		retry   string
	}{
		{"created", nil, false, api.StatusCreated, ""},
		{"pending", []string{api.SimulateExact}, false, api.StatusPending, ""},
		{"paid", []string{api.SimulateExact, api.SimulateConfirm}, false, api.StatusPaid, ""},
		{"expired", []string{quoteEnds}, false, api.StatusExpired, api.RetryNewKey},
		{"declined", nil, true, api.StatusDeclined, api.RetryNewKey},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, nil)
			m := keyedMessage("order-1042", minimalBody)
			id := f.createWithKey(t, "order-1042", minimalBody)
			for _, action := range tt.actions {
				f.runAction(t, id, action)
			}
			if tt.cancel {
				f.send(message{method: "POST", target: "/api/v2/invoices/" + id + "/cancel", key: "all", signRequest: true, body: `{}`})
			}
			want := f.send(message{method: "GET", target: "/api/v2/invoice/status?id=" + id})
			got := f.send(m)
			if body, replayed := read(t, got), read(t, want); body != replayed || !strings.Contains(body, `"status":"`+tt.status+`"`) {
				t.Errorf("answer to the repetition = %s, want %s with status %s", body, replayed, tt.status)
			}
			for _, header := range []string{"ETag", "Location", api.HeaderPaidAt, api.HeaderPaidCurrency, api.HeaderPaidTx} {
				if got, want := got.Header.Get(header), want.Header.Get(header); got != want {
					t.Errorf("%s: %q, want %q", header, got, want)
				}
			}
			if retry := got.Header.Get(api.HeaderRetry); retry != tt.retry {
				t.Errorf("%s: %q, want %q", api.HeaderRetry, retry, tt.retry)
			}
			if other := f.createWithKey(t, "order-1042-2", minimalBody); other == id {
				t.Error("a new key returned the same invoice")
			}
		})
	}
}

// quoteEnds is the simulation that expires a quote.
const quoteEnds = "quote ends"

// createWithKey creates an invoice with an idempotency key and returns its identifier.
func (f *fixture) createWithKey(t *testing.T, key, body string) string {
	t.Helper()
	var created api.Invoice
	response := f.send(keyedMessage(key, body))
	if text := read(t, response); response.StatusCode != http.StatusOK || json.Unmarshal([]byte(text), &created) != nil {
		t.Fatalf("invoice/new answers %d: %s", response.StatusCode, text)
	}
	return created.ForeignID
}

// runAction simulates an action on a test invoice.
func (f *fixture) runAction(t *testing.T, id, action string) {
	t.Helper()
	body := `{"action":"` + action + `"}`
	if action == quoteEnds {
		body = `{"action":"clock","seconds":901}`
	}
	response := f.send(message{method: "POST", target: "/api/v2/test/invoices/" + id + "/simulate", key: "all", signRequest: true, body: body})
	if response.StatusCode != http.StatusOK {
		t.Fatalf("%s answers %d: %s", action, response.StatusCode, read(t, response))
	}
}

// The answer to a repetition after a requote has the new quote.
func TestIdempotency_replay_returns_the_newest_quote(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	body := `{"amount":1,"fiat_currency":"EUR","allow_paid_expired":true}`
	id := f.createWithKey(t, "order-1042", body)
	f.runAction(t, id, quoteEnds)
	response := f.send(message{method: "POST", target: "/api/v2/invoices/" + id + "/requote", key: "all", signRequest: true, body: `{"quote":1}`})
	if response.StatusCode != http.StatusOK {
		t.Fatal(read(t, response))
	}
	got, want := f.send(keyedMessage("order-1042", body)), f.send(message{method: "GET", target: "/api/v2/invoice/status?id=" + id})
	if body, replayed := read(t, got), read(t, want); body != replayed || got.Header.Get(api.HeaderRetry) != "" {
		t.Errorf("answer to the repetition = %s, retry header %q, want %s and no header", body, got.Header.Get(api.HeaderRetry), replayed)
	}
}

// An idempotency key of a shopper's page never matches a key of the merchant's API, nor the
// reverse.
func TestIdempotency_keys_of_pages_and_of_the_API_are_separate(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	f.useStorage()
	builtin := f.merchants.keys[publicKey("all")]
	builtin.ID, builtin.Key, builtin.Secret, builtin.Builtin = "builtin", publicKey("builtin"), "secret of builtin", true
	f.merchants.keys[builtin.Key] = builtin
	f.send(message{method: "POST", target: "/api/v2/links", key: "admin", signRequest: true, body: `{"slug":"coffee","fiat_currency":"EUR"}`})
	owner := map[string]string{}
	for _, caller := range []struct {
		name    string
		message message
	}{
		{"API", message{method: "POST", target: "/api/v2/invoice/new", key: "all", body: minimalBody}},
		{"storefront", message{method: "POST", target: "/api/v2/invoice/new", key: "builtin", body: minimalBody}},
		{"storefront, another amount", message{method: "POST", target: "/api/v2/invoice/new", key: "builtin", body: `{"amount":2,"fiat_currency":"EUR"}`}},
		{"link", message{method: "POST", target: "/api/v2/links/pay", key: "page", signRequest: true, body: `{"slug":"coffee","amount":1}`}},
	} {
		key := "order-1042"
		if caller.name == "storefront, another amount" {
			key = "order-1043"
			f.send(keyedMessage(key, minimalBody))
		}
		caller.message.header = headerWith(api.HeaderIdempotencyKey, key)
		response := f.send(caller.message)
		var created api.CheckoutInvoice
		if text := read(t, response); response.StatusCode != http.StatusOK || json.Unmarshal([]byte(text), &created) != nil {
			t.Fatalf("%s: answer %d: %s", caller.name, response.StatusCode, text)
		}
		if other, isUsed := owner[created.ForeignID]; isUsed {
			t.Errorf("%s returned the invoice of %s", caller.name, other)
		}
		owner[created.ForeignID] = caller.name
	}
}

// The answer to a repetition does not depend on settings.
func TestIdempotency_answer_is_kept_after_a_lower_maximum(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	m := keyedMessage("order-1", `{"amount":500,"fiat_currency":"EUR"}`)
	first := read(t, f.send(m))
	f.config.Prices = merchant.NewPrices(nil, "100")
	f.restart()
	if second := read(t, f.send(m)); second != first {
		t.Errorf("answer %s, want %s", second, first)
	}
	checkRefused(t, f.send(keyedMessage("order-2", m.body)), 400, "invalid_amount")
}

func TestIdempotency_refuses_a_concurrent_request(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	f.merchants.walletsBlocked, f.merchants.entered = make(chan struct{}), make(chan struct{}, 1)
	first := make(chan string)
	go func() { first <- read(t, f.send(keyedMessage("order-1", minimalBody))) }()
	<-f.merchants.entered
	response := f.send(keyedMessage("order-1", minimalBody))
	checkRefused(t, response, http.StatusConflict, "idempotency_running")
	if retry := response.Header.Get("Retry-After"); retry != "1" {
		t.Errorf("Retry-After = %q, want 1", retry)
	}
	close(f.merchants.walletsBlocked)
	created := <-first
	f.merchants.walletsBlocked = nil
	if second := read(t, f.send(keyedMessage("order-1", minimalBody))); second != created {
		t.Errorf("answer %s, want %s", second, created)
	}
}

func TestIdempotency_creates_one_invoice_per_key(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	var group sync.WaitGroup
	for i := range 60 {
		group.Go(func() {
			response := f.send(keyedMessage(fmt.Sprintf("order-%d", i%3), minimalBody))
			if response.StatusCode != http.StatusOK && response.StatusCode != http.StatusConflict {
				t.Errorf("answer %d: %s", response.StatusCode, read(t, response))
			}
		})
	}
	group.Wait()
	if created := f.storage.Count(); created != 3 {
		t.Errorf("%d invoices were created, want 3", created)
	}
}
