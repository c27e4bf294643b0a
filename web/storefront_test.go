package web_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/api"
	"chequer/internal/client"
	"chequer/internal/locale"
	"chequer/web"
	"chequer/web/present/presenttest"
)

const token = "abcdefghijklmnop"

func TestOrder_accepts_amounts(t *testing.T) {
	t.Parallel()
	for typed, want := range map[string]string{
		"12": "12", "12.50": "12.50", "12,50": "12.50", " 12,5 ": "12.5", "0.01": "0.01", "007": "7", "9999999.99": "9999999.99",
	} {
		t.Run(typed, func(t *testing.T) {
			t.Parallel()
			s := newService()
			response := post(t, pages(t, s, nil), "/", url.Values{"amount": {typed}, "token": {token}}, nil)
			if response.StatusCode != http.StatusSeeOther || response.Header.Get("Location") != "/invoice/made1" {
				t.Errorf("status %d to %q, want 303 to the invoice", response.StatusCode, response.Header.Get("Location"))
			}
			wantRequests := []api.InvoiceRequest{{Amount: json.Number(want), FiatCurrency: "EUR"}}
			if diff := cmp.Diff(wantRequests, s.created); diff != "" {
				t.Errorf("requests to the service (-want +got):\n%s", diff)
			}
		})
	}
}

func TestOrder_refuses_amounts(t *testing.T) {
	t.Parallel()
	for _, typed := range []string{
		"1.234,56", "1,234.56", "1 234.56", "1'234.56", "12,345", "1,50,", "1.2.3", // C08: with a thousands separator read as a decimal point they are another price
		"", "0", "0,00", "-5", "+5", "1e3", "0x10", "NaN", "12.505", "12345678", "€5", "5 €", "١٢", "<b>5</b>", `"5"`,
	} {
		t.Run(typed, func(t *testing.T) {
			t.Parallel()
			s := newService()
			response := post(t, pages(t, s, nil), "/", url.Values{"amount": {typed}, "token": {token}}, nil)
			if response.StatusCode != http.StatusUnprocessableEntity {
				t.Errorf("status %d, want 422", response.StatusCode)
			}
			if len(s.created) > 0 {
				t.Errorf("created an invoice: %v", s.created)
			}
			doc := document(t, response)
			if got := doc.Find("#amount").AttrOr("value", "none"); got != typed {
				t.Errorf("the field contains %q, want the typed amount", got)
			}
			if got := doc.Find("#amount-error").Length(); got != 1 {
				t.Errorf("%d messages at the field", got)
			}
			if got := doc.Find("head title").Text(); got != "Error: Pay Shop" {
				t.Errorf("title = %q", got)
			}
			if got := doc.Find("[name=token]").AttrOr("value", ""); got != token {
				t.Errorf("the token field contains %q", got)
			}
		})
	}
}

func TestOrder_makes_one_call_of_the_service(t *testing.T) {
	t.Parallel()
	s := newService()
	post(t, pages(t, s, nil), "/order", url.Values{"amount": {"12.50"}, "token": {token}, "note": {"x"}}, nil)
	if s.calls != 1 || len(s.created) != 1 {
		t.Errorf("%d calls, of which %d create an invoice, want one", s.calls, len(s.created))
	}
}

// A form that is rendered again has the same theme and language.
func TestOrder_that_is_refused_keeps_language_and_theme(t *testing.T) {
	t.Parallel()
	s := withTheme(presenttest.Theme(t), presenttest.Invoice("abc"))
	s.offers = coffeeShop().offers
	doc := document(t, post(t, pages(t, s, nil), "/order?lang=de", url.Values{"amount": {"x"}, "token": {token}}, nil))
	for selector, want := range map[string]int{
		`html[lang=de]`: 1, `link[rel=stylesheet][href^="/look/"]`: 1, `img.mark`: 1, `a[href="/shop?lang=de"]`: 1, `form[action="/order?lang=de"]`: 1,
	} {
		if got := doc.Find(selector).Length(); got != want {
			t.Errorf("%d of %s, want %d", got, selector, want)
		}
	}
}

