package web_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"chequer/internal/api"
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

func TestPaymentPage_status(t *testing.T) {
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
