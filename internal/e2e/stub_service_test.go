package e2e_test

import (
	"context"
	"io"
	"log/slog"
	"math/big"
	"net/http/httptest"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"chequer/internal/api"
	"chequer/internal/client"
	"chequer/internal/theme"
	"chequer/web"
)

// stubService serves the pages of one invoice that the test can change freely.
type stubService struct {
	address   string
	reference string

	mu      sync.Mutex
	shown   api.Resource
	changed chan struct{}
}

// newStubService returns a service with an open invoice of 56.50 euros, payable in ether or EURC. The functions
// change the configuration of its pages.
func newStubService(t *testing.T, change ...func(*web.Config)) *stubService {
	t.Helper()
	const to, euro = "0x1111111254EEB25477B68fb85Ed929f73A960582", "0x60a3E35Cc302bFA44Cb288Bc5a4F316Fdb1adb42"
	link := "ethereum:" + euro + "@8453/transfer?address=" + to + "&uint256=56500000"
	service := &stubService{reference: "kAp3-9QfW", changed: make(chan struct{}), shown: api.Resource{
		ForeignID: "kAp39QfWkAp39QfWkAp39QfWkAp39QfW", OrderID: "1042", Mode: "live", Version: 1, Status: api.StatusCreated,
		ExpiredAt: time.Now().Add(15 * time.Minute).UTC().Format(api.TimeLayout), SecondsLeft: 900,
		ClientAmount: "56.5", ClientCurrency: "EUR", PaidAmount: "0", DueAmount: "56.5", OverpaidAmount: "0",
		MerchantName: "Atelier Nord", Description: "Two prints",
		PaymentMethods: []api.PaymentMethod{
			{
				CryptoCurrency: "ETH", Symbol: "ETH", Name: "Ether", Network: "ethereum", NetworkName: "Ethereum", ChainID: "1", Decimals: 18,
				Address: to, ExpectedAmount: "0.021319950190558639", DueAmount: "0.021319950190558639", RateEUR: "2650.1", Watched: true,
				PaymentURI: "ethereum:" + to + "@1?value=21319950190558639", PaymentCode: "ethereum:" + to + "@1?value=21319950190558639",
			},
			{
				CryptoCurrency: "EURC-BASE", Symbol: "EURC", Name: "Euro Coin", Network: "base", NetworkName: "Base", ChainID: "8453", Decimals: 6,
				Contract: euro, Address: to, ExpectedAmount: "56.5", DueAmount: "56.5", RateEUR: "1", Watched: true,
				PaymentURI: link, PaymentCode: link, AddressCode: to,
			},
		},
	}}
	config := web.Config{Client: service, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))}
	for _, c := range change {
		c(&config)
	}
	pages := web.New(config)
	server := httptest.NewServer(pages)
	t.Cleanup(func() { pages.Close(); server.Close() })
	service.address = server.URL + "/invoice/" + service.shown.ForeignID
	return service
}

// url returns the address of the invoice's page with a method chosen.
func (s *stubService) url(method string) string { return s.address + "?m=" + method }

// change changes the invoice, and wakes the open pages.
func (s *stubService) change(edit func(*api.Resource)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shown.PaymentMethods = slices.Clone(s.shown.PaymentMethods) // a page may be rendering the old slice
	edit(&s.shown)
	s.shown.Version++
	close(s.changed)
	s.changed = make(chan struct{})
}

// payPartly marks 43.21 of 56.50 euros as paid.
func payPartly(r *api.Resource) {
	r.Status, r.DueAmount, r.PaidAmount, r.Exceptions = api.StatusPending, "13.29", "43.21", []string{api.ExceptionUnderpaid}
	r.PaymentMethods[0].DueAmount, r.PaymentMethods[1].DueAmount = "0.005014905097920834", "13.289882"
}

// read returns the invoice, and a channel that is closed when it changes.
func (s *stubService) read() (client.Snapshot, chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return client.Snapshot{Resource: s.shown, ETag: strconv.FormatInt(s.shown.Version, 10)}, s.changed
}

// Invoice, WaitInvoice and the methods below implement web.Client.
func (s *stubService) Invoice(context.Context, string) (client.Snapshot, error) {
	snapshot, _ := s.read()
	return snapshot, nil
}

func (s *stubService) WaitInvoice(ctx context.Context, _, etag string, wait time.Duration) (client.Snapshot, error) {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for {
		snapshot, changed := s.read()
		if snapshot.ETag != etag {
			return snapshot, nil
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

func (s *stubService) CreateInvoice(context.Context, api.InvoiceRequest, string) (string, error) {
	return "", client.ErrNotFound
}

func (s *stubService) ReadCheckoutLink(context.Context, api.CheckoutRequest) (api.CheckoutLink, error) {
	return api.CheckoutLink{}, client.ErrUnsupported
}

func (s *stubService) ReadProducts(context.Context, api.ProductsRequest) (api.ProductOffers, error) {
	return api.ProductOffers{}, client.ErrUnsupported
}

func (s *stubService) OrderProduct(context.Context, api.ProductOrder, string) (string, error) {
	return "", client.ErrUnsupported
}

func (s *stubService) UseCheckoutLink(context.Context, api.CheckoutRequest, string) (string, error) {
	return "", client.ErrUnsupported
}

func (s *stubService) Simulate(context.Context, string, api.SimulateRequest) error {
	return client.ErrNotFound
}

func (s *stubService) Theme(context.Context, string) (theme.Theme, error) {
	return theme.Theme{}, client.ErrUnsupported
}

func (s *stubService) RequestPayment(context.Context, string, api.NewPaymentRequest) error {
	return client.ErrUnsupported
}

func (s *stubService) Requote(context.Context, string, api.RequoteRequest) error {
	return client.ErrNotFound
}

func (s *stubService) SetRefundAddress(context.Context, string, api.RefundRequest) error {
	return client.ErrNotFound
}

// answerWallets makes the wallets answer the requests that they hold.
func (b *tab) answerWallets() {
	b.t.Helper()
	get(b, chromedp.Evaluate[any](`answer()`))
}

// waitGone waits until an element's text lacks words.
func (b *tab) waitGone(selector, words string) {
	b.t.Helper()
	until(b.t, waitTimeout, words+" is gone", func() bool {
		return !get(b, chromedp.Evaluate[bool](`document.querySelector(`+strconv.Quote(selector)+`).textContent.includes(`+strconv.Quote(words)+`)`))
	})
}

// hexOf returns a decimal number in the form of EIP-1474's quantities, without the prefix.
func hexOf(t *testing.T, decimal string) string {
	t.Helper()
	n, ok := new(big.Int).SetString(decimal, 10)
	if !ok {
		t.Fatalf("%q is not a number", decimal)
	}
	return n.Text(16)
}