func TestOrder_shows_an_amount_error_once(t *testing.T) {
	t.Parallel()
	doc := document(t, post(t, pages(t, newService(), nil), "/", url.Values{"amount": {"x"}}, nil))
	if got := text(doc.Find(".err")); got != "Check the amount" {
		t.Errorf("the summary says %q", got)
	}
	if n := doc.Find(`.err a[href="#amount"]`).Length(); n != 1 {
		t.Errorf("%d links to the field", n)
	}
	if got := text(doc.Find("#amount-error")); !strings.Contains(got, "Enter the amount in figures") {
		t.Errorf("the field says %q", got)
	}
}

func TestOrder_sent_twice_creates_one_invoice(t *testing.T) {
	t.Parallel()
	s := newService()
	h := pages(t, s, nil)
	for _, amount := range []string{"12,50", "12.50", "13"} {
		post(t, h, "/", url.Values{"amount": {amount}, "token": {token}}, nil)
	}
	post(t, h, "/", url.Values{"amount": {"12.50"}, "token": {token + "2"}}, nil)
	form := "storefront-form:" + token
	want := []string{form + "-12.50-EUR", form + "-12.50-EUR", form + "-13-EUR", form + "2-12.50-EUR"}
	if diff := cmp.Diff(want, s.keys); diff != "" {
		t.Errorf("idempotency keys (-want +got):\n%s", diff)
	}
}

func TestOrder_is_repeated_while_the_first_request_runs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newService()
		s.refusals = []error{&client.Error{Status: 409}}
		response := post(t, pages(t, s, nil), "/", url.Values{"amount": {"5"}, "token": {token}}, nil)
		if response.StatusCode != http.StatusSeeOther {
			t.Errorf("status %d, want 303 after the first click is done", response.StatusCode)
		}
	})
}

func TestStorefront_tokens_differ(t *testing.T) {
	t.Parallel()
	h := pages(t, newService(), nil)
	read := func() string {
		return document(t, get(t, h, "/")).Find("[name=token]").AttrOr("value", "")
	}
	if first, second := read(), read(); len(first) < 16 || first == second {
		t.Errorf("tokens %q and %q", first, second)
	}
}

func TestOrder_shows_the_refusal_of_the_service(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		err      error
		status   int
		selector string
		retry    string
	}{
		{"the message of the service is shown at the field", &client.Error{Status: 400, Message: "The smallest amount is 2 EUR."}, 422, `#amount-error:contains("The smallest amount is 2 EUR.")`, ""},
		{"no rates", &client.Error{Status: 503, Code: "no_rate", Message: "secret detail"}, 503, `.err p:contains("There are no prices at the moment")`, "10"},
		{"no database", &client.Error{Status: 503, Code: "unavailable", Message: "secret detail"}, 503, `.err p:contains("Payments cannot be taken right now")`, "10"},
		{"no reason", &client.Error{Status: 503, Message: "secret detail"}, 503, `.err p:contains("Payments cannot be taken right now")`, "10"},
		{"too many", &client.Error{Status: 429}, 429, `.err p:contains("Wait half a minute")`, "30"},
		{"many are unpaid", &client.Error{Status: 429, Code: "too_many_unpaid"}, 429, `.err p:contains("Many invoices at this shop are unpaid")`, "30"},
		{"many of the network are unpaid", &client.Error{Status: 429, Code: "too_many_unpaid_from_network"}, 429, `.err p:contains("opened from your network")`, "30"},
		{"the key of the pages is refused", &client.Error{Status: 403, Message: "Bad key header"}, 500, `.err p:contains("It is our fault")`, ""},
		{"not reachable", &url.Error{Op: "Post", URL: "http://service/", Err: errors.New("connection refused")}, 503, `h1:contains("Not available")`, "10"},
		{"another error", errors.New("secret detail"), 500, `h1:contains("Something went wrong")`, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newService()
			s.refusals = []error{tt.err}
			response := post(t, pages(t, s, nil), "/", url.Values{"amount": {"1"}, "token": {token}}, nil)
			if response.StatusCode != tt.status || response.Header.Get("Retry-After") != tt.retry {
				t.Errorf("status %d, retry after %q, want %d and %q", response.StatusCode, response.Header.Get("Retry-After"), tt.status, tt.retry)
			}
			doc := document(t, response)
			if got := doc.Find(tt.selector).Length(); got != 1 {
				t.Errorf("%d of %q in %s", got, tt.selector, doc.Find("main").Text())
			}
			if got := doc.Find(`body:contains("secret"), body:contains("Bad key")`).Length(); got != 0 {
				t.Error("the page shows internal details")
			}
		})
	}
}

