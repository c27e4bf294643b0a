package web_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"chequer/internal/api"
	"chequer/web"
	"chequer/web/present/presenttest"
)

const origins = "https://shop.example https://www.shop.example:8443"

// embedding configures pages that two origins may frame.
func embedding(c *web.Config) {
	c.BaseURL, c.EmbedOrigins = "https://pay.example", strings.Fields(origins)
}

// C73: listed origins may frame payment pages, and no origin may frame any other page.
func TestFrame_ancestors_are_the_listed_origins(t *testing.T) {
	t.Parallel()
	for _, base := range []string{"", "/pay"} {
		listed := pages(t, checkoutService(nil), func(c *web.Config) { embedding(c); c.BasePath = base })
		unlisted := pages(t, checkoutService(nil), func(c *web.Config) { c.BasePath = base })
		for target, framed := range map[string]bool{
			"/invoice/abc": true, "/pay?" + signed: true, "/pay/coffee": true, "/order/pay/coffee": true,
			"/": false, "/order": false, "/embed": false, "/embed?link=coffee": false, "/embed?link=x:y": false,
			"/nothing": false, "/robots.txt": false, "/static/none": false,
		} {
			want := "; frame-ancestors 'none';"
			if got := get(t, unlisted, base+target).Header.Get("Content-Security-Policy"); !strings.Contains(got, want) {
				t.Errorf("%s with no origin listed: %s", base+target, got)
			}
			if framed {
				want = "; frame-ancestors 'self' " + origins + ";"
			}
			header := get(t, listed, base+target).Header
			if got := header.Get("Content-Security-Policy"); !strings.Contains(got, want) {
				t.Errorf("%s: %s", base+target, got)
			}
			if got := header.Get("X-Frame-Options"); got != "" {
				t.Errorf("%s contradicts the policy: X-Frame-Options %s", base+target, got)
			}
		}
	}
}

func TestFramed_pages_send_messages_to_listed_origins_only(t *testing.T) {
	t.Parallel()
	s := checkoutService(nil)
	s.set(presenttest.Invoice("abc"))
	for target, want := range map[string]int{"/invoice/abc": 1, "/pay/coffee": 1, "/": 0, "/embed?link=coffee": 0} {
		if got := document(t, get(t, pages(t, s, embedding), target)).Find(`script[data-origins="` + origins + `"]`).Length(); got != want {
			t.Errorf("%s has %d scripts for the embedding page, want %d", target, got, want)
		}
		if got := document(t, get(t, pages(t, s, nil), target)).Find(`script[data-origins]`).Length(); got != 0 {
			t.Errorf("%s has %d scripts with origins, want none without listed origins", target, got)
		}
	}
	doc := document(t, get(t, pages(t, s, embedding), "/invoice/abc"))
	if got := doc.Find(`#live[data-status=created], a#back[target=_top]`).Length(); got != 2 {
		t.Error("the page lacks data-status, or its link to the shop would open within the frame")
	}
	if got := doc.Find(`a[href^="bitcoin:"]:not([target=_top])`).Length(); got != 0 {
		t.Errorf("%d wallet links would open within the frame", got)
	}
}

// The origin of the shop of an invoice may frame the invoice's page, as the listed origins may. Only a page in a frame has the
// script that sends messages.
func TestFramed_by_the_shop_of_an_invoice(t *testing.T) {
	t.Parallel()
	own := "https://shop.example"
	for name, tt := range map[string]struct {
		success string
		listed  string
		target  string
		dest    string // value of Sec-Fetch-Dest
		want    string // frame-ancestors
		origins string // of the script
	}{
		"in no frame":               {own + "/thanks", "", "/invoice/abc", "document", "'self' " + own, ""},
		"in a frame":                {own + "/thanks", "", "/invoice/abc?m=BTC", "iframe", "'self' " + own, own},
		"in a frame, old browser":   {own + "/thanks", "", "/invoice/abc?view=modal", "", "'self' " + own, own},
		"languages":                 {own + "/thanks", "", "/invoice/abc?lang=", "iframe", "'self' " + own, own},
		"languages in no frame":     {own + "/thanks", "", "/invoice/abc?lang=", "document", "'none'", ""},
		"another port":              {"http://localhost:8080/?a=1", "", "/invoice/abc", "iframe", "'self' http://localhost:8080", "http://localhost:8080"},
		"beside a listed origin":    {own + "/thanks", "https://b.example", "/invoice/abc", "iframe", "'self' https://b.example " + own, "https://b.example " + own},
		"listed, in no frame":       {own + "/thanks", "https://b.example", "/invoice/abc", "document", "'self' https://b.example " + own, "https://b.example"},
		"is a listed origin":        {own + "/thanks", own, "/invoice/abc", "iframe", "'self' " + own, own},
		"no address":                {"", "", "/invoice/abc", "iframe", "'none'", ""},
		"not an address of a page":  {"javascript:alert(1)", "", "/invoice/abc", "iframe", "'none'", ""},
		"words of a policy":         {"https://a;script-src-elem/x", "", "/invoice/abc", "iframe", "'none'", ""},
		"two origins":               {"https://a.example,https://b.example/", "", "/invoice/abc", "iframe", "'none'", ""},
		"any host":                  {"https://*/", "", "/invoice/abc", "iframe", "'none'", ""},
		"a page that is not framed": {own + "/thanks", "", "/invoice/abc/receipt.pdf", "iframe", "'none'", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newService(presenttest.Paid(func(r *api.Resource) { r.ForeignID, r.URLSuccess = "abc", tt.success }))
			h := pages(t, s, func(c *web.Config) { c.EmbedOrigins = strings.Fields(tt.listed) })
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, tt.target, nil)
			r.Header.Set("Sec-Fetch-Dest", tt.dest)
			response := do(h, r)
			if got := response.Header.Get("Content-Security-Policy"); !strings.Contains(got, "; frame-ancestors "+tt.want+";") {
				t.Errorf("status %d, policy %s, want frame-ancestors %s", response.StatusCode, got, tt.want)
			}
			if strings.HasSuffix(tt.target, ".pdf") {
				return
			}
			if got := document(t, response).Find("script[data-origins]").AttrOr("data-origins", ""); got != tt.origins {
				t.Errorf("the script sends messages to %q, want %q", got, tt.origins)
			}
		})
	}
}

