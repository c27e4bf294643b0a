package present_test

import (
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"

	"chequer/internal/api"
	"chequer/web/present/presenttest"
)

func TestRefund_form_is_shown_if_money_may_be_refunded(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		change func(*api.Resource)
		label  string // label of the field; empty if there is no field
	}{
		{"overpaid", func(*api.Resource) {}, "Your Bitcoin address"},
		{"overpaid by a token", func(r *api.Resource) { r.Payments[0].CryptoCurrency = "EURC-BASE" }, "Your address on Base"},
		{"late", func(r *api.Resource) {
			r.Status, r.Exceptions, r.Payments[0].State = api.StatusExpired, []string{api.ExceptionLate}, "late"
		}, "Your Bitcoin address"},
		{"expired with a part", func(r *api.Resource) {
			r.Status, r.Exceptions, r.PaidAmount, r.DueAmount = api.StatusExpired, []string{api.ExceptionUnderpaid}, "43.21", "13.29"
		}, "Your Bitcoin address"},
		{"declined with a payment", func(r *api.Resource) { r.Status, r.Exceptions = api.StatusDeclined, nil }, "Your Bitcoin address"},
		{"declined without a payment", func(r *api.Resource) { r.Status, r.Exceptions, r.Payments = api.StatusDeclined, nil, nil }, ""},
		{"paid exactly", func(r *api.Resource) { r.Exceptions = nil }, ""},
		{"waiting", func(r *api.Resource) { r.Status, r.Exceptions, r.Payments = api.StatusCreated, nil, nil }, ""},
		{"a service that returns no payments", func(r *api.Resource) { r.Payments = nil }, ""},
	} {
		r := presenttest.Overpaid()
		tt.change(&r)
		doc := show(t, r)
		if got := doc.Find(`form#refund label[for=refund-address]`).Text(); got != tt.label {
			t.Errorf("%s: asks for %q, want %q", tt.name, got, tt.label)
		}
	}
}

func TestRefund_form_offers_every_received_currency(t *testing.T) {
	t.Parallel()
	r := presenttest.Overpaid()
	token := presenttest.Payment("confirmed")
	token.CryptoCurrency = "EURC-BASE"
	r.Payments = append(r.Payments, token, presenttest.Payment("replaced"))
	doc := show(t, r)
	if got := doc.Find("#refund-currency option").Map(func(_ int, s *goquery.Selection) string { return s.AttrOr("value", "") + "=" + s.Text() }); strings.Join(got, " ") != "BTC=BTC EURC-BASE=EURC on Base" {
		t.Errorf("options %q", got)
	}
}
