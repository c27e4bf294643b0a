package web_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"chequer/internal/api"
	"chequer/views"
	"chequer/web/present/presenttest"
)

func TestPaymentPage(t *testing.T) {
	t.Parallel()
	paid := func(r *api.Resource) { *r = presenttest.Paid(func(*api.Resource) {}) }
	for _, tt := range []struct {
		name     string
		target   string
		change   func(*api.Resource)
		selector string
		want     int
	}{
		{"m opens a method", "/invoice/abc?m=EURC-BASE", nil, "#m2[checked]", 1},
		{"an unknown method opens the first", "/invoice/abc?m=%3Cb%3E", nil, "#m1[checked]", 1},
		// C70
		{"an address in the query is ignored", "/invoice/abc?url_success=https://evil.example/&url_failure=https://evil.example/", paid, `a#return[href="https://shop.example/thanks?order=1042&invoice=abc"]`, 1},
		{"no link leads to an address in the query", "/invoice/abc?url_success=https://evil.example/", paid, `[href^="https://evil"], [action^="https://evil"]`, 0},
		{"links keep auto", "/invoice/abc?auto=1", nil, `a[href="/invoice/abc?auto=1&m=BTC"]`, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := presenttest.Invoice("abc")
			if tt.change != nil {
				tt.change(&r)
			}
			doc := document(t, get(t, pages(t, newService(r), nil), tt.target))
			if got := doc.Find(tt.selector).Length(); got != tt.want {
				t.Errorf("%d of %q, want %d", got, tt.selector, tt.want)
			}
		})
	}
}

func TestPaymentPage_has_the_status_and_refresh_of_its_address(t *testing.T) {
	t.Parallel()
	paid := presenttest.Paid(func(r *api.Resource) { r.ForeignID = "paid" })
	h := pages(t, newService(presenttest.Invoice("abc"), paid), nil)
	for _, tt := range []struct {
		method, target string
		status         int
		refresh        string
	}{
		{http.MethodGet, "/invoice/abc", 200, ""},
		{http.MethodHead, "/invoice/abc", 200, ""},
		{http.MethodGet, "/invoice/abc?auto=1", 200, "20"},
		{http.MethodGet, "/invoice/paid?auto=1", 200, ""},
		{http.MethodGet, "/invoice/nosuch", 404, ""},
		{http.MethodGet, "/invoice/ab%20c", 404, ""},
		{http.MethodGet, "/invoice/..%2fabc", 404, ""},
		{http.MethodGet, "/invoice/" + strings.Repeat("a", 65), 404, ""},
		{http.MethodGet, "/invoice/", 404, ""},
		{http.MethodGet, "/invoice/abc/", 404, ""},
		{http.MethodPost, "/invoice/abc", 405, ""},
	} {
		response := do(h, httptest.NewRequestWithContext(t.Context(), tt.method, tt.target, nil))
		if response.StatusCode != tt.status {
			t.Errorf("%s %s = %d, want %d", tt.method, tt.target, response.StatusCode, tt.status)
		}
		if got := response.Header.Get("Refresh"); got != tt.refresh {
			t.Errorf("%s: Refresh = %q, want %q", tt.target, got, tt.refresh)
		}
		if got := response.Header.Get("Content-Type"); !strings.HasPrefix(got, "text/html") {
			t.Errorf("%s: Content-Type = %q", tt.target, got)
		}
	}
}

// The code with the amount takes the most time and bytes of a page, and few shoppers want it. It is drawn
// on the page that the method links to.
func TestPayment_shows_the_code_with_the_amount_when_asked(t *testing.T) {
	t.Parallel()
	inv := presenttest.Invoice("abc")
	h := pages(t, newService(inv), nil)
	doc := document(t, get(t, h, "/invoice/abc?lang=de"))
	link := doc.Find("a#m2-more").AttrOr("href", "")
	if want := "/invoice/abc?lang=de&m=EURC-BASE&amount=1#m2-more"; link != want {
		t.Fatalf("the link is %q, want %q", link, want)
	}
	doc = document(t, get(t, h, strings.TrimSuffix(link, "#m2-more")))
	for selector, want := range map[string]int{
		"details#m2-more[open] .qr svg": 1, "#m2[checked]": 1, `#m2-more a#m2-second[href^="ethereum:"]`: 1, "a.more, p.more": 0, ".qr svg": 3,
	} {
		if got := doc.Find(selector).Length(); got != want {
			t.Errorf("%d of %s, want %d", got, selector, want)
		}
	}
	code, err := views.NewQR(inv.PaymentMethods[1].PaymentCode)
	if err != nil || doc.Find("#m2-more path[d='"+code.Path+"']").Length() != 1 {
		t.Errorf("the code is not that of the payment link (%v)", err)
	}
}

// The script of a page without a stream polls. While nothing changes, the page is not rendered.
func TestPayment_is_not_rendered_for_a_page_that_shows_its_version(t *testing.T) {
	t.Parallel()
	h := pages(t, newService(presenttest.Invoice("abc")), nil)
	version := document(t, get(t, h, "/invoice/abc")).Find("#live").AttrOr("data-v", "")
	for tag, want := range map[string]int{"": 200, `"` + version + `"`: 304, `"other"`: 200, "*": 200} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/invoice/abc", nil)
		r.Header.Set("If-None-Match", tag)
		response := do(h, r)
		body, err := io.ReadAll(response.Body)
		if err != nil || response.StatusCode != want || (len(body) == 0) != (want == 304) {
			t.Errorf("If-None-Match %s: status %d with %d bytes, want %d", tag, response.StatusCode, len(body), want)
		}
	}
}

func TestAddresses_that_plugins_make(t *testing.T) {
	t.Parallel()
	h := pages(t, newService(presenttest.Requotable(nil)), nil)
	for target, want := range map[string]string{
		"/i/abc": "/invoice/abc", "/i/abc/BTC-CHAIN": "/invoice/abc", "/invoices/abc": "/invoice/abc", "/invoice?id=abc": "/invoice/abc",
		"/invoice?id=abc&view=modal": "/invoice/abc?view=modal", "/i/abc?view=modal&lang=de": "/invoice/abc?view=modal&lang=de",
	} {
		if got := get(t, h, target); got.StatusCode != 303 || got.Header.Get("Location") != want {
			t.Errorf("GET %s: %d to %s", target, got.StatusCode, got.Header.Get("Location"))
		}
	}
	for _, target := range []string{"/i/a.b", "/invoice", "/invoice?id=../desk", "/invoices/%2e%2e"} {
		if got := get(t, h, target); got.StatusCode != http.StatusNotFound {
			t.Errorf("GET %s: %d, want 404", target, got.StatusCode)
		}
	}
}
