package web_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"

	"chequer/internal/api"
	"chequer/internal/client"
	"chequer/internal/theme"
	"chequer/web"
	"chequer/web/present"
)

var noon = time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)

// service is a fake of the service behind the pages. It records requests and returns the invoices that
// a test sets.
type service struct {
	mu          sync.Mutex
	invoices    map[string]client.Snapshot
	changed     chan struct{} // closed when an invoice changes
	created     []api.InvoiceRequest
	keys        []string
	reads       int             // number of calls of Invoice
	onInvoice   func(id string) // runs when Invoice is called
	onRefusal   func()          // runs when UseCheckoutLink refuses
	refusals    []error         // errors for the next creations
	simulated   []api.SimulateRequest
	requoted    []api.RequoteRequest
	asked       []api.NewPaymentRequest
	refunds     []api.RefundRequest
	link        api.CheckoutLink      // answer of ReadCheckoutLink
	linkReads   []api.CheckoutRequest // of ReadCheckoutLink
	linkOrders  []api.CheckoutRequest // of UseCheckoutLink
	offers      api.ProductOffers
	ordered     []api.ProductOrder
	productsErr error // error of ReadProducts
	calls       int   // number of calls of CreateInvoice, ReadProducts and Theme
	ownTheme    theme.Theme
	themes      []theme.Theme
	themeCalls  int   // number of calls of Theme
	themeErr    error // error of Theme
	themeBlocks bool  // Theme blocks until the context ends
	refusal     error // error of Simulate, Requote, SetRefundAddress and ReadCheckoutLink
}

func newService(resources ...api.Resource) *service {
	s := &service{invoices: map[string]client.Snapshot{}, changed: make(chan struct{})}
	for _, r := range resources {
		s.set(r)
	}
	return s
}

// set stores an invoice, and ends the calls of WaitInvoice that wait for it.
func (s *service) set(r api.Resource) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.invoices[r.ForeignID] = client.Snapshot{Resource: r, ETag: `"` + r.Status + string(rune('0'+r.Version)) + `"`}
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *service) CreateInvoice(_ context.Context, request api.InvoiceRequest, key string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	s.created, s.keys = append(s.created, request), append(s.keys, key)
	if len(s.refusals) > 0 {
		err := s.refusals[0]
		s.refusals = s.refusals[1:]
		return "", err
	}
	return "made1", nil
}

func (s *service) ReadCheckoutLink(_ context.Context, request api.CheckoutRequest) (api.CheckoutLink, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.linkReads = append(s.linkReads, request)
	return s.link, s.refusal
}

func (s *service) UseCheckoutLink(_ context.Context, request api.CheckoutRequest, key string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.linkOrders, s.keys = append(s.linkOrders, request), append(s.keys, key)
	if len(s.refusals) > 0 {
		err := s.refusals[0]
		s.refusals = s.refusals[1:]
		if s.onRefusal != nil {
			s.onRefusal()
		}
		return "", err
	}
	return "made1", nil
}

func (s *service) ReadProducts(_ context.Context, request api.ProductsRequest) (api.ProductOffers, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	offers := s.offers
	if request.Slug == "" || s.productsErr != nil {
		return offers, s.productsErr
	}
	offers.Products = nil
	for _, p := range s.offers.Products {
		if p.Slug == request.Slug {
			offers.Products = append(offers.Products, p)
			return offers, nil
		}
	}
	return offers, &client.Error{Status: 404, Code: api.CodeProductNotFound, Message: "There is no such product"}
}

func (s *service) OrderProduct(_ context.Context, order api.ProductOrder, key string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ordered, s.keys = append(s.ordered, order), append(s.keys, key)
	if len(s.refusals) > 0 {
		err := s.refusals[0]
		s.refusals = s.refusals[1:]
		return "", err
	}
	return "made1", nil
}

func (s *service) Invoice(_ context.Context, id string) (client.Snapshot, error) {
	snapshot, _, err := s.snapshot(id)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reads++
	if s.onInvoice != nil {
		s.onInvoice(id)
	}
	return snapshot, err
}

func (s *service) snapshot(id string) (client.Snapshot, chan struct{}, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	snapshot, ok := s.invoices[id]
	if !ok {
		return client.Snapshot{}, nil, client.ErrNotFound
	}
	return snapshot, s.changed, nil
}

func (s *service) WaitInvoice(ctx context.Context, id, etag string, wait time.Duration) (client.Snapshot, error) {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for {
		snapshot, changed, err := s.snapshot(id)
		if err != nil || snapshot.ETag != etag {
			return snapshot, err
		}
		select {
		case <-changed:
		case <-timer.C:
			return client.Snapshot{}, client.ErrNotModified
		case <-ctx.Done():
			return client.Snapshot{}, ctx.Err()
		}
	}
}

func (s *service) Simulate(_ context.Context, _ string, request api.SimulateRequest) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.simulated = append(s.simulated, request)
	return s.refusal
}

func (s *service) Theme(ctx context.Context, hash string) (theme.Theme, error) {
	if s.themeBlocks {
		<-ctx.Done()
		return theme.Theme{}, ctx.Err()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	s.themeCalls++
	if s.themeErr != nil {
		return theme.Theme{}, s.themeErr
	}
	if hash == "" {
		return s.ownTheme, nil
	}
	for _, theme := range s.themes {
		if theme.Hash() == hash {
			return theme, nil
		}
	}
	return theme.Theme{}, client.ErrNotFound
}

func (s *service) RequestPayment(_ context.Context, _ string, request api.NewPaymentRequest) error {
	s.asked = append(s.asked, request)
	return s.refusal
}

func (s *service) Requote(_ context.Context, _ string, request api.RequoteRequest) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requoted = append(s.requoted, request)
	return s.refusal
}

func (s *service) SetRefundAddress(_ context.Context, _ string, request api.RefundRequest) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refunds = append(s.refunds, request)
	return s.refusal
}

// pages returns the pages of a service, with the storefront enabled.
func pages(t *testing.T, s *service, change func(*web.Config)) *web.Handler {
	t.Helper()
	config := web.Config{
		Client: s, Logger: slog.New(slog.NewTextHandler(io.Discard, nil)), Now: func() time.Time { return noon },
		Site: present.Site{Storefront: true, ShopName: "Shop"}, PostsPerMinute: -1,
	}
	if change != nil {
		change(&config)
	}
	h := web.New(config)
	t.Cleanup(h.Close)
	return h
}

func get(t *testing.T, h http.Handler, target string) *http.Response {
	t.Helper()
	return do(h, httptest.NewRequestWithContext(t.Context(), http.MethodGet, target, nil))
}

func post(t *testing.T, h http.Handler, target string, form url.Values, header map[string]string) *http.Response {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, target, strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	for name, value := range header {
		r.Header.Set(name, value)
	}
	return do(h, r)
}

func do(h http.Handler, r *http.Request) *http.Response {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

func document(t *testing.T, r *http.Response) *goquery.Document {
	t.Helper()
	doc, err := goquery.NewDocumentFromReader(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// text returns the text of an element with runs of white space replaced by one space.
func text(s *goquery.Selection) string { return strings.Join(strings.Fields(s.Text()), " ") }
