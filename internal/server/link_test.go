package server_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"chequer/internal/api"
	"chequer/internal/merchant"
	"chequer/internal/signature"
)

// linkQuery returns the query of a link that a key signs, with additional parameters in pairs of name and value.
func linkQuery(key string, extra ...string) string {
	parameters := map[string]string{"amount": "56.50", "fiat_currency": "EUR", "key": publicKey(key)}
	for i := 0; i < len(extra); i += 2 {
		parameters[extra[i]] = extra[i+1]
	}
	return encodeLink(parameters, signature.Sign("secret of "+key, signature.LinkMessage(parameters)))
}

// encodeLink returns the query of a link with the given parameters and signature.
func encodeLink(parameters map[string]string, sig string) string {
	values := url.Values{}
	for name, value := range parameters {
		values.Set(name, value)
	}
	if sig != "" {
		values.Set("sig", sig)
	}
	return values.Encode()
}

// aboutSigned is a call about a signed link, as its page makes it.
func aboutSigned(action, query string) message {
	body, err := json.Marshal(api.CheckoutRequest{Query: query})
	if err != nil {
		panic(err)
	}
	return message{method: "POST", target: "/api/v2/links/" + action, key: "page", signRequest: true, body: string(body)}
}

// pay pays by a signed link and returns the identifier of its invoice.
func (f *fixture) pay(t *testing.T, query string) string {
	t.Helper()
	var created api.CheckoutInvoice
	response := f.send(aboutSigned("pay", query))
	if text := read(t, response); response.StatusCode != http.StatusOK || json.Unmarshal([]byte(text), &created) != nil {
		t.Fatalf("pay answers %d: %s", response.StatusCode, text)
	}
	return created.ForeignID
}

// readLink returns the content of a signed link.
func (f *fixture) readLink(t *testing.T, query string) (l api.CheckoutLink) {
	t.Helper()
	response := f.send(aboutSigned("read", query))
	if text := read(t, response); response.StatusCode != http.StatusOK || json.Unmarshal([]byte(text), &l) != nil {
		t.Fatalf("read answers %d: %s", response.StatusCode, text)
	}
	return l
}

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

// CONTRACT: the same key and order lead to the same open invoice and, once it is paid, to its
// receipt. A new invoice is created only after the old one has expired or was declined.
func TestSignedLink_has_one_invoice_for_an_order(t *testing.T) {
	t.Parallel()
	now := noon
	f := newFixture(t, func() time.Time { return now })
	link := linkQuery("all", "order_id", "1042")
	first := f.pay(t, link)
	for _, variant := range []string{link, linkQuery("all", "order_id", "1042", "amount", "56.5"), linkQuery("all", "order_id", "1042", "language", "de")} {
		if got := f.pay(t, variant); got != first {
			t.Errorf("link %s leads to invoice %s, want %s", variant, got, first)
		}
	}
	for name, other := range map[string]string{"another order": linkQuery("all", "order_id", "1043"), "another key": linkQuery("live", "order_id", "1042")} {
		if got := f.pay(t, other); got == first {
			t.Errorf("link with %s leads to the same invoice", name)
		}
	}
	simulate := func(id, action string) {
		f.send(message{method: "POST", target: "/api/v2/test/invoices/" + id + "/simulate", key: "page", signRequest: true, body: `{"action":"` + action + `"}`})
	}
	for _, action := range []string{"exact", "confirm"} {
		simulate(first, action)
		if got := f.pay(t, link); got != first || f.readLink(t, link).ForeignID != first {
			t.Errorf("after %s the link leads to invoice %s, want %s", action, got, first)
		}
	}

	now = now.Add(48 * time.Hour)
	if got := f.pay(t, link); got != first {
		t.Errorf("two days after payment the link leads to invoice %s, want %s", got, first)
	}

	declined := f.pay(t, linkQuery("all", "order_id", "7"))
	f.send(message{method: "POST", target: "/api/v2/invoices/" + declined + "/cancel", key: "admin", signRequest: true, body: `{}`})
	if l := f.readLink(t, linkQuery("all", "order_id", "7")); l.ForeignID != "" || l.EarlierID != "" {
		t.Errorf("after declined the link offers %+v", l)
	}
	second := f.pay(t, linkQuery("all", "order_id", "7"))
	if second == declined || f.pay(t, linkQuery("all", "order_id", "7")) != second {
		t.Error("after declined the link does not lead to one new invoice")
	}
	simulate(second, "under")
	now = now.Add(time.Hour)
	if err := f.simnet.Confirm(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if _, err := f.invoices.Expire(t.Context(), 10); err != nil {
		t.Fatal(err)
	}
	if l := f.readLink(t, linkQuery("all", "order_id", "7")); l.ForeignID != "" || l.EarlierID != second {
		t.Errorf("after a partial payment and expiry the link offers %+v", l)
	}
}

// A link that states another price for an order does not lead to an invoice at the earlier price.
func TestSignedLink_of_an_order_with_another_price(t *testing.T) {
	t.Parallel()
	otherPrices := map[string]string{
		"another amount":   linkQuery("all", "order_id", "1042", "amount", "500"),
		"another currency": linkQuery("all", "order_id", "1042", "fiat_currency", "USD"),
	}
	for name, other := range otherPrices {
		t.Run(name+" replaces an invoice without payments", func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, nil)
			first := f.pay(t, linkQuery("all", "order_id", "1042"))
			if l := f.readLink(t, other); l.ForeignID != "" || l.OtherID != "" {
				t.Errorf("the link offers %+v, want a new invoice", l)
			}
			if got := f.resource(t, first).Status; got != api.StatusCreated {
				t.Errorf("reading the link left the first invoice %s", got)
			}
			second := f.pay(t, other)
			if got := f.resource(t, first).Status; second == first || got != api.StatusDeclined {
				t.Errorf("got invoice %s after %s, which is %s; want another, and the first declined", second, first, got)
			}
			if got := f.pay(t, other); got != second {
				t.Errorf("the link leads to %s the second time, want %s", got, second)
			}
		})
		for _, tt := range []struct {
			actions []string
			status  string
		}{
			{[]string{api.SimulateUnder}, api.StatusPending},
			{[]string{api.SimulateExact}, api.StatusPending},
			{[]string{api.SimulateExact, api.SimulateConfirm}, api.StatusPaid},
		} {
			t.Run(fmt.Sprint(name, " creates no invoice after ", tt.actions), func(t *testing.T) {
				t.Parallel()
				f := newFixture(t, nil)
				first := f.pay(t, linkQuery("all", "order_id", "1042"))
				for _, action := range tt.actions {
					f.runAction(t, first, action)
				}
				created := f.storage.Count()
				l := f.readLink(t, other)
				if l.ForeignID != "" || l.OtherID != first || l.OtherStatus != tt.status || l.OtherAmount != "56.5" || l.OtherCurrency != "EUR" {
					t.Errorf("the link offers %+v", l)
				}
				if r := f.resource(t, first); l.OtherReceived != r.PaidAmount {
					t.Errorf("received %q, want %q", l.OtherReceived, r.PaidAmount)
				}
				checkRefused(t, f.send(aboutSigned("pay", other)), http.StatusConflict, api.CodeLinkOrderPaid)
				if got := f.resource(t, first).Status; got != tt.status || f.storage.Count() != created {
					t.Errorf("the first invoice is %s and %d more were created, want %s and none", got, f.storage.Count()-created, tt.status)
				}
			})
		}
	}
}

