package server_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	"chequer/internal/api"
	"chequer/internal/merchant"
	"chequer/internal/money"
)

// unpaid counts the invoices of a lab, of which none is paid.
type unpaid struct{ lab *lab }

func (u unpaid) UnpaidInvoices(context.Context, string, merchant.Mode, time.Time, int) (int, error) {
	return u.lab.storage.Count(), nil
}

// What anybody can ask for ends when many ask and none pays; what a merchant vouches
// for does not, and what was answered once is answered again.
func TestUnpaidInvoicesAreBounded(t *testing.T) {
	t.Parallel()
	l := newLab(t, nil)
	l.keepEndpoints()
	builtin := l.merchants.keys[publicKey("all")]
	builtin.ID, builtin.Key, builtin.Secret, builtin.Builtin = "pages", publicKey("pages"), "secret of pages", true
	l.merchants.keys[builtin.Key] = builtin
	l.config.MaxUnpaid, l.config.Unpaid = 2, unpaid{l}
	l.begin()
	l.send(products("all", "POST", "", coffee))
	l.send(message{method: "POST", target: "/api/v2/links", key: "admin", own: true, body: `{"slug":"tips","amount":"3.50","fiat_currency":"EUR"}`})
	at, err := l.config.Terminals.Create(t.Context(), merchant.Terminal{MerchantID: "shop", Mode: merchant.Test, Currency: money.EUR.Code})
	if err != nil {
		t.Fatal(err)
	}
	tokens := 0
	ask := func(key, target, body, token string) int {
		if tokens++; token == "" {
			token = fmt.Sprint("token", tokens)
		}
		m := message{method: "POST", target: target, key: key, own: true, body: body, header: http.Header{api.HeaderIdempotencyKey: {token}}}
		return l.send(m).StatusCode
	}
	const order = `{"slug":"coffee","quantity":1,"amount":"3.5","fiat_currency":"EUR"}`
	const create = `{"amount":5,"fiat_currency":"EUR"}`
	for _, tt := range []struct {
		name, key, target, body, token string
		want                           int
	}{
		{"the first order", "pages", "/api/v2/products/order", order, "first", 200},
		{"the second", "pages", "/api/v2/products/order", order, "", 200},
		{"the third", "pages", "/api/v2/products/order", order, "", 429},
		{"the first again", "pages", "/api/v2/products/order", order, "first", 200},
		{"the storefront", "pages", api.PathInvoiceNew, create, "", 429},
		{"a link", "pages", "/api/v2/links/pay", `{"slug":"tips"}`, "", 429},
		{"a terminal", "pages", "/api/v2/links/pay", `{"terminal":"` + at.Secret + `","amount":"5"}`, "", 200},
		{"a signed link", "pages", "/api/v2/links/pay", `{"query":"` + query("all") + `"}`, "", 200},
		{"the merchant's own key", "all", api.PathInvoiceNew, create, "", 200},
	} {
		if got := ask(tt.key, tt.target, tt.body, tt.token); got != tt.want {
			t.Errorf("%s answers %d, not %d", tt.name, got, tt.want)
		}
	}
}
