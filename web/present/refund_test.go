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
		{"personal data removed", func(r *api.Resource) { r.PersonalDataRemovedAt = "2029-01-01T00:00:00.000Z" }, ""},
		{"personal data removed, and a refund that waits for an address", func(r *api.Resource) {
			r.PersonalDataRemovedAt, r.Refunds = "2029-01-01T00:00:00.000Z", []api.Refund{{State: "asked"}}
		}, "Your Bitcoin address"},
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

// A refund of an invoice that was paid exactly: once its address is given, the page shows the address and the sum.
func TestRefund_of_an_exact_payment_shows_its_address_and_sum(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		state, address, fiat, note string
		saved, form                bool
	}{
		{"asked", "", "6.91", "has prepared a refund of 0.0001 BTC (€6.91).", false, true},
		{"asked", "bc1qsaved", "6.91", "", true, false},
		{"ready", "bc1qsaved", "6.91", "has prepared a refund of 0.0001 BTC (€6.91).", true, false},
		{"ready", "bc1qsaved", "0", "has prepared a refund of 0.0001 BTC.", true, false}, // no rate was known
		{"sent", "bc1qsaved", "6.91", "has sent a refund of 0.0001 BTC (€6.91).", true, false},
		{"cancelled", "bc1qsaved", "6.91", "", false, false},
		{"declined", "bc1qsaved", "6.91", "has declined the refund.", false, false},
	} {
		r := presenttest.Overpaid()
		r.Exceptions, r.OverpaidAmount, r.RefundCurrency, r.RefundAddress = nil, "0", "BTC", tt.address
		r.Refunds = []api.Refund{{State: tt.state, CryptoCurrency: "BTC", Amount: "0.0001", FiatAmount: tt.fiat, Address: tt.address}}
		doc := show(t, r)
		if notes := doc.Find(".note").Text(); !strings.Contains(notes, tt.note) {
			t.Errorf("%+v: the notes are %q", tt, notes)
		}
		saved := strings.Join(strings.Fields(doc.Find("#refund.saved .addr").Text()), "")
		if (saved == "bc1qsaved") != tt.saved || (doc.Find("form#refund").Length() > 0) != tt.form {
			t.Errorf("%+v: the page shows the address %q and %d forms", tt, saved, doc.Find("form#refund").Length())
		}
	}
}

// The page states what the merchant decided about refunds, in place of what it says about an open decision.
func TestRefund_decisions_are_stated(t *testing.T) {
	t.Parallel()
	refund := func(state, address string) func(*api.Resource) {
		return func(r *api.Resource) {
			r.RefundCurrency, r.RefundAddress = "BTC", address
			r.Refunds = append(r.Refunds, api.Refund{State: state, CryptoCurrency: "BTC", Amount: "0.0001", Address: address})
		}
	}
	undecided := func(changes ...func(*api.Resource)) func(*api.Resource) {
		return func(r *api.Resource) {
			for _, change := range changes {
				change(r)
			}
			r.NeedsDecision = true
		}
	}
	kept := func(amount string) func(*api.Resource) {
		return func(r *api.Resource) { r.KeptSurplus = api.KeptSurplus{At: r.ExpiredAt, Amount: amount} }
	}
	for _, tt := range []struct {
		name   string
		change func(*api.Resource)
		want   string // the sentence
		open   bool   // the page says that something is to be decided, too
		form   bool   // the page asks for an address
	}{
		{"asked", refund("asked", "bc1q"), "", true, false},
		{"ready", refund("ready", "bc1q"), "Atelier Nord has prepared a refund of 0.0001 BTC.", true, false},
		{"sent", refund("sent", "bc1q"), "Atelier Nord states that it has sent a refund of 0.0001 BTC.", false, false},
		{"declined", refund("declined", "bc1q"), "Atelier Nord has declined the refund. If you have questions, ask the shop.", false, false},
		{"cancelled", refund("cancelled", "bc1q"), "", true, false},
		{"without an address", refund("asked", ""), "Atelier Nord has prepared a refund of 0.0001 BTC.", true, true},
		{"sent before more was paid", undecided(refund("sent", "bc1q")), "Atelier Nord states that it has sent a refund of 0.0001 BTC.", true, false},
		{"declined before more was paid", undecided(refund("declined", "bc1q")), "Atelier Nord has declined the refund. If you have questions, ask the shop.", true, false},
		{"sent and asked again", undecided(refund("sent", "bc1q"), refund("asked", "bc1q")), "Atelier Nord states that it has sent a refund of 0.0001 BTC.", true, false},
		{"more than the surplus kept", kept("7"), "Atelier Nord keeps the €7.00 above the price.", false, false},
		{"kept, with another number of decimals", kept("6.910"), "Atelier Nord keeps the €6.91 above the price.", false, false},
		{"kept", kept("6.91"), "Atelier Nord keeps the €6.91 above the price. If you have questions, ask the shop.", false, false},
		{"kept before more was paid", undecided(kept("1")), "", true, true},
	} {
		r := presenttest.Overpaid()
		tt.change(&r)
		doc := show(t, r)
		notes := doc.Find(".note").Text()
		if tt.want != "" && !strings.Contains(notes, tt.want) || tt.want == "" && strings.Contains(notes, "refund") {
			t.Errorf("%s: the notes are %q, want %q", tt.name, notes, tt.want)
		}
		if got := strings.Contains(notes, "Get €6.91 back"); got != tt.open {
			t.Errorf("%s: an open decision is stated: %t, want %t: %q", tt.name, got, tt.open, notes)
		}
		if got := doc.Find("form#refund").Length() > 0; got != tt.form {
			t.Errorf("%s: the page asks for an address: %t, want %t", tt.name, got, tt.form)
		}
	}
	expired := presenttest.Overpaid()
	expired.Status, expired.Exceptions, expired.PaidAmount, expired.DueAmount = api.StatusExpired, []string{api.ExceptionUnderpaid}, "43.21", "13.29"
	refund("sent", "bc1q")(&expired)
	if notes := show(t, expired).Find(".note").Text(); !strings.Contains(notes, "Already sent it?") || !strings.Contains(notes, "has sent a refund") {
		t.Errorf("after the refund of a part the notes are %q, want the question about sent money and the sent refund", notes)
	}
	r := presenttest.Overpaid()
	r.Exceptions, r.OverpaidAmount = nil, "0"
	refund("asked", "")(&r)
	if n := show(t, r).Find("form#refund").Length(); n != 1 {
		t.Error("the page of an invoice that is paid exactly does not ask for the address of a refund")
	}
}

