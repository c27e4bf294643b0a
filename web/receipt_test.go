package web_test

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"

	"chequer/internal/api"
	"chequer/web/present/presenttest"
)

func TestReceipt_is_a_reproducible_file_that_is_not_cached(t *testing.T) {
	t.Parallel()
	h := pages(t, newService(presenttest.Paid(func(r *api.Resource) { r.OrderID = "\"; filename=evil.exe" })), nil)
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
	for _, status := range []string{api.StatusCreated, api.StatusPending, api.StatusPaid, api.StatusExpired, api.StatusDeclined} {
		r := presenttest.Invoice("abc")
		r.Status = status
		answer := get(t, pages(t, newService(r), nil), "/invoice/abc/receipt.pdf")
		if status == api.StatusPaid {
			if answer.StatusCode != http.StatusOK {
				t.Errorf("%s: status %d, want 200", status, answer.StatusCode)
			}
			continue
		}
		page := document(t, answer)
		backText := page.Find(`main a[href="/invoice/abc"]`).Text()
		if answer.StatusCode != http.StatusNotFound || !strings.Contains(page.Text(), "There is no receipt yet") || backText == "" {
			t.Errorf("%s: %d, %q, link back %q", status, answer.StatusCode, page.Find("h1").Text(), backText)
		}
	}
	if got := get(t, pages(t, newService(), nil), "/invoice/none/receipt.pdf").StatusCode; got != http.StatusNotFound {
		t.Errorf("an unknown invoice: status %d, want 404", got)
	}
}
