package server_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/api"
	"chequer/internal/client"
)

// TestClient_creates_reads_and_changes_an_invoice calls the server through the project's client, in
// process and over HTTP.
func TestClient_creates_reads_and_changes_an_invoice(t *testing.T) {
	t.Parallel()
	transports := map[string]func(*testing.T, http.Handler) (base string, transport http.RoundTripper){
		"in process": func(_ *testing.T, h http.Handler) (string, http.RoundTripper) {
			return "https://pay.example/shop", client.InProcess(h)
		},
		"over HTTP": func(t *testing.T, h http.Handler) (string, http.RoundTripper) {
			server := httptest.NewServer(h)
			t.Cleanup(server.Close)
			return server.URL + "/shop", nil
		},
	}
	for name, transport := range transports {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, nil)
			base, roundTripper := transport(t, f.handler)
			connect := func(id string) *client.Client {
				c, err := client.New(client.Config{BaseURL: base, Transport: roundTripper, Key: publicKey(id), Secret: "secret of " + id, Now: f.now})
				if err != nil {
					t.Fatal(err)
				}
				return c
			}
			shop, page := connect("create"), connect("page")

			request := api.InvoiceRequest{Amount: "56.50", FiatCurrency: "EUR", URLSuccess: "https://shop.example/?a=1&b=2", OrderID: "1042"}
			id, err := shop.CreateInvoice(t.Context(), request, "token")
			if err != nil {
				t.Fatal(err)
			}
			if second, err := shop.CreateInvoice(t.Context(), request, "token"); err != nil || second != id {
				t.Errorf("CreateInvoice() with the same key = %s, %v; want %s", second, err, id)
			}
			first, err := page.Invoice(t.Context(), id)
			if err != nil || first.Resource.OrderID != "1042" || first.Resource.URLSuccess != request.URLSuccess || first.ETag != `"1"` {
				t.Fatalf("Invoice() = %+v, %v", first, err)
			}
			if _, err := page.WaitInvoice(t.Context(), id, first.ETag, 0); !errors.Is(err, client.ErrNotModified) {
				t.Errorf("WaitInvoice() = %v, want ErrNotModified", err)
			}
			changed := make(chan client.Snapshot)
			go func() {
				snapshot, err := page.WaitInvoice(t.Context(), id, first.ETag, 30*time.Second)
				if err != nil {
					t.Error(err)
				}
				changed <- snapshot
			}()
			if err := page.Simulate(t.Context(), id, api.SimulateRequest{Action: api.SimulateExact}); err != nil {
				t.Fatal(err)
			}
			if got := <-changed; got.Resource.Status != api.StatusPending || got.ETag == first.ETag {
				t.Errorf("WaitInvoice() = %s with ETag %s", got.Resource.Status, got.ETag)
			}

			_, err = page.CreateInvoice(t.Context(), request, "")
			got, _ := errors.AsType[*client.Error](err)
			if diff := cmp.Diff(got, &client.Error{Status: 403, Code: "key_may_not", Message: "Key may not do this"}); diff != "" {
				t.Errorf("CreateInvoice() differs (-got +want):\n%s", diff)
			}
			if err := page.Requote(t.Context(), id, api.RequoteRequest{}); err == nil || !strings.Contains(err.Error(), "409") {
				t.Errorf("Requote() of a covered invoice = %v, want status 409", err)
			}
			to := api.RefundRequest{Currency: "BTC", Address: "tb1qw508d6qejxtdg4y5r3zarvary0c5xw7kxpjzsx"}
			if err := page.SetRefundAddress(t.Context(), id, to); err != nil {
				t.Error(err)
			}
			second, err := page.Invoice(t.Context(), id)
			if err != nil || second.Resource.RefundAddress != to.Address || second.Resource.RefundCurrency != "BTC" {
				t.Errorf("after SetRefundAddress(): %+v, %v", second.Resource, err)
			}
			if _, err := page.Invoice(t.Context(), "nobody"); !errors.Is(err, client.ErrNotFound) {
				t.Errorf("Invoice() = %v, want ErrNotFound", err)
			}
			if err := page.Simulate(t.Context(), "nobody", api.SimulateRequest{Action: api.SimulateExact}); !errors.Is(err, client.ErrNotFound) {
				t.Errorf("Simulate() = %v, want ErrNotFound", err)
			}
		})
	}
}
