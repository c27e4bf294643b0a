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
	"chequer/internal/server"
)

func look(id string, header http.Header) message {
	return message{method: "GET", target: "/api/v2/invoices/" + id, key: "page", own: true, header: header}
}

func conditional(tag, prefer string) http.Header {
	h := set("If-None-Match", tag)
	if prefer != "" {
		h.Set("Prefer", prefer)
	}
	return h
}

// act simulates and returns the resource that is answered.
func (l *lab) act(t *testing.T, id, body string) api.Resource {
	t.Helper()
	response := l.send(message{method: "POST", target: "/api/v2/test/invoices/" + id + "/simulate", key: "page", own: true, body: body})
	text := read(t, response)
	var r api.Resource
	if err := json.Unmarshal([]byte(text), &r); err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("simulate %s: answer %d: %s", body, response.StatusCode, text)
	}
	return r
}

func TestStatus_tells_of_every_state_in_the_same_shape(t *testing.T) {
	t.Parallel()
	l := newLab(t, nil)
	id := l.create(t, "all", `{"amount":56.5,"fiat_currency":"EUR"}`)
	ask := message{method: "GET", target: "/api/v2/invoice/status?id=" + id}
	paid := func(r *http.Response) [3]string {
		return [3]string{r.Header.Get(api.HeaderPaidAt), r.Header.Get(api.HeaderPaidCurrency), r.Header.Get(api.HeaderPaidTx)}
	}
	created := l.send(ask)
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
		l.act(t, id, `{"action":"`+step.action+`"}`)
		response := l.send(ask)
		want := strings.Replace(text, `"status":"created"`, `"status":"`+step.status+`"`, 1)
		if got := read(t, response); got != want {
			t.Errorf("status after %s: %s, want %s", step.action, got, want)
		}
		if diff := cmp.Diff(paid(response), step.paid); diff != "" {
			t.Errorf("paid headers after %s differ (-got +want):\n%s", step.action, diff)
		}
		if response.Header.Get("ETag") == `"1"` {
			t.Error("ETag has not moved")
		}
	}
}

func TestStatus_looks_at_no_header(t *testing.T) {
	t.Parallel()
	l := newLab(t, nil)
	id := l.create(t, "all", fine)
	for name, header := range map[string]http.Header{
		"none":               {},
		"an empty signature": {api.HeaderKey: {publicKey("all")}, api.HeaderSignature: {""}},
		"nonsense":           {api.HeaderKey: {"?"}, api.HeaderSignature: {"?"}, api.HeaderNonce: {"?"}},
		"a media type":       {"Content-Type": {"text/plain"}},
	} {
		for _, target := range []string{"/api/v2/invoice/status?id=", "/v2/invoice/status?id=", "//api//v2/invoice/status?id="} {
			response := l.send(message{method: "GET", target: target + id, header: header})
			if response.StatusCode != http.StatusOK {
				t.Errorf("%s: answer %d: %s", name, response.StatusCode, read(t, response))
			}
		}
	}
}

func TestResource_tells_of_networks_that_were_not_looked_at_lately(t *testing.T) {
	t.Parallel()
	now := noon
	l := newLab(t, func() time.Time { return now })
	id := l.create(t, "all", fine)
	behind := func(tag string) (shown []bool, next string) {
		t.Helper()
		response := l.send(look(id, conditional(tag, "")))
		if response.StatusCode == http.StatusNotModified {
			return nil, response.Header.Get("ETag")
		}
		var r api.Resource
		if err := json.Unmarshal([]byte(read(t, response)), &r); err != nil {
			t.Fatal(err)
		}
		for _, m := range r.PaymentMethods {
			shown = append(shown, m.Behind)
		}
		return shown, response.Header.Get("ETag")
	}
	shown, first := behind("")
	if slices.Contains(shown, true) || len(shown) == 0 {
		t.Errorf("just scanned: behind %v", shown)
	}
	now = noon.Add(3 * time.Minute)
	shown, second := behind(first)
	if slices.Contains(shown, false) || len(shown) == 0 || second == first {
		t.Errorf("after three minutes: behind %v, tag %s after %s", shown, second, first)
	}
	if shown, tag := behind(second); shown != nil || tag != second {
		t.Errorf("asked again: behind %v, tag %s, want not modified", shown, tag)
	}
	if err := l.simnet.observe(t.Context()); err != nil {
		t.Fatal(err)
	}
	if shown, tag := behind(second); slices.Contains(shown, true) || len(shown) == 0 || tag != first {
		t.Errorf("after a scan: behind %v, tag %s, want %s", shown, tag, first)
	}
}

