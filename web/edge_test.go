package web_test

import (
	"bufio"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"
	"github.com/google/go-cmp/cmp"

	"chequer/internal/api"
	"chequer/internal/client"
	"chequer/static"
	"chequer/web"
	"chequer/web/present/presenttest"
)

func TestEvery_address_keeps_the_base_path(t *testing.T) {
	t.Parallel()
	testInvoice := presenttest.Invoice("test")
	testInvoice.Mode, testInvoice.URLFailure = "test", ""
	expired := presenttest.Invoice("expired")
	expired.Status, expired.URLFailure = api.StatusExpired, ""
	h := pages(t, newService(testInvoice, expired), func(c *web.Config) { c.BasePath = "/pay" })
	for _, page := range []string{"/pay", "/pay/", "/pay/invoice/test", "/pay/invoice/expired", "/pay/invoice/nosuch"} {
		doc := document(t, get(t, h, page))
		links := 0
		for _, name := range []string{"href", "src", "action", "data-self", "data-stream"} {
			doc.Find("[" + name + "]").Each(func(_ int, e *goquery.Selection) {
				link := e.AttrOr(name, "")
				if strings.HasPrefix(link, "#") || strings.HasPrefix(link, "?lang=") || strings.Contains(link, ":") {
					return // a link within the page, to a wallet or to a shop
				}
				links++
				if !strings.HasPrefix(link, "/pay/") {
					t.Errorf("%s: %s=%q leaves the base path", page, name, link)
				}
				if name == "href" || name == "src" {
					if got := get(t, h, link).StatusCode; got != 200 {
						t.Errorf("%s: %q has status %d, want 200", page, link, got)
					}
				}
			})
		}
		if links < 3 {
			t.Errorf("%s has %d links", page, links)
		}
	}
	if got := post(t, h, "/pay/", url.Values{"amount": {"1"}}, nil).Header.Get("Location"); got != "/pay/invoice/made1" {
		t.Errorf("an order leads to %q", got)
	}
	if got := get(t, h, "/invoice/test").StatusCode; got != 404 {
		t.Errorf("outside the base path: %d", got)
	}
}

func TestHeaders_fit_the_kind_of_each_response(t *testing.T) {
	t.Parallel()
	h := pages(t, newService(presenttest.Invoice("abc")), nil)
	want := map[string]string{
		"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
			"form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types live",
		"Permissions-Policy":         "clipboard-write=(self), camera=(), microphone=(), geolocation=(), payment=()",
		"Referrer-Policy":            "no-referrer",
		"X-Content-Type-Options":     "nosniff",
		"Cross-Origin-Opener-Policy": "same-origin",
		"X-Robots-Tag":               "noindex",
		"Set-Cookie":                 "",
	}
	invoice := maps.Clone(want) // the shop to which the page leads back may show it in a frame
	invoice["Content-Security-Policy"] = strings.Replace(want["Content-Security-Policy"], "'none'; require", "'self' https://shop.example; require", 1)
	asset := map[string]string{"X-Content-Type-Options": "nosniff"}
	picture := map[string]string{"X-Content-Type-Options": "nosniff", "Content-Security-Policy": "default-src 'none'"}
	for _, tt := range []struct {
		target, cache string
		want          map[string]string
	}{
		{"/", "private, no-cache", want},
		{"/invoice/abc", "no-store", invoice},
		{"/invoice/nosuch", "no-store", want},
		{"/nosuch", "no-store", want},
		{"/robots.txt", "public, max-age=86400", want},
		{"/static/pay.0000000.css", "no-store", want},
		{"/favicon.ico", "public, max-age=86400", picture},
		{static.Path("icon.svg"), "public, max-age=31536000, immutable", picture},
		{static.Path("pay.css"), "public, max-age=31536000, immutable", asset},
		{static.Path("pay.js"), "public, max-age=31536000, immutable", asset},
	} {
		header := get(t, h, tt.target).Header
		for name := range want {
			if got := header.Get(name); got != tt.want[name] {
				t.Errorf("%s: %s = %q, want %q", tt.target, name, got, tt.want[name])
			}
		}
		if got := header.Get("Cache-Control"); got != tt.cache {
			t.Errorf("%s: Cache-Control = %q, want %q", tt.target, got, tt.cache)
		}
	}
}