// If two invoices of an order are paid, a link leads to the invoice with its price.
func TestSignedLink_of_an_order_paid_twice_leads_to_the_receipt_of_its_price(t *testing.T) {
	t.Parallel()
	now := noon
	f := newFixture(t, func() time.Time { return now })
	small, large := linkQuery("all", "order_id", "1042"), linkQuery("all", "order_id", "1042", "amount", "400")
	first := f.pay(t, small)
	f.runAction(t, first, api.SimulateLate)
	second := f.pay(t, large)
	for _, id := range []string{first, second} {
		if id == first {
			f.send(message{method: "POST", target: "/api/v2/invoices/" + id + "/accept", key: "all", signRequest: true, body: `{}`})
		} else {
			f.runAction(t, id, api.SimulateExact)
		}
		f.runAction(t, id, api.SimulateConfirm)
		if got := f.resource(t, id).Status; got != api.StatusPaid {
			t.Fatalf("invoice %s is %s, want paid", id, got)
		}
	}
	if got := f.pay(t, small); got != first {
		t.Errorf("the link of the small price leads to %s, want %s", got, first)
	}
	if got := f.pay(t, large); got != second {
		t.Errorf("the link of the large price leads to %s, want %s", got, second)
	}
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

func TestSignedLink_without_an_order_has_one_invoice_per_token(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	invoiceOf := func(token string) string {
		m := aboutSigned("pay", linkQuery("all"))
		m.header = http.Header{api.HeaderIdempotencyKey: {token}}
		return read(t, f.send(m))
	}
	if first := invoiceOf("a"); invoiceOf("a") != first || invoiceOf("b") == first {
		t.Error("want exactly one invoice per token")
	}
}

func TestSignedLink_expires(t *testing.T) {
	t.Parallel()
	now := noon
	f := newFixture(t, func() time.Time { return now })
	link := linkQuery("all", "order_id", "1042", "expires", strconv.FormatInt(noon.Add(time.Hour).Unix(), 10))
	other := linkQuery("all", "order_id", "7", "expires", strconv.FormatInt(noon.Add(time.Hour).Unix(), 10))
	first := f.pay(t, link)
	now = now.Add(time.Hour)
	if got := f.pay(t, link); got != first { // an expired link still leads to the invoice of its order
		t.Errorf("the link leads to invoice %s, want %s", got, first)
	}
	for _, action := range []string{"read", "pay"} {
		response := f.send(aboutSigned(action, other))
		if got := response.Header.Get(api.HeaderErrorCode); response.StatusCode != http.StatusGone || got != api.CodeLinkExpired {
			t.Errorf("%s of an expired link answers %d, %s", action, response.StatusCode, got)
		}
	}
}

// A changed link is refused and creates no invoice.
func TestSignedLink_refuses_changes(t *testing.T) {
	t.Parallel()
	valid := map[string]string{
		"amount": "56.50", "fiat_currency": "EUR", "order_id": "1042", "url_success": "https://shop.example/thanks",
		"url_failure": "https://shop.example/no", "description": "Two prints", "language": "de", "expires": "1795790000", "key": publicKey("all"),
	}
	sig := signature.Sign("secret of all", signature.LinkMessage(valid))
	change := func(edit func(map[string]string)) string {
		changed := maps.Clone(valid)
		edit(changed)
		return encodeLink(changed, sig)
	}
	cases := map[string]string{"no signature": encodeLink(valid, ""), "another signature": encodeLink(valid, strings.Repeat("ab", 64))}
	for name := range valid {
		cases[name+" changed"] = change(func(p map[string]string) { p[name] += "1" })
		cases[name+" taken out"] = change(func(p map[string]string) { delete(p, name) })
		cases[name+" emptied"] = change(func(p map[string]string) { p[name] = "" })
		cases[name+" twice"] = encodeLink(valid, sig) + "&" + url.Values{name: {valid[name]}}.Encode()
		cases[name+" in capitals"] = change(func(p map[string]string) { p[strings.ToUpper(name)] = p[name]; delete(p, name) })
	}
	for _, extra := range []string{"&sig=" + sig, "&amount=1", "&AMOUNT=1", "&Amount=1", "&amount+=1", "&%61mount=1", "&key=", "&order_id=%ff", "&order_id=%zz"} {
		cases["with "+extra] = encodeLink(valid, sig) + extra
	}
	for _, key := range []string{"revoked", "nobody", "page", "create"} { // the last two must not sign links
		cases["signed by "+key] = linkQuery(key)
	}
	f := newFixture(t, nil)
	for name, query := range cases {
		for _, action := range []string{"read", "pay"} {
			if response := f.send(aboutSigned(action, query)); response.StatusCode < 400 || response.StatusCode >= 500 {
				t.Errorf("%s: %s answers %d", name, action, response.StatusCode)
			}
		}
	}
	if n := f.storage.Count(); n != 0 {
		t.Errorf("%d invoices were created, want none", n)
	}
	if response := f.send(aboutSigned("pay", encodeLink(valid, strings.ToUpper(sig)))); response.StatusCode != http.StatusOK {
		t.Errorf("the unchanged link: answer %d: %s", response.StatusCode, read(t, response))
	}
}

// Parameters that mail programs, advertisers and chats append are ignored.
func TestSignedLink_ignores_other_parameters(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	link := linkQuery("all", "order_id", "1042", "description", "Two prints")
	first := f.pay(t, link)
	for _, extra := range []string{
		"fbclid=IwAR0_x-9", "utm_source=mail", "utm_campaign=a%20b+c", "gclid=1", "gad_source=1", "msclkid=2", "mc_cid=3", "mc_eid=4", "_hsenc=5",
		"_hsmi=6", "ref=shop", "lang=de", "embed=1", "a=1&a=2", "=", "a=%zz", "%zz=1", "a;b=c", "x", "sigma=1", "keys=2",
	} {
		for _, longer := range []string{link + "&" + extra, extra + "&" + link} {
			if got := f.pay(t, longer); got != first {
				t.Errorf("with %s the link leads to %s, want %s", extra, got, first)
			}
		}
	}
}

// A return address with an international domain name is stored in Punycode, and the signature
// covers it as the shop wrote it.
func TestSignedLink_keeps_international_domain_names_in_Punycode(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	id := f.pay(t, linkQuery("all", "order_id", "1042", "url_success", "https://bücher.example/danke", "url_failure", "https://BÜCHER.example/"))
	r := f.resource(t, id)
	if r.URLSuccess != "https://xn--bcher-kva.example/danke" || r.URLFailure != "https://xn--bcher-kva.example/" {
		t.Errorf("return addresses = %q and %q", r.URLSuccess, r.URLFailure)
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

// A call and a signed link record that their key was used; a refused call does not.
func TestKeys_record_their_use(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	f.create(t, "create", minimalBody)
	f.pay(t, linkQuery("all", "order_id", "1042"))
	f.send(message{method: "POST", target: "/api/v2/invoice/new", key: "admin", body: minimalBody}) // the key lacks the scope
	f.send(creation(message{key: "all", signed: "something else"}))
	if got := strings.Join(f.merchants.usedKeys, " "); got != "create page all" && got != "create all page" {
		t.Errorf("recorded %q, want the uses of create, page and all", got)
	}
}
