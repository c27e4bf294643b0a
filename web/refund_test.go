package web_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"

	"chequer/internal/api"
	"chequer/internal/client"
)

// overpaid returns an overpaid invoice.
func overpaid() api.Resource {
	r := invoice("abc")
	r.Status, r.DueAmount, r.OverpaidAmount, r.Exceptions = api.StatusPaid, "0", "6.91", []string{api.ExceptionOverpaid}
	r.Payments = []api.Payment{transfer("confirmed")}
	return r
}

func TestRefundIsOfferedWhereMoneyMayBeRefunded(t *testing.T) {
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
		r := overpaid()
		tt.change(&r)
		doc := document(t, get(t, pages(t, newService(r), nil), "/invoice/abc"))
		if got := doc.Find(`form#refund label[for=refund-address]`).Text(); got != tt.label {
			t.Errorf("%s: asks for %q, want %q", tt.name, got, tt.label)
		}
	}
}

func TestRefundOfSeveralCurrenciesLetsChoose(t *testing.T) {
	t.Parallel()
	r := overpaid()
	token := transfer("confirmed")
	token.CryptoCurrency = "EURC-BASE"
	r.Payments = append(r.Payments, token, transfer("replaced"))
	doc := document(t, get(t, pages(t, newService(r), nil), "/invoice/abc"))
	if got := doc.Find("#refund-currency option").Map(func(_ int, s *goquery.Selection) string { return s.AttrOr("value", "") + "=" + s.Text() }); strings.Join(got, " ") != "BTC=BTC EURC-BASE=EURC on Base" {
		t.Errorf("options %q", got)
	}
}

func TestRefund(t *testing.T) {
	t.Parallel()
	const address = "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4"
	refuse := func(status int, code, message string) error {
		return &client.Error{Status: status, Code: code, Message: message}
	}
	for _, tt := range []struct {
		name, typed string
		refusal     error
		status      int
		words, kept string
	}{
		{"saved", " " + address + "\n", nil, 303, "", ""},
		{"nothing typed", "  ", nil, 422, "Enter an address.", ""},
		{"mistyped", "bc1qx", refuse(400, "invalid_address", "address is not a valid address"), 422, "This is not a valid address.", "bc1qx"},
		{"another network", "tb1q", refuse(400, "invalid_address", "address is for another network: addresses here begin with bc1"), 422, "This is for another network: addresses here begin with bc1.", "tb1q"},
		{"a private key is not shown again", "L1aW", refuse(400, "private_key", "address is a private key"), 422, "This is a private key.", ""},
		{"markup", `"><script>`, refuse(400, "invalid_address", "address is not a valid address"), 422, "This is not a valid address.", `"><script>`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newService(overpaid())
			s.refusal = tt.refusal
			response := post(t, pages(t, s, nil), "/invoice/abc/refund", url.Values{"currency": {"BTC"}, "address": {tt.typed}}, nil)
			if response.StatusCode != tt.status {
				t.Fatalf("status %d, want %d", response.StatusCode, tt.status)
			}
			if tt.status == 303 {
				if got := response.Header.Get("Location"); got != "/invoice/abc#refund" || s.refunds[0] != (api.RefundRequest{Currency: "BTC", Address: address}) {
					t.Errorf("led to %s with %v", got, s.refunds)
				}
				return
			}
			doc := document(t, response)
			if got := doc.Find("#refund-error").Text(); got != "Error: "+tt.words {
				t.Errorf("the field says %q, want %q", got, tt.words)
			}
			if got := doc.Find(`.note.bad[role=alert] a[href="#refund-address"]`).Text(); got != tt.words {
				t.Errorf("the summary says %q", got)
			}
			if got := doc.Find("#refund-address").AttrOr("value", "?"); got != tt.kept {
				t.Errorf("the field contains %q, want %q", got, tt.kept)
			}
			if got := doc.Find("title").First().Text(); !strings.HasPrefix(got, "Error: ") {
				t.Errorf("title %q", got)
			}
		})
	}
}

func TestSavedRefundAddressIsShown(t *testing.T) {
	t.Parallel()
	r := overpaid()
	r.RefundCurrency, r.RefundAddress = "BTC", "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4"
	s := newService(r)
	s.refusal = &client.Error{Status: 409, Code: "refund_address_set", Message: "A refund address is set already, and only the merchant can change it"}
	h := pages(t, s, nil)
	doc := document(t, get(t, h, "/invoice/abc"))
	if got := doc.Find("#refund .addr").Text(); got != r.RefundAddress || doc.Find("form#refund").Length() != 0 {
		t.Errorf("shows %q", got)
	}
	doc = document(t, post(t, h, "/invoice/abc/refund", url.Values{"currency": {"BTC"}, "address": {"bc1qother"}}, nil))
	if got := doc.Find(`.note[role=alert]`).Text(); !strings.Contains(got, "set already") {
		t.Errorf("setting a second address: %q", got)
	}
}
