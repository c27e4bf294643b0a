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
// DrawAhead draws none.
func TestDrawAhead_draws_the_codes_of_new_invoices(t *testing.T) {
	created := make(chan string, 1)
	inv := presenttest.Invoice("abc")
	for i := range inv.PaymentMethods {
		inv.PaymentMethods[i].PaymentCode += "&label=" + rand.Text() // codes that no other test draws
	}
	h := web.New(web.Config{
		Client: newService(inv), Logger: slog.New(slog.NewTextHandler(io.Discard, nil)), Now: func() time.Time { return noon }, Created: created,
	})
	t.Cleanup(h.Close)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- h.DrawAhead(ctx) }()
	before := views.DrawnCodes()
	created <- "abc"
	created <- "nosuch" // taken when the first is complete
	created <- "nosuch"
	drawn := views.DrawnCodes()
	if drawn == before {
		t.Error("no code was drawn ahead")
	}
	if status := get(t, h, "/invoice/abc").StatusCode; status != http.StatusOK {
		t.Errorf("the page answers %d", status)
	}
	if got := views.DrawnCodes(); got != drawn {
		t.Errorf("the page drew %d codes, want none", got-drawn)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("ended with %v", err)
	}
}
