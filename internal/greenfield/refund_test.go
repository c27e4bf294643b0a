package greenfield_test

import (
	"net/http"
	"strings"
	"testing"

	"chequer/internal/chain"
	"chequer/internal/invoice"
	"chequer/internal/merchant"
)

// refunded is a refund as a plug-in reads it.
type refunded struct{ ID, ViewLink, Currency, Amount string }

func TestRefund_amount_depends_on_its_variant(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		for variant, want := range map[string]struct {
			body, amount string
			kind         invoice.RefundKind
		}{
			"received": {`{"refundVariant":"RateThen","name":"Refund","description":null}`, "0.02", invoice.RefundReceived},
			"surplus":  {`{"refundVariant":"OverpaidAmount","paymentMethod":"BTC"}`, whole, invoice.RefundSurplus},
			"price":    {`{"refundVariant":"Fiat","payoutMethodId":"BTC-CHAIN"}`, whole, invoice.RefundPart},
			"custom":   {`{"refundVariant":"Custom","customAmount":432.1,"customCurrency":"EUR","subtractPercentage":0}`, half, invoice.RefundPart},
		} {
			id := f.create(order).ID
			f.confirm(f.pay(id, "0.02"))
			got := call[refunded](f, "POST", f.store("/invoices/"+id+"/refund"), want.body)
			if got.ID == "" || got.ViewLink != "https://pay.example/shop/i/"+id || got.Currency != "BTC" || got.Amount != want.amount {
				t.Errorf("%s: got %+v", variant, got)
			}
			inv, err := f.invoices.Invoice(t.Context(), id)
			if err != nil || len(inv.Refunds) != 1 || inv.Refunds[0].ID != got.ID || inv.Refunds[0].Kind != want.kind || inv.Refunds[0].Tx != "" {
				t.Errorf("%s: stored %+v, error %v, want one that is not sent", variant, inv.Refunds, err)
			}
		}
	})
}

func TestRefund_refuses_invalid_requests(t *testing.T) {
	t.Parallel()
	f := newFixture(t, storageFile(t))
	paid, unpaid := f.create(order).ID, f.create(order).ID
	f.confirm(f.pay(paid, whole))
	for _, tt := range []struct{ id, body, want string }{
		{unpaid, `{"refundVariant":"RateThen"}`, "received nothing"},
		{paid, `{}`, "The variant must be"},
		{paid, `{"refundVariant":"OverpaidAmount"}`, "nothing above its price"},
		{paid, `{"refundVariant":"RateThen","paymentMethod":"LTC"}`, "nothing by this payment method"},
		{paid, `{"refundVariant":"RateThen","paymentMethod":"DOGE"}`, `"path":"payoutMethodId"`},
		{paid, `{"refundVariant":"Custom","customAmount":"864.21"}`, "at the current rate, more than the confirmed amount"},
		{paid, `{"refundVariant":"Custom"}`, `"path":"customAmount"`},
		{paid, `{"refundVariant":"Custom","customAmount":1,"customCurrency":"BTC"}`, `"path":"customCurrency"`},
		{paid, `{"refundVariant":"RateThen","subtractPercentage":2.5}`, `"path":"subtractPercentage"`},
	} {
		a := f.send("POST", f.store("/invoices/"+tt.id+"/refund"), f.token, tt.body)
		if a.status != http.StatusUnprocessableEntity || !strings.Contains(a.body, tt.want) {
			t.Errorf("%s: answer %d: %s, want %s", tt.body, a.status, a.body, tt.want)
		}
	}
	token := f.newToken(f.shop, merchant.Test, "prestashop") // without the scope
	if a := f.send("POST", "/invoices/"+paid+"/refund", token, `{"refundVariant":"RateThen"}`); a.status != http.StatusForbidden {
		t.Errorf("without the scope: answer %d: %s", a.status, a.body)
	}
}

// Money that arrived over Lightning can be sent to a Bitcoin address, so the method of Bitcoin selects it as well.
func TestRefund_of_a_Lightning_payment(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		paid := func(orderID string) string {
			t.Helper()
			id := f.create(`{"amount":"12.50","currency":"EUR","metadata":{"orderId":"` + orderID + `"},"checkout":{"paymentMethods":["BTC-LN"]}}`).ID
			inv, err := f.invoices.Invoice(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			r, _ := f.invoices.Evaluation(inv).Request(inv.Methods[0], f.clock.Now())
			if _, err := f.simnet.Pay(t.Context(), inv.Methods[0].Asset, r.Script, r.Amount); err != nil {
				t.Fatal(err)
			}
			f.watch()
			return id
		}
		for i, method := range []string{`"BTC-LN"`, `"BTC_LightningNetwork"`, `"BTC-CHAIN"`, `null`} {
			id := paid(string(rune('a' + i)))
			got := call[refunded](f, "POST", f.store("/invoices/"+id+"/refund"), `{"refundVariant":"RateThen","payoutMethodId":`+method+`}`)
			if got.Currency != "BTC" || got.ViewLink != "https://pay.example/shop/i/"+id {
				t.Errorf("%s: got %+v", method, got)
			}
			inv, err := f.invoices.SetRefundAddress(t.Context(), id, "shopper", chain.CodeLightning, "shopper@example.com")
			if err != nil || len(inv.Refunds) != 1 || inv.Refunds[0].State != invoice.RefundReady || inv.Refunds[0].Asset != chain.CodeLightning {
				t.Errorf("%s: after the address: %+v, %v", method, inv, err)
			}
		}
		id := paid("1042")
		got := call[refunded](f, "POST", f.store("/pull-payments"), pullPayment("Refund of order 1042; broken", "6.25"))
		if inv, err := f.invoices.Invoice(t.Context(), id); err != nil || len(inv.Refunds) != 1 || inv.Refunds[0].ID != got.ID || inv.Refunds[0].Asset != chain.CodeLightning {
			t.Errorf("by a pull payment: %+v, %v, %+v", got, err, inv.Refunds)
		}
		a := f.send("POST", f.store("/invoices/"+id+"/refund"), f.token, `{"refundVariant":"RateThen","payoutMethodId":"LTC-CHAIN"}`)
		if a.status != http.StatusUnprocessableEntity || !strings.Contains(a.body, "nothing by this payment method") {
			t.Errorf("by Litecoin: answer %d: %s", a.status, a.body)
		}
	})
}
