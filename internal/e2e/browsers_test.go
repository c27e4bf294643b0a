package e2e_test

import (
	"fmt"
	"os"
	"testing"

	"chequer/internal/api"
	"chequer/internal/app"
)

func TestFirefox_pays_an_invoice(t *testing.T) {
	t.Parallel()
	payIn(t, openFirefox)
}

func TestWebKit_pays_an_invoice(t *testing.T) {
	if os.Getenv("E2E_NIGHTLY") == "" {
		t.Skip("E2E_NIGHTLY is not set")
	}
	payIn(t, openWebKit)
}

// payIn pays an invoice in a browser: it reads the QR codes from the screen, changes the method,
// copies, waits for the payment, goes back and forward, and pays another invoice in a merchant's
// page.
func payIn(t *testing.T, openBrowser func(*testing.T) *session) {
	m := newMerchantSite(t)
	p := start(t, settings(t, "CHEQUER_EMBED_ORIGINS="+m.origin), app.Options{Demo: true})
	shop := newShop(t, p.url, p.key)
	create := func() string {
		id, err := shop.client.CreateInvoice(t.Context(), api.InvoiceRequest{Amount: "56.50", FiatCurrency: "EUR"}, "")
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	b := openBrowser(t)
	id := create()
	methods := shop.invoice(id).PaymentMethods
	if len(methods) < 2 {
		t.Fatalf("%d payment methods", len(methods))
	}

	b.visit(p.url + "/invoice/" + id)
	for i, method := range methods[:2] {
		n := i + 1
		b.click(fmt.Sprintf("label[for=m%d]", n))
		want := method.PaymentCode
		if method.AddressCode != "" {
			want = method.AddressCode
		}
		code := fmt.Sprintf("section:has(#m%d-address) .qr svg", n)
		b.script(fmt.Sprintf(`document.querySelector(%q).scrollIntoView({block: "center"})`, code))
		if got, err := readCode(inside(b.shot(code))); err != nil || got != want {
			t.Errorf("%s: the code contains %q (%v), want %q", method.CryptoCurrency, got, err, want)
		}
		b.click(fmt.Sprintf("#m%d-amount", n))
		b.waitFor(fmt.Sprintf("#m%d-amount span", n), "Copied")
	}

	shop.simulate(id, api.SimulateExact)
	b.waitFor("#st", "Payment seen")
	shop.simulate(id, api.SimulateConfirm)
	b.waitFor("#st", "Paid")
	b.visit(p.url + "/")
	b.must(goBack, nil, nil)
	b.waitFor("#st", "Paid")
	b.must(goForward, nil, nil)
	if got := b.script("location.pathname"); got != "/" {
		t.Errorf("forward leads to %v", got)
	}

	id = create()
	m.link = p.url + "/invoice/" + id
	b.must(setWindowRect, map[string]any{"width": 1200, "height": 900}, nil)
	b.visit(m.origin)
	b.click("#buy")
	b.waitFor("#events", "open status:created")
	shop.simulate(id, api.SimulateExact, api.SimulateConfirm)
	b.waitFor("#events", "status:paid")
	b.click("dialog button")
	b.waitFor("#events", "close")
	if got := b.script(`document.querySelectorAll("dialog[open]").length`); got != 0.0 {
		t.Errorf("%v dialogs are open after the button", got)
	}
}
