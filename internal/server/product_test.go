package server_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/api"
	"chequer/internal/merchant"
	"chequer/internal/money"
)

// coffee is the request for a product.
const coffee = `{"slug":"coffee","name":"Coffee","description":"Filter, 250 g","price":3.50,"fiat_currency":"EUR","max_quantity":20}`

// productCall is a call about products.
func productCall(key, method, path, body string) message {
	return message{method: method, target: "/api/v2/products" + path, key: key, signRequest: true, body: body}
}

// sendOrder orders a product as its page does, with the token of its form.
func (f *fixture) sendOrder(token, body string) *http.Response {
	m := productCall("all", "POST", "/order", body)
	m.header = http.Header{api.HeaderIdempotencyKey: {token}}
	return f.send(m)
}

// orderInvoice orders a product and returns the identifier of the invoice.
func (f *fixture) orderInvoice(t *testing.T, token, body string) string {
	t.Helper()
	var created api.CheckoutInvoice
	response := f.sendOrder(token, body)
	if text := read(t, response); response.StatusCode != http.StatusOK || json.Unmarshal([]byte(text), &created) != nil {
		t.Fatalf("order answers %d: %s", response.StatusCode, text)
	}
	return created.ForeignID
}

// Every answer about products.
func TestGolden_product_responses_are_unchanged(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	f.useStorage()
	var answers []string
	record := func(name string, m message) { answers = append(answers, goldenText(t, name, f.send(m))) }
	record("made", productCall("all", "POST", "", coffee))
	record("made for dollars, asking for both", productCall("all", "POST", "", `{"slug":"repair","name":"Repair","price":"64","fiat_currency":"USD","ask_order_id":"required","ask_note":"optional"}`))
	record("not for sale", productCall("all", "POST", "", `{"slug":"tea","name":"Tea","price":"2","fiat_currency":"EUR","active":false}`))
	record("listed", productCall("all", "GET", "", ""))
	record("one", productCall("all", "GET", "/coffee", ""))
	record("changed", productCall("all", "PATCH", "/coffee", `{"price":"3.80","description":null}`))
	record("changed VAT rate", productCall("all", "PATCH", "/coffee", `{"vat_rate":7.70}`))
	record("shown by the shop", productCall("all", "POST", "/read", `{}`))
	record("shown by its page", productCall("all", "POST", "/read", `{"slug":"repair"}`))
	m := productCall("all", "POST", "/order", `{"slug":"repair","quantity":3,"amount":"192","fiat_currency":"USD","order_id":"A-17","note":"Front wheel\nonly"}`)
	m.header = http.Header{api.HeaderIdempotencyKey: {"token"}}
	record("ordered", m)
	record("removed", productCall("all", "DELETE", "/coffee", ""))
	golden(t, "products.json", "["+strings.Join(answers, ",")+"]")
}

// The invoice contains the details of the order for the merchant.
func TestOrder_details_are_in_the_invoice(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	f.useStorage()
	f.send(productCall("all", "POST", "", `{"slug":"repair","name":"<b>Repair</b> & \"more\"","price":"0.10","fiat_currency":"EUR","ask_order_id":"optional","ask_note":"optional"}`))
	id := f.orderInvoice(t, "token", `{"slug":"repair","quantity":3,"amount":"0.30","fiat_currency":"EUR","order_id":"A-17","note":"Zwei Räder"}`)
	var got api.Resource
	response := f.send(message{method: "GET", target: "/api/v2/invoices/" + id, key: "all", signRequest: true})
	if err := json.Unmarshal([]byte(read(t, response)), &got); err != nil {
		t.Fatal(err)
	}
	if got.ClientAmount != "0.3" || got.OrderID != "A-17" || got.Description != `3 × <b>Repair</b> & "more"` {
		t.Errorf("invoice: amount %s, order %s, description %s", got.ClientAmount, got.OrderID, got.Description)
	}
	want := map[string]string{"product": "repair", "quantity": "3", "unit_price": "0.1", "note": "Zwei Räder", "order_id_from": "shopper"}
	if diff := cmp.Diff(got.Metadata, want); diff != "" {
		t.Errorf("metadata (-got +want):\n%s", diff)
	}
}