// C71: no request makes the server redirect a browser to another site.
func TestRedirects_never_lead_to_another_site(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(pages(t, newService(), nil))
	t.Cleanup(server.Close)
	for _, path := range []string{
		"/%5Cevil.example", "/%5Cevil.example/", "//evil.example", "//evil.example/", "//evil.example/%2f..", "/%5C%5Cevil.example/",
		"/static//evil.example%2f..", "/static/..//evil.example", "/static/../../etc/passwd", "///evil.example//", "/invoice//evil.example",
		"/invoice/..%2f..%2fevil.example", "/login?next=//evil.example", "/.", "/static/", "/static", "/invoice",
	} {
		for _, method := range []string{"GET", "POST"} {
			answer := sendRaw(t, server.Listener.Addr().String(), method, path)
			if answer.StatusCode != 404 && answer.StatusCode != 405 {
				t.Errorf("%s %s has status %d, want 404 or 405", method, path, answer.StatusCode)
			}
			if got := answer.Header.Get("Location"); got != "" {
				t.Errorf("%s %s leads to %q", method, path, got)
			}
		}
	}
}

// sendRaw sends a request with the path unchanged. HTTP clients would clean it.
func sendRaw(t *testing.T, address, method, path string) *http.Response {
	t.Helper()
	connection, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	if _, err := io.WriteString(connection, method+" "+path+" HTTP/1.1\r\nHost: shop.example\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	answer, err := http.ReadResponse(bufio.NewReader(connection), nil)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return answer
}

func TestForms_of_other_sites_are_refused(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		header map[string]string
		want   int
	}{
		{"form of this site", map[string]string{"Sec-Fetch-Site": "same-origin", "Origin": "null"}, 303},
		{"client without browser headers", nil, 303},
		{"form of this site over plain HTTP, where a page without referrer has no origin", map[string]string{"Origin": "null"}, 303},
		{"form of this site behind a proxy that changes the host", map[string]string{"Origin": "https://pay.example"}, 303},
		{"form of another site", map[string]string{"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"}, 403},
		{"form of another site with origin null", map[string]string{"Sec-Fetch-Site": "cross-site", "Origin": "null"}, 403},
		{"form of another site in an old browser", map[string]string{"Origin": "https://evil.example"}, 403},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := pages(t, newService(), func(c *web.Config) { c.BaseURL = "https://pay.example/shop" })
			if got := post(t, h, "/", url.Values{"amount": {"1"}}, tt.header).StatusCode; got != tt.want {
				t.Errorf("status %d, want %d", got, tt.want)
			}
		})
	}
}

