package web_test

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/api"
	"chequer/internal/client"
	"chequer/internal/locale"
	"chequer/web"
)

// signed is the query of a link. The fake service does not check the signature.
const signed = "amount=56.50&fiat_currency=EUR&key=K&order_id=1042&description=a%20b+c&sig=00"

func checkoutService(change func(*api.CheckoutLink)) *service {
	s := newService()
	s.link = api.CheckoutLink{
		MerchantName: "Atelier Nord", Mode: "live", Amount: "56.5", FiatCurrency: "EUR", OrderID: "1042", Description: "Two prints",
	}
	if change != nil {
		change(&s.link)
	}
	return s
}

func TestCheckout_shows_the_content_of_the_link(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, target string
		change       func(*api.CheckoutLink)
		selector     string
		want         int
	}{
		{"shows the amount", "/pay?" + signed, nil, `.price:contains("€56.50")`, 1},
		{"shows description and order", "/pay?" + signed, nil, `.lead:contains("Two prints"), .fine:contains("Order 1042")`, 2},
		{"shows the shop's name", "/pay/coffee", nil, `h1:contains("Pay Atelier Nord"), .brand:contains("Atelier Nord")`, 2},
		{"has one button", "/pay?" + signed, nil, `form[method=post] button, form[method=post] input:not([type=hidden])`, 1},
		{"the form keeps the link", "/pay?" + signed, nil, `form[action="/order/pay?` + signed + `"]`, 1},
		{"the form keeps the slug", "/pay/coffee", nil, `form[action="/order/pay/coffee"]`, 1},
		{"the form keeps the shown price", "/pay/coffee", nil, `input[type=hidden][name=shown_amount][value="56.5"], input[type=hidden][name=shown_currency][value=EUR]`, 2},
		{"the form has a token", "/pay/coffee", nil, `input[type=hidden][name=token]`, 1},
		{"has no script", "/pay?" + signed, nil, `script, [style], style`, 0},
		{"no field for a fixed amount", "/pay/coffee", nil, `#amount`, 0},
		{"a field for an open amount", "/pay/coffee", func(l *api.CheckoutLink) { l.Amount = "" }, `label[for=amount]:contains("euros"), #amount`, 2},
		{"the field names the link's currency", "/pay/coffee", func(l *api.CheckoutLink) { l.Amount, l.FiatCurrency = "", "CHF" }, `label:contains("CHF")`, 1},
		{"live mode is not marked", "/pay/coffee", nil, `.test`, 0},
		{"test mode is marked", "/pay/coffee", func(l *api.CheckoutLink) { l.Mode = "test" }, `aside.test:contains("No real money moves")`, 1},
		{"links to the earlier invoice", "/pay?" + signed, func(l *api.CheckoutLink) { l.EarlierID = "old" }, `a[href="/invoice/old"]`, 1},
		{"escapes the description", "/pay/coffee", func(l *api.CheckoutLink) { l.Description = "<b>now</b>" }, `main b`, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := checkoutService(tt.change)
			response := get(t, pages(t, s, nil), tt.target)
			if response.StatusCode != http.StatusOK || response.Header.Get("Cache-Control") != "private, no-cache" {
				t.Errorf("status %d, %s", response.StatusCode, response.Header.Get("Cache-Control"))
			}
			doc := document(t, response)
			if got := doc.Find(tt.selector).Length(); got != tt.want {
				t.Errorf("%d of %q in %s", got, tt.selector, doc.Find("body").Text())
			}
			if len(s.linkOrders)+len(s.created) > 0 {
				t.Error("GET created an invoice")
			}
		})
	}
}

