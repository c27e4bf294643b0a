package web_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/api"
	"chequer/internal/client"
	"chequer/internal/theme"
	"chequer/web"
	"chequer/web/present/presenttest"
)

// coffeeShop returns a service that sells coffee for 3.50, at most twenty, and the given products.
func coffeeShop(others ...api.ProductOffer) *service {
	s := newService()
	s.offers = api.ProductOffers{MerchantName: "Atelier Nord", Products: append([]api.ProductOffer{{
		Slug: "coffee", Mode: "live", Name: "Coffee", Description: "Filter, 250 g", Price: "3.5", FiatCurrency: "EUR", MaxQuantity: 20,
		AskOrderID: api.AskNo, AskNote: api.AskNo,
	}}, others...)}
	return s
}

// repair returns a product that asks for an order reference and a note.
func repair() api.ProductOffer {
	return api.ProductOffer{
		Slug: "repair", Mode: "live", Name: "Repair", Price: "64", FiatCurrency: "EUR", MaxQuantity: 9999,
		AskOrderID: api.AskRequired, AskNote: api.AskOptional,
	}
}

// orderForm returns the form of the coffee page for a quantity, with the total that the page showed.
func orderForm(quantity, amount string, extra ...string) url.Values {
	v := url.Values{"token": {token}, "quantity": {quantity}, "price": {"3.5"}, "amount": {amount}, "currency": {"EUR"}}
	for i := 0; i < len(extra); i += 2 {
		v.Set(extra[i], extra[i+1])
	}
	return v
}

func TestShop_lists_products(t *testing.T) {
	t.Parallel()
	s := coffeeShop(api.ProductOffer{Slug: "x", Name: "<script>alert(1)</script> &\"\u202e", Price: "1000", FiatCurrency: "USD", MaxQuantity: 1, AskOrderID: "no", AskNote: "no"})
	h := pages(t, s, nil)
	response := get(t, h, "/shop")
	if got := response.Header.Get("Cache-Control"); response.StatusCode != http.StatusOK || got != "private, no-cache" {
		t.Errorf("status %d, %s", response.StatusCode, got)
	}
	doc := document(t, response)
	if got := doc.Find("script").Length(); got != 0 {
		t.Errorf("%d scripts", got)
	}
	var got []string
	for _, card := range doc.Find(".card").EachIter() {
		got = append(got, card.Find("h2 a").Text()+" | "+card.Find(".buy b").Text()+" | "+card.Find("a.add").AttrOr("href", ""))
	}
	want := []string{"Coffee | €3.50 | /shop/coffee", `<script>alert(1)</script> &" | $1,000.00 | /shop/x`}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("(-got +want):\n%s", diff)
	}
	if doc := document(t, get(t, h, "/")); doc.Find(`a[href="/shop"]`).Length() != 1 {
		t.Error("the storefront has no link to the products")
	}
	if len(s.ordered) > 0 {
		t.Error("GET created an order")
	}
}

func TestShop_without_products_is_not_found(t *testing.T) {
	t.Parallel()
	plain := newService()
	plain.productsErr = client.ErrUnsupported
	for name, s := range map[string]*service{"none": newService(), "a service without products": plain} {
		h := pages(t, s, nil)
		for _, path := range []string{"/shop", "/shop/coffee", "/shop/%00", "/shop/" + strings.Repeat("a", 300), "/shop/..%2f"} {
			response := get(t, h, path)
			if doc := document(t, response); response.StatusCode != http.StatusNotFound || !strings.Contains(doc.Find("h1").Text(), "for sale") {
				t.Errorf("%s: %s has status %d, %s", name, path, response.StatusCode, doc.Find("h1").Text())
			}
		}
		if doc := document(t, get(t, h, "/")); doc.Find(`a[href="/shop"]`).Length() != 0 {
			t.Errorf("%s: the storefront links to products", name)
		}
	}
}

func TestShop_is_the_start_page_without_a_storefront(t *testing.T) {
	t.Parallel()
	h := pages(t, coffeeShop(), func(c *web.Config) { c.Storefront, c.BasePath = false, "/pay" })
	if response := get(t, h, "/pay/"); response.StatusCode != http.StatusSeeOther || response.Header.Get("Location") != "/pay/shop" {
		t.Errorf("status %d to %q", response.StatusCode, response.Header.Get("Location"))
	}
}

