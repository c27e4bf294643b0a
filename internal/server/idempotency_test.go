package server_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"chequer/internal/api"
)

func keyed(key, body string) message {
	return create(message{key: "all", body: body, header: set(api.HeaderIdempotencyKey, key)})
}

func TestIdempotency(t *testing.T) {
	t.Parallel()
	l := newLab(t, nil)
	first := read(t, l.send(keyed("order-1", fine)))
	tests := map[string]struct {
		message message
		same    bool
		status  int
		code    string
	}{
		"the same request":             {keyed("order-1", fine), true, 200, ""},
		"the same, spaced":             {keyed("order-1", `{ "amount": 1, "fiat_currency": "EUR" }`), true, 200, ""},
		"the same at the other path":   {message{method: "POST", target: "/v2/invoice/new", key: "all", body: fine, header: set(api.HeaderIdempotencyKey, "order-1")}, true, 200, ""},
		"the same, by our own scheme":  {message{method: "POST", target: "/v2/invoice/new", key: "all", body: fine, own: true, header: set(api.HeaderIdempotencyKey, "order-1")}, true, 200, ""},
		"the same by another key":      {message{method: "POST", target: "/v2/invoice/new", key: "create", body: fine, header: set(api.HeaderIdempotencyKey, "order-1")}, true, 200, ""},
		"another body":                 {keyed("order-1", `{"amount":2,"fiat_currency":"EUR"}`), false, 409, "idempotency_conflict"},
		"another spelling of a number": {keyed("order-1", `{"amount":1.0,"fiat_currency":"EUR"}`), false, 409, "idempotency_conflict"},
		"another key":                  {keyed("order-2", fine), false, 200, ""},
		"another shop":                 {message{method: "POST", target: "/v2/invoice/new", key: "other", body: fine, header: set(api.HeaderIdempotencyKey, "order-1")}, false, 200, ""},
		"real money":                   {message{method: "POST", target: "/v2/invoice/new", key: "live", body: fine, header: set(api.HeaderIdempotencyKey, "order-1")}, false, 200, ""},
		"no key":                       {create(message{key: "all"}), false, 200, ""},
		"an empty key":                 {keyed("", fine), false, 400, "invalid_idempotency_key"},
		"a key of 255":                 {keyed(strings.Repeat("k", 255), fine), false, 200, ""},
		"a key of 256":                 {keyed(strings.Repeat("k", 256), fine), false, 400, "invalid_idempotency_key"},
		"a key outside ASCII":          {keyed("sch\u00f6n", fine), false, 400, "invalid_idempotency_key"},
		"two keys":                     {create(message{key: "all", header: http.Header{api.HeaderIdempotencyKey: {"a", "b"}}}), false, 400, "invalid_idempotency_key"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			response := l.send(test.message)
			if test.status != http.StatusOK {
				refused(t, response, test.status, test.code)
				return
			}
			if body := read(t, response); response.StatusCode != http.StatusOK || (body == first) != test.same {
				t.Errorf("answer %d: %s, the same as the first: want %t", response.StatusCode, body, test.same)
			}
		})
	}
}

func TestIdempotency_answer_is_of_the_invoice_as_it_was_made(t *testing.T) {
	t.Parallel()
	l := newLab(t, nil)
	m := keyed("order-1", fine)
	response := l.send(m)
	first, tag := read(t, response), response.Header.Get("ETag")
	_, id, _ := strings.Cut(first, `"foreign_id":"`)
	for _, action := range []string{"exact", "confirm"} {
		response := l.send(message{method: "POST", target: "/api/v2/test/invoices/" + id[:32] + "/simulate", key: "all", own: true, body: `{"action":"` + action + `"}`})
		if response.StatusCode != http.StatusOK {
			t.Fatalf("%s: answer %d: %s", action, response.StatusCode, read(t, response))
		}
	}
	response = l.send(m)
	if body := read(t, response); body != first || response.Header.Get("ETag") != tag {
		t.Errorf("answer %s, want %s", body, first)
	}
}

// The answer to a repetition depends on nothing that a setting can change.
func TestIdempotency_answer_outlives_a_lower_maximum(t *testing.T) {
	t.Parallel()
	l := newLab(t, nil)
	m := keyed("order-1", `{"amount":500,"fiat_currency":"EUR"}`)
	first := read(t, l.send(m))
	l.config.MaxAmount = "100"
	l.begin()
	if again := read(t, l.send(m)); again != first {
		t.Errorf("answer %s, want %s", again, first)
	}
	refused(t, l.send(keyed("order-2", m.body)), 400, "invalid_amount")
}

func TestIdempotency_of_concurrent_requests(t *testing.T) {
	t.Parallel()
	l := newLab(t, nil)
	l.merchants.hold, l.merchants.entered = make(chan struct{}), make(chan struct{}, 1)
	first := make(chan string)
	go func() { first <- read(t, l.send(keyed("order-1", fine))) }()
	<-l.merchants.entered
	response := l.send(keyed("order-1", fine))
	refused(t, response, http.StatusConflict, "idempotency_running")
	if retry := response.Header.Get("Retry-After"); retry != "1" {
		t.Errorf("Retry-After = %q, want 1", retry)
	}
	close(l.merchants.hold)
	made := <-first
	l.merchants.hold = nil
	if again := read(t, l.send(keyed("order-1", fine))); again != made {
		t.Errorf("answer %s, want %s", again, made)
	}
}

func TestIdempotency_makes_one_invoice_per_key(t *testing.T) {
	t.Parallel()
	l := newLab(t, nil)
	var group sync.WaitGroup
	for i := range 60 {
		group.Go(func() {
			response := l.send(keyed(fmt.Sprintf("order-%d", i%3), fine))
			if response.StatusCode != http.StatusOK && response.StatusCode != http.StatusConflict {
				t.Errorf("answer %d: %s", response.StatusCode, read(t, response))
			}
		})
	}
	group.Wait()
	if made := l.storage.Count(); made != 3 {
		t.Errorf("%d invoices were made, want 3", made)
	}
}
