package e2e_test

import (
	"crypto/hmac"
	"crypto/sha512"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"chequer/internal/app"
)

const (
	specOnlyKey    = "SpecKey0SpecKey0SpecKey0SpecKey0"
	specOnlySecret = "SpecSecretSpecSecretSpecSecretSpecSecret"
)

// specOnlyServer is a service that implements the two calls of the invoice API's specification and nothing
// more. It is written from the specification alone, and uses none of this module's packages.
type specOnlyServer struct {
	hasStatus bool // it also has invoice/status, as related services do

	mu       sync.Mutex
	invoices map[string]map[string]any
}

// ServeHTTP implements http.Handler.
func (s *specOnlyServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.URL.Path == "/api/v2/invoice/new" && r.Method == http.MethodPost:
		s.create(w, r)
	case r.URL.Path == "/api/v2/invoice/status" && r.Method == http.MethodGet && s.hasStatus:
		s.status(w, r.URL.Query().Get("id"))
	default:
		http.Error(w, "404 page not found", http.StatusNotFound)
	}
}

// create answers a request that has only the six fields of the specification.
func (s *specOnlyServer) create(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	mac := hmac.New(sha512.New, []byte(specOnlySecret))
	mac.Write(body)
	if err != nil || r.Header.Get("X-Processing-Key") != specOnlyKey || r.Header.Get("X-Processing-Signature") != hex.EncodeToString(mac.Sum(nil)) {
		http.Error(w, "invalid key or signature", http.StatusForbidden)
		return
	}
	var request struct {
		Amount           json.Number `json:"amount"`
		FiatCurrency     string      `json:"fiat_currency"`
		URLSuccess       string      `json:"url_success"`
		URLFailure       string      `json:"url_failure"`
		AllowPaidExpired bool        `json:"allow_paid_expired"`
		DisableConvert   bool        `json:"disable_convert"`
	}
	fields := json.NewDecoder(strings.NewReader(string(body)))
	fields.DisallowUnknownFields()
	if err := fields.Decode(&request); err != nil || r.Header.Get("Content-Type") != "application/json" {
		http.Error(w, fmt.Sprint("invalid request: ", err), http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	id := fmt.Sprintf("spec%028d", len(s.invoices)+1)
	invoice := map[string]any{
		"foreign_id": id, "status": "created",
		"expired_at":    time.Now().Add(15 * time.Minute).UTC().Format("2006-01-02T15:04:05.000Z"),
		"client_amount": request.Amount, "client_currency": request.FiatCurrency,
		"addresses": []map[string]any{
			specOnlyAddress("bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4", "0.00014464", "BTC", "93333.6", "86420"),
			specOnlyAddress("0x9858EfFD232B4033E47d90003D41EC34EcaEda94", "0.00471679", "ETH", "2862.108", "2650.1"),
		},
	}
	if s.invoices == nil {
		s.invoices = map[string]map[string]any{}
	}
	s.invoices[id] = invoice
	_ = json.NewEncoder(w).Encode(invoice)
}

// specOnlyAddress returns an element of the invoice's addresses.
func specOnlyAddress(address, expected, currency, usd, eur string) map[string]any {
	return map[string]any{
		"address": address, "expected_amount": json.Number(expected), "crypto_currency": currency,
		"rate_usd": json.Number(usd), "rate_eur": json.Number(eur),
	}
}

// status answers with the current invoice.
func (s *specOnlyServer) status(w http.ResponseWriter, id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	invoice, known := s.invoices[id]
	if !known {
		http.Error(w, "404 page not found", http.StatusNotFound)
		return
	}
	_ = json.NewEncoder(w).Encode(invoice)
}

// pay marks every invoice as paid.
func (s *specOnlyServer) pay() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, invoice := range s.invoices {
		invoice["status"] = "paid"
	}
}

// count returns the number of created invoices.
func (s *specOnlyServer) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.invoices)
}

