package greenfield_test

import (
	"net/http"
	"strings"
	"testing"

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