func TestSimulate_forwards_only_known_actions(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name      string
		form      url.Values
		refusal   error
		status    int
		location  string
		simulated []api.SimulateRequest
	}{
		{"with the chosen method", url.Values{"action": {"exact"}, "method": {"BTC"}}, nil, 303, "/invoice/abc?m=BTC", []api.SimulateRequest{{Action: "exact", PaymentMethod: "BTC"}}},
		{"without a method", url.Values{"action": {"confirm"}}, nil, 303, "/invoice/abc", []api.SimulateRequest{{Action: "confirm"}}},
		{"a day passes", url.Values{"action": {"day"}}, nil, 303, "/invoice/abc", []api.SimulateRequest{{Action: "clock", Seconds: 86400}}},
		{"an unknown span", url.Values{"action": {"year"}}, nil, 422, "", nil},
		{"a clock without a span", url.Values{"action": {"clock"}}, nil, 422, "", nil},
		{"a method cannot change the host of the redirect", url.Values{"action": {"exact"}, "method": {"//x&y"}}, nil, 303, "/invoice/abc?m=%2F%2Fx%26y", []api.SimulateRequest{{Action: "exact", PaymentMethod: "//x&y"}}},
		{"an unknown action", url.Values{"action": {"rob"}}, nil, 422, "", nil},
		{"no action", nil, nil, 422, "", nil},
		{"refused", url.Values{"action": {"late"}}, &client.Error{Status: 409, Message: "The price is still held."}, 303, "/invoice/abc?refused=changed", []api.SimulateRequest{{Action: "late"}}},
		{"not a test invoice", url.Values{"action": {"late"}}, client.ErrNotFound, 404, "", []api.SimulateRequest{{Action: "late"}}},
		{"not offered", url.Values{"action": {"late"}}, client.ErrUnsupported, 404, "", []api.SimulateRequest{{Action: "late"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newService(presenttest.Invoice("abc"))
			s.refusal = tt.refusal
			response := post(t, pages(t, s, nil), "/invoice/abc/simulate", tt.form, nil)
			if got := response.Header.Get("Location"); response.StatusCode != tt.status || got != tt.location {
				t.Errorf("status %d to %q, want %d to %q", response.StatusCode, got, tt.status, tt.location)
			}
			if diff := cmp.Diff(tt.simulated, s.simulated); diff != "" {
				t.Errorf("requests to the service (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAssets_and_pages_are_compressed(t *testing.T) {
	t.Parallel()
	h := pages(t, newService(presenttest.Invoice("abc")), nil)
	for _, target := range []string{static.Path("pay.css"), "/invoice/abc"} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, target, nil)
		r.Header.Set("Accept-Encoding", "gzip")
		response := do(h, r)
		if got := response.Header["Content-Encoding"]; !cmp.Equal(got, []string{"gzip"}) {
			t.Errorf("%s: Content-Encoding = %q", target, got)
		}
		if got := response.Header.Get("Vary"); got != "Accept-Encoding" {
			t.Errorf("%s: Vary = %q", target, got)
		}
	}
}

func TestAnswers_have_only_codings_that_are_accepted(t *testing.T) {
	t.Parallel()
	h := pages(t, newService(presenttest.Invoice("abc")), nil)
	for _, tt := range []struct{ accepted, page, asset string }{
		{"", "", ""},
		{"gzip, br", "gzip", "br"},
		{"gzip, br;q=0", "gzip", "gzip"},
		{"br;q=0.000, gzip;q=0.5", "gzip", "gzip"},
		{"br, gzip;q=0", "", "br"},
		{"br ; Q=0, gzip;q=0.0", "", ""},
		{"*", "gzip", "br"},
		{"*;q=0", "", ""},
		{"br;q=0, *", "gzip", "gzip"},
		{"brotli, xgzip", "", ""},
		{"GZIP", "gzip", "gzip"}, // see RFC 9110, 8.4.1
		{"gzip;q=junk", "", ""},
	} {
		for target, want := range map[string]string{"/invoice/abc": tt.page, static.Path("pay.css"): tt.asset} {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, target, nil)
			r.Header.Set("Accept-Encoding", tt.accepted)
			if got := do(h, r).Header.Get("Content-Encoding"); got != want {
				t.Errorf("%s with Accept-Encoding %q: Content-Encoding %q, want %q", target, tt.accepted, got, want)
			}
		}
	}
}

func TestPayment_keeps_amounts_and_addresses_from_translation(t *testing.T) {
	t.Parallel()
	doc := document(t, get(t, pages(t, newService(presenttest.Invoice("abc")), nil), "/invoice/abc"))
	for _, selector := range []string{"#live code.addr", "#live code.num", "#live .unit", "#live .v.num bdi"} {
		found := doc.Find(selector)
		if untranslated := found.Filter(`[translate="no"]`); found.Length() == 0 || untranslated.Length() != found.Length() {
			t.Errorf("%d of %d %s have translate=no", untranslated.Length(), found.Length(), selector)
		}
	}
}

func TestForms_with_a_content_coding_are_refused(t *testing.T) {
	t.Parallel()
	for coding, want := range map[string]int{"gzip": 415, "br": 415, "identity": 303, "": 303} {
		s := newService()
		response := post(t, pages(t, s, nil), "/", url.Values{"amount": {"1"}, "token": {token}}, map[string]string{"Content-Encoding": coding})
		if response.StatusCode != want {
			t.Errorf("Content-Encoding %q: status %d, want %d", coding, response.StatusCode, want)
		}
		if want == 415 && (response.Header.Get("Accept-Encoding") != "identity" || len(s.created) > 0) {
			t.Errorf("Content-Encoding %q: Accept-Encoding %q, %d invoices", coding, response.Header.Get("Accept-Encoding"), len(s.created))
		}
	}
}
