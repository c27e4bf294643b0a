package web_test

import (
	"bufio"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"
	"github.com/google/go-cmp/cmp"

	"chequer/internal/api"
	"chequer/internal/client"
	"chequer/internal/locale"
	"chequer/web"
	"chequer/web/present/presenttest"
)

// pageFor returns the page for a browser that accepts the given languages.
func pageFor(t *testing.T, h http.Handler, target, accepts string) *goquery.Document {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, target, nil)
	r.Header.Set("Accept-Language", accepts)
	response := do(h, r)
	if !strings.Contains(strings.Join(response.Header.Values("Vary"), ","), "Accept-Language") {
		t.Errorf("%s: Vary lacks Accept-Language", target)
	}
	return document(t, response)
}

func TestLanguage_of_a_page(t *testing.T) {
	t.Parallel()
	invoiceIn := func(language string) api.Resource {
		r := presenttest.Invoice("of-" + language)
		r.Language = language
		return r
	}
	h := pages(t, newService(presenttest.Invoice("abc"), invoiceIn("de-AT"), invoiceIn("en"), invoiceIn("tlh")), nil)
	for _, tt := range []struct{ name, target, accepts, want string }{
		{"standard language without a preference", "/invoice/abc", "", "en-IE"},
		{"the language of the browser", "/invoice/abc", "de-CH,en;q=0.8", "de"},
		{"the language of the invoice before that of the browser", "/invoice/of-de-AT", "en", "de"},
		{"English of the invoice before the language of the browser", "/invoice/of-en", "de", "en-IE"},
		{"an unsupported language of the invoice is ignored", "/invoice/of-tlh", "de", "de"},
		{"the language of the address before that of the invoice", "/invoice/of-de-AT?lang=en", "de", "en-IE"},
		{"an unsupported language in the address is ignored", "/invoice/of-de-AT?lang=tlh", "en", "de"},
		{"an invalid language in the address is ignored", "/invoice/abc?lang=%22%3E%3Cb%3E", "de", "de"},
		{"the storefront", "/", "de", "de"},
		{"an error", "/nosuch", "de", "de"},
		{"a link", "/pay/coffee", "de", "de"},
		{"a page for developers is in English", "/embed", "de", "en-IE"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			html := pageFor(t, h, tt.target, tt.accepts).Find("html")
			if got := html.AttrOr("lang", "") + " " + html.AttrOr("dir", ""); got != tt.want+" ltr" {
				t.Errorf("%s for %q is in %s, want %s", tt.target, tt.accepts, got, tt.want)
			}
		})
	}
}

func TestLanguages_page_lists_all_languages(t *testing.T) {
	t.Parallel()
	h := pages(t, newService(presenttest.Invoice("abc")), nil)
	doc := pageFor(t, h, "/invoice/abc?lang=", "de")
	var names []string
	for _, l := range locale.All().List() {
		names = append(names, l.Name)
	}
	got := doc.Find(".languages a").Map(func(_ int, a *goquery.Selection) string { return a.Text() })
	if diff := cmp.Diff(names, got); diff != "" {
		t.Errorf("languages (-want +got):\n%s", diff)
	}
	if got := text(doc.Find("h1")) + " " + text(doc.Find(".languages [aria-current]")); got != "Sprache wählen Deutsch" {
		t.Errorf("the heading and the current language are %q, want Sprache wählen Deutsch", got)
	}
	if got := post(t, h, "/order?lang=", url.Values{"amount": {"5"}}, nil).Header.Get("Location"); got != "/invoice/made1" {
		t.Errorf("a form without a language leads to %q", got)
	}
}

// The standard language is the shop's, and only the offered languages are used.
func TestLanguages_are_limited_to_the_configured_languages(t *testing.T) {
	t.Parallel()
	german, err := locale.All().Subset("de", "de")
	if err != nil {
		t.Fatal(err)
	}
	h := pages(t, newService(presenttest.Invoice("abc")), func(c *web.Config) { c.Languages = german })
	for _, target := range []string{"/invoice/abc", "/invoice/abc?lang=en", "/"} {
		doc := pageFor(t, h, target, "en")
		if got := doc.Find("html").AttrOr("lang", ""); got != "de" {
			t.Errorf("%s is in %s", target, got)
		}
		if n := doc.Find("#language").Length(); n != 0 {
			t.Errorf("%s offers a choice of languages, but only one is offered", target)
		}
	}
}