// One form creates one invoice, even if the product changes afterwards. A shopper is never charged
// a price that was not shown.
func TestOrder_creates_one_invoice_at_the_shown_price(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	f.useStorage()
	f.send(productCall("all", "POST", "", coffee))
	order := `{"slug":"coffee","quantity":2,"amount":"7.00","fiat_currency":"EUR"}`
	first := f.orderInvoice(t, "a", order)
	for name, change := range map[string]message{
		"price":    productCall("all", "PATCH", "/coffee", `{"price":"3.51"}`),
		"currency": productCall("all", "PATCH", "/coffee", `{"price":"3.50","fiat_currency":"USD"}`),
		"sale":     productCall("all", "PATCH", "/coffee", `{"active":false}`),
	} {
		f.send(change)
		if second := f.orderInvoice(t, "a", order); second != first {
			t.Errorf("after a change of the %s the same form created another invoice", name)
		}
		want := map[string]string{"price": api.CodePriceChanged, "currency": api.CodePriceChanged, "sale": api.CodeProductNotFound}[name]
		if got := f.sendOrder("new "+name, order).Header.Get(api.HeaderErrorCode); got != want {
			t.Errorf("after a change of the %s an order of an older page has the code %q, want %q", name, got, want)
		}
		f.send(productCall("all", "PATCH", "/coffee", `{"price":"3.50","fiat_currency":"EUR","active":true}`))
	}
	f.send(productCall("all", "DELETE", "/coffee", ""))
	if second := f.orderInvoice(t, "a", order); second != first {
		t.Error("after removal of the product the same form created another invoice")
	}
	if n := f.storage.Count(); n != 1 {
		t.Errorf("%d invoices were created, want 1", n)
	}
}

// The invoice keeps the VAT rate that its product had.
func TestOrder_freezes_the_VAT_rate(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	f.useStorage()
	type vat struct{ Rate, Net, VAT string }
	show := func(id string) vat {
		t.Helper()
		var r api.Resource
		response := f.send(message{method: "GET", target: "/api/v2/invoices/" + id, key: "all", signRequest: true})
		if err := json.Unmarshal([]byte(read(t, response)), &r); err != nil {
			t.Fatal(err)
		}
		return vat{r.VATRate, r.NetAmount, r.VATAmount}
	}
	f.send(productCall("all", "POST", "", `{"slug":"print","name":"Print","price":"14.90","fiat_currency":"EUR"}`))
	order := `{"slug":"print","quantity":2,"amount":"29.80","fiat_currency":"EUR"}`
	var ids []string
	wants := []vat{{}, {"19", "25.04", "4.76"}, {"7.7", "27.67", "2.13"}, {"0", "29.8", "0"}, {}}
	for i, change := range []string{`{"vat_rate":null}`, `{"vat_rate":19}`, `{"vat_rate":"7.70"}`, `{"vat_rate":"0"}`, `{"vat_rate":""}`} {
		if response := f.send(productCall("all", "PATCH", "/print", change)); response.StatusCode != http.StatusOK {
			t.Fatalf("change %s: answer %d", change, response.StatusCode)
		}
		ids = append(ids, f.orderInvoice(t, fmt.Sprint("token", i), order))
	}
	f.send(productCall("all", "DELETE", "/print", ""))
	for i, id := range ids {
		if got := show(id); got != wants[i] {
			t.Errorf("invoice %d: got %+v, want %+v", i, got, wants[i])
		}
	}
}

func TestOrder_concurrent_requests_create_one_invoice(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	f.useStorage()
	f.send(productCall("all", "POST", "", coffee))
	var group sync.WaitGroup
	for range 16 {
		group.Go(func() {
			response := f.sendOrder("token", `{"slug":"coffee","quantity":1,"amount":"3.5","fiat_currency":"EUR"}`)
			if response.StatusCode != http.StatusOK && response.StatusCode != http.StatusConflict {
				t.Errorf("answer %d", response.StatusCode)
			}
		})
	}
	group.Wait()
	if n := f.storage.Count(); n != 1 {
		t.Errorf("%d invoices were created, want 1", n)
	}
}