func TestStorefront_can_be_disabled(t *testing.T) {
	t.Parallel()
	h := pages(t, newService(), func(c *web.Config) { c.Storefront = false })
	response := get(t, h, "/")
	if doc := document(t, response); response.StatusCode != 200 || doc.Find("form").Length() != 0 {
		t.Errorf("status %d with %d forms", response.StatusCode, doc.Find("form").Length())
	}
	if response := post(t, h, "/", url.Values{"amount": {"1"}}, nil); response.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("POST has status %d, want 405", response.StatusCode)
	}
}

// The storefront and the languages change while the program runs.
func TestPages_follow_the_current_settings(t *testing.T) {
	t.Parallel()
	all := locale.All()
	few, err := all.Subset("de", "de", "en")
	if err != nil {
		t.Fatal(err)
	}
	current := web.ShopSettings{Languages: all, Storefront: true}
	h := pages(t, newService(), func(c *web.Config) {
		c.ShopSettings = func(context.Context, string) web.ShopSettings { return current }
	})
	for range 2 {
		doc := document(t, get(t, h, "/?lang=fr"))
		if forms, language := doc.Find("form").Length(), doc.Find("html").AttrOr("lang", ""); forms != 1 || language != "fr" {
			t.Errorf("with the storefront: %d forms in %s", forms, language)
		}
		current = web.ShopSettings{Languages: few}
		doc = document(t, get(t, h, "/?lang=fr"))
		if forms, language := doc.Find("form").Length(), doc.Find("html").AttrOr("lang", ""); forms != 0 || language != "de" {
			t.Errorf("without the storefront: %d forms in %s", forms, language)
		}
		if n := document(t, get(t, h, "/?lang=")).Find("main li").Length(); n != 2 {
			t.Errorf("%d languages are listed, want 2", n)
		}
		for _, target := range []string{"/order", "/"} {
			if status := post(t, h, target, url.Values{"amount": {"1"}}, nil).StatusCode; status != http.StatusNotFound && status != http.StatusMethodNotAllowed {
				t.Errorf("POST %s without the storefront has status %d, want 404 or 405", target, status)
			}
		}
		if status := get(t, h, "/order").StatusCode; status != http.StatusNotFound {
			t.Errorf("GET /order without the storefront has status %d, want 404", status)
		}
		current = web.ShopSettings{Languages: all, Storefront: true}
	}
}

// The form for an open amount asks for an amount in the currency of the shop, and creates an invoice in it.
func TestOrder_is_in_the_currency_of_the_shop(t *testing.T) {
	t.Parallel()
	for currency, want := range map[string]struct{ label, currency string }{"": {"Amount in euros", "EUR"}, "CHF": {"Amount in CHF", "CHF"}} {
		service := newService()
		h := pages(t, service, func(c *web.Config) {
			c.ShopSettings = func(context.Context, string) web.ShopSettings {
				return web.ShopSettings{Languages: locale.All(), Storefront: true, Currency: currency}
			}
		})
		if label := document(t, get(t, h, "/")).Find(`label[for="amount"]`).Text(); label != want.label {
			t.Errorf("currency %q: the label is %q, want %q", currency, label, want.label)
		}
		post(t, h, "/order", url.Values{"amount": {"12.50"}, "token": {"abc"}}, nil)
		if len(service.created) != 1 || service.created[0].FiatCurrency != want.currency {
			t.Errorf("currency %q: created %+v, want an invoice in %s", currency, service.created, want.currency)
		}
	}
}