// A chosen language is kept in the stream, in forms and their redirects, and in links.
func TestLanguage_is_kept_in_links_and_forms(t *testing.T) {
	t.Parallel()
	expired, lateInvoice := presenttest.Invoice("expired"), presenttest.Invoice("late")
	expired.Status, expired.URLFailure, expired.MayRequote, expired.Quotes = api.StatusExpired, "", true, []api.Quote{{Number: 1}}
	lateInvoice.Status, lateInvoice.Exceptions, lateInvoice.Payments = api.StatusExpired, []string{api.ExceptionLate}, []api.Payment{presenttest.Payment("late")}
	test := presenttest.Invoice("abc")
	test.Mode = "test"
	s := newService(test, expired, lateInvoice)
	s.link = api.CheckoutLink{FiatCurrency: "EUR", Mode: "live"}
	h := pages(t, s, nil)
	for _, tt := range []struct{ page, selector, attribute, want string }{
		{"/invoice/abc?lang=de", "#live", "data-self", "/invoice/abc?lang=de"},
		{"/invoice/abc?lang=de", "#simulate", "action", "/invoice/abc/simulate?lang=de"},
		{"/invoice/abc?lang=de", ".m1 .act .only-nojs", "href", "/invoice/abc?lang=de&m=BTC"},
		{"/invoice/abc?auto=1&lang=de", ".m1 .act .only-nojs", "href", "/invoice/abc?auto=1&lang=de&m=BTC"},
		{"/invoice/expired?lang=de", "form.requote", "action", "/invoice/expired/quote?lang=de"},
		{"/invoice/expired?lang=de", ".back", "href", "/?lang=de"},
		{"/invoice/late?lang=de", "#refund", "action", "/invoice/late/refund?lang=de"},
		{"/?lang=de", "form", "action", "/order?lang=de"},
		{"/pay/coffee?lang=de", "form", "action", "/order/pay/coffee?lang=de"},
		{"/pay?amount=1&sig=2&lang=de", "form", "action", "/order/pay?amount=1&sig=2&lang=de"},
		{"/pay?amount=1&sig=2&lang=de", "#language", "href", "?amount=1&sig=2&lang="},
		{"/invoice/abc?m=EURC-BASE", "#language", "href", "?m=EURC-BASE&lang="},
		{"/invoice/abc?m=EURC-BASE&lang=", ".languages a[lang=de]", "href", "?m=EURC-BASE&lang=de"},
		{"/invoice/abc?lang=de", "#language", "href", "?lang="},
		{"/nosuch?x=1&lang=", ".languages a[lang=ar]", "href", "?x=1&lang=ar"},
		{"/invoice/abc", "#live", "data-self", "/invoice/abc"},
	} {
		if got := pageFor(t, h, tt.page, "").Find(tt.selector).First().AttrOr(tt.attribute, "none"); got != tt.want {
			t.Errorf("%s: %s of %s is %q, want %q", tt.page, tt.attribute, tt.selector, got, tt.want)
		}
	}
	stream := pageFor(t, h, "/invoice/abc?lang=de", "").Find("#live").AttrOr("data-stream", "")
	if !strings.HasPrefix(stream, "/invoice/abc/live?v=") || !strings.HasSuffix(stream, "&lang=de") {
		t.Errorf("the address of the stream is %q, want it below /invoice/abc/live with lang=de", stream)
	}
	for _, tt := range []struct {
		target string
		form   url.Values
		want   string
	}{
		{"/order?lang=de", url.Values{"amount": {"5"}}, "/invoice/made1?lang=de"},
		{"/order/pay/coffee?lang=de", url.Values{"amount": {"5"}}, "/invoice/made1?lang=de"},
		{"/invoice/abc/quote?lang=de", url.Values{"quote": {"1"}, "m": {"BTC"}}, "/invoice/abc?m=BTC&lang=de"},
		{"/invoice/abc/quote?lang=de", url.Values{"quote": {"1"}}, "/invoice/abc?lang=de"},
		{"/invoice/abc/refund?lang=de", url.Values{"currency": {"BTC"}, "address": {"bc1q"}}, "/invoice/abc?lang=de#refund"},
		{"/invoice/abc/simulate?lang=de", url.Values{"action": {"exact"}}, "/invoice/abc?lang=de"},
		{"/invoice/abc/simulate?lang=%0d%0atlh", url.Values{"action": {"exact"}}, "/invoice/abc"},
	} {
		if got := post(t, h, tt.target, tt.form, nil).Header.Get("Location"); got != tt.want {
			t.Errorf("POST %s leads to %q, want %q", tt.target, got, tt.want)
		}
	}
	for target, want := range map[string]string{
		"/order?lang=de": "/?lang=de", "/order/pay/coffee?lang=de": "/pay/coffee?lang=de", "/invoice/abc/refund?lang=de": "/invoice/abc?lang=de",
	} {
		if got := get(t, h, target).Header.Get("Location"); got != want {
			t.Errorf("GET %s leads to %q, want %q", target, got, want)
		}
	}
}

