package server_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"chequer/internal/api"
	"chequer/internal/caller"
	"chequer/internal/merchant"
	"chequer/internal/money"
)

// unpaidFixture is a fixture whose pages call the API with a built-in key.
type unpaidFixture struct {
	*fixture
	tokens   int
	terminal string
}

const (
	orderOfCoffee = `{"slug":"coffee","quantity":1,"amount":"3.5","fiat_currency":"EUR"}`
	openAmount    = `{"amount":5,"fiat_currency":"EUR"}`
)

func newUnpaidFixture(t *testing.T, maxUnpaid int, now func() time.Time) *unpaidFixture {
	t.Helper()
	f := newFixture(t, now)
	f.useStorage()
	builtin := f.merchants.keys[publicKey("all")]
	builtin.ID, builtin.Key, builtin.Secret, builtin.Builtin = "pages", publicKey("pages"), "secret of pages", true
	f.merchants.keys[builtin.Key] = builtin
	f.config.MaxUnpaid = maxUnpaid
	f.restart()
	f.send(productCall("all", "POST", "", coffee))
	f.send(message{method: "POST", target: "/api/v2/links", key: "admin", signRequest: true, body: `{"slug":"tips","amount":"3.50","fiat_currency":"EUR"}`})
	terminal, err := f.config.Terminals.Create(t.Context(), merchant.Terminal{MerchantID: "shop", Mode: merchant.Test, Currency: money.EUR.Code})
	if err != nil {
		t.Fatal(err)
	}
	return &unpaidFixture{fixture: f, terminal: terminal.Secret}
}

// createInvoice requests an invoice for a shopper and returns "ok", or the status and the error code of the
// answer. An empty token is replaced by a new one.
func (f *unpaidFixture) createInvoice(key, target, body, token, shopper string) string {
	if f.tokens++; token == "" {
		token = fmt.Sprint("token", f.tokens)
	}
	r := f.request(message{method: "POST", target: target, key: key, signRequest: true, body: body, header: http.Header{api.HeaderIdempotencyKey: {token}}})
	answer := f.serve(r.WithContext(caller.NewContext(r.Context(), shopper)))
	if answer.StatusCode == http.StatusOK {
		return "ok"
	}
	return fmt.Sprint(answer.StatusCode, " ", answer.Header.Get(api.HeaderErrorCode))
}

// createByStorefront requests an invoice by the form of the storefront.
func (f *unpaidFixture) createByStorefront(shopper string) string {
	return f.createInvoice("pages", api.PathInvoiceNew, openAmount, "", shopper)
}

// createByProduct requests an invoice by the form of a product.
func (f *unpaidFixture) createByProduct(shopper string) string {
	return f.createInvoice("pages", "/api/v2/products/order", orderOfCoffee, "", shopper)
}

const (
	limitReached   = "429 too_many_unpaid"
	networkReached = "429 too_many_unpaid_from_network"
)

func TestUnpaidInvoices_are_limited_for_callers_without_a_key(t *testing.T) {
	t.Parallel()
	f := newUnpaidFixture(t, 2, nil)
	for _, tt := range []struct{ name, key, target, body, token, want string }{
		{"the merchant's own key", "all", api.PathInvoiceNew, openAmount, "", "ok"},
		{"the first order", "pages", "/api/v2/products/order", orderOfCoffee, "first", "ok"},
		{"the storefront after half of the limit", "pages", api.PathInvoiceNew, openAmount, "", limitReached},
		{"the second order", "pages", "/api/v2/products/order", orderOfCoffee, "", "ok"},
		{"the third order", "pages", "/api/v2/products/order", orderOfCoffee, "", limitReached},
		{"the first order again", "pages", "/api/v2/products/order", orderOfCoffee, "first", "ok"},
		{"a link", "pages", "/api/v2/links/pay", `{"slug":"tips"}`, "", limitReached},
		{"a terminal", "pages", "/api/v2/links/pay", `{"terminal":"` + f.terminal + `","amount":"5"}`, "", "ok"},
		{"a signed link", "pages", "/api/v2/links/pay", `{"query":"` + linkQuery("all") + `"}`, "", "ok"},
		{"the merchant's own key again", "all", api.PathInvoiceNew, openAmount, "", "ok"},
	} {
		if got := f.createInvoice(tt.key, tt.target, tt.body, tt.token, ""); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.name, got, tt.want)
		}
	}
}

func TestUnpaidInvoices_of_one_network_do_not_block_others(t *testing.T) {
	t.Parallel()
	for name, flood := range map[string]func(n int) string{
		"addresses_of_a_48":       func(n int) string { return fmt.Sprintf("2001:db8:1:%x::%x", n%0x10000, n) },
		"addresses_of_a_56":       func(n int) string { return fmt.Sprintf("2001:db8:1:%x::1", n%0x100) },
		"one_ipv4_address":        func(int) string { return "192.0.2.7" },
		"addresses_of_an_ipv4_24": func(n int) string { return fmt.Sprintf("192.0.2.%d", n%256) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newUnpaidFixture(t, 40, nil)
			var created int
			for n := range 100 {
				create := f.createByStorefront
				if n%2 == 1 {
					create = f.createByProduct
				}
				switch got := create(flood(n * 257)); got {
				case "ok":
					created++
				case networkReached:
				default:
					t.Fatalf("request %d: got %s", n, got)
				}
			}
			if created == 0 || created > 4 {
				t.Errorf("the network got %d invoices, want 1 to 4 of 40", created)
			}
			if got := f.createByStorefront("2001:db8:2::1"); got != "ok" {
				t.Errorf("storefront for another network: got %s, want ok", got)
			}
			if got := f.createByProduct("198.51.100.1"); got != "ok" {
				t.Errorf("product for another network: got %s, want ok", got)
			}
			if got := f.createInvoice("all", api.PathInvoiceNew, openAmount, "", flood(0)); got != "ok" {
				t.Errorf("the merchant's own key from that network: got %s, want ok", got)
			}
		})
	}
}

func TestUnpaidInvoices_block_the_storefront_before_products_and_links(t *testing.T) {
	t.Parallel()
	f := newUnpaidFixture(t, 10, nil)
	shopper := func(n int) string { return fmt.Sprintf("2001:db8:%x::1", n) }
	for n := range 5 {
		if got := f.createByStorefront(shopper(n)); got != "ok" {
			t.Fatalf("request %d: got %s, want ok", n, got)
		}
	}
	if got := f.createByStorefront(shopper(5)); got != limitReached {
		t.Errorf("storefront: got %s, want %s", got, limitReached)
	}
	for n := 5; n < 10; n++ {
		if got := f.createByProduct(shopper(n)); got != "ok" {
			t.Errorf("product %d: got %s, want ok", n, got)
		}
	}
	if got := f.createByProduct(shopper(10)); got != limitReached {
		t.Errorf("product: got %s, want %s", got, limitReached)
	}
}

func TestUnpaidInvoices_count_for_15_minutes(t *testing.T) {
	t.Parallel()
	now := noon
	f := newUnpaidFixture(t, 1, func() time.Time { return now })
	if got := f.createByProduct("192.0.2.7"); got != "ok" {
		t.Fatalf("first: got %s, want ok", got)
	}
	now = noon.Add(15*time.Minute - time.Second)
	if got := f.createByProduct("192.0.2.7"); got != networkReached {
		t.Errorf("within the time: got %s, want %s", got, networkReached)
	}
	now = noon.Add(15 * time.Minute)
	if got := f.createByProduct("192.0.2.7"); got != "ok" {
		t.Errorf("after the time: got %s, want ok", got)
	}
}