func TestProduct_page_shows_the_total(t *testing.T) {
	t.Parallel()
	h := pages(t, coffeeShop(repair()), nil)
	for path, want := range map[string]string{
		"/shop/coffee":              "1 × Coffee | Order and pay €3.50 | 3.5 EUR",
		"/shop/coffee?quantity=3":   "3 × Coffee | Order and pay €10.50 | 10.5 EUR",
		"/shop/coffee?quantity=20":  "20 × Coffee | Order and pay €70.00 | 70 EUR",
		"/shop/coffee?quantity=21":  "1 × Coffee | Order and pay €3.50 | 3.5 EUR",
		"/shop/coffee?quantity=1e9": "1 × Coffee | Order and pay €3.50 | 3.5 EUR",
		"/shop/repair?quantity=9999&order_id=A-17&note=Front%0d%0awheel": "9999 × Repair | Order and pay €639,936.00 | 639936 EUR",
	} {
		doc := document(t, get(t, h, path))
		got := doc.Find(".items bdi").First().Text() + " | " + doc.Find(".side button").Text() + " | " +
			doc.Find("[name=amount]").AttrOr("value", "") + " " + doc.Find("[name=currency]").AttrOr("value", "")
		if got != want {
			t.Errorf("%s: got %s, want %s", path, got, want)
		}
		if doc.Find("script").Length() != 0 || doc.Find("form").AttrOr("method", "") != "post" {
			t.Errorf("%s has a script, or a form that does not use POST", path)
		}
	}
	doc := document(t, get(t, h, "/shop/repair?order_id=A-17&note=Front%0d%0awheel"))
	if doc.Find("#order_id").AttrOr("value", "") != "A-17" || doc.Find("#note").Text() != "Front\nwheel" {
		t.Errorf("the address fills in %q and %q", doc.Find("#order_id").AttrOr("value", ""), doc.Find("#note").Text())
	}
	// The Enter key presses the first button of a form, which must not be the button that orders.
	if got := doc.Find("form button").First().AttrOr("name", ""); got != "update" {
		t.Errorf("the first button is %q, want update", got)
	}
}

func TestProduct_order_creates_an_invoice(t *testing.T) {
	t.Parallel()
	s := coffeeShop(repair())
	h := pages(t, s, nil)
	response := post(t, h, "/order/shop/coffee", orderForm("3", "10.5"), nil)
	if got := response.Header.Get("Location"); response.StatusCode != http.StatusSeeOther || got != "/invoice/made1" {
		t.Errorf("status %d to %q", response.StatusCode, got)
	}
	post(t, h, "/order/shop/repair", orderForm(" 02 ", "128", "price", "64", "order_id", " A\u202e-17\x00 ", "note", "Front\r\nwheel\x07\xff"), nil)
	want := []api.ProductOrder{
		{Slug: "coffee", Quantity: 3, Amount: "10.5", FiatCurrency: "EUR"},
		{Slug: "repair", Quantity: 2, Amount: "128", FiatCurrency: "EUR", OrderID: "A-17", Note: "Front\nwheel"},
	}
	if diff := cmp.Diff(s.ordered, want); diff != "" {
		t.Errorf("orders (-got +want):\n%s", diff)
	}
	if response := get(t, h, "/order/shop/coffee"); response.Header.Get("Location") != "/shop/coffee" {
		t.Errorf("GET of the form's address redirects to %q", response.Header.Get("Location"))
	}
}