func TestCheckout_sends_the_link_unchanged(t *testing.T) {
	t.Parallel()
	s := checkoutService(nil)
	h := pages(t, s, nil)
	for _, target := range []string{"/pay?" + signed, "/order/pay?" + signed, "/pay/coffee", "/order/pay/coffee"} {
		response := post(t, h, target, url.Values{"token": {token}, "amount": {"1"}}, nil)
		if response.StatusCode != http.StatusSeeOther || response.Header.Get("Location") != "/invoice/made1" {
			t.Errorf("%s has status %d to %q", target, response.StatusCode, response.Header.Get("Location"))
		}
	}
	want := []api.CheckoutRequest{{Query: signed}, {Query: signed}, {Slug: "coffee"}, {Slug: "coffee"}}
	shown := post(t, h, "/order/pay/coffee", url.Values{"token": {token}, "shown_amount": {"56.5"}, "shown_currency": {"EUR"}}, nil)
	if last := s.linkOrders[len(s.linkOrders)-1]; shown.StatusCode != http.StatusSeeOther || last.ShownAmount != "56.5" || last.ShownCurrency != "EUR" {
		t.Errorf("status %d; requests to the service: %+v", shown.StatusCode, last)
	}
	s.linkOrders, s.keys = s.linkOrders[:4], s.keys[:4]
	if diff := cmp.Diff(want, s.linkOrders); diff != "" {
		t.Errorf("requests to the service (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{token, token, token, token}, s.keys); diff != "" {
		t.Errorf("idempotency keys (-want +got):\n%s", diff)
	}
}

// In a demo, the pages of links and terminals are marked as those of products are.
func TestForms_of_a_demo_are_marked(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"live", "test"} {
		s := terminalService()
		s.link.Mode = mode
		for _, target := range []string{"/pay/coffee", terminalPath} {
			for _, isDemo := range []bool{false, true} {
				h := pages(t, s, func(c *web.Config) { c.Site.Demo = isDemo })
				text := document(t, get(t, h, target)).Find("aside.test").Text()
				if got := strings.Contains(text, "Demo shop. The rates are made up and no real money moves."); got != isDemo {
					t.Errorf("%s in mode %s, demo %t: the page is marked with %q", target, mode, isDemo, text)
				}
			}
		}
	}
}

// Shoppers type printed addresses in any case and with a trailing slash.
func TestCheckout_accepts_addresses_in_any_case_and_with_a_slash(t *testing.T) {
	t.Parallel()
	for _, base := range []string{"", "/base"} {
		s := checkoutService(nil)
		s.offers = coffeeShop().offers
		h := pages(t, s, func(c *web.Config) { c.BasePath = base })
		for _, target := range []string{"/pay/COFFEE", "/pay/Coffee", "/pay/coffee/", "/pay/COFFEE/", "/pay/coffee//", "/pay/coffee/?lang=de", "/shop/Coffee", "/shop/coffee/", "/shop/"} {
			response := get(t, h, base+target)
			if response.StatusCode == http.StatusPermanentRedirect {
				response = get(t, h, response.Header.Get("Location"))
			}
			if response.StatusCode != http.StatusOK {
				t.Errorf("%s%s has status %d, want 200", base, target, response.StatusCode)
			}
			action := document(t, response).Find("form[method=post]").AttrOr("action", "")
			if strings.ToLower(action) != action || strings.Contains(target, "/pay/") && !strings.HasPrefix(action, base+"/order/pay/coffee") {
				t.Errorf("%s%s: the form is sent to %q", base, target, action)
			}
		}
		for _, request := range s.linkReads {
			if request.Slug != "coffee" {
				t.Errorf("requests to the service: %+v", request)
			}
		}
		for _, target := range []string{"//evil.example/", "/%2fevil.example/", "//evil.example//"} {
			response := get(t, h, target)
			if location := response.Header.Get("Location"); strings.HasPrefix(location, "//") || strings.HasPrefix(location, "/\\") {
				t.Errorf("%s leads to %s", target, location)
			}
		}
	}
}