// A signed link is checked without the language that the shopper chose.
func TestLanguage_in_the_address_is_no_part_of_a_signed_link(t *testing.T) {
	t.Parallel()
	s := newService()
	s.link = api.CheckoutLink{FiatCurrency: "EUR", Mode: "live", Amount: "5", Language: "de"}
	h := pages(t, s, nil)
	const signed = "amount=5&fiat_currency=EUR&language=de&key=k&sig=aa"
	if got := pageFor(t, h, "/pay?"+signed+"&lang=en", "").Find("html").AttrOr("lang", ""); got != "en-IE" {
		t.Errorf("chosen English, the page is in %s", got)
	}
	if got := pageFor(t, h, "/pay?"+signed, "en").Find("html").AttrOr("lang", ""); got != "de" {
		t.Errorf("the link says German, the page is in %s", got)
	}
	want := []api.CheckoutRequest{{Query: signed}, {Query: signed}}
	if diff := cmp.Diff(want, s.linkReads); diff != "" {
		t.Errorf("requests to the service (-want +got):\n%s", diff)
	}
}

// The stream sends fragments in the page's language.
func TestStream_uses_the_pages_language(t *testing.T) {
	t.Parallel()
	declined := presenttest.Invoice("abc")
	declined.Status, declined.DueAmount = api.StatusDeclined, "0"
	server := httptest.NewServer(pages(t, newService(declined), nil))
	t.Cleanup(server.Close)
	for target, accepts := range map[string]string{"/invoice/abc/live?v=1&lang=de": "en", "/invoice/abc/live?v=1": "de"} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+target, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Accept-Language", accepts)
		response, err := server.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		sent := ""
		for lines := bufio.NewScanner(response.Body); lines.Scan(); {
			sent += lines.Text()
		}
		if !strings.Contains(sent, "Diese Zahlung wurde abgebrochen") || strings.Contains(sent, "cancelled") {
			t.Errorf("%s for %s sends %q", target, accepts, sent)
		}
	}
}

func TestService_messages_are_replaced_on_German_pages(t *testing.T) {
	t.Parallel()
	lateInvoice := presenttest.Invoice("abc")
	lateInvoice.Status, lateInvoice.Exceptions, lateInvoice.Payments = api.StatusExpired, []string{api.ExceptionLate}, []api.Payment{presenttest.Payment("late")}
	for _, tt := range []struct{ name, target, code, message, selector, want string }{
		{"refund", "/invoice/abc/refund", "invalid_address", "address is for another network", "#refund-error", "Fehler: Das ist keine Adresse"},
		{"private key", "/invoice/abc/refund", "private_key", "address is a private key", "#refund-error", "Fehler: Das ist ein privater Schlüssel"},
		{"none", "/invoice/abc/refund", "", "", "#refund-error", "Fehler: Geben Sie eine Adresse ein."},
		{"set", "/invoice/abc/refund", "refund_address_set", "A refund address is set already", "#refund-error", "Fehler: Eine Rückzahlungsadresse ist schon gespeichert"},
		{"amount", "/order", "invalid_amount", "amount must be at least 1 EUR", "#amount-error", "Fehler: Dieser Betrag kann hier nicht bezahlt werden"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newService(lateInvoice)
			s.refusal = &client.Error{Status: 400, Code: tt.code, Message: tt.message}
			s.refusals = []error{s.refusal}
			form := url.Values{"currency": {"BTC"}, "address": {"xyz"}, "amount": {"1"}}
			if tt.code == "" {
				form.Del("address")
			}
			doc := document(t, post(t, pages(t, s, nil), tt.target+"?lang=de", form, nil))
			if got := text(doc.Find(tt.selector)); !strings.HasPrefix(got, tt.want) {
				t.Errorf("the page says %q, want %q", got, tt.want)
			}
			if got := doc.Find("head title").Text(); !strings.HasPrefix(got, "Fehler: ") {
				t.Errorf("title %q", got)
			}
		})
	}
}

// The receipt's fonts have the letters of every language except those written from right to left.
// In such a language the receipt is in English.
func TestReceipt_in_every_language(t *testing.T) {
	t.Parallel()
	h := pages(t, newService(presenttest.Paid(func(r *api.Resource) { r.OverpaidAmount, r.Exceptions = "6.91", []string{api.ExceptionOverpaid} })), nil)
	for _, l := range locale.All().List() {
		got := presenttest.DocumentText(t, get(t, h, "/invoice/abc/receipt.pdf?lang="+l.Code).Body)
		want := l.Text("fact.transaction") + " " + l.Text("fact.reference") + " " + l.Text("summary.total") + " " + l.Text("paid.footing")
		if l.RightToLeft {
			want = "Transaction Reference Total"
		}
		for _, word := range strings.Fields(want) {
			if !strings.Contains(got, word) || strings.Contains(got, "\ufffd") {
				t.Errorf("%s: %q is not in %q, or letters are missing", l.Code, word, got)
			}
		}
	}
}
