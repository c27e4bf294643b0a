package web_test

import (
	"encoding/json"
	"image/png"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/api"
	"chequer/internal/client"
	"chequer/web/present/presenttest"
)

// terminalPath is the address of a terminal.
const terminalPath = "/pos/0123456789abcdefghijklmnopqrstuv"

// terminalService returns a service with a terminal.
func terminalService(resources ...api.Resource) *service {
	s := newService(resources...)
	s.link = api.CheckoutLink{MerchantName: "Atelier Nord", Mode: "live", FiatCurrency: "EUR", Description: "Bar"}
	return s
}

func TestTerminalPage_creates_nothing_and_hides_its_address(t *testing.T) {
	t.Parallel()
	s := terminalService()
	response := get(t, pages(t, s, nil), terminalPath)
	if got := response.Header.Get("Content-Security-Policy"); !strings.Contains(got, "; manifest-src 'self'") || strings.Contains(got, "unsafe") {
		t.Errorf("policy %s", got)
	}
	if got := response.Header.Get("Referrer-Policy"); got != "no-referrer" {
		t.Errorf("referrer policy %s: the address is a secret", got)
	}
	doc := document(t, response)
	if got := doc.Find("form").AttrOr("action", ""); response.StatusCode != 200 || got != "/order"+terminalPath {
		t.Errorf("status %d, the form is sent to %s", response.StatusCode, got)
	}
	// Without its script the keypad is hidden, and the phone shows its numeric keyboard.
	if _, hidden := doc.Find("#keys").Attr("hidden"); !hidden || doc.Find("#keys button[type=button]").Length() != 12 || doc.Find("#amount").AttrOr("inputmode", "") != "decimal" {
		t.Error("the keypad is not hidden without its script, or incomplete")
	}
	if len(s.linkOrders) > 0 {
		t.Error("GET created an invoice")
	}
}

func TestTerminal_unknown_is_not_found(t *testing.T) {
	t.Parallel()
	missing := terminalService()
	missing.refusal = &client.Error{Status: 404, Code: api.CodeTerminalNotFound}
	withoutTerminals := terminalService()
	withoutTerminals.refusal = client.ErrUnsupported
	for name, s := range map[string]*service{"ended": missing, "a service without terminals": withoutTerminals} {
		h := pages(t, s, nil)
		for _, path := range []string{"/pos", "/pos/x", "/pos/%00", terminalPath, terminalPath + "/made1", terminalPath + "/app.webmanifest"} {
			if response := get(t, h, path); response.StatusCode != http.StatusNotFound || !strings.Contains(document(t, response).Find("h1").Text(), "terminal") {
				t.Errorf("%s: %s has status %d, want 404 about the terminal", name, path, response.StatusCode)
			}
		}
		if response := post(t, h, "/order"+terminalPath, url.Values{"amount": {"5"}}, nil); response.StatusCode != http.StatusNotFound || len(s.linkOrders) > 0 {
			t.Errorf("%s: the form has status %d, want 404 without an invoice", name, response.StatusCode)
		}
	}
}

func TestTerminal_creates_invoices(t *testing.T) {
	t.Parallel()
	s := terminalService()
	h := pages(t, s, nil)
	form := url.Values{"token": {token}, "amount": {" 012,50 "}, "order_id": {"Table\u202e 4"}, "note": {"Two\r\nbeers\x00"}}
	for range 2 {
		if response := post(t, h, "/order"+terminalPath, form, nil); response.Header.Get("Location") != terminalPath+"/made1" || response.StatusCode != http.StatusSeeOther {
			t.Errorf("status %d to %s", response.StatusCode, response.Header.Get("Location"))
		}
	}
	form.Set("amount", "13")
	post(t, h, "/order"+terminalPath, form, nil)
	want := api.CheckoutRequest{Terminal: strings.TrimPrefix(terminalPath, "/pos/"), Amount: "12.50", OrderID: "Table 4", Note: "Two\nbeers"}
	if diff := cmp.Diff(s.linkOrders[0], want); diff != "" {
		t.Errorf("(-got +want):\n%s", diff)
	}
	if s.keys[0] != s.keys[1] || s.keys[1] == s.keys[2] || !strings.HasPrefix(s.keys[0], token) {
		t.Errorf("the idempotency keys are %q, want the first two equal, beginning with %q, and the third different", s.keys, token)
	}
	if response := get(t, h, "/order"+terminalPath); response.Header.Get("Location") != terminalPath {
		t.Errorf("GET of the form's address redirects to %q", response.Header.Get("Location"))
	}
}

// If the form of an earlier payment is sent again with the same content, the page of that payment must not
// be shown to the next shopper.
func TestTerminal_refuses_the_form_of_an_earlier_payment(t *testing.T) {
	t.Parallel()
	earlierInvoice := presenttest.Invoice("made1")
	earlierInvoice.Status = api.StatusPaid
	s := terminalService(earlierInvoice)
	response := post(t, pages(t, s, nil), "/order"+terminalPath, url.Values{"token": {token}, "amount": {"12.50"}, "note": {"Two beers"}}, nil)
	doc := document(t, response)
	if response.StatusCode != http.StatusConflict || !strings.Contains(doc.Find(".err p").Text(), "This sale was made before") {
		t.Errorf("status %d, want 409 and that the sale was made before: %s", response.StatusCode, doc.Find("main").Text())
	}
	if got := doc.Find("[name=token]").AttrOr("value", ""); got == token || len(got) < 16 {
		t.Errorf("the token is %q, want another one of at least 16 characters", got)
	}
	if doc.Find("#amount").AttrOr("value", "") != "12.50" || doc.Find("#note").Text() != "Two beers" {
		t.Error("the typed values are missing")
	}
}

