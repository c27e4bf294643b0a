package web_test

import (
	"bytes"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"

	"chequer/internal/api"
	"chequer/internal/programtest"
)

// paidInvoice returns a paid invoice after a change.
func paidInvoice(change func(*api.Resource)) api.Resource {
	r := invoice("abc")
	r.Status, r.DueAmount, r.PaidAmount, r.PaidAt = api.StatusPaid, "0", "56.5", "2026-11-27T12:52:00.000Z"
	r.PaidTx, r.PaidCurrency, r.Payments = transfer("").Tx, "BTC", []api.Payment{transfer("confirmed")}
	change(&r)
	return r
}

// documentText returns the text that pdftotext extracts from a PDF. Without that program the test is
// skipped, but fails in CI.
func documentText(t *testing.T, body io.Reader) string {
	t.Helper()
	programtest.Need(t, "pdftotext")
	c := exec.CommandContext(t.Context(), "pdftotext", "-layout", "-", "-")
	c.Stdin = body
	out, err := c.Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(strings.Fields(string(out)), " ")
}

// The receipt has each fact about the payment that the page of the paid invoice has, in the same
// words.
func TestReceipt_has_every_fact_of_the_page(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*api.Resource){
		"paid":             func(*api.Resource) {},
		"test":             func(r *api.Resource) { r.Mode = "test" },
		"without_an_order": func(r *api.Resource) { r.OrderID, r.Description = "", "" },
		"by_several":       func(r *api.Resource) { r.Payments = append(r.Payments, transfer("confirmed"), transfer("replaced")) },
		"overpaid":         func(r *api.Resource) { r.OverpaidAmount, r.Exceptions = "6.91", []string{api.ExceptionOverpaid} },
		"accepted": func(r *api.Resource) {
			r.PaidAmount, r.Exceptions = "48.5", []string{api.ExceptionUnderpaid}
			r.Accepted = api.Acceptance{At: "2026-11-27T12:52:00.000Z", Shortfall: "8"}
		},
		"with_an_address": func(r *api.Resource) {
			r.OverpaidAmount, r.Exceptions, r.RefundCurrency, r.RefundAddress = "6.91", []string{api.ExceptionOverpaid}, "BTC", "bc1qrefund"
		},
		"with_late_money": func(r *api.Resource) {
			r.Payments, r.Exceptions = append(r.Payments, transfer("late")), []string{api.ExceptionLate}
		},
		"with_a_wrong_asset": func(r *api.Resource) {
			r.Payments, r.Exceptions = append(r.Payments, wrongAsset("DAI-BASE", "DAI", "Base", "5")), []string{api.ExceptionWrongAsset}
		},
		"of_a_plain_service": func(r *api.Resource) { r.Payments, r.Quotes, r.PaidAt = nil, nil, "" },
		"with_hostile_words": func(r *api.Resource) { r.Description, r.OrderID = "\u202eevil\u2066 (Tj) 10 €", "\u202e1042" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := pages(t, newService(paidInvoice(change)), nil)
			page := document(t, get(t, h, "/invoice/abc"))
			if href := page.Find("#pdf").AttrOr("href", ""); href != "/invoice/abc/receipt.pdf" {
				t.Errorf("the page links to %q", href)
			}
			got := documentText(t, get(t, h, "/invoice/abc/receipt.pdf").Body)
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

func TestReceipt_is_a_file_that_stays_private_and_the_same(t *testing.T) {
	t.Parallel()
	h := pages(t, newService(paidInvoice(func(r *api.Resource) { r.OrderID = "\"; filename=evil.exe" })), nil)
	read := func() []byte {
		r := get(t, h, "/invoice/abc/receipt.pdf")
		for name, want := range map[string]string{
			"Content-Type": "application/pdf", "Content-Disposition": `attachment; filename="receipt-abc.pdf"`,
			"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff",
		} {
			if got := r.Header.Get(name); got != want {
				t.Errorf("%s is %q, want %q", name, got, want)
			}
		}
		body, err := io.ReadAll(r.Body)
		if err != nil || !bytes.HasPrefix(body, []byte("%PDF-")) {
			t.Fatalf("%v: %.40q", err, body)
		}
		return body
	}
	if !bytes.Equal(read(), read()) {
		t.Error("the same receipt is a different file the second time")
	}
}

func TestReceipt_exists_only_for_a_paid_invoice(t *testing.T) {
	t.Parallel()
	for _, state := range states {
		r := invoice("abc")
		state.change(&r)
		h := pages(t, newService(r), nil)
		answer := get(t, h, "/invoice/abc/receipt.pdf")
		if r.Status == api.StatusPaid {
			if answer.StatusCode != http.StatusOK {
				t.Errorf("%s: %d", state.name, answer.StatusCode)
			}
			continue
		}
		page := document(t, answer)
		back := page.Find(`main a[href="/invoice/abc"]`).Text()
		if answer.StatusCode != http.StatusNotFound || !strings.Contains(page.Text(), "There is no receipt yet") || back == "" {
			t.Errorf("%s: %d, %q, link back %q", state.name, answer.StatusCode, page.Find("h1").Text(), back)
		}
		if document(t, get(t, h, "/invoice/abc")).Find("#pdf").Length() > 0 {
			t.Errorf("%s: the page links to a receipt", state.name)
		}
	}
	if got := get(t, pages(t, newService(), nil), "/invoice/none/receipt.pdf").StatusCode; got != http.StatusNotFound {
		t.Errorf("an unknown invoice: status %d, want 404", got)
	}
}

// The receipt of an invoice that the merchant accepted states what was received and what was waived,
// so that the amount times the price of a coin equals the received value.
func TestReceipt_of_an_accepted_invoice_says_what_was_received(t *testing.T) {
	t.Parallel()
	r := paidInvoice(func(r *api.Resource) {
		r.PaidAmount, r.Exceptions = "48.5", []string{api.ExceptionUnderpaid}
		r.Accepted = api.Acceptance{At: "2026-11-27T12:52:00.000Z", Shortfall: "8"}
	})
	page := document(t, get(t, pages(t, newService(r), nil), "/invoice/abc")).Text()
	for _, want := range []string{"48.50", "Waived by the shop", "8.00"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q:\n%s", want, page)
		}
	}
}