func TestResource_golden(t *testing.T) {
	t.Parallel()
	l := newLab(t, nil)
	id := l.create(t, "all", `{"amount":56.5,"fiat_currency":"EUR","payment_methods":["BTC","EURC-BASE"]}`)
	l.act(t, id, `{"action":"under"}`)
	l.act(t, id, `{"action":"confirm"}`)
	golden(t, "resource_underpaid.json", read(t, l.send(look(id, nil))))
	l.act(t, id, `{"action":"over","payment_method":"EURC-BASE"}`)
	l.act(t, id, `{"action":"confirm"}`)
	response := l.send(look(id, nil))
	golden(t, "resource_overpaid.json", read(t, response))
	if got := response.Header.Get("Cache-Control"); got != "private, no-cache" {
		t.Errorf("Cache-Control = %q", got)
	}
}

func TestResource_seconds_left(t *testing.T) {
	t.Parallel()
	now := noon
	l := newLab(t, func() time.Time { return now })
	id := l.create(t, "all", fine)
	for after, want := range map[time.Duration]int64{
		0: 900, time.Millisecond: 900, time.Second: 899, 899*time.Second + 999*time.Millisecond: 1, 900 * time.Second: 0, 902 * time.Second: -2,
	} {
		now = noon.Add(after)
		var got api.Resource
		if err := json.Unmarshal([]byte(read(t, l.send(look(id, nil)))), &got); err != nil {
			t.Fatal(err)
		}
		if got.SecondsLeft != want {
			t.Errorf("seconds_left after %s = %d, want %d", after, got.SecondsLeft, want)
		}
	}
}

func TestResource_conditional(t *testing.T) {
	t.Parallel()
	l := newLab(t, nil)
	id := l.create(t, "all", fine)
	tests := map[string]struct {
		tag    string
		status int
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
			response := l.send(look(id, conditional(test.tag, "")))
			if response.StatusCode != test.status || response.Header.Get("ETag") != `"1"` {
				t.Errorf("answer %d, ETag %s; want %d", response.StatusCode, response.Header.Get("ETag"), test.status)
			}
			if body := read(t, response); (body == "") != (test.status == 304) {
				t.Errorf("body %q", body)
			}
		})
	}
}

func TestResource_waits(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		prefer string
		change time.Duration // after which the invoice is paid; 0 = never
		status int
		waited time.Duration
	}{
		"until something changes":     {"wait=30", 7*time.Second + 500*time.Millisecond, 200, 7*time.Second + 500*time.Millisecond},
		"until the end":               {"wait=10", 0, 304, 10 * time.Second},
		"in quotes, among others":     {`respond-async, wait="5"; x=y`, 0, 304, 5 * time.Second},
		"at most half a minute":       {"wait=3600", 0, 304, 30 * time.Second},
		"not without being asked":     {"", 0, 304, 0},
		"not for nothing":             {"wait=0", 0, 304, 0},
		"not for what is no number":   {"wait=soon", 0, 304, 0},
		"not for less than nothing":   {"wait=-5", 0, 304, 0},
		"not for a number too large":  {"wait=99999999999999999999", 0, 304, 0},
		"not by another preference":   {"respond-async", 0, 304, 0},
		"for a preference in capital": {"Wait=3", 0, 304, 3 * time.Second},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l := newLab(t, time.Now)
				id := l.create(t, "all", fine)
				start := time.Now()
				if test.change > 0 {
					go func() {
						time.Sleep(test.change)
						l.act(t, id, `{"action":"exact"}`)
					}()
				}
				response := l.send(look(id, conditional(`"1"`, test.prefer)))
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
	l := newLab(t, nil)
	id := l.create(t, "all", fine)
	l.act(t, id, `{"action":"exact"}`)
	response := l.send(look(id, conditional(`"1"`, "wait=30")))
	if response.StatusCode != http.StatusOK {
		t.Errorf("answer %d, want 200", response.StatusCode)
	}
}

// What arrives may be nothing that the invoice offers: the resource tells it in
// words, an event by its code alone.
func TestResource_names_a_wrong_asset(t *testing.T) {
	t.Parallel()
	l := newLab(t, nil)
	id := l.create(t, "all", `{"amount":100,"fiat_currency":"EUR","payment_methods":["BTC"]}`)
	if _, err := l.simnet.Pay(t.Context(), euroCoin, "xpub-script-0", money.MustParse("3", eurc)); err != nil {
		t.Fatal(err)
	}
	r := l.resource(t, id)
	if len(r.Payments) != 1 || len(r.Exceptions) != 1 || r.Exceptions[0] != api.ExceptionWrongAsset {
		t.Fatalf("%d payments, exceptions %v", len(r.Payments), r.Exceptions)
	}
	p := r.Payments[0]
	got := []string{p.State, p.CryptoCurrency, p.Symbol, p.NetworkName, p.Amount}
	if diff := cmp.Diff(got, []string{"wrong_asset", "EURC-BASE", "EURC", "Base Sepolia", "3"}); diff != "" {
		t.Errorf("the payment is told as (-got +want):\n%s", diff)
	}
	inv, err := l.invoices.Invoice(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if body := string(server.EncodeEvent(inv, invoice.Event{})); strings.Contains(body, "network_name") {
		t.Errorf("an event has more than was agreed: %s", body)
	}
}
