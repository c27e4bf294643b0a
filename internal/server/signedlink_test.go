package server_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"chequer/internal/api"
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
