package web_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"chequer/internal/api"
	"chequer/internal/client"
	"chequer/internal/theme"
	"chequer/web"
	"chequer/web/present/presenttest"
)

// withTheme returns a service with one invoice, whose merchant has the given theme.
func withTheme(merchantTheme theme.Theme, r api.Resource) *service {
	s := newService(r)
	s.themes, s.ownTheme = []theme.Theme{merchantTheme}, merchantTheme
	snapshot := s.invoices[r.ForeignID]
	snapshot.Theme = merchantTheme.Hash()
	s.invoices[r.ForeignID] = snapshot
	s.link = checkoutService(nil).link
	s.link.Theme = merchantTheme.Hash()
	return s
}

// content returns the body of a response.
func content(t *testing.T, r *http.Response) string {
	t.Helper()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// Every page for shoppers has the theme, one style sheet, no inline style, and nothing from another
// site.
func TestTheme_is_on_every_page_of_a_shopper(t *testing.T) {
	t.Parallel()
	merchantTheme := presenttest.Theme(t)
	for path, sheet := range map[string]string{"/invoice/abc": "pay.", "/pay/coffee": "store.", "/": "store."} {
		h := pages(t, withTheme(merchantTheme, presenttest.Invoice("abc")), nil)
		page := document(t, get(t, h, path))
		for want, n := range map[string]int{
			`link[rel="stylesheet"]`: 1, `[style], style, script:not([src])`: 0,
			`link[rel="stylesheet"][href^="/look/` + merchantTheme.Hash() + `/` + sheet + `"]`: 1,
			`img.mark[src="/look/` + merchantTheme.Hash() + `/logo.svg"][alt=""]`:              1,
			`link[rel="icon"][href="/look/` + merchantTheme.Hash() + `/logo.svg"]`:             1,
			`footer a[href="mailto:help@shop.example"]`:                                        1, `footer a[href="https://shop.example/terms"]`: 1,
			`svg img, svg image, .qr img`: 0,
		} {
			if got := page.Find(want).Length(); got != n {
				t.Errorf("%s: %d of %s, want %d", path, got, want, n)
			}
		}
		if text := page.Find("body").Text(); !strings.Contains(text, "Atelier <Nord>") || strings.Contains(text, "Shop") ||
			!strings.Contains(text, "Prints from the far north") || !strings.Contains(text, "Contact: help@shop.example") {
			t.Errorf("%s says %q", path, text)
		}
		if !strings.Contains(page.Find("title").Text(), "Atelier <Nord>") {
			t.Errorf("%s has the title %q", path, page.Find("title").Text())
		}
	}
}

func TestTheme_does_not_hide_the_mark_of_a_test_invoice(t *testing.T) {
	t.Parallel()
	r := presenttest.Invoice("abc")
	r.Mode = "test"
	page := document(t, get(t, pages(t, withTheme(presenttest.Theme(t), r), nil), "/invoice/abc"))
	if page.Find("aside.test strong").Length() != 1 || page.Find("img.mark").Length() != 1 {
		t.Errorf("%d test marks and %d logos, want one of each", page.Find("aside.test strong").Length(), page.Find("img.mark").Length())
	}
}

func TestTheme_assets_are_immutable(t *testing.T) {
	t.Parallel()
	merchantTheme := presenttest.Theme(t)
	h := pages(t, withTheme(merchantTheme, presenttest.Invoice("abc")), func(c *web.Config) { c.BasePath = "/shop" })
	page := document(t, get(t, h, "/shop/invoice/abc"))
	sheet, _ := page.Find(`link[rel="stylesheet"]`).Attr("href")
	logo, _ := page.Find("img.mark").Attr("src")

	css := get(t, h, sheet)
	if body := content(t, css); css.StatusCode != 200 || css.Header.Get("Content-Type") != "text/css; charset=utf-8" ||
		!strings.Contains(body, ".page{") || !strings.Contains(body, "--accent:#e8573a") || strings.Contains(body, "url(") {
		t.Errorf("%s: %d %v\n%.200s", sheet, css.StatusCode, css.Header, body)
	}
	picture := get(t, h, logo)
	if picture.StatusCode != 200 || content(t, picture) != string(merchantTheme.Logo.Body) || picture.Header.Get("Content-Type") != "image/svg+xml" {
		t.Errorf("%s: %d %v", logo, picture.StatusCode, picture.Header)
	}
	for name, want := range map[string]string{
		"Content-Security-Policy": "default-src 'none'; sandbox; frame-ancestors 'none'", "X-Content-Type-Options": "nosniff",
		"Cross-Origin-Resource-Policy": "same-origin", "Cache-Control": "public, max-age=31536000, immutable",
	} {
		if got := picture.Header.Get(name); got != want {
			t.Errorf("the logo has %s: %s, want %s", name, got, want)
		}
	}
	if got := css.Header.Get("Cache-Control"); got != "public, max-age=31536000, immutable" {
		t.Errorf("the style sheet has Cache-Control: %s", got)
	}
	for _, path := range []string{
		"/shop/look/" + merchantTheme.Hash() + "/logo.png", "/shop/look/" + merchantTheme.Hash() + "/pay.css", "/shop/look/" + merchantTheme.Hash() + "/", "/shop/look/" + merchantTheme.Hash(),
		"/shop/look/0123456789abcdef01234567/logo.svg", "/shop/look/x/logo.svg", "/shop/look/%2e%2e/logo.svg", "/shop/look/" + strings.ToUpper(merchantTheme.Hash()) + "/logo.svg",
	} {
		if w := get(t, h, path); w.StatusCode != http.StatusNotFound {
			t.Errorf("%s has status %d, want 404", path, w.StatusCode)
		}
	}
}

// The page may have been rendered by another process, or by this process before a restart.
func TestTheme_assets_are_found_by_another_process(t *testing.T) {
	t.Parallel()
	merchantTheme := presenttest.Theme(t)
	if w := get(t, pages(t, withTheme(merchantTheme, presenttest.Invoice("abc")), nil), "/look/"+merchantTheme.Hash()+"/logo.svg"); w.StatusCode != http.StatusOK {
		t.Errorf("status %d, want 200", w.StatusCode)
	}
}

func TestTheme_that_cannot_be_read_is_replaced_by_the_default_theme(t *testing.T) {
	t.Parallel()
	for name, err := range map[string]error{
		"unknown": client.ErrNotFound, "of a service without any": client.ErrUnsupported, "broken": errors.New("connection refused"),
		"invalid answer": client.ErrInvalidAnswer,
	} {
		s := withTheme(presenttest.Theme(t), presenttest.Invoice("abc"))
		s.themeErr = err
		h := pages(t, s, nil)
		for _, path := range []string{"/invoice/abc", "/pay/coffee", "/"} {
			if w := get(t, h, path); w.StatusCode != 200 || !strings.Contains(content(t, w), `rel="stylesheet" href="/static/`) {
				t.Errorf("%s, %s: %d", name, path, w.StatusCode)
			}
		}
	}
}

// A service that does not answer does not block pages.
func TestTheme_is_read_with_a_short_timeout(t *testing.T) {
	t.Parallel()
	s := withTheme(presenttest.Theme(t), presenttest.Invoice("abc"))
	s.themeBlocks = true
	h := pages(t, s, nil)
	for _, path := range []string{"/", "/", "/pay/coffee"} { // the second time the service is not asked
		if w := get(t, h, path); w.StatusCode != http.StatusOK {
			t.Errorf("%s has status %d, want 200", path, w.StatusCode)
		}
	}
}

// A theme that the merchant changes is on the storefront within two seconds, one of which is the
// service's cache. Within the cache time the service is not asked.
func TestTheme_of_the_storefront_is_cached_for_half_a_second(t *testing.T) {
	t.Parallel()
	merchantTheme := presenttest.Theme(t)
	s, now := withTheme(merchantTheme, presenttest.Invoice("abc")), noon
	h := pages(t, s, func(c *web.Config) { c.Now = func() time.Time { return now } })
	for _, step := range []struct {
		sets     theme.Theme
		after    time.Duration
		isShown  bool
		requests int
	}{
		{theme.Theme{}, 0, false, 1},
		{merchantTheme, 499 * time.Millisecond, false, 1},
		{merchantTheme, time.Millisecond, true, 2},
		{theme.Theme{}, 0, true, 2},
		{theme.Theme{}, 500 * time.Millisecond, false, 3},
	} {
		s.ownTheme = step.sets
		now = now.Add(step.after)
		isShown := strings.Contains(content(t, get(t, h, "/")), "Prints from the far north")
		if isShown != step.isShown || s.themeCalls != step.requests {
			t.Errorf("%+v: shown %v, read %d times", step, isShown, s.themeCalls)
		}
	}
}

func TestTheme_is_on_the_receipt_as_a_document(t *testing.T) {
	t.Parallel()
	merchantTheme := presenttest.Theme(t)
	merchantTheme.Name = "Tidewater"
	text := presenttest.DocumentText(t, get(t, pages(t, withTheme(merchantTheme, presenttest.Paid(func(*api.Resource) {})), nil), "/invoice/abc/receipt.pdf").Body)
	for _, want := range []string{"Tidewater", "Prints from the far north", "Contact: help@shop.example"} {
		if !strings.Contains(text, want) {
			t.Errorf("the receipt lacks %q: %s", want, text)
		}
	}
	if strings.Contains(text, "Atelier") {
		t.Errorf("the receipt names two shops: %s", text)
	}
}