// Parameters that do not belong to a link are neither sent to the service nor kept in the page's
// addresses.
func TestCheckout_drops_foreign_parameters(t *testing.T) {
	t.Parallel()
	foreign := "?fbclid=1&" + signed + "&utm_source=mail&_hsmi=2&lang=de"
	s := checkoutService(nil)
	h := pages(t, s, nil)
	doc := document(t, get(t, h, "/pay"+foreign))
	post(t, h, "/order/pay"+foreign, url.Values{"token": {token}}, nil)
	for _, request := range append(s.linkReads, s.linkOrders...) {
		if diff := cmp.Diff(api.CheckoutRequest{Query: signed}, request); diff != "" {
			t.Errorf("requests to the service (-want +got):\n%s", diff)
		}
	}
	if len(s.linkOrders) != 1 {
		t.Errorf("%d requests for an invoice, want 1", len(s.linkOrders))
	}
	html, err := doc.Html()
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{"fbclid", "utm_source", "_hsmi"} {
		if strings.Contains(html, word) {
			t.Errorf("%s is on the page", word)
		}
	}
	if response := get(t, h, "/pay?fbclid=1"); response.StatusCode != http.StatusBadRequest {
		t.Errorf("no link at all: status %d, want 400", response.StatusCode)
	}
}

func TestCheckout_accepts_the_amount_of_the_shopper(t *testing.T) {
	t.Parallel()
	s := checkoutService(func(l *api.CheckoutLink) { l.Amount = "" })
	h := pages(t, s, nil)
	refused := post(t, h, "/pay/tips", url.Values{"token": {token}, "amount": {"1.234,50"}}, nil)
	doc := document(t, refused)
	if refused.StatusCode != http.StatusUnprocessableEntity || doc.Find("#amount-error").Length() != 1 || doc.Find("#amount").AttrOr("value", "") != "1.234,50" {
		t.Errorf("status %d, want 422 with the entered amount and its error: %s", refused.StatusCode, doc.Find("main").Text())
	}
	response := post(t, h, "/pay/tips", url.Values{"token": {token}, "amount": {"7,50"}}, nil)
	if response.StatusCode != http.StatusSeeOther {
		t.Errorf("status %d, want 303", response.StatusCode)
	}
	if diff := cmp.Diff([]api.CheckoutRequest{{Slug: "tips", Amount: "7.50"}}, s.linkOrders); diff != "" {
		t.Errorf("requests to the service (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{token + "-7.50"}, s.keys); diff != "" {
		t.Errorf("idempotency keys (-want +got):\n%s", diff)
	}
}

// A form for an amount sends the currency that it showed. If the currency was changed since, the form comes back in the new one.
func TestForms_for_an_amount_come_back_after_a_change_of_the_currency(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		s      *service
		target string
	}{
		"checkout link": {checkoutService(func(l *api.CheckoutLink) { l.Amount = "" }), "/pay/tips"},
		"terminal":      {terminalService(), terminalPath},
		"storefront":    {newService(), "/"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			currency := "EUR"
			h := pages(t, tt.s, func(c *web.Config) {
				c.ShopSettings = func(context.Context, string) web.ShopSettings {
					return web.ShopSettings{Languages: locale.All(), Storefront: true, Currency: currency}
				}
			})
			form := url.Values{"token": {token}, "amount": {"5"}, "shown_currency": {document(t, get(t, h, tt.target)).Find("[name=shown_currency]").AttrOr("value", "")}}
			if got := form.Get("shown_currency"); got != "EUR" {
				t.Fatalf("the form shows the currency %q, want EUR", got)
			}
			currency, tt.s.link.FiatCurrency = "USD", "USD"
			if name != "storefront" { // which compares by itself
				tt.s.refusals = []error{&client.Error{Status: http.StatusConflict, Code: api.CodePriceChanged}}
			}
			response := post(t, h, "/order"+strings.TrimSuffix(tt.target, "/"), form, nil)
			doc := document(t, response)
			if response.StatusCode != http.StatusConflict || !strings.Contains(doc.Find(".err").Text(), "Something changed in the meantime") || len(tt.s.created) > 0 {
				t.Errorf("status %d, want 409 and the reason: %s", response.StatusCode, doc.Find("main").Text())
			}
			if got := doc.Find("[name=shown_currency]").AttrOr("value", "") + doc.Find("#amount").AttrOr("value", ""); got != "USD5" {
				t.Errorf("the form has %q, want the entered amount in the new currency", got)
			}
			for _, request := range tt.s.linkOrders {
				if request.ShownCurrency != "EUR" {
					t.Errorf("the request to the service has the currency %q, want EUR", request.ShownCurrency)
				}
			}
			form.Set("shown_currency", "USD")
			if response := post(t, h, "/order"+strings.TrimSuffix(tt.target, "/"), form, nil); response.StatusCode != http.StatusSeeOther {
				t.Errorf("in the new currency: status %d, want 303", response.StatusCode)
			}
		})
	}
}

