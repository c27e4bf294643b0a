package server_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/api"
	"chequer/internal/invoice"
	"chequer/internal/money"
	"chequer/internal/wire"
)

// readByPage is the call by which the payment page reads an invoice.
func readByPage(id string, header http.Header) message {
	return message{method: "GET", target: "/api/v2/invoices/" + id, key: "page", signRequest: true, header: header}
}

// conditional returns the headers of a read that waits as prefer states while the ETag is tag.
func conditional(tag, prefer string) http.Header {
	h := headerWith("If-None-Match", tag)
	if prefer != "" {
		h.Set("Prefer", prefer)
	}
	return h
}

// simulateAction simulates an action and returns the resource in the answer.
func (f *fixture) simulateAction(t *testing.T, id, body string) api.Resource {
	t.Helper()
	response := f.send(message{method: "POST", target: "/api/v2/test/invoices/" + id + "/simulate", key: "page", signRequest: true, body: body})
	text := read(t, response)
	var r api.Resource
	if err := json.Unmarshal([]byte(text), &r); err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("simulate %s: answer %d: %s", body, response.StatusCode, text)
	}
	return r
}

func TestStatus_has_the_same_form_in_every_state(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	id := f.create(t, "all", `{"amount":56.5,"fiat_currency":"EUR"}`)
	statusRequest := message{method: "GET", target: "/api/v2/invoice/status?id=" + id}
	paid := func(r *http.Response) [3]string {
		return [3]string{r.Header.Get(api.HeaderPaidAt), r.Header.Get(api.HeaderPaidCurrency), r.Header.Get(api.HeaderPaidTx)}
	}
	created := f.send(statusRequest)
	text := read(t, created)
	golden(t, "invoice_new.json", text)
	if tag := created.Header.Get("ETag"); tag != `"1"` || created.Header.Get("Location") != "https://pay.example/shop/invoice/"+id {
		t.Errorf("ETag %s, Location %s", tag, created.Header.Get("Location"))
	}
	for _, step := range []struct {
		action, status string
		paid           [3]string
	}{
		{"exact", "pending", [3]string{}},
		{"confirm", "paid", [3]string{"2026-11-27T12:00:32.782Z", "BTC", "tx1"}},
	} {
		f.simulateAction(t, id, `{"action":"`+step.action+`"}`)
		response := f.send(statusRequest)
		want := strings.Replace(text, `"status":"created"`, `"status":"`+step.status+`"`, 1)
		if got := read(t, response); got != want {
			t.Errorf("status after %s: %s, want %s", step.action, got, want)
		}
		if diff := cmp.Diff(paid(response), step.paid); diff != "" {
			t.Errorf("paid headers after %s differ (-got +want):\n%s", step.action, diff)
		}
		if response.Header.Get("ETag") == `"1"` {
			t.Error("ETag has not changed")
		}
	}
}

func TestStatus_ignores_headers(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	id := f.create(t, "all", minimalBody)
	for name, header := range map[string]http.Header{
		"none":               {},
		"an empty signature": {api.HeaderKey: {publicKey("all")}, api.HeaderSignature: {""}},
		"nonsense":           {api.HeaderKey: {"?"}, api.HeaderSignature: {"?"}, api.HeaderNonce: {"?"}},
		"a media type":       {"Content-Type": {"text/plain"}},
	} {
		for _, target := range []string{"/api/v2/invoice/status?id=", "/v2/invoice/status?id=", "//api//v2/invoice/status?id="} {
			response := f.send(message{method: "GET", target: target + id, header: header})
			if response.StatusCode != http.StatusOK {
				t.Errorf("%s: answer %d: %s", name, response.StatusCode, read(t, response))
			}
		}
	}
}

func TestResource_names_networks_that_are_behind(t *testing.T) {
	t.Parallel()
	now := noon
	f := newFixture(t, func() time.Time { return now })
	id := f.create(t, "all", minimalBody)
	behind := func(tag string) (flags []bool, next string) {
		t.Helper()
		response := f.send(readByPage(id, conditional(tag, "")))
		if response.StatusCode == http.StatusNotModified {
			return nil, response.Header.Get("ETag")
		}
		var r api.Resource
		if err := json.Unmarshal([]byte(read(t, response)), &r); err != nil {
			t.Fatal(err)
		}
		for _, m := range r.PaymentMethods {
			flags = append(flags, m.Behind)
		}
		return flags, response.Header.Get("ETag")
	}
	flags, first := behind("")
	if slices.Contains(flags, true) || len(flags) == 0 {
		t.Errorf("after a scan: behind %v", flags)
	}
	now = noon.Add(3 * time.Minute)
	flags, second := behind(first)
	if slices.Contains(flags, false) || len(flags) == 0 || second == first {
		t.Errorf("after three minutes without a scan: behind %v, tag %s, previous tag %s", flags, second, first)
	}
	if flags, tag := behind(second); flags != nil || tag != second {
		t.Errorf("second request: behind %v, tag %s, want not modified", flags, tag)
	}
	if err := f.simnet.observe(t.Context()); err != nil {
		t.Fatal(err)
	}
	if flags, tag := behind(second); slices.Contains(flags, true) || len(flags) == 0 || tag != first {
		t.Errorf("after a scan: behind %v, tag %s, want %s", flags, tag, first)
	}
}