// The same form sent twice is one order. A form with any change is another order.
func TestProduct_order_sent_twice_creates_one_invoice(t *testing.T) {
	t.Parallel()
	s := coffeeShop(repair())
	h := pages(t, s, nil)
	first := orderForm("1", "64", "price", "64", "order_id", "A-17", "note", "Wheel")
	for _, form := range []url.Values{
		first, first, orderForm("1", "64", "price", "64", "order_id", "A-17", "note", "Wheels"), orderForm("1", "64", "price", "64", "order_id", "A-1", "note", "7Wheel"),
		orderForm("2", "128", "price", "64", "order_id", "A-17", "note", "Wheel"), orderForm("1", "64", "price", "64", "order_id", "A-17", "note", "Wheel", "token", token+"2"),
	} {
		if response := post(t, h, "/order/shop/repair", form, nil); response.StatusCode != http.StatusSeeOther {
			t.Fatalf("status %d, want 303", response.StatusCode)
		}
	}
	seen := map[string]bool{}
	for _, key := range s.keys {
		seen[key] = true
	}
	if s.keys[0] != s.keys[1] || len(seen) != 5 {
		t.Errorf("the idempotency keys are %q, want the first two equal and 5 different ones", s.keys)
	}
}

func TestProduct_order_is_repeated_while_the_first_request_runs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := coffeeShop()
		s.refusals = []error{&client.Error{Status: 409, Code: "idempotency_running"}}
		if response := post(t, pages(t, s, nil), "/order/shop/coffee", orderForm("1", "3.5"), nil); response.StatusCode != http.StatusSeeOther {
			t.Errorf("status %d, want 303 after the first click is done", response.StatusCode)
		}
	})
}

// "Update total" redirects to an address that contains the whole form, so that a step back or a reload
// sends no form.
func TestProduct_update_redirects_to_the_filled_form(t *testing.T) {
	t.Parallel()
	s := coffeeShop(repair())
	h := pages(t, s, nil)
	response := post(t, h, "/order/shop/repair", orderForm("3", "64", "update", "total", "order_id", "", "note", "Front\r\nwheel"), nil)
	if got := response.Header.Get("Location"); response.StatusCode != http.StatusSeeOther || got != "/shop/repair?note=Front%0Awheel&quantity=3" {
		t.Errorf("status %d to %q", response.StatusCode, got)
	}
	if response := post(t, h, "/order/shop/coffee", orderForm("0", "3.5", "update", "total"), nil); response.StatusCode != http.StatusUnprocessableEntity {
		t.Errorf("quantity 0: status %d, want 422", response.StatusCode)
	}
	if len(s.ordered) > 0 {
		t.Error("updating created an order")
	}
}

// The shopper is charged only a total that was shown. If the total differs for any reason, the page
// states this and shows the new total.
func TestProduct_order_shows_a_new_total_first(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		form      url.Values
		isRefused bool // by the service, because the price changes after the form was sent
		heading   string
		button    string
	}{
		"the quantity was changed":    {form: orderForm("3", "3.5"), heading: "Check the new total", button: "Order and pay €10.50"},
		"the price was changed":       {form: orderForm("1", "3.3", "price", "3.3"), heading: "The price has changed", button: "Order and pay €3.50"},
		"the currency was changed":    {form: orderForm("1", "3.5", "currency", "USD"), heading: "The price has changed", button: "Order and pay €3.50"},
		"the total was made up":       {form: orderForm("1", "0.01"), heading: "Check the new total", button: "Order and pay €3.50"},
		"the form has no total":       {form: url.Values{"quantity": {"2"}, "token": {token}}, heading: "The price has changed", button: "Order and pay €7.00"},
		"the price changes meanwhile": {form: orderForm("2", "7"), isRefused: true, heading: "The price has changed", button: "Order and pay €8.00"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := coffeeShop()
			h := pages(t, s, nil)
			if tt.isRefused {
				h = pages(t, s, func(c *web.Config) { c.Client = dearerService{s} })
			}
			response := post(t, h, "/order/shop/coffee", tt.form, nil)
			doc := document(t, response)
			if response.StatusCode != http.StatusUnprocessableEntity || doc.Find(".err[role=alert] h2").Text() != tt.heading || doc.Find(".side button").Text() != tt.button {
				t.Errorf("status %d, %q, %q", response.StatusCode, doc.Find(".err h2").Text(), doc.Find(".side button").Text())
			}
			if len(s.ordered) > 0 {
				t.Errorf("ordered %+v", s.ordered)
			}
			if got := doc.Find("[name=token]").AttrOr("value", ""); got != token {
				t.Errorf("the token field contains %q", got)
			}
			if got := doc.Find("#quantity").AttrOr("value", ""); got != tt.form.Get("quantity") {
				t.Errorf("the quantity field contains %q", got)
			}
			// The total that the page shows now is accepted.
			form := tt.form
			for _, name := range []string{"price", "amount", "currency"} {
				form.Set(name, doc.Find("[name="+name+"]").AttrOr("value", ""))
			}
			if response := post(t, pages(t, s, nil), "/order/shop/coffee", form, nil); response.StatusCode != http.StatusSeeOther {
				t.Errorf("form with the new total: status %d, want 303", response.StatusCode)
			}
		})
	}
}

