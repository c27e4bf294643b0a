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
	"chequer/static"
	"chequer/web"
)

// nord returns a merchant's theme.
func nord(t *testing.T) theme.Theme {
	t.Helper()
	l, err := theme.Normalize(theme.Theme{
		Name: "Atelier <Nord>", Accent: "#e8573a", Line: "Prints from the far north", Support: "help@shop.example", Terms: "https://shop.example/terms",
	})
	if err != nil {
		t.Fatal(err)
	}
	l.Logo, err = theme.NewLogo([]byte(`<svg viewBox="0 0 8 8"><circle cx="4" cy="4" r="4" fill="#e8573a"/></svg>`))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// withTheme returns a service with one invoice, whose merchant has the given theme.
func withTheme(l theme.Theme, r api.Resource) *service {
	s := newService(r)
	s.looks, s.own = []theme.Theme{l}, l
	snapshot := s.invoices[r.ForeignID]
	snapshot.Theme = l.Hash()
	s.invoices[r.ForeignID] = snapshot
	s.offer = offering(nil).offer
	s.offer.Theme = l.Hash()
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
func TestLook_is_on_every_page_of_a_shopper(t *testing.T) {
	t.Parallel()
	l := nord(t)
	for path, sheet := range map[string]string{"/invoice/abc": "pay.", "/pay/coffee": "store.", "/": "store."} {
		h := pages(t, withTheme(l, invoice("abc")), nil)
		page := document(t, get(t, h, path))
		for want, n := range map[string]int{
			`link[rel="stylesheet"]`: 1, `[style], style, script:not([src])`: 0,
			`link[rel="stylesheet"][href^="/look/` + l.Hash() + `/` + sheet + `"]`: 1,
			`img.mark[src="/look/` + l.Hash() + `/logo.svg"][alt=""]`:              1,
			`link[rel="icon"][href="/look/` + l.Hash() + `/logo.svg"]`:             1,
			`footer a[href="mailto:help@shop.example"]`:                            1, `footer a[href="https://shop.example/terms"]`: 1,
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

func TestLook_of_a_test_invoice_stays_marked(t *testing.T) {
	t.Parallel()
	r := invoice("abc")
	r.Mode = "test"
	page := document(t, get(t, pages(t, withTheme(nord(t), r), nil), "/invoice/abc"))
	if page.Find("aside.test strong").Length() != 1 || page.Find("img.mark").Length() != 1 {
		t.Errorf("%d test marks and %d logos, want one of each", page.Find("aside.test strong").Length(), page.Find("img.mark").Length())
	}
}

func TestLook_assets(t *testing.T) {
	t.Parallel()
	l := nord(t)
	h := pages(t, withTheme(l, invoice("abc")), func(c *web.Config) { c.BasePath = "/shop" })
	page := document(t, get(t, h, "/shop/invoice/abc"))
	sheet, _ := page.Find(`link[rel="stylesheet"]`).Attr("href")
	logo, _ := page.Find("img.mark").Attr("src")

	css := get(t, h, sheet)
	if body := content(t, css); css.StatusCode != 200 || css.Header.Get("Content-Type") != "text/css; charset=utf-8" ||
		!strings.Contains(body, ".page{") || !strings.Contains(body, "--accent:#e8573a") || strings.Contains(body, "url(") {
		t.Errorf("%s: %d %v\n%.200s", sheet, css.StatusCode, css.Header, body)
	}
	picture := get(t, h, logo)
	if picture.StatusCode != 200 || content(t, picture) != string(l.Logo.Body) || picture.Header.Get("Content-Type") != "image/svg+xml" {
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
		"/shop/look/" + l.Hash() + "/logo.png", "/shop/look/" + l.Hash() + "/pay.css", "/shop/look/" + l.Hash() + "/", "/shop/look/" + l.Hash(),
		"/shop/look/0123456789abcdef01234567/logo.svg", "/shop/look/x/logo.svg", "/shop/look/%2e%2e/logo.svg", "/shop/look/" + strings.ToUpper(l.Hash()) + "/logo.svg",
	} {
		if w := get(t, h, path); w.StatusCode != http.StatusNotFound {
			t.Errorf("%s has status %d", path, w.StatusCode)
		}
	}
}

// A theme adds little to the weight of a page: a few rules to its style sheet.
func TestLook_adds_little_to_the_style_sheet(t *testing.T) {
	t.Parallel()
	base, _ := static.Find(static.Path("pay.css"))
	styled := static.Extend("pay.css", nord(t).Style())
	if more := len(styled.Gzip) - len(base.Gzip); more > 400 {
		t.Errorf("a theme adds %d bytes to the compressed style sheet, want at most 400", more)
	}
}

// Another process may have rendered the page, or this process may have restarted since.
func TestLook_assets_are_found_by_a_process_that_never_saw_them(t *testing.T) {
	t.Parallel()
	l := nord(t)
	if w := get(t, pages(t, withTheme(l, invoice("abc")), nil), "/look/"+l.Hash()+"/logo.svg"); w.StatusCode != http.StatusOK {
		t.Errorf("status %d", w.StatusCode)
	}
}

func TestLook_that_cannot_be_read_leaves_the_default_theme(t *testing.T) {
	t.Parallel()
	for name, err := range map[string]error{
		"unknown": client.ErrNotFound, "of a service without any": client.ErrUnsupported, "broken": errors.New("connection refused"),
		"nonsense": client.ErrNonsense,
	} {
		s := withTheme(nord(t), invoice("abc"))
		s.lookFails = err
		h := pages(t, s, nil)
		for _, path := range []string{"/invoice/abc", "/pay/coffee", "/"} {
			if w := get(t, h, path); w.StatusCode != 200 || !strings.Contains(content(t, w), `rel="stylesheet" href="/static/`) {
				t.Errorf("%s, %s: %d", name, path, w.StatusCode)
			}
		}
	}
}

// A service that does not answer does not block pages.
func TestLook_is_read_with_a_short_timeout(t *testing.T) {
	t.Parallel()
	s := withTheme(nord(t), invoice("abc"))
	s.lookHangs = true
	h := pages(t, s, nil)
	for _, path := range []string{"/", "/", "/pay/coffee"} { // the second time the service is not asked
		if w := get(t, h, path); w.StatusCode != http.StatusOK {
			t.Errorf("%s has status %d", path, w.StatusCode)
		}
	}
}

// A theme that the merchant changes is on the storefront within two seconds, one of which is the
// service's cache. Within the cache time the service is not asked.
func TestLook_of_the_storefront_is_asked_for_twice_a_second(t *testing.T) {
	t.Parallel()
	l := nord(t)
	s, now := withTheme(l, invoice("abc")), noon
	h := pages(t, s, func(c *web.Config) { c.Now = func() time.Time { return now } })
	for _, step := range []struct {
		sets  theme.Theme
		after time.Duration
		shown bool
		asked int
	}{
		{theme.Theme{}, 0, false, 1},
		{l, 499 * time.Millisecond, false, 1},
		{l, time.Millisecond, true, 2},
		{theme.Theme{}, 0, true, 2},
		{theme.Theme{}, 500 * time.Millisecond, false, 3},
	} {
		s.own = step.sets
		now = now.Add(step.after)
		shown := strings.Contains(content(t, get(t, h, "/")), "Prints from the far north")
		if shown != step.shown || s.looked != step.asked {
			t.Errorf("%+v: shown %v, asked for %d times", step, shown, s.looked)
		}
	}
}

// The merchant chooses whether a paid page goes back to the shop by itself.
func TestLook_decides_whether_a_paid_page_goes_back_to_the_shop(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		look theme.Theme
		stay bool
		want int
	}{
		{"no theme: goes back", theme.Theme{}, false, 1},
		{"a theme without the setting: goes back", theme.Theme{Name: "Nord"}, false, 1},
		{"a theme with Stay: stays", theme.Theme{Stay: true}, false, 0},
		{"Config.StayOnPage: stays", theme.Theme{Name: "Nord"}, true, 0},
	} {
		s := withTheme(tt.look, paidInvoice(func(*api.Resource) {}))
		page := document(t, get(t, pages(t, s, func(c *web.Config) { c.StayOnPage = tt.stay }), "/invoice/abc"))
		if got := page.Find("#auto[hidden] button#stay").Length(); got != tt.want {
			t.Errorf("%s: %d countdowns, want %d", tt.name, got, tt.want)
		}
		if page.Find("a#return").Length() != 1 {
			t.Errorf("%s: no button", tt.name)
		}
		if tt.want == 1 && !strings.Contains(page.Find("#auto").AttrOr("data-say", ""), "In ten seconds this page goes back to ") {
			t.Errorf("%s: the text is %q", tt.name, page.Find("#auto").AttrOr("data-say", ""))
		}
	}
}

// A shop without a name is called "the shop" within a sentence, also where the page's heading is
// "Checkout".
func TestPaid_leads_back_to_a_shop_without_a_name(t *testing.T) {
	t.Parallel()
	s := withTheme(theme.Theme{}, paidInvoice(func(r *api.Resource) { r.MerchantName = "" }))
	auto := document(t, get(t, pages(t, s, func(c *web.Config) { c.ShopName = "" }), "/invoice/abc")).Find("#auto")
	if told := auto.AttrOr("data-say", "") + auto.Text(); strings.Count(told, "back to the shop") != 2 {
		t.Errorf("the text is %q", told)
	}
}

// In states where only the shop can help, the page has a button to contact it.
func TestLook_shows_the_contact_where_only_the_shop_can_help(t *testing.T) {
	t.Parallel()
	late := invoice("abc")
	late.Status, late.Exceptions = api.StatusExpired, []string{api.ExceptionLate}
	declined := invoice("abc")
	declined.Status = api.StatusDeclined
	over := paidInvoice(func(*api.Resource) {})
	over.OverpaidAmount, over.Exceptions = "6.91", []string{api.ExceptionOverpaid}
	for name, tt := range map[string]struct {
		r    api.Resource
		want int
	}{"late": {late, 1}, "declined": {declined, 1}, "overpaid": {over, 1}, "paid": {paidInvoice(func(*api.Resource) {}), 0}, "waiting": {invoice("abc"), 0}} {
		page := document(t, get(t, pages(t, withTheme(nord(t), tt.r), nil), "/invoice/abc"))
		if got := page.Find(`a#contact[href="mailto:help@shop.example"]:contains("Contact Atelier <Nord>")`).Length(); got != tt.want {
			t.Errorf("%s: %d buttons, want %d", name, got, tt.want)
		}
		if page := document(t, get(t, pages(t, newService(tt.r), nil), "/invoice/abc")); page.Find("#contact").Length() != 0 {
			t.Errorf("%s: a contact button without a contact address", name)
		}
	}
}

func TestLook_is_on_the_receipt_as_a_document(t *testing.T) {
	t.Parallel()
	l := nord(t)
	l.Name = "Tidewater"
	text := documentText(t, get(t, pages(t, withTheme(l, paidInvoice(func(*api.Resource) {})), nil), "/invoice/abc/receipt.pdf").Body)
	for _, want := range []string{"Tidewater", "Prints from the far north", "Contact: help@shop.example"} {
		if !strings.Contains(text, want) {
			t.Errorf("the receipt lacks %q: %s", want, text)
		}
	}
	if strings.Contains(text, "Atelier") {
		t.Errorf("the receipt names two shops: %s", text)
	}
}

// The link opens this page in MetaMask's browser. It is offered only if that browser can reach the
// page and MetaMask can send the payment.
func TestPayment_opens_MetaMask_where_it_can_pay(t *testing.T) {
	t.Parallel()
	all := func(*api.Resource) {}
	token := func(r *api.Resource) *api.PaymentMethod { return &r.PaymentMethods[1] }
	for _, tt := range []struct {
		name, base string
		change     func(*api.Resource)
		want       string
	}{
		{"a method on an EVM network", "https://pay.example/shop", all, "https://link.metamask.io/dapp/pay.example/shop/invoice/abc?m=EURC-BASE"},
		{"none for a page over http", "http://127.0.0.1:8080", all, ""},
		{"none without a method on an EVM network", "https://pay.example", func(r *api.Resource) { r.PaymentMethods = r.PaymentMethods[:1] }, ""},
		{"none on simnet", "https://pay.example", func(r *api.Resource) { token(r).Network = "simnet" }, ""},
		{"none if nothing is due", "https://pay.example", func(r *api.Resource) { token(r).DueAmount = "0" }, ""},
	} {
		r := invoice("abc")
		tt.change(&r)
		page := document(t, get(t, pages(t, newService(r), func(c *web.Config) { c.BaseURL = tt.base }), "/invoice/abc"))
		if got := page.Find(".app a").AttrOr("href", ""); got != tt.want {
			t.Errorf("%s: link %q, want %q", tt.name, got, tt.want)
		}
	}
}
