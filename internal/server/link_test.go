package server_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"chequer/internal/api"
)

// Every answer about links.
func TestGolden_link_responses_are_unchanged(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	f.useStorage()
	var answers []string
	record := func(name string, m message) { answers = append(answers, goldenText(t, name, f.send(m))) }
	links := func(method, path, body string) message {
		return message{method: method, target: "/api/v2/links" + path, key: "admin", signRequest: true, body: body}
	}
	record("made", links("POST", "", `{"slug":"coffee","amount":3.50,"fiat_currency":"EUR","description":"Filter coffee","language":"de","url_success":"https://shop.example/thanks"}`))
	record("open, with a random slug", links("POST", "", `{"fiat_currency":"USD"}`))
	record("listed", links("GET", "", ""))
	record("one", links("GET", "/coffee", ""))
	record("read by its page", message{method: "POST", target: "/api/v2/links/read", key: "page", signRequest: true, body: `{"slug":"coffee"}`})
	record("paid by its page", message{
		method: "POST", target: "/api/v2/links/pay", key: "page", signRequest: true, body: `{"slug":"coffee"}`, header: http.Header{api.HeaderIdempotencyKey: {"token"}},
	})
	record("removed", links("DELETE", "/coffee", ""))
	record("signed, read by its page", aboutSigned("read", linkQuery("all", "order_id", "1042", "description", "Two prints")))
	record("signed, paid by its page", aboutSigned("pay", linkQuery("all", "order_id", "1042")))
	record("signed, read again", aboutSigned("read", linkQuery("all", "order_id", "1042")))
	golden(t, "links.json", "["+strings.Join(answers, ",")+"]")
}

// A link that is recreated with the same slug and another price creates another invoice.
func TestLink_recreated_with_another_price_creates_another_invoice(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	f.useStorage()
	links := func(method, path, body string) {
		f.send(message{method: method, target: "/api/v2/links" + path, key: "admin", signRequest: true, body: body})
	}
	pay := func() string {
		var created api.CheckoutInvoice
		response := f.send(message{
			method: "POST", target: "/api/v2/links/pay", key: "page", signRequest: true, body: `{"slug":"coffee"}`, header: headerWith(api.HeaderIdempotencyKey, "token"),
		})
		if text := read(t, response); response.StatusCode != http.StatusOK || json.Unmarshal([]byte(text), &created) != nil {
			t.Fatalf("pay answers %d: %s", response.StatusCode, text)
		}
		return created.ForeignID
	}
	links("POST", "", `{"slug":"coffee","amount":"3.50","fiat_currency":"EUR"}`)
	first := pay()
	links("DELETE", "/coffee", "")
	links("POST", "", `{"slug":"coffee","amount":"35","fiat_currency":"EUR"}`)
	second := pay()
	if got := f.resource(t, second).ClientAmount; second == first || got != "35" {
		t.Errorf("the link leads to %s of %s EUR after %s, want another of 35 EUR", second, got, first)
	}
	if got := pay(); got != second {
		t.Errorf("the same form leads to %s, want %s", got, second)
	}
}

// The scope page reads and uses links, and only admin changes links.
func TestLinks_enforce_scopes(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		method, path, body string
		status             map[string]int // by key
	}{
		{"POST", "", `{"fiat_currency":"EUR"}`, map[string]int{"admin": 201, "page": 403, "create": 403, "read": 403}},
		{"GET", "", "", map[string]int{"admin": 200, "page": 403, "create": 403}},
		{"GET", "/coffee", "", map[string]int{"admin": 200, "other": 404, "liveread": 404, "page": 403}},
		{"DELETE", "/coffee", "", map[string]int{"admin": 204, "other": 404, "liveread": 404, "page": 403}},
		{"POST", "/read", `{"slug":"coffee"}`, map[string]int{"page": 200, "create": 403, "admin": 403}},
		{"POST", "/pay", `{"slug":"coffee"}`, map[string]int{"page": 400, "create": 403, "admin": 403}}, // no token
	} {
		for key, want := range tt.status {
			f := newFixture(t, nil)
			f.useStorage()
			f.send(message{method: "POST", target: "/api/v2/links", key: "admin", signRequest: true, body: `{"slug":"coffee","amount":"3.50","fiat_currency":"EUR"}`})
			response := f.send(message{method: tt.method, target: "/api/v2/links" + tt.path, key: key, signRequest: true, body: tt.body})
			if response.StatusCode != want {
				t.Errorf("%s links%s by %s: answer %d, want %d: %s", tt.method, tt.path, key, response.StatusCode, want, read(t, response))
			}
		}
	}
}