// The address of a refund over Lightning may be a payment request, which ends: the page asks for another one if a refund waits
// for it.
func TestRefund_of_a_Lightning_payment(t *testing.T) {
	t.Parallel()
	const hint = "A Lightning address (name@example.com), or a payment request of your own wallet that has no amount and is valid for some days. You can give it once; after that only Atelier Nord can change it."
	for _, tt := range []struct {
		name    string
		refunds []api.Refund
		address string
		label   string // of the field; empty if there is none
	}{
		{"late", nil, "", "Your Lightning address"},
		{"a refund waits", []api.Refund{{State: "asked"}}, "", "Your Lightning address"},
		{"saved", []api.Refund{{State: "asked", Address: presenttest.PaymentRequest}}, presenttest.PaymentRequest, ""},
		{"a refund waits for another request", []api.Refund{{State: "asked"}}, presenttest.PaymentRequest, "Your Lightning address"},
		{"sent", []api.Refund{{State: "sent", Address: presenttest.PaymentRequest}}, presenttest.PaymentRequest, ""},
	} {
		r := presenttest.Lightning(func(r *api.Resource) {
			r.Status, r.Exceptions, r.PaidAmount, r.DueAmount = api.StatusExpired, []string{api.ExceptionLate}, "56.5", "0"
			r.Payments = []api.Payment{presenttest.Payment("late")}
			r.Payments[0].CryptoCurrency = api.MethodLightning
			r.RefundAddress, r.Refunds = tt.address, tt.refunds
			if tt.address != "" {
				r.RefundCurrency = api.MethodLightning
			}
			for i := range r.Refunds {
				r.Refunds[i].CryptoCurrency, r.Refunds[i].Amount = api.MethodLightning, "0.00065379"
			}
		})
		doc := show(t, r)
		if got := doc.Find("form#refund label[for=refund-address]").Text(); got != tt.label {
			t.Errorf("%s: asks for %q, want %q", tt.name, got, tt.label)
		}
		if got := doc.Find("#refund-hint").Text(); tt.label != "" && got != hint {
			t.Errorf("%s: the hint is %q", tt.name, got)
		}
		if got := doc.Find("#refund-address").AttrOr("maxlength", "1024"); got != "1024" {
			t.Errorf("%s: the field takes %s characters, too few for a payment request", tt.name, got)
		}
		saved := strings.Join(strings.Fields(doc.Find("#refund.saved .addr").Text()), "")
		if want := map[bool]string{true: tt.address}[tt.label == ""]; saved != want {
			t.Errorf("%s: shows the address %q, want %q", tt.name, saved, want)
		}
	}
}