func TestCheckout_redirects_to_an_existing_invoice(t *testing.T) {
	t.Parallel()
	s := checkoutService(func(l *api.CheckoutLink) { l.ForeignID = "open1" })
	response := get(t, pages(t, s, func(c *web.Config) { c.BasePath = "/shop" }), "/shop/pay?"+signed)
	if response.StatusCode != http.StatusSeeOther || response.Header.Get("Location") != "/shop/invoice/open1" {
		t.Errorf("status %d to %q", response.StatusCode, response.Header.Get("Location"))
	}
}

// The page of an order with a payment at another price shows both amounts. It has neither a form nor a link
// to the invoice's page, which would link to url_success.
func TestCheckout_of_an_order_paid_at_another_price(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ status, received, heading, words string }{
		{api.StatusPaid, "5", "This order was paid with another amount", "€5.00 of €5.00 was seen for this order. This link asks for €500.00. Do not pay again: ask Atelier Nord"},
		{api.StatusPending, "2.5", "A payment of another amount was seen", "€2.50 of €5.00 was seen for this order. This link asks for €500.00."},
	} {
		markPaid := func(l *api.CheckoutLink) {
			l.Amount, l.OtherID, l.OtherStatus, l.OtherAmount, l.OtherCurrency, l.OtherReceived = "500", "old1", tt.status, "5", "EUR", tt.received
		}
		s := checkoutService(markPaid)
		lateService := checkoutService(nil) // the payment is seen after the page is shown, before the form is sent
		lateService.refusals = []error{&client.Error{Status: 409, Code: api.CodeLinkOrderPaid}}
		lateService.onRefusal = func() { markPaid(&lateService.link) }
		for name, response := range map[string]*http.Response{
			"page":   get(t, pages(t, s, nil), "/pay?"+signed),
			"button": post(t, pages(t, s, nil), "/order/pay?"+signed, url.Values{"token": {token}}, nil),
			"late":   post(t, pages(t, lateService, nil), "/order/pay?"+signed, url.Values{"token": {token}}, nil),
		} {
			doc := document(t, response)
			text := strings.Join(strings.Fields(doc.Find("main").Text()), " ")
			if response.StatusCode != http.StatusConflict || !strings.Contains(text, tt.heading) || !strings.Contains(text, tt.words) {
				t.Errorf("%s, %s: status %d, want 409 with %q and %q: %s", tt.status, name, response.StatusCode, tt.heading, tt.words, text)
			}
			if got := doc.Find(`form, a[href*="old1"]`).Length(); got != 0 {
				t.Errorf("%s, %s: %d forms or links to the old invoice, want 0", tt.status, name, got)
			}
		}
		if len(s.linkOrders) > 0 {
			t.Errorf("%s: an invoice was requested", tt.status)
		}
	}
}