func TestOpenLink_accepts_the_shoppers_amount(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	f.useStorage()
	for slug, amount := range map[string]string{"open": "", "fixed": `"amount":5,`} {
		f.send(message{method: "POST", target: "/api/v2/links", key: "admin", signRequest: true, body: `{"slug":"` + slug + `",` + amount + `"fiat_currency":"EUR"}`})
	}
	for body, want := range map[string]int{
		`{"slug":"open","amount":"7.50"}`: 200, `{"slug":"open"}`: 400, `{"slug":"open","amount":"0"}`: 400, `{"slug":"open","amount":"7.505"}`: 400,
		`{"slug":"open","amount":"1000001"}`: 400, `{"slug":"fixed"}`: 200, `{"slug":"fixed","amount":"1"}`: 400, `{"slug":"none"}`: 404,
		`{"slug":"../open"}`: 404, `{}`: 400, `{"slug":"open","query":"a=b"}`: 400,
	} {
		m := message{method: "POST", target: "/api/v2/links/pay", key: "page", signRequest: true, body: body, header: http.Header{api.HeaderIdempotencyKey: {body}}}
		if response := f.send(m); response.StatusCode != want {
			t.Errorf("%s: answer %d, want %d: %s", body, response.StatusCode, want, read(t, response))
		}
	}
}

// A link that was changed, has ended or is used up creates no invoice at terms that the shopper was
// not shown.
func TestLink_that_changed_or_ended_creates_no_invoice(t *testing.T) {
	t.Parallel()
	now := noon
	f := newFixture(t, func() time.Time { return now })
	f.useStorage()
	links := func(method, path, body string) *http.Response {
		return f.send(message{method: method, target: "/api/v2/links" + path, key: "admin", signRequest: true, body: body})
	}
	pay := func(token, extra string) *http.Response {
		return f.send(message{
			method: "POST", target: "/api/v2/links/pay", key: "page", signRequest: true, body: `{"slug":"coffee"` + extra + `}`, header: headerWith(api.HeaderIdempotencyKey, token),
		})
	}
	links("POST", "", `{"slug":"coffee","amount":"3.50","fiat_currency":"EUR","payment_methods":["EURC-BASE","BTC"]}`)
	var created api.CheckoutInvoice
	if text := read(t, pay("a", `,"shown_amount":"3.5","shown_currency":"EUR"`)); json.Unmarshal([]byte(text), &created) != nil {
		t.Fatal(text)
	}
	var offered []string
	for _, m := range f.resource(t, created.ForeignID).PaymentMethods {
		offered = append(offered, m.CryptoCurrency)
	}
	if got := strings.Join(offered, " "); got != "EURC-BASE BTC" {
		t.Errorf("offered %s, want EURC-BASE BTC", got)
	}

	if text := read(t, links("PATCH", "/coffee", `{"amount":"4","max_uses":2,"ends_at":"2026-11-28T12:00:00Z"}`)); !strings.Contains(text, `"amount":"4"`) || !strings.Contains(text, `"fiat_currency":"EUR"`) {
		t.Errorf("changed link = %s", text)
	}
	checkRefused(t, pay("b", `,"shown_amount":"3.5","shown_currency":"EUR"`), http.StatusConflict, api.CodePriceChanged)
	if r := pay("b", `,"shown_amount":"4","shown_currency":"EUR"`); r.StatusCode != http.StatusOK {
		t.Errorf("at the new price: answer %d: %s", r.StatusCode, read(t, r))
	}
	checkRefused(t, pay("c", ""), http.StatusGone, api.CodeLinkExpired) // used twice
	if r := pay("b", `,"shown_amount":"4","shown_currency":"EUR"`); r.StatusCode != http.StatusOK {
		t.Errorf("the same form again: answer %d: %s", r.StatusCode, read(t, r))
	}
	links("PATCH", "/coffee", `{"max_uses":0}`)
	if r := pay("c", ""); r.StatusCode != http.StatusOK {
		t.Errorf("without a maximum of uses: answer %d: %s", r.StatusCode, read(t, r))
	}
	now = time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	checkRefused(t, pay("d", ""), http.StatusGone, api.CodeLinkExpired)
	links("PATCH", "/coffee", `{"ends_at":""}`)
	if r := pay("d", ""); r.StatusCode != http.StatusOK {
		t.Errorf("without an end: answer %d: %s", r.StatusCode, read(t, r))
	}
	for body, code := range map[string]string{
		`{"payment_methods":["DOGE"]}`: "invalid_payment_methods", `{"payment_methods":["BTC","BTC"]}`: "invalid_payment_methods", `{"payment_methods":"BTC"}`: "invalid_payment_methods",
		`{"ends_at":"tomorrow"}`: "invalid_ends_at", `{"max_uses":-1}`: "invalid_max_uses", `{"amount":"0"}`: "invalid_amount", `{"slug":"tea"}`: "unknown_field",
	} {
		checkRefused(t, links("PATCH", "/coffee", body), http.StatusBadRequest, code)
	}
	checkRefused(t, links("PATCH", "/tea", `{}`), http.StatusNotFound, api.CodeLinkNotFound)
}