// dearerService is a service whose price rises when it receives an order.
type dearerService struct{ *service }

func (d dearerService) OrderProduct(context.Context, api.ProductOrder, string) (string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.offers.Products[0].Price = "4"
	return "", &client.Error{Status: 409, Code: api.CodePriceChanged}
}

func TestProduct_order_refuses_quantities(t *testing.T) {
	t.Parallel()
	for typed, want := range map[string]string{
		"": "Enter how many you want", "0": "Enter at least 1", "000": "Enter at least 1", "-1": "Enter a whole number", "+1": "Enter a whole number",
		"1.5": "Enter a whole number", "1,5": "Enter a whole number", "1e3": "Enter a whole number", "0x1": "Enter a whole number", "１": "Enter a whole number",
		"٣": "Enter a whole number", "NaN": "Enter a whole number", "two": "Enter a whole number", `"><script>`: "Enter a whole number",
		"21": "Enter at most 20", "9999": "Enter at most 20", "1000000000": "Enter at most 20", "99999999999999999999999": "Enter at most 20",
	} {
		s := coffeeShop()
		response := post(t, pages(t, s, nil), "/order/shop/coffee", orderForm(typed, "3.5"), nil)
		doc := document(t, response)
		if response.StatusCode != http.StatusUnprocessableEntity || len(s.ordered) > 0 {
			t.Errorf("%q: status %d, ordered %v", typed, response.StatusCode, s.ordered)
		}
		summary, at := doc.Find(`.err a[href="#quantity"]`).Text(), strings.TrimPrefix(doc.Find("#quantity-error").Text(), "Error: ")
		if !strings.HasPrefix(summary, want) || at != summary {
			t.Errorf("%q: the summary says %q, the field %q", typed, summary, at)
		}
		if got := doc.Find("#quantity").AttrOr("value", "none"); got != typed {
			t.Errorf("the field contains %q, want %q", got, typed)
		}
		if got := doc.Find("#quantity").AttrOr("aria-describedby", ""); got != "quantity-hint quantity-error" {
			t.Errorf("the field is described by %q", got)
		}
		if !strings.HasPrefix(doc.Find("head title").Text(), "Error: ") || doc.Find("script").Length() > 0 {
			t.Errorf("%q: title %q, %d scripts", typed, doc.Find("head title").Text(), doc.Find("script").Length())
		}
	}
}

func TestProduct_order_refuses_fields(t *testing.T) {
	t.Parallel()
	s := coffeeShop(repair())
	h := pages(t, s, nil)
	for want, form := range map[string]url.Values{
		"order_id: Enter your order reference":                   orderForm("1", "64", "order_id", " \u202e\x00 ", "note", "kept"),
		"order_id: Shorten the order reference to 64 characters": orderForm("1", "64", "order_id", strings.Repeat("é", 65), "note", "kept"),
		"note: Shorten the note to 500 characters":               orderForm("1", "64", "order_id", "1", "note", strings.Repeat("茶", 501)),
	} {
		response := post(t, h, "/order/shop/repair", form, nil)
		doc := document(t, response)
		field, words, _ := strings.Cut(want, ": ")
		if got := doc.Find(`.err a[href="#` + field + `"]`).Text(); response.StatusCode != http.StatusUnprocessableEntity || got != words {
			t.Errorf("status %d, %q, want %q", response.StatusCode, got, words)
		}
		if got := doc.Find("#note").Text(); got != form.Get("note") {
			t.Errorf("%s: the note field contains %q", want, got)
		}
	}
	doc := document(t, post(t, h, "/order/shop/repair", orderForm("0", "64"), nil))
	if got := doc.Find(".err li").Length(); got != 2 {
		t.Errorf("with two problems the summary has %d, want 2", got)
	}
	if len(s.ordered) > 0 {
		t.Errorf("ordered %+v", s.ordered)
	}
}

