package greenfield_test

import (
	"strings"
	"testing"

	"chequer/internal/chain"
	"chequer/internal/invoice"
)

func TestLightning_is_a_payment_method(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		id := f.create(`{"amount":"12.50","currency":"EUR","checkout":{"paymentMethods":["BTC-LN"]}}`).ID
		inv, err := f.invoices.Invoice(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		m := inv.Methods[0]
		r, ok := f.invoices.Evaluation(inv).Request(m, f.clock.Now())
		if !ok {
			t.Fatal("the invoice has no payment request")
		}
		type payment struct{ ID, Status, Destination, Value string }
		type method struct {
			PaymentMethodID, PaymentMethod, Currency, Destination, PaymentLink, Due, Amount, PaymentMethodPaid string
			Activated                                                                                          bool
			Payments                                                                                           []payment
		}
		got := call[[]method](f, "GET", f.store("/invoices/"+id+"/payment-methods"), "")
		if len(got) != 1 || got[0].PaymentMethodID != "BTC-LN" || got[0].PaymentMethod != "BTC-LightningNetwork" || got[0].Currency != "BTC" ||
			got[0].Destination != r.Address || got[0].PaymentLink != "lightning:"+r.Address || !got[0].Activated || got[0].Due != r.Amount.String() {
			t.Errorf("the methods are %+v, want the request %s", got, r.Address)
		}
		if _, err := f.simnet.Pay(t.Context(), m.Asset, r.Script, r.Amount); err != nil {
			t.Fatal(err)
		}
		f.watch()
		got = call[[]method](f, "GET", f.store("/invoices/"+id+"/payment-methods"), "")
		if len(got) != 1 || len(got[0].Payments) != 1 || got[0].Destination != "" || got[0].Activated || got[0].PaymentMethodPaid != r.Amount.String() {
			t.Fatalf("after the payment the methods are %+v", got)
		}
		if p := got[0].Payments[0]; p.Destination != r.Address || p.Status != "Settled" || !strings.Contains(p.ID, r.Script) || p.Value != r.Amount.String() {
			t.Errorf("the payment is %+v", p)
		}
		if a := f.send("GET", f.store("/invoices/"+id), f.token, ""); !strings.Contains(a.body, `"status":"Settled"`) {
			t.Errorf("the invoice is %s", a.body)
		}
	})
}

func TestLightning_without_a_request_is_not_activated(t *testing.T) {
	t.Parallel()
	f := newFixture(t, storageFile(t))
	id := f.create(order).ID
	f.expire()
	inv, err := f.invoices.Invoice(t.Context(), id)
	if err != nil || inv.State.Status != invoice.Expired {
		t.Fatalf("the invoice is %s, error %v", inv.State.Status, err)
	}
	type method struct {
		PaymentMethodID, Destination, PaymentLink string
		Activated                                 bool
	}
	for _, m := range call[[]method](f, "GET", f.store("/invoices/"+id+"/payment-methods"), "") {
		if isLightning := m.PaymentMethodID == chain.CodeLightning; isLightning && (m.Activated || m.Destination != "" || m.PaymentLink != "") || !isLightning && m.Destination == "" {
			t.Errorf("the method is %+v", m)
		}
	}
}
