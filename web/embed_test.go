package web_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

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

func TestEmbed_script_can_be_loaded_by_other_sites(t *testing.T) {
	t.Parallel()
	header := get(t, pages(t, newService(), nil), "/embed.js").Header
	for name, want := range map[string]string{
		"Content-Type": "text/javascript; charset=utf-8", "Cache-Control": "public, max-age=3600", "Cross-Origin-Resource-Policy": "cross-origin",
	} {
		if got := header.Get(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
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