func TestProduct_order_shows_the_refusal_of_the_service(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		err    error
		status int
		text   string
	}{
		{&client.Error{Status: 400, Message: "amount must be at least 5 EUR"}, 422, "The shop cannot be paid this amount: amount must be at least 5 EUR."},
		{&client.Error{Status: 503, Code: "no_rate", Message: "secret detail"}, 503, "There are no prices at the moment"},
		{&client.Error{Status: 503, Code: "unavailable", Message: "secret detail"}, 503, "Payments cannot be taken right now"},
		{&client.Error{Status: 503, Code: "no_wallet", Message: "secret"}, 503, "The shop cannot take payments yet"},
		{&client.Error{Status: 429}, 429, "Wait half a minute"},
		{&client.Error{Status: 403, Message: "secret"}, 500, "It is our fault"},
		{&client.Error{Status: 404, Code: api.CodeProductNotFound}, 404, "This is not for sale"},
	} {
		s := coffeeShop()
		s.refusals = []error{tt.err}
		response := post(t, pages(t, s, nil), "/order/shop/coffee", orderForm("1", "3.5"), nil)
		if got := document(t, response).Find("main").Text(); response.StatusCode != tt.status || !strings.Contains(got, tt.text) || strings.Contains(got, "secret") {
			t.Errorf("%v: status %d, want %d with %q: %s", tt.err, response.StatusCode, tt.status, tt.text, got)
		}
	}
}

func TestProduct_orders_share_the_rate_limit_of_the_storefront(t *testing.T) {
	t.Parallel()
	h := pages(t, coffeeShop(), func(c *web.Config) { c.PostsPerMinute = 1 })
	var got []int
	for _, path := range []string{"/order", "/order/shop/coffee", "/order/shop/coffee"} {
		got = append(got, post(t, h, path, orderForm("1", "3.5"), nil).StatusCode)
	}
	if diff := cmp.Diff([]int{303, 303, 429}, got); diff != "" {
		t.Error(diff)
	}
	if response := post(t, h, "/order/shop/coffee", orderForm("1", "3.5"), map[string]string{"Sec-Fetch-Site": "cross-site"}); response.StatusCode != http.StatusForbidden {
		t.Errorf("a form of another site: status %d, want 403", response.StatusCode)
	}
}

func TestProduct_with_a_maximum_of_one_has_no_quantity_field(t *testing.T) {
	t.Parallel()
	s := coffeeShop(api.ProductOffer{Slug: "print", Mode: "test", Name: "Print", Price: "38", FiatCurrency: "EUR", MaxQuantity: 1, AskOrderID: "no", AskNote: "no"})
	h := pages(t, s, nil)
	doc := document(t, get(t, h, "/shop/print"))
	if doc.Find("#quantity").Length() != 0 || doc.Find("form button").Length() != 1 || doc.Find(".test").Length() != 1 {
		t.Errorf("the page has a field for the quantity, or lacks its button or the mark of test payments: %s", doc.Find("main").Text())
	}
	if response := post(t, h, "/order/shop/print", orderForm("2", "76", "price", "38"), nil); response.StatusCode != http.StatusNotFound || len(s.ordered) > 0 {
		t.Errorf("an order of two: status %d, want 404", response.StatusCode)
	}
}

// At most 12 KB are sent for a list and its assets, and 10 KB for a form.
func TestShop_pages_are_small(t *testing.T) {
	t.Parallel()
	s := coffeeShop()
	for i := range 24 {
		s.offers.Products = append(s.offers.Products, api.ProductOffer{
			Slug: fmt.Sprint("product-", i), Name: fmt.Sprint("Product number ", i*7919), Description: fmt.Sprint("What it is, in a line of words ", i*104729),
			Price: fmt.Sprint(i + 1), FiatCurrency: "EUR", MaxQuantity: 9, AskOrderID: api.AskOptional, AskNote: api.AskOptional,
		})
	}
	h := pages(t, s, nil)
	for path, maximum := range map[string]int{"/shop": 12_000, "/shop/product-3": 10_000} {
		if got := compressedSize(t, h, path); got > maximum {
			t.Errorf("%s has %d bytes with its assets, more than %d", path, got, maximum)
		}
	}
}

