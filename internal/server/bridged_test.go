package server_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/api"
	"chequer/internal/invoice"
	"chequer/internal/money"
	"chequer/internal/wire"
)

// A payment in a bridged token is shown with its own name, does not count, and can be refunded.
func TestResource_shows_a_payment_in_a_bridged_token(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	id := f.create(t, "all", `{"amount":3,"fiat_currency":"EUR","payment_methods":["EURC-BASE"]}`)
	if _, err := f.simnet.Pay(t.Context(), bridgedEuro, "eth-script-0", money.MustParse("3", bridgedEuro.Currency)); err != nil {
		t.Fatal(err)
	}
	r := f.resource(t, id)
	if r.Status != api.StatusCreated || len(r.Payments) != 1 || len(r.Exceptions) != 1 || r.Exceptions[0] != api.ExceptionWrongAsset {
		t.Fatalf("status %s, %d payments, exceptions %v", r.Status, len(r.Payments), r.Exceptions)
	}
	p := r.Payments[0]
	got := []string{p.State, p.CryptoCurrency, p.Symbol, p.NetworkName, p.Amount, p.FiatAmount, r.PaidAmount, r.DueAmount}
	if diff := cmp.Diff(got, []string{"wrong_asset", "EURBC", "EURbC", "Base Sepolia", "3", "0", "0", "3"}); diff != "" {
		t.Errorf("payment (-got +want):\n%s", diff)
	}
	if diff := cmp.Diff(r.PaymentMethods[0].Bridged, []string{"EURbC"}); diff != "" {
		t.Errorf("bridged versions of %s (-got +want):\n%s", r.PaymentMethods[0].CryptoCurrency, diff)
	}
	inv, err := f.invoices.Invoice(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if body := string(wire.Event(inv, invoice.Event{})); !strings.Contains(body, `"exceptions":["wrong_asset"]`) || !strings.Contains(body, `"crypto_currency":"EURBC"`) {
		t.Errorf("the event lacks the payment: %s", body)
	}
	sheet := read(t, f.send(message{method: "GET", target: "/api/v2/invoices/export?format=csv", key: "all", signRequest: true}))
	if !strings.Contains(sheet, ",created,wrong_asset,3,EUR,0,3,0,") {
		t.Errorf("the export lacks the payment:\n%s", sheet)
	}
	const refundAddress = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
	answer := f.send(message{method: "POST", target: "/api/v2/invoices/" + id + "/refund-address", key: "page", signRequest: true, body: `{"currency":"EURBC","address":"` + refundAddress + `"}`})
	text := read(t, answer)
	if err := json.Unmarshal([]byte(text), &r); err != nil || answer.StatusCode != http.StatusOK || r.RefundCurrency != "EURBC" || r.RefundAddress != refundAddress {
		t.Errorf("refund address: answer %d: %s", answer.StatusCode, text)
	}
}

func TestCreate_offers_no_bridged_token(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	id := f.create(t, "all", minimalBody)
	for _, m := range f.resource(t, id).PaymentMethods {
		if m.CryptoCurrency == bridgedEuro.Code {
			t.Error("a bridged token is offered")
		}
		if m.CryptoCurrency != "EURC-BASE" && (m.Bridged == nil || len(m.Bridged) != 0) {
			t.Errorf("%s has the bridged versions %v", m.CryptoCurrency, m.Bridged)
		}
	}
	answer := f.send(creation(message{key: "all", body: `{"amount":1,"fiat_currency":"EUR","payment_methods":["EURBC"]}`}))
	if code := answer.Header.Get(api.HeaderErrorCode); answer.StatusCode != http.StatusBadRequest || code != "invalid_payment_methods" {
		t.Errorf("request for a bridged token: answer %d, %s", answer.StatusCode, code)
	}
	for _, code := range f.invoices.MethodCodes(invoice.Test) {
		if code == bridgedEuro.Code {
			t.Error("a bridged token can be chosen")
		}
	}
}
