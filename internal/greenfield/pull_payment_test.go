package greenfield_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"chequer/internal/invoice"
	"chequer/internal/merchant"
)

// pullPayment returns the body that the plug-in for WooCommerce sends for a refund.
func pullPayment(name, amount string) string {
	return fmt.Sprintf(`{"name":%q,"description":null,"amount":%q,"currency":"EUR","period":null,"BOLT11Expiration":null,"autoApproveClaims":false,`+
		`"startsAt":null,"expiresAt":null,"paymentMethods":["BTC_CHAIN","LTC_CHAIN"],"payoutMethods":["BTC_CHAIN","LTC_CHAIN"]}`, name, amount)
}

// paidOrder returns a paid invoice of an order.
func (f *fixture) paidOrder(orderID, amount string) (id string) {
	f.t.Helper()
	id = f.create(fmt.Sprintf(`{"amount":"864.20","currency":"EUR","metadata":{"orderId":%q}}`, orderID)).ID
	f.confirm(f.pay(id, amount))
	return id
}

func TestPullPayment_prepares_a_refund_of_the_order(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		id := f.paidOrder("1042", whole)
		f.create(`{"amount":"864.20","currency":"EUR","metadata":{"orderId":"1042"}}`) // a second, unpaid invoice of the order
		f.paidOrder("17", whole)
		spaced := f.paidOrder("A 17", whole)
		path := f.store("/pull-payments")
		got := call[refunded](f, "POST", path, pullPayment("Refund of order 1042; broken", "432.10"))
		if got.ID == "" || got.ViewLink != "https://pay.example/shop/i/"+id || got.Currency != "EUR" || got.Amount != "432.1" {
			t.Errorf("got %+v, want a refund of 432.1 EUR with the page of invoice %s", got, id)
		}
		inv, err := f.invoices.Invoice(t.Context(), id)
		if err != nil || len(inv.Refunds) != 1 {
			t.Fatalf("stored %+v, error %v", inv.Refunds, err)
		}
		if r := inv.Refunds[0]; r.ID != got.ID || r.Kind != invoice.RefundPart || r.Amount.String() != half || r.Asset != "BTC" || r.Tx != "" || r.State != invoice.RefundAsked {
			t.Errorf("stored %+v, want one that waits for the address of the shopper", r)
		}
		// A name in another language, an order ID of two words, and requests without a reason or without a name.
		if got := call[refunded](f, "POST", path, pullPayment("Erstattung der Bestellung A 17; ", "8.64")); !strings.HasSuffix(got.ViewLink, spaced) {
			t.Errorf("got %+v, want a refund of %s", got, spaced)
		}
		if got := call[refunded](f, "POST", path, `{"name":"A 17","amount":8,"currency":"eur","description":""}`); !strings.HasSuffix(got.ViewLink, spaced) {
			t.Errorf("got %+v, want a refund of %s", got, spaced)
		}
		if got := call[refunded](f, "POST", path, `{"description":"order 1042","amount":"8","currency":"EUR"}`); !strings.HasSuffix(got.ViewLink, id) {
			t.Errorf("got %+v, want a refund of %s", got, id)
		}
	})
}

// A repeated request prepares no second refund. After two minutes an equal request prepares another one.
func TestPullPayment_repeated_within_two_minutes_prepares_one_refund(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		id := f.paidOrder("1042", whole)
		count := func() int {
			inv, err := f.invoices.Invoice(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			return len(inv.Refunds)
		}
		for path, body := range map[string]string{
			f.store("/pull-payments"): pullPayment("Refund of order 1042; ", "200"), "/invoices/" + id + "/refund": `{"refundVariant":"Custom","customAmount":"100"}`,
		} {
			before := count()
			first := call[refunded](f, "POST", path, body)
			f.clock.Advance(time.Minute)
			if again := call[refunded](f, "POST", path, body); again != first || count() != before+1 {
				t.Errorf("%s repeated: got %+v and %+v, %d refunds, want one", path, first, again, count()-before)
			}
			f.clock.Advance(2 * time.Minute)
			if second := call[refunded](f, "POST", path, body); second.ID == first.ID || count() != before+2 {
				t.Errorf("%s later: got %+v and %+v, %d refunds, want a second one", path, first, second, count()-before)
			}
		}
		const rest = `{"refundVariant":"RateThen"}`
		first := call[refunded](f, "POST", "/invoices/"+id+"/refund", rest)
		if again := call[refunded](f, "POST", "/invoices/"+id+"/refund", rest); again != first {
			t.Errorf("the rest repeated: got %+v and %+v, want the same", first, again)
		}
		f.clock.Advance(3 * time.Minute)
		if a := f.send("POST", "/invoices/"+id+"/refund", f.token, rest); a.status != http.StatusUnprocessableEntity {
			t.Errorf("more than the received amount: answer %d: %s, want 422", a.status, a.body)
		}
	})
}