func TestResource_golden_is_unchanged(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	id := f.create(t, "all", `{"amount":56.5,"fiat_currency":"EUR","payment_methods":["BTC","EURC-BASE"]}`)
	f.simulateAction(t, id, `{"action":"under"}`)
	f.simulateAction(t, id, `{"action":"confirm"}`)
	golden(t, "resource_underpaid.json", read(t, f.send(readByPage(id, nil))))
	f.simulateAction(t, id, `{"action":"over","payment_method":"EURC-BASE"}`)
	f.simulateAction(t, id, `{"action":"confirm"}`)
	response := f.send(readByPage(id, nil))
	golden(t, "resource_overpaid.json", read(t, response))
	if got := response.Header.Get("Cache-Control"); got != "private, no-cache" {
		t.Errorf("Cache-Control = %q", got)
	}
}

func TestResource_counts_the_seconds_left(t *testing.T) {
	t.Parallel()
	now := noon
	f := newFixture(t, func() time.Time { return now })
	id := f.create(t, "all", minimalBody)
	for after, want := range map[time.Duration]int64{
		0: 900, time.Millisecond: 900, time.Second: 899, 899*time.Second + 999*time.Millisecond: 1, 900 * time.Second: 0, 902 * time.Second: -2,
	} {
		now = noon.Add(after)
		var got api.Resource
		if err := json.Unmarshal([]byte(read(t, f.send(readByPage(id, nil)))), &got); err != nil {
			t.Fatal(err)
		}
		if got.SecondsLeft != want {
			t.Errorf("seconds_left after %s = %d, want %d", after, got.SecondsLeft, want)
		}
	}
}

func TestResource_answers_304_for_its_current_ETag(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	id := f.create(t, "all", minimalBody)
	tests := map[string]struct {
		ifNoneMatch string
		status      int
	}{
		"the same":      {`"1"`, 304},
		"weak":          {`W/"1"`, 304},
		"one of many":   {`"7", W/"1"`, 304},
		"any":           {`*`, 304},
		"another":       {`"2"`, 200},
		"without quote": {`1`, 200},
		"empty":         {``, 200},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			response := f.send(readByPage(id, conditional(test.ifNoneMatch, "")))
			if response.StatusCode != test.status || response.Header.Get("ETag") != `"1"` {
				t.Errorf("answer %d, ETag %s; want %d", response.StatusCode, response.Header.Get("ETag"), test.status)
			}
			if body := read(t, response); (body == "") != (test.status == 304) {
				t.Errorf("body %q", body)
			}
		})
	}
}

func TestResource_waits_for_a_change(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		prefer string
		change time.Duration // after which the invoice is paid; 0: never
		status int
		waited time.Duration
	}{
		"until the invoice changes":          {"wait=30", 7*time.Second + 500*time.Millisecond, 200, 7*time.Second + 500*time.Millisecond},
		"until the requested time":           {"wait=10", 0, 304, 10 * time.Second},
		"quoted, among other preferences":    {`respond-async, wait="5"; x=y`, 0, 304, 5 * time.Second},
		"at most 30 seconds":                 {"wait=3600", 0, 304, 30 * time.Second},
		"not without a preference":           {"", 0, 304, 0},
		"not for zero":                       {"wait=0", 0, 304, 0},
		"not for a word":                     {"wait=soon", 0, 304, 0},
		"not for a negative number":          {"wait=-5", 0, 304, 0},
		"not for a number that is too large": {"wait=99999999999999999999", 0, 304, 0},
		"not for another preference":         {"respond-async", 0, 304, 0},
		"for a capitalised preference":       {"Wait=3", 0, 304, 3 * time.Second},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t, time.Now)
				id := f.create(t, "all", minimalBody)
				start := time.Now()
				if test.change > 0 {
					go func() {
						time.Sleep(test.change)
						f.simulateAction(t, id, `{"action":"exact"}`)
					}()
				}
				response := f.send(readByPage(id, conditional(`"1"`, test.prefer)))
				if waited := time.Since(start); response.StatusCode != test.status || waited != test.waited {
					t.Errorf("answer %d after %s, want %d after %s", response.StatusCode, waited, test.status, test.waited)
				}
				if applied := response.Header.Get("Preference-Applied"); (applied != "") != (test.waited > 0) {
					t.Errorf("Preference-Applied = %q", applied)
				}
				synctest.Wait()
			})
		})
	}
}

func TestResource_does_not_wait_for_another_version(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	id := f.create(t, "all", minimalBody)
	f.simulateAction(t, id, `{"action":"exact"}`)
	response := f.send(readByPage(id, conditional(`"1"`, "wait=30")))
	if response.StatusCode != http.StatusOK {
		t.Errorf("answer %d, want 200", response.StatusCode)
	}
}

// A payment may be in an asset that the invoice does not offer. The resource has its symbol and network
// name, and an event has only its code.
func TestResource_names_a_wrong_asset(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	id := f.create(t, "all", `{"amount":100,"fiat_currency":"EUR","payment_methods":["BTC"]}`)
	if _, err := f.simnet.Pay(t.Context(), euroCoin, "xpub-script-0", money.MustParse("3", eurc)); err != nil {
		t.Fatal(err)
	}
	r := f.resource(t, id)
	if len(r.Payments) != 1 || len(r.Exceptions) != 1 || r.Exceptions[0] != api.ExceptionWrongAsset {
		t.Fatalf("%d payments, exceptions %v", len(r.Payments), r.Exceptions)
	}
	p := r.Payments[0]
	got := []string{p.State, p.CryptoCurrency, p.Symbol, p.NetworkName, p.Amount}
	if diff := cmp.Diff(got, []string{"wrong_asset", "EURC-BASE", "EURC", "Base Sepolia", "3"}); diff != "" {
		t.Errorf("payment (-got +want):\n%s", diff)
	}
	inv, err := f.invoices.Invoice(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if body := string(wire.Event(inv, invoice.Event{})); strings.Contains(body, "network_name") {
		t.Errorf("an event has the field network_name: %s", body)
	}
}