func TestOrder_refuses_invalid_requests(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	f.useStorage()
	f.send(productCall("all", "POST", "", coffee))
	f.send(productCall("all", "POST", "", `{"slug":"house","name":"House","price":"400000","fiat_currency":"EUR"}`))
	f.send(productCall("all", "POST", "", `{"slug":"repair","name":"Repair","price":"64","fiat_currency":"EUR","ask_order_id":"required","ask_note":"optional"}`))
	f.send(productCall("live", "POST", "", `{"slug":"live","name":"Live","price":"64","fiat_currency":"EUR"}`))
	orderBody := func(slug, quantity, amount string, extra ...string) string {
		return fmt.Sprintf(`{"slug":%q,"quantity":%s,"amount":%q,"fiat_currency":"EUR"%s}`, slug, quantity, amount, strings.Join(extra, ""))
	}
	for body, want := range map[string]string{
		orderBody("coffee", "0", "0"): "invalid_quantity", orderBody("coffee", "-1", "3.5"): "invalid_quantity", orderBody("coffee", "1.5", "5.25"): "invalid_quantity",
		orderBody("coffee", "1e0", "3.5"): "invalid_quantity", orderBody("coffee", `"1"`, "3.5"): "invalid_quantity", orderBody("coffee", "1000000000", "3500000000"): "invalid_quantity",
		orderBody("coffee", "99999999999999999999", "1"): "invalid_quantity", orderBody("coffee", "21", "73.50"): "invalid_quantity",
		orderBody("house", "3", "1200000"): "invalid_quantity", orderBody("house", "2", "800001"): api.CodePriceChanged,
		orderBody("coffee", "1", "3.49"): api.CodePriceChanged, orderBody("coffee", "1", "3.505"): api.CodePriceChanged, orderBody("coffee", "1", "350000000000000"): api.CodePriceChanged,
		orderBody("tea", "1", "1"): api.CodeProductNotFound, orderBody("../coffee", "1", "1"): api.CodeProductNotFound,
		orderBody("repair", "1", "64"):                                              "invalid_order_id",
		orderBody("repair", "1", "64", `,"order_id":"a\u202eb"`):                    "invalid_order_id",
		orderBody("repair", "1", "64", `,"order_id":"a\u0000b"`):                    "invalid_order_id",
		orderBody("repair", "1", "64", `,"order_id":"a","note":"a\u0007b"`):         "invalid_note",
		orderBody("repair", "1", "64", `,"order_id":"`+strings.Repeat("1", 65)+`"`): "invalid_order_id",
		orderBody("coffee", "1", "3.5", `,"order_id":"a"`):                          "invalid_order_id",
		orderBody("coffee", "1", "3.5", `,"price":"1"`):                             "unknown_field",
	} {
		response := f.sendOrder(fmt.Sprintf("%x", body)[:40], body)
		if got := response.Header.Get(api.HeaderErrorCode); got != want {
			t.Errorf("%s: answer %d, code %s, want %s", body, response.StatusCode, got, want)
		}
	}
	if response := f.send(productCall("all", "POST", "/order", orderBody("coffee", "1", "3.5"))); response.Header.Get(api.HeaderErrorCode) != "invalid_idempotency_key" {
		t.Errorf("without a token: answer %d", response.StatusCode)
	}
	if n := f.storage.Count(); n != 0 {
		t.Errorf("%d invoices were created, want none", n)
	}
	for body, mode := range map[string]string{orderBody("house", "2", "800000"): "test", orderBody("live", "1", "64"): "live"} {
		if got := f.mode(t, f.orderInvoice(t, "fine"+mode, body)); got != mode {
			t.Errorf("%s created a %s invoice", body, got)
		}
	}
}

// mode returns the mode of an invoice.
func (f *fixture) mode(t *testing.T, id string) string {
	t.Helper()
	inv, err := f.invoices.Invoice(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return string(inv.Mode)
}

// The scope page reads and orders products, and only admin changes products.
func TestProducts_enforce_scopes(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		method, path, body string
		status             map[string]int // by key
	}{
		{"POST", "", `{"slug":"tea","name":"Tea","price":"1","fiat_currency":"EUR"}`, map[string]int{"admin": 201, "page": 403, "create": 403, "read": 403}},
		{"GET", "", "", map[string]int{"admin": 200, "page": 403, "create": 403}},
		{"GET", "/coffee", "", map[string]int{"admin": 200, "other": 404, "liveread": 404, "page": 403}},
		{"PATCH", "/coffee", `{"price":"1"}`, map[string]int{"admin": 200, "other": 404, "liveread": 404, "page": 403}},
		{"DELETE", "/coffee", "", map[string]int{"admin": 204, "other": 404, "liveread": 404, "page": 403}},
		{"POST", "/read", `{"slug":"coffee"}`, map[string]int{"all": 200, "live": 200, "page": 404, "create": 403, "admin": 403}},                           // page belongs to another merchant
		{"POST", "/order", `{"slug":"coffee","quantity":1,"amount":"3.5","fiat_currency":"EUR"}`, map[string]int{"page": 400, "create": 403, "admin": 403}}, // no token
	} {
		for key, want := range tt.status {
			f := newFixture(t, nil)
			f.useStorage()
			f.send(productCall("admin", "POST", "", coffee))
			response := f.send(productCall(key, tt.method, tt.path, tt.body))
			if response.StatusCode != want {
				t.Errorf("%s products%s by %s: answer %d, want %d: %s", tt.method, tt.path, key, response.StatusCode, want, read(t, response))
			}
		}
	}
}