// An error page that replaces the page of an invoice in a frame may be framed by the same origins.
func TestFramed_error_pages(t *testing.T) {
	t.Parallel()
	s := newService(presenttest.Paid(func(r *api.Resource) { r.ForeignID, r.URLSuccess = "abc", "https://shop.example/thanks" }))
	h := pages(t, s, func(c *web.Config) { c.PostsPerMinute = 1 })
	for range 2 { // the second request is over the limit
		for target, want := range map[string]string{
			"/invoice/abc/quote?view=modal": "'self' https://shop.example", "/invoice/abc/quote": "'none'", "/invoice/unknown/quote?view=modal": "'none'", "/?view=modal": "'none'",
		} {
			response := post(t, h, target, url.Values{}, nil)
			if got := response.Header.Get("Content-Security-Policy"); response.StatusCode < 400 || !strings.Contains(got, "; frame-ancestors "+want+";") {
				t.Errorf("%s: status %d, policy %s, want an error with frame-ancestors %s", target, response.StatusCode, got, want)
			}
		}
	}
}

func TestEmbed_scripts_can_be_loaded_by_other_sites(t *testing.T) {
	t.Parallel()
	h := pages(t, newService(), func(c *web.Config) { c.BasePath = "/pay" })
	for target, marker := range map[string]string{"/pay/embed.js": "data-pay", "/pay/modal/btcpay.js?ver=2.8.0": "btcpay"} {
		response := get(t, h, target)
		for name, want := range map[string]string{
			"Content-Type": "text/javascript; charset=utf-8", "Cache-Control": "public, max-age=3600", "Cross-Origin-Resource-Policy": "cross-origin",
		} {
			if got := response.Header.Get(name); got != want {
				t.Errorf("%s: %s: %s, want %s", target, name, got, want)
			}
		}
		if body, err := io.ReadAll(response.Body); err != nil || !strings.Contains(string(body), marker) {
			t.Errorf("%s: error %v, %s, want a script with %q", target, err, body, marker)
		}
	}
}

func TestEmbed_page_builds_snippets(t *testing.T) {
	t.Parallel()
	h := pages(t, newService(), func(c *web.Config) { embedding(c); c.BaseURL, c.BasePath = "https://pay.example/shop", "/shop" })
	for typed, link := range map[string]string{
		"coffee":                                  "https://pay.example/shop/pay/coffee",
		" https://pay.example/shop/pay/coffee ":   "https://pay.example/shop/pay/coffee",
		"https://pay.example/shop/pay?" + signed:  "https://pay.example/shop/pay?" + signed,
		"https://pay.example/shop/invoice/abc123": "https://pay.example/shop/invoice/abc123",
	} {
		doc := document(t, get(t, h, "/shop/embed?"+url.Values{"link": {typed}}.Encode()))
		if got := doc.Find("a#try[data-pay]").AttrOr("href", "none"); got != link {
			t.Errorf("%s is shown as %s, want %s", typed, got, link)
		}
		escaped := strings.ReplaceAll(link, "&", "&amp;")
		want := `<a href="` + escaped + `" data-pay>Pay now</a>` + "\n" + `<script src="https://pay.example/shop/embed.js" defer></script>`
		if got := doc.Find("code#modal").Text(); got != want {
			t.Errorf("the snippet is %s, want %s", got, want)
		}
		if got, want := doc.Find("code#plain").Text(), `<a href="`+escaped+`">Pay now</a>`; got != want {
			t.Errorf("the link is %s, want %s", got, want)
		}
	}
}

// The author of a link to this page chooses the content of its field.
func TestEmbed_page_shows_no_link_to_other_sites(t *testing.T) {
	t.Parallel()
	h := pages(t, newService(), embedding)
	for _, typed := range []string{
		"https://evil.example/pay/coffee", "http://pay.example/pay/coffee", "https://pay.example@evil.example/pay/coffee", "https://u:p@pay.example/pay/x",
		"//pay.example/pay/coffee", "javascript:alert(1)", "https://pay.example/", "https://pay.example/embed", "https://pay.example/payments",
		`"><script>alert(1)</script>`, "Free Coffee", "https://pay.example:444/pay/x",
	} {
		response := get(t, h, "/embed?"+url.Values{"link": {typed}}.Encode())
		doc := document(t, response)
		if response.StatusCode != http.StatusUnprocessableEntity || doc.Find("a[data-pay], code").Length() != 0 || doc.Find("#link-error").Length() != 1 {
			t.Errorf("%s: status %d, want 422 with an error and no code: %s", typed, response.StatusCode, doc.Find("main").Text())
		}
		if got := doc.Find("#link").AttrOr("value", ""); got != typed {
			t.Errorf("the field contains %q, want the typed link", got)
		}
	}
}