// startSpecOnlyShop starts the storefront and the payment page in front of a service that implements only the
// specification.
func startSpecOnlyShop(t *testing.T, s *specOnlyServer) (url string) {
	t.Helper()
	service := httptest.NewServer(s)
	t.Cleanup(service.Close)
	c := settings(t, "CHEQUER_API_KEY="+specOnlyKey, "CHEQUER_API_SECRET="+specOnlySecret, "CHEQUER_SHOP_NAME=Atelier Nord")
	a, err := app.NewStorefront(t.Context(), c, service.URL, app.Options{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	runApp(t, a)
	return "http://" + a.Addr()
}

// TestStorefront_needs_only_the_specification uses the storefront and the payment page in front of services that
// implement the specification only.
func TestStorefront_needs_only_the_specification(t *testing.T) {
	for _, variant := range []struct {
		name      string
		hasStatus bool
	}{
		{"creation_only", false},
		{"with_status", true},
	} {
		for _, s := range []screen{phoneScreen, darkScreenNoJS} {
			t.Run(variant.name+"_"+s.name, func(t *testing.T) {
				service := &specOnlyServer{hasStatus: variant.hasStatus}
				url := startSpecOnlyShop(t, service)
				tab := open(t, s)
				page := tab.createInvoice(url, "12,50")
				tab.checkSpecOnlyInvoice(url, page)
				tab.picture(s, "spec_only_"+variant.name)
				if got := service.count(); got != 1 {
					t.Errorf("%d invoices were created, want 1", got)
				}
				if variant.hasStatus {
					service.pay()
					tab.waitFor("#st", "Paid. Thank you.", tab.reloader(s, page))
					tab.picture(s, "spec_only_paid")
				}
				tab.checkConsole()
				tab.checkUnknownInvoice(url)
			})
		}
	}
}

// checkSpecOnlyInvoice fails if the page lacks information that the specification provides.
func (b *tab) checkSpecOnlyInvoice(url, page string) {
	b.t.Helper()
	if want := url + "/invoice/spec" + strings.Repeat("0", 27) + "1"; page != want {
		b.t.Errorf("the form led to %s, not %s", page, want)
	}
	if got := b.text(".due .v"); got != "€12.50" {
		b.t.Errorf("amount due = %q", got)
	}
	for id, want := range map[string][2]string{
		"m1": {"bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4", "0.00014464"},
		"m2": {"0x9858EfFD232B4033E47d90003D41EC34EcaEda94", "0.00471679"},
	} {
		b.click(fmt.Sprintf("label[for=%q]", id))
		section := fmt.Sprintf("section:has(#%s-address)", id)
		b.do(chromedp.WaitVisible(chromedp.CSS(section)))
		got := [2]string{b.attribute("#"+id+"-address", "data-copy"), b.attribute("#"+id+"-amount", "data-copy")}
		if got != want {
			b.t.Errorf("%s asks for %q, want %q", id, got, want)
		}
		if code := b.decode(section + " .qr svg"); code != want[0] {
			b.t.Errorf("%s: the code contains %q, want the address alone %q", id, code, want[0])
		}
	}
	clock := regexp.MustCompile(`^1[45]:[0-5][0-9]$`)
	if b.screen.noJS {
		clock = regexp.MustCompile(`^([1-3]?[0-9] [A-Z][a-z]{2}, )?[0-2][0-9]:[0-5][0-9] UTC$`) // with the date if it ends tomorrow
	}
	if got := b.text("#clock"); !clock.MatchString(got) {
		b.t.Errorf("the price is held until %q", got)
	}
}

// checkUnknownInvoice fails if an unknown invoice has no error page.
func (b *tab) checkUnknownInvoice(url string) {
	b.t.Helper()
	unknown := url + "/invoice/" + strings.Repeat("x", 32)
	readPage(b.t, unknown, http.StatusNotFound)
	b.visit(unknown)
	if got := b.text("h1"); got != "This page does not exist" {
		b.t.Errorf("the page of an unknown invoice shows %q", got)
	}
	if got := b.attribute("a.btn", "href"); got != "/" {
		b.t.Errorf("the page of an unknown invoice leads to %q", got)
	}
}
