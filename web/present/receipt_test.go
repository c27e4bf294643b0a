package present_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"

	"chequer/internal/api"
	"chequer/internal/client"
	"chequer/internal/receipt"
	"chequer/web/present"
	"chequer/web/present/presenttest"
)

// The receipt has each fact about the payment that the page of the paid invoice has, in the same
// words.
func TestReceipt_has_every_fact_of_the_page(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*api.Resource){
		"paid":             func(*api.Resource) {},
		"test":             func(r *api.Resource) { r.Mode = "test" },
		"with_VAT":         setVAT,
		"without_an_order": func(r *api.Resource) { r.OrderID, r.Description = "", "" },
		"by_several_payments": func(r *api.Resource) {
			r.Payments = append(r.Payments, presenttest.Payment("confirmed"), presenttest.Payment("replaced"))
		},
		"over_Lightning": func(r *api.Resource) {
			r.PaymentMethods = presenttest.Lightning(nil).PaymentMethods
			r.PaidCurrency, r.Payments[0].CryptoCurrency, r.Payments[0].Confirmations, r.Payments[0].Required = "BTC-LN", "BTC-LN", 1, 1
		},
		"overpaid": func(r *api.Resource) { r.OverpaidAmount, r.Exceptions = "6.91", []string{api.ExceptionOverpaid} },
		"accepted": func(r *api.Resource) {
			r.PaidAmount, r.Exceptions = "48.5", []string{api.ExceptionUnderpaid}
			r.Accepted = api.Acceptance{At: "2026-11-27T12:52:00.000Z", Shortfall: "8"}
		},
		"with_an_address": func(r *api.Resource) {
			r.OverpaidAmount, r.Exceptions, r.RefundCurrency, r.RefundAddress = "6.91", []string{api.ExceptionOverpaid}, "BTC", "bc1qrefund"
		},
		"with_late_money": func(r *api.Resource) {
			r.Payments, r.Exceptions = append(r.Payments, presenttest.Payment("late")), []string{api.ExceptionLate}
		},
		"with_a_wrong_asset": func(r *api.Resource) {
			r.Payments, r.Exceptions = append(r.Payments, presenttest.WrongAsset("DAI-BASE", "DAI", "Base", "5")), []string{api.ExceptionWrongAsset}
		},
		"of_a_service_with_the_specification_only": func(r *api.Resource) { r.Payments, r.Quotes, r.PaidAt = nil, nil, "" },
		"with_directional_characters":              func(r *api.Resource) { r.Description, r.OrderID = "\u202eevil\u2066 (Tj) 10 €", "\u202e1042" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := presenttest.Paid(change)
			page := show(t, r)
			if href := page.Find("#pdf").AttrOr("href", ""); href != "/invoice/abc/receipt.pdf" {
				t.Errorf("the page links to %q", href)
			}
			document, err := receipt.Write(present.Receipt(frame(nil).Payment(client.Snapshot{Resource: r}, "", false), noon))
			if err != nil {
				t.Fatal(err)
			}
			got := presenttest.DocumentText(t, bytes.NewReader(document))
			page.Find("h1, .ref bdi, .due .k, .due .v, .due .c, h2, .facts dt, .facts dd, .sum p, .tot dt, .tot dd, .saved code, .test strong, .note:not(.ok, #auto) span").Each(func(_ int, s *goquery.Selection) {
				if s.Closest(".sim").Length() > 0 {
					return
				}
				if want := strings.Join(strings.Fields(s.Text()), " "); !strings.Contains(got, want) {
					t.Errorf("%q is on the page, and not in:\n%s", want, got)
				}
			})
			if !strings.Contains(got, "not a VAT invoice") || !strings.Contains(page.Find(".footing").Text(), "not a VAT invoice") {
				t.Errorf("the page or the receipt does not say that it is not a VAT invoice:\n%s", got)
			}
		})
	}
}

func TestReceipt_is_linked_only_from_the_page_of_a_paid_invoice(t *testing.T) {
	t.Parallel()
	for _, state := range states {
		r := presenttest.Invoice("abc")
		state.change(&r)
		if got, want := show(t, r).Find("#pdf").Length() == 1, r.Status == api.StatusPaid; got != want {
			t.Errorf("%s: linked %t, want %t", state.name, got, want)
		}
	}
}

// The receipt of an invoice that the merchant accepted states what was received and what was waived,
// so that the amount times the price of a coin equals the received value.
func TestReceipt_of_an_accepted_invoice_states_the_received_amount(t *testing.T) {
	t.Parallel()
	r := presenttest.Paid(func(r *api.Resource) {
		r.PaidAmount, r.Exceptions = "48.5", []string{api.ExceptionUnderpaid}
		r.Accepted = api.Acceptance{At: "2026-11-27T12:52:00.000Z", Shortfall: "8"}
	})
	page := show(t, r).Text()
	for _, want := range []string{"48.50", "Waived by the shop", "8.00"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q:\n%s", want, page)
		}
	}
}
