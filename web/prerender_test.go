package web_test

import (
	"context"
	"crypto/rand"
	"io"
	"log/slog"
	"net/http"
	"testing"
	"time"

	"chequer/views"
	"chequer/web"
	"chequer/web/present/presenttest"
)

// Drawing QR codes is the most expensive part of a page. The page of an invoice whose codes were drawn by
// Prerender draws none.
func TestPrerender_draws_the_codes_of_new_invoices(t *testing.T) {
	created := make(chan string)
	inv := presenttest.Invoice("abc")
	for i := range inv.PaymentMethods {
		inv.PaymentMethods[i].PaymentCode += "&label=" + rand.Text() // codes that no other test draws
	}
	h := web.New(web.Config{
		Client: newService(inv), Logger: slog.New(slog.NewTextHandler(io.Discard, nil)), Now: func() time.Time { return noon }, Created: created,
	})
	t.Cleanup(h.Close)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- h.Prerender(ctx) }()
	before := views.DrawnCodes()
	created <- "abc"
	created <- "nosuch" // taken when the first is complete
	created <- "nosuch"
	drawn := views.DrawnCodes()
	if drawn == before {
		t.Error("no code was prerendered")
	}
	if status := get(t, h, "/invoice/abc").StatusCode; status != http.StatusOK {
		t.Errorf("the page answers %d", status)
	}
	if got := views.DrawnCodes(); got != drawn {
		t.Errorf("the page drew %d codes, want none", got-drawn)
	}
	cancel()
	if err := <-done; err != nil {
		t.Errorf("ended with %v, want no error", err)
	}
}

// Token methods share an address, whose code is drawn once. The code with the amount is not drawn.
func TestPayment_draws_each_code_once(t *testing.T) {
	inv := presenttest.Invoice("abc")
	inv.PaymentMethods[0].PaymentCode += "&label=" + rand.Text()
	token := inv.PaymentMethods[1]
	token.AddressCode = rand.Text()
	inv.PaymentMethods = inv.PaymentMethods[:1]
	for _, code := range []string{"USDC", "EURC", "DAI"} {
		token.CryptoCurrency, token.PaymentCode = code, "ethereum:"+rand.Text()
		inv.PaymentMethods = append(inv.PaymentMethods, token)
	}
	h := pages(t, newService(inv), nil)
	for view, want := range []int64{2, 0} {
		before := views.DrawnCodes()
		if doc := document(t, get(t, h, "/invoice/abc")); doc.Find(".qr svg").Length() != 4 {
			t.Errorf("%d codes are on the page, want 4", doc.Find(".qr svg").Length())
		}
		if got := views.DrawnCodes() - before; got != want {
			t.Errorf("view %d draws %d codes, want %d", view+1, got, want)
		}
	}
}
