package present_test

import (
	"strings"
	"testing"

	"chequer/internal/api"
	"chequer/internal/theme"
	"chequer/static"
	"chequer/web/present"
	"chequer/web/present/presenttest"
)

// frameWithTheme returns the frame of pages in a theme.
func frameWithTheme(merchantTheme theme.Theme) present.Frame {
	return frame(func(f *present.Frame) { f.Theme = present.NewTheme("/look/"+merchantTheme.Hash(), merchantTheme) })
}

// A shop without a name is called "the shop" within a sentence, although the page's heading is "Checkout".
func TestPaid_leads_back_to_a_shop_without_a_name(t *testing.T) {
	t.Parallel()
	r := presenttest.Paid(func(r *api.Resource) { r.MerchantName = "" })
	auto := showIn(t, frame(func(f *present.Frame) { f.ShopName = "" }), r).Find("#auto")
	if text := auto.AttrOr("data-say", "") + auto.Text(); strings.Count(text, "back to the shop") != 2 {
		t.Errorf("the text is %q, want \"back to the shop\" twice", text)
	}
}

// The merchant chooses whether the page of a paid invoice opens the shop's page after a countdown.
func TestTheme_can_disable_the_countdown_of_a_paid_page(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		theme theme.Theme
		stays bool
		want  int
	}{
		{"no theme: a countdown", theme.Theme{}, false, 1},
		{"a theme without the setting: a countdown", theme.Theme{Name: "Nord"}, false, 1},
		{"a theme with Stay: no countdown", theme.Theme{Stay: true}, false, 0},
		{"Site.StayOnPage: no countdown", theme.Theme{Name: "Nord"}, true, 0},
	} {
		f := frameWithTheme(tt.theme)
		f.StayOnPage = tt.stays
		page := showIn(t, f, presenttest.Paid(func(*api.Resource) {}))
		if got := page.Find("#auto[hidden] button#stay").Length(); got != tt.want {
			t.Errorf("%s: %d countdowns, want %d", tt.name, got, tt.want)
		}
		if page.Find("a#return").Length() != 1 {
			t.Errorf("%s: no button", tt.name)
		}
		if tt.want == 1 && !strings.Contains(page.Find("#auto").AttrOr("data-say", ""), "In ten seconds this page goes back to ") {
			t.Errorf("%s: the text is %q, want that the page goes back in ten seconds", tt.name, page.Find("#auto").AttrOr("data-say", ""))
		}
	}
}

// The shop can ask for an invoice whose page waits for a click.
func TestPaid_waits_for_a_click_if_the_shop_asks(t *testing.T) {
	t.Parallel()
	page := showIn(t, frameWithTheme(theme.Theme{}), presenttest.Paid(func(r *api.Resource) { r.StayOnPage = true }))
	if page.Find("#auto").Length() != 0 || page.Find("a#return").Length() != 1 {
		t.Error("the page has a countdown, or no button")
	}
}

// In states in which only the shop can help, the page has a link to the shop's contact.
func TestTheme_contact_is_shown_if_only_the_shop_can_help(t *testing.T) {
	t.Parallel()
	lateInvoice := presenttest.Invoice("abc")
	lateInvoice.Status, lateInvoice.Exceptions = api.StatusExpired, []string{api.ExceptionLate}
	declined := presenttest.Invoice("abc")
	declined.Status = api.StatusDeclined
	paid := presenttest.Paid(func(*api.Resource) {})
	paid.OverpaidAmount, paid.Exceptions = "6.91", []string{api.ExceptionOverpaid}
	for name, tt := range map[string]struct {
		r    api.Resource
		want int
	}{"late": {lateInvoice, 1}, "declined": {declined, 1}, "overpaid": {paid, 1}, "paid": {presenttest.Paid(func(*api.Resource) {}), 0}, "waiting": {presenttest.Invoice("abc"), 0}} {
		page := showIn(t, frameWithTheme(presenttest.Theme(t)), tt.r)
		if got := page.Find(`a#contact[href="mailto:help@shop.example"]:contains("Contact Atelier <Nord>")`).Length(); got != tt.want {
			t.Errorf("%s: %d buttons, want %d", name, got, tt.want)
		}
		if page := show(t, tt.r); page.Find("#contact").Length() != 0 {
			t.Errorf("%s: a contact button without a contact address", name)
		}
	}
}

// The link opens this page in MetaMask's browser. It is offered only if that browser can reach the
// page and MetaMask can send the payment.
func TestPayment_page_links_to_MetaMask_if_it_can_pay(t *testing.T) {
	t.Parallel()
	unchanged := func(*api.Resource) {}
	token := func(r *api.Resource) *api.PaymentMethod { return &r.PaymentMethods[1] }
	for _, tt := range []struct {
		name, base string
		change     func(*api.Resource)
		want       string
	}{
		{"a method on an EVM network", "https://pay.example/shop", unchanged, "https://link.metamask.io/dapp/pay.example/shop/invoice/abc?m=EURC-BASE"},
		{"none for a page over http", "http://127.0.0.1:8080", unchanged, ""},
		{"none without a method on an EVM network", "https://pay.example", func(r *api.Resource) { r.PaymentMethods = r.PaymentMethods[:1] }, ""},
		{"none on simnet", "https://pay.example", func(r *api.Resource) { token(r).Network = "simnet" }, ""},
		{"none if nothing is due", "https://pay.example", func(r *api.Resource) { token(r).DueAmount = "0" }, ""},
	} {
		r := presenttest.Invoice("abc")
		tt.change(&r)
		page := showIn(t, frame(func(f *present.Frame) { f.BaseURL = tt.base }), r)
		if got := page.Find(".app a").AttrOr("href", ""); got != tt.want {
			t.Errorf("%s: link %q, want %q", tt.name, got, tt.want)
		}
	}
}

// A theme adds only a few rules to the style sheet of a page.
func TestTheme_adds_little_to_the_style_sheet(t *testing.T) {
	t.Parallel()
	base, _ := static.Find(static.Path("pay.css"))
	styled := static.Extend("pay.css", presenttest.Theme(t).Style())
	if added := len(styled.Gzip) - len(base.Gzip); added > 400 {
		t.Errorf("a theme adds %d bytes to the compressed style sheet, want at most 400", added)
	}
}