// The list of links has every link of the key's merchant and mode once, newest first, in pages.
func TestLinks_are_listed_in_pages(t *testing.T) {
	t.Parallel()
	now := noon
	f := newFixture(t, func() time.Time { return now })
	f.useStorage()
	links := func(key, method, query, body string) *http.Response {
		return f.send(message{method: method, target: "/api/v2/links" + query, key: key, signRequest: true, body: body})
	}
	want := []string{"d", "e", "c-2", "b", "a"}
	for i, slug := range []string{"b", "a", "e", "c-2", "d"} {
		now = noon.Add(time.Duration(i/2) * time.Hour) // two links each have the same time
		if r := links("all", "POST", "", `{"slug":"`+slug+`","fiat_currency":"EUR"}`); r.StatusCode != http.StatusCreated {
			t.Fatal(read(t, r))
		}
	}
	links("live", "POST", "", `{"slug":"other-mode","fiat_currency":"EUR"}`)
	for _, limit := range []int{1, 2, 4, 5, 100} {
		var got []string
		cursor, pages := "", 0
		for ; pages == 0 || cursor != ""; pages++ {
			var list api.LinkList
			query := fmt.Sprint("?limit=", limit)
			if cursor != "" {
				query += "&cursor=" + cursor
			}
			r := links("all", "GET", query, "")
			if text := read(t, r); r.StatusCode != http.StatusOK || json.Unmarshal([]byte(text), &list) != nil || len(list.Links) > limit {
				t.Fatalf("limit %d: answer %d: %s", limit, r.StatusCode, text)
			}
			for _, l := range list.Links {
				got = append(got, l.Slug)
			}
			cursor = list.NextCursor
		}
		if !slices.Equal(got, want) || pages != (len(want)+limit-1)/limit {
			t.Errorf("limit %d: got %q in %d pages, want %q", limit, got, pages, want)
		}
	}
	for _, query := range []string{"?cursor=", "?cursor=MTc5NTc4MDgwMA", "?cursor=x", "?limit=0", "?limit=101", "?status=paid", "?limit=1&limit=2"} {
		if r := links("all", "GET", query, ""); r.StatusCode != http.StatusBadRequest {
			t.Errorf("%s: answer %d, want 400", query, r.StatusCode)
		}
	}
}

// The amount of a form for an amount is never charged in a currency that the form did not show.
func TestOpenLink_and_terminal_refuse_an_amount_in_another_currency(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	f.useStorage()
	links := func(method, path, body string) {
		if r := f.send(message{method: method, target: "/api/v2/links" + path, key: "all", signRequest: true, body: body}); r.StatusCode > 201 {
			t.Fatal(read(t, r))
		}
	}
	pay := func(body string) *http.Response {
		return f.send(message{method: "POST", target: "/api/v2/links/pay", key: "page", signRequest: true, body: body, header: headerWith(api.HeaderIdempotencyKey, body)})
	}
	links("POST", "", `{"slug":"tips","fiat_currency":"EUR"}`)
	bar := f.createTerminal(t, "all", `{"name":"Bar","fiat_currency":"EUR"}`)
	terminal := `{"terminal":"` + bar.URL[strings.LastIndexByte(bar.URL, '/')+1:] + `","amount":"5"`
	for _, body := range []string{`{"slug":"tips","amount":"5","shown_currency":"EUR"}`, `{"slug":"tips","amount":"5"}`, terminal + `,"shown_currency":"EUR"}`, terminal + "}"} {
		if r := pay(body); r.StatusCode != http.StatusOK {
			t.Errorf("%s: answer %d: %s", body, r.StatusCode, read(t, r))
		}
	}
	checkRefused(t, pay(terminal+`,"shown_currency":"USD"}`), http.StatusConflict, api.CodePriceChanged)
	links("PATCH", "/tips", `{"fiat_currency":"USD"}`)
	checkRefused(t, pay(`{"slug":"tips","amount":"6","shown_currency":"EUR"}`), http.StatusConflict, api.CodePriceChanged)
	if r := pay(`{"slug":"tips","amount":"6","shown_currency":"USD"}`); r.StatusCode != http.StatusOK {
		t.Errorf("in the new currency: answer %d: %s", r.StatusCode, read(t, r))
	}
	links("PATCH", "/tips", `{"amount":"90"}`) // the shopper entered an amount, and saw no price
	checkRefused(t, pay(`{"slug":"tips","shown_currency":"USD"}`), http.StatusConflict, api.CodePriceChanged)
}