// The shop lists exactly the products that can be ordered.
func TestShop_lists_the_products_for_sale(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	s := f.useStorage()
	f.send(productCall("all", "POST", "", coffee))
	f.send(productCall("all", "POST", "", `{"slug":"tea","name":"Tea","price":"2","fiat_currency":"EUR","active":false}`))
	f.send(productCall("live", "POST", "", `{"slug":"live","name":"Live","price":"2","fiat_currency":"EUR"}`))
	f.send(productCall("other", "POST", "", `{"slug":"other","name":"Other","price":"2","fiat_currency":"EUR"}`))
	inYen := merchant.Product{Slug: "yen", MerchantID: "shop", Mode: merchant.Test, Name: "In yen", AskOrderID: "no", AskNote: "no", Active: true}
	inYen.Price = money.FromCents(500, jpy)
	if err := s.CreateProduct(t.Context(), inYen); err != nil { // in a currency that is no longer enabled
		t.Fatal(err)
	}
	var got api.ProductOffers
	if err := json.Unmarshal([]byte(read(t, f.send(productCall("all", "POST", "/read", `{}`)))), &got); err != nil {
		t.Fatal(err)
	}
	want := []api.ProductOffer{{
		Slug: "coffee", Mode: "test", Name: "Coffee", Description: "Filter, 250 g", Price: "3.5", FiatCurrency: "EUR", MaxQuantity: 20,
		AskOrderID: "no", AskNote: "no",
	}}
	if diff := cmp.Diff(got.Products, want); diff != "" {
		t.Errorf("(-got +want):\n%s", diff)
	}
}

func TestTerminal_creates_invoices_of_any_amount_until_it_is_removed(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	f.useStorage()
	terminal, err := f.config.Terminals.Create(t.Context(), merchant.Terminal{MerchantID: "shop", Mode: merchant.Test, Name: "Bar", Currency: "EUR"})
	if err != nil {
		t.Fatal(err)
	}
	call := func(action, token string, extra ...string) *http.Response {
		m := message{method: "POST", target: "/api/v2/links/" + action, key: "page", signRequest: true, body: `{"terminal":"` + terminal.Secret + `"` + strings.Join(extra, "") + `}`}
		m.header = http.Header{api.HeaderIdempotencyKey: {token}}
		return f.send(m)
	}
	if got := read(t, call("read", "a")); !strings.Contains(got, `"description":"Bar"`) || !strings.Contains(got, `"amount":""`) {
		t.Errorf("read: answer %s", got)
	}
	first := read(t, call("pay", "a", `,"amount":"7.50","order_id":"Table 4","note":"Two beers"`))
	if second := read(t, call("pay", "a", `,"amount":"7.50","order_id":"Table 4","note":"Two beers"`)); second != first {
		t.Errorf("the same form returned %s, then %s", first, second)
	}
	var created api.CheckoutInvoice
	if err := json.Unmarshal([]byte(first), &created); err != nil {
		t.Fatal(err)
	}
	var inv api.Resource
	response := f.send(message{method: "GET", target: "/api/v2/invoices/" + created.ForeignID, key: "all", signRequest: true})
	if err := json.Unmarshal([]byte(read(t, response)), &inv); err != nil {
		t.Fatal(err)
	}
	if inv.OrderID != "Table 4" || inv.Metadata["note"] != "Two beers" || inv.Metadata["terminal"] != terminal.ID || inv.ClientAmount != "7.5" || inv.Mode != "test" {
		t.Errorf("invoice = %+v", inv)
	}
	for body, want := range map[string]string{`,"slug":"coffee"`: "invalid_link", ``: "invalid_amount", `,"amount":"0"`: "invalid_amount", `,"amount":"1","note":"\u2066"`: "invalid_note"} {
		if got := call("pay", "b"+fmt.Sprint(len(body)), body).Header.Get(api.HeaderErrorCode); got != want {
			t.Errorf("%s: code %q, want %q", body, got, want)
		}
	}
	m := message{method: "POST", target: "/api/v2/links/pay", key: "page", signRequest: true, body: `{"slug":"coffee","note":"x"}`}
	if got := f.send(m).Header.Get(api.HeaderErrorCode); got != "invalid_note" {
		t.Errorf("note with a link: code %q, want invalid_note", got)
	}
	if err := f.config.Terminals.Remove(t.Context(), "shop", terminal.ID); err != nil {
		t.Fatal(err)
	}
	if got := call("read", "a").Header.Get(api.HeaderErrorCode); got != api.CodeTerminalNotFound {
		t.Errorf("removed terminal: code %q", got)
	}
}