func TestOrder_limits_the_posts_of_larger_address_blocks(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		shift, limit int
	}{"in_a_56": {0, 8}, "in_a_48": {8, 32}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := pages(t, newService(), func(c *web.Config) { c.PostsPerMinute = 1 })
			allowed := 0
			for n := range 50 {
				r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader("amount=1"))
				r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
				r.RemoteAddr = fmt.Sprintf("[2001:db8:1:%x::1]:1234", n<<tt.shift)
				if do(h, r).StatusCode == http.StatusSeeOther {
					allowed++
				}
			}
			if allowed != tt.limit {
				t.Errorf("%d posts are allowed, want %d", allowed, tt.limit)
			}
		})
	}
}

func TestSimulate_limits_the_posts_of_a_network(t *testing.T) {
	t.Parallel()
	s := newService(presenttest.Invoice("abc"))
	h := pages(t, s, func(c *web.Config) { c.PostsPerMinute = 1 })
	var got []int
	for range 8 {
		got = append(got, post(t, h, "/invoice/abc/simulate", url.Values{"action": {"exact"}}, nil).StatusCode)
	}
	if diff := cmp.Diff(got, []int{303, 303, 303, 303, 303, 303, 429, 429}); diff != "" {
		t.Errorf("answers (-got +want):\n%s", diff)
	}
	if len(s.simulated) != 6 {
		t.Errorf("%d simulations reach the service, want 6", len(s.simulated))
	}
}

func TestOrder_limits_the_posts_of_an_address(t *testing.T) {
	t.Parallel()
	h := pages(t, newService(), func(c *web.Config) { c.PostsPerMinute = 1 })
	var got []int
	for range 3 {
		response := post(t, h, "/", url.Values{"amount": {"1"}, "token": {token}}, map[string]string{"X-Forwarded-For": "192.0.2.7"})
		got = append(got, response.StatusCode)
	}
	if diff := cmp.Diff([]int{303, 303, 429}, got); diff != "" {
		t.Error(diff)
	}
}

func TestStorefront_asks_for_a_reference_and_a_note(t *testing.T) {
	t.Parallel()
	s := newService()
	h := pages(t, s, nil)
	form := url.Values{"amount": {"12.50"}, "token": {token}, "order_reference": {" 10\u202e42\x00 "}, "note": {"For\r\nthe bench"}}
	for range 2 {
		post(t, h, "/order", form, nil)
	}
	form.Set("note", "For the table")
	post(t, h, "/order", form, nil)
	// A shopper can type the number of any order, so the reference does not become the order_id.
	want := api.InvoiceRequest{
		Amount: "12.50", FiatCurrency: "EUR", Description: "1042", Metadata: map[string]string{"order_reference": "1042", "note": "For\nthe bench"},
	}
	if diff := cmp.Diff(s.created[0], want); diff != "" {
		t.Errorf("request (-got +want):\n%s", diff)
	}
	if s.keys[0] != s.keys[1] || s.keys[1] == s.keys[2] {
		t.Errorf("the idempotency keys are %q, want the first two equal and the third different", s.keys)
	}
	form.Set("order_reference", strings.Repeat("é", 65))
	response := post(t, h, "/order", form, nil)
	doc := document(t, response)
	if response.StatusCode != http.StatusUnprocessableEntity || doc.Find(`.err a[href="#order_reference"]`).Length() != 1 || doc.Find("details[open] #note").Text() != "For the table" || len(s.created) != 3 {
		t.Errorf("a long reference has status %d, want 422 with its error, the note and no invoice: %s", response.StatusCode, doc.Find("main").Text())
	}
}

// A service that implements only the specification accepts neither a reference nor a note.
func TestStorefront_of_a_service_with_the_specification_only_has_no_fields_for_texts(t *testing.T) {
	t.Parallel()
	s := newService()
	s.productsErr = client.ErrUnsupported
	h := pages(t, s, nil)
	if doc := document(t, get(t, h, "/")); doc.Find("#note").Length() != 0 {
		t.Error("the form has a field for a note")
	}
	post(t, h, "/order", url.Values{"amount": {"5"}, "token": {token}, "note": {"x"}, "order_reference": {"y"}}, nil)
	if diff := cmp.Diff(s.created, []api.InvoiceRequest{{Amount: "5", FiatCurrency: "EUR"}}); diff != "" {
		t.Errorf("request (-got +want):\n%s", diff)
	}
}
