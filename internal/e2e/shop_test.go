package e2e_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"

	"chequer/internal/api"
	"chequer/internal/client"
	"chequer/internal/merchant"
)

// shop is a merchant's client of the API, with a key.
type shop struct {
	t      testing.TB
	client *client.Client
}

func newShop(t testing.TB, url string, key merchant.Key) shop {
	t.Helper()
	return shopVia(t, url, key, nil)
}

// shopVia returns a client with the given transport, such as one to a proxy.
func shopVia(t testing.TB, url string, key merchant.Key, transport http.RoundTripper) shop {
	t.Helper()
	c, err := client.New(client.Config{BaseURL: url, Key: key.Key, Secret: key.Secret, Transport: transport})
	if err != nil {
		t.Fatal(err)
	}
	return shop{t: t, client: c}
}

// createInvoice creates an invoice of 12.50 euros and returns its id.
func (s shop) createInvoice() (id string) {
	s.t.Helper()
	id, err := s.client.CreateInvoice(s.t.Context(), api.InvoiceRequest{Amount: "12.50", FiatCurrency: "EUR"}, "")
	if err != nil {
		s.t.Fatal(err)
	}
	return id
}

// simulate runs simulations for an invoice on simnet.
func (s shop) simulate(id string, actions ...string) {
	s.t.Helper()
	for _, action := range actions {
		if err := s.client.Simulate(s.t.Context(), id, api.SimulateRequest{Action: action}); err != nil {
			s.t.Fatal(err)
		}
	}
}

// waitRequests waits until an invoice that can be paid by Lightning has a payment request for the amount due, which a payment of a part
// replaces.
func (s shop) waitRequests(id string) {
	s.t.Helper()
	until(s.t, waitTimeout, "the payment requests are for the amount due", func() bool {
		r := s.invoice(id)
		isOpen := r.Status == api.StatusCreated || r.Status == api.StatusPending
		return !isOpen || !slices.ContainsFunc(r.PaymentMethods, func(m api.PaymentMethod) bool {
			return m.CryptoCurrency == api.MethodLightning && m.Address == "" && m.DueAmount != "0"
		})
	})
}

// invoice reads an invoice.
func (s shop) invoice(id string) api.Resource {
	s.t.Helper()
	snapshot, err := s.client.Invoice(s.t.Context(), id)
	if err != nil {
		s.t.Fatal(err)
	}
	return snapshot.Resource
}

// nextStatus returns a channel that receives the invoice's status after its next change.
func (s shop) nextStatus(id string) <-chan string {
	s.t.Helper()
	snapshot, err := s.client.Invoice(s.t.Context(), id)
	if err != nil {
		s.t.Fatal(err)
	}
	status := make(chan string, 1)
	go func() {
		newer, err := s.client.WaitInvoice(s.t.Context(), id, snapshot.ETag, waitTimeout)
		if err != nil {
			s.t.Error(err)
		}
		status <- newer.Resource.Status
	}()
	return status
}

// waitStatus waits until an invoice has a status.
func (s shop) waitStatus(id, want string, limit time.Duration) {
	s.t.Helper()
	until(s.t, limit, "invoice is "+want, func() bool { return s.invoice(id).Status == want })
}

// readPage reads a page, and fails if it has another status.
func readPage(t testing.TB, url string, status int) *goquery.Document {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), waitTimeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != status {
		t.Errorf("%s has status %d, want %d", url, response.StatusCode, status)
	}
	page, err := goquery.NewDocumentFromReader(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return page
}

// idOf returns the invoice's id in the address of its page.
func idOf(page string) string { return page[strings.LastIndex(page, "/")+1:] }