// compressedSize returns the compressed size of a page and of the assets that it names, in bytes.
func compressedSize(t *testing.T, h http.Handler, path string) (bytes int) {
	t.Helper()
	load := func(path string) []byte {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
		r.Header.Set("Accept-Encoding", "gzip")
		body, err := io.ReadAll(do(h, r).Body)
		if err != nil {
			t.Fatal(err)
		}
		return body
	}
	bytes = len(load(path))
	for _, asset := range document(t, get(t, h, path)).Find("link[href]").EachIter() {
		bytes += len(load(asset.AttrOr("href", "")))
	}
	return bytes
}

// A page with "lang" in its address keeps the language up to the invoice.
func TestShop_in_another_language(t *testing.T) {
	t.Parallel()
	h := pages(t, coffeeShop(repair()), nil)
	doc := document(t, get(t, h, "/shop/repair?lang=de&quantity=2"))
	if got := doc.Find(".side button").Text(); got != "Zahlungspflichtig bestellen: 128,00\u00a0€" {
		t.Errorf("the button says %q", got)
	}
	action := doc.Find("form").AttrOr("action", "")
	for form, want := range map[string]string{
		orderForm("3", "128", "update", "total", "note", "Rad").Encode():  "/shop/repair?note=Rad&quantity=3&lang=de",
		orderForm("2", "128", "price", "64", "order_id", "A-17").Encode(): "/invoice/made1?lang=de",
	} {
		values, err := url.ParseQuery(form)
		if err != nil {
			t.Fatal(err)
		}
		if got := post(t, h, action, values, nil).Header.Get("Location"); got != want {
			t.Errorf("%s leads to %s, want %s", action, got, want)
		}
	}
	refused := document(t, post(t, h, action, orderForm("0", "128"), nil))
	if got := refused.Find(`.err a[href="#quantity"]`).Text(); got != "Geben Sie mindestens 1 ein" {
		t.Errorf("the refusal says %q", got)
	}
	arabic := document(t, get(t, h, "/shop?lang=ar"))
	if got := arabic.Find("html").AttrOr("dir", ""); got != "rtl" || arabic.Find(`.buy bdi[dir=ltr]`).Length() != 2 {
		t.Errorf("in Arabic dir is %q, with %d prices with dir=ltr", got, arabic.Find(`.buy bdi[dir=ltr]`).Length())
	}
}

// The shop and its terminals have the merchant's theme.
func TestShop_has_the_merchants_theme(t *testing.T) {
	t.Parallel()
	merchantTheme := presenttest.Theme(t)
	r := presenttest.Invoice("abc")
	s := coffeeShop()
	s.set(r)
	s.ownTheme, s.themes = merchantTheme, []theme.Theme{merchantTheme}
	s.link = api.CheckoutLink{MerchantName: "Shop", Mode: "live", FiatCurrency: "EUR", Theme: merchantTheme.Hash()}
	invoice := s.invoices["abc"]
	invoice.Theme = merchantTheme.Hash()
	s.invoices["abc"] = invoice
	h := pages(t, s, nil)
	for _, path := range []string{"/shop", "/shop/coffee", terminalPath, terminalPath + "/abc"} {
		doc := document(t, get(t, h, path))
		sheet := doc.Find("link[rel=stylesheet]").AttrOr("href", "")
		if !strings.HasPrefix(sheet, "/look/"+merchantTheme.Hash()+"/") || get(t, h, sheet).StatusCode != http.StatusOK {
			t.Errorf("the style sheet of %s is %s, want that of the theme", path, sheet)
		}
		if !strings.Contains(doc.Find("header").Text(), merchantTheme.Name) {
			t.Errorf("%s does not name the shop %s: %s", path, merchantTheme.Name, doc.Find("header").Text())
		}
	}
}