func TestPullPayment_refuses_unclear_orders_and_wrong_amounts(t *testing.T) {
	t.Parallel()
	f := newFixture(t, storageFile(t))
	f.paidOrder("1042", whole)
	f.create(`{"amount":"864.20","currency":"EUR","metadata":{"orderId":"unpaid"}}`)
	f.paidOrder("twice", whole)
	f.paidOrder("twice", whole)
	other := f.createShop("Bakery")
	path, unknown := f.store("/pull-payments"), "There is no invoice with the order ID in the name"
	for body, want := range map[string]string{
		pullPayment("Refund of order 1042; ", "864.21"): `[{"path":"amount","message":"The refund is, at the current rate, more than the confirmed amount`,
		pullPayment("Refund of order 1042; ", "0"):      `"path":"amount"`,
		pullPayment("Refund of order 1042; ", ""):       `"path":"amount"`,
		pullPayment("Refund of order unpaid; ", "5"):    `The invoices of the order \"unpaid\" received nothing`,
		pullPayment("Refund of order twice; ", "5"):     `Several invoices of the order \"twice\" received money`,
		pullPayment("Refund of order 1043; 1042", "5"):  unknown,
		pullPayment("Refund of order 104", "5"):         unknown,
		pullPayment("", "5"):                            unknown,
		pullPayment("; ", "5"):                          unknown,
		pullPayment("Refund of order 1042; ", "5")[:50]: "",
		// The name has 50 bytes, so the order number may have been longer.
		pullPayment("The money back for the order of the customer: 1042", "5"):                     unknown,
		`{"name":"order 1042","amount":"5","currency":"USD"}`:                                      `[{"path":"currency","message":"The currency must be that of the invoice, EUR"}]`,
		`{"name":"order 1042","amount":"5","currency":"BTC"}`:                                      `"path":"currency"`,
		`{"name":"order 1042","amount":"5","currency":"EUR","payoutMethods":["LTC-CHAIN","DOGE"]}`: `[{"path":"payoutMethods","message":"The invoice received nothing by this payment method"}]`,
		`{"name":["order 1042"],"amount":"5","currency":"EUR"}`:                                    `"path":"name"`,
	} {
		a, status := f.send("POST", path, f.token, body), http.StatusUnprocessableEntity
		if want == "" {
			status = http.StatusBadRequest
		}
		if a.status != status || !strings.Contains(a.body, want) {
			t.Errorf("%s: answer %d: %s, want %d with %s", body, a.status, a.body, status, want)
		}
	}
	body := pullPayment("Refund of order 1042; ", "5")
	for name, tt := range map[string]struct {
		token, path string
		want        int
	}{
		"without the scope":     {f.newToken(f.shop, merchant.Test, "prestashop"), path, 403},
		"a key of another shop": {f.newToken(other, merchant.Test, "woocommerce"), path, 403},
		"order of another shop": {f.newToken(other, merchant.Test, "woocommerce"), "/stores/test-" + other.ID + "/pull-payments", 422},
		"order of test mode":    {f.newToken(f.shop, merchant.Live, "woocommerce"), "/stores/" + f.shop.ID + "/pull-payments", 422},
	} {
		if a := f.send("POST", tt.path, tt.token, body); a.status != tt.want {
			t.Errorf("%s: answer %d: %s, want %d", name, a.status, a.body, tt.want)
		}
	}
}