func TestTerminal_refuses_invalid_forms(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		form   url.Values
		err    error
		status int
		at     string
	}{
		"no amount":        {url.Values{}, nil, 422, `#amount-error:contains("Enter an amount")`},
		"not ASCII digits": {url.Values{"amount": {"１２"}}, nil, 422, `#amount-error:contains("in figures")`},
		"zero":             {url.Values{"amount": {"0.00"}}, nil, 422, `#amount-error:contains("above zero")`},
		"a long reference": {url.Values{"amount": {"5"}, "order_id": {strings.Repeat("1", 65)}}, nil, 422, `details[open] #order_id-error:contains("64")`},
		"a long note":      {url.Values{"amount": {"5"}, "note": {strings.Repeat("1", 501)}}, nil, 422, `details[open] #note-error:contains("500")`},
		"too little":       {url.Values{"amount": {"0.01"}}, &client.Error{Status: 400, Message: "amount must be at least 2 EUR"}, 422, `#amount-error:contains("at least 2 EUR")`},
		"no rates":         {url.Values{"amount": {"5"}}, &client.Error{Status: 503, Code: "no_rate"}, 503, `.err p:contains("no prices")`},
		"no database":      {url.Values{"amount": {"5"}}, &client.Error{Status: 503, Code: "unavailable"}, 503, `.err p:contains("cannot be taken right now")`},
	} {
		s := terminalService()
		if tt.err != nil {
			s.refusals = []error{tt.err}
		}
		response := post(t, pages(t, s, nil), "/order"+terminalPath, tt.form, nil)
		doc := document(t, response)
		if response.StatusCode != tt.status || doc.Find(tt.at).Length() != 1 || !strings.HasPrefix(doc.Find("head title").Text(), "Error: ") {
			t.Errorf("%s: status %d, want %d with %s: %s", name, response.StatusCode, tt.status, tt.at, doc.Find("main").Text())
		}
		if got := doc.Find("#amount").AttrOr("value", "none"); got != tt.form.Get("amount") {
			t.Errorf("%s: the amount field contains %q", name, got)
		}
	}
}

func TestTerminal_shows_the_payment_page(t *testing.T) {
	t.Parallel()
	h := pages(t, terminalService(presenttest.Invoice("abc")), nil)
	doc := document(t, get(t, h, terminalPath+"/abc"))
	if got := doc.Find(".next a").AttrOr("href", ""); got != terminalPath {
		t.Errorf("the link to the next payment leads to %s, want %s", got, terminalPath)
	}
	if doc.Find("#live .qr svg").Length() == 0 || doc.Find("#live").AttrOr("data-self", "") != "/invoice/abc" || doc.Find("#back").Length() != 0 {
		t.Error("the page lacks the parts of the invoice's payment page, or links back to the shop")
	}
	if got := doc.Find("a.only-nojs").First().AttrOr("href", ""); !strings.HasPrefix(got, terminalPath+"/abc?m=") {
		t.Errorf("without a script the page is checked again at %s, want the page of the terminal", got)
	}
	for _, path := range []string{terminalPath + "/none", terminalPath + "/%00"} {
		if response := get(t, h, path); response.StatusCode != http.StatusNotFound {
			t.Errorf("%s has status %d, want 404", path, response.StatusCode)
		}
	}
}

// A phone can install the terminal as an app.
func TestTerminal_can_be_installed_as_an_app(t *testing.T) {
	t.Parallel()
	h := pages(t, terminalService(), nil)
	doc := document(t, get(t, h, terminalPath))
	response := get(t, h, doc.Find("link[rel=manifest]").AttrOr("href", ""))
	var manifest struct {
		Name     string `json:"name"`
		StartURL string `json:"start_url"`
		Display  string `json:"display"`
		Icons    []struct{ Src, Sizes, Type string }
	}
	if err := json.NewDecoder(response.Body).Decode(&manifest); err != nil {
		t.Fatal(err)
	}
	if response.Header.Get("Content-Type") != "application/manifest+json" || manifest.Name != "Atelier Nord – Bar" || manifest.StartURL != terminalPath || manifest.Display != "standalone" {
		t.Errorf("%s: %+v", response.Header.Get("Content-Type"), manifest)
	}
	for _, icon := range manifest.Icons {
		response := get(t, h, icon.Src)
		if response.StatusCode != http.StatusOK || response.Header.Get("Content-Type") != icon.Type {
			t.Errorf("%s has status %d, %s", icon.Src, response.StatusCode, response.Header.Get("Content-Type"))
		}
		if icon.Type != "image/png" {
			continue
		}
		picture, err := png.DecodeConfig(response.Body)
		if err != nil || icon.Sizes != map[int]string{192: "192x192", 512: "512x512"}[picture.Width] {
			t.Errorf("%s is %d wide, not %s; error %v", icon.Src, picture.Width, icon.Sizes, err)
		}
	}
	if len(manifest.Icons) != 3 {
		t.Errorf("%d icons", len(manifest.Icons))
	}
}