func TestCheckout_explains_refusals(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		err    error
		status int
		words  string
	}{
		{&client.Error{Status: 403, Code: api.CodeLinkChanged, Message: "secret"}, 403, "This link was changed"},
		{&client.Error{Status: 400, Code: api.CodeLinkUnknown, Message: "secret"}, 400, "Something was added to it"},
		{&client.Error{Status: 400, Code: api.CodeLinkRepeated, Message: "secret"}, 400, "says something twice"},
		{&client.Error{Status: 400, Code: api.CodeLinkMissing, Message: "secret"}, 400, "This link is not whole"},
		{&client.Error{Status: 400, Code: api.CodeLinkMalformed, Message: "secret"}, 400, "This link was changed"},
		{&client.Error{Status: 410, Code: api.CodeLinkExpired, Message: "secret"}, 410, "This link has expired"},
		{&client.Error{Status: 404, Code: api.CodeLinkNotFound, Message: "secret"}, 404, "There is no such link"},
		{&client.Error{Status: 403, Code: api.CodeLinkKey, Message: "secret"}, 403, "The shop may not make this link"},
		{&client.Error{Status: 400, Code: "invalid_amount", Message: "amount must be more than 0"}, 400, "Tell the shop: amount must be more than 0."},
		{&client.Error{Status: 403, Code: "key_may_not", Message: "secret"}, 500, "It is our fault"},
		{client.ErrUnsupported, 404, "This page does not exist"},
	} {
		s := checkoutService(nil)
		s.refusal = tt.err
		h := pages(t, s, nil)
		for _, response := range []*http.Response{get(t, h, "/pay?"+signed), post(t, h, "/pay?"+signed, nil, nil)} {
			text := document(t, response).Find("main").Text()
			if response.StatusCode != tt.status || !strings.Contains(text, tt.words) || strings.Contains(text, "secret") {
				t.Errorf("%v: status %d, want %d with %q: %s", tt.err, response.StatusCode, tt.status, tt.words, text)
			}
		}
	}
	if response := get(t, pages(t, newService(), nil), "/pay"); response.StatusCode != http.StatusBadRequest {
		t.Errorf("no link at all: status %d, want 400", response.StatusCode)
	}
}

func TestCheckout_when_no_invoice_can_be_made(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		err      error
		status   int
		selector string
	}{
		{&client.Error{Status: 503, Code: "no_rate", Message: "secret"}, 503, `.err p:contains("no prices at the moment")`},
		{&client.Error{Status: 503, Code: "unavailable", Message: "secret"}, 503, `.err p:contains("Payments cannot be taken right now")`},
		{&client.Error{Status: 400, Code: "invalid_amount", Message: "amount must be at least 2 EUR"}, 422, `.err p:contains("at least 2 EUR")`},
		{&client.Error{Status: 409, Code: api.CodePriceChanged}, 409, `.err p:contains("it is €56.50 now")`},
		{&client.Error{Status: 410, Code: api.CodeLinkExpired}, 410, `h1:contains("This link has expired")`},
	} {
		s := checkoutService(nil)
		s.refusals = []error{tt.err}
		response := post(t, pages(t, s, nil), "/pay?"+signed, url.Values{"token": {token}}, nil)
		doc := document(t, response)
		if response.StatusCode != tt.status || doc.Find(tt.selector).Length() != 1 || strings.Contains(doc.Text(), "secret") {
			t.Errorf("%v: status %d, want %d with %s: %s", tt.err, response.StatusCode, tt.status, tt.selector, doc.Find("main").Text())
		}
	}
}

func TestCheckout_limits_the_posts_of_an_address(t *testing.T) {
	t.Parallel()
	h := pages(t, checkoutService(nil), func(c *web.Config) { c.PostsPerMinute = 1 })
	var got []int
	for _, target := range []string{"/pay/a", "/order/pay?" + signed, "/pay/b"} {
		got = append(got, post(t, h, target, url.Values{"token": {token}}, nil).StatusCode)
	}
	if diff := cmp.Diff([]int{303, 303, 429}, got); diff != "" {
		t.Error(diff)
	}
}
