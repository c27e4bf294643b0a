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
	site := newMerchantSite(t)
	program := start(t, settings(t, "CHEQUER_EMBED_ORIGINS="+site.origin), app.Options{Demo: true})
	shop := newShop(t, program.url, program.key)
	create := func() string {
		id, err := shop.client.CreateInvoice(t.Context(), api.InvoiceRequest{Amount: "56.50", FiatCurrency: "EUR"}, "")
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	session := openBrowser(t)
	id := create()
	methods := shop.invoice(id).PaymentMethods
	if len(methods) < 2 {
		t.Fatalf("%d payment methods", len(methods))
	}

	session.visit(program.url + "/invoice/" + id)
	for i, method := range methods[:2] {
		n := i + 1
		session.click(fmt.Sprintf("label[for=m%d]", n))
		want := shownCode(method)
		if method.AddressCode != "" {
			want = method.AddressCode
		}
		code := fmt.Sprintf("section:has(#m%d-address) .qr svg", n)
		session.script(fmt.Sprintf(`document.querySelector(%q).scrollIntoView({block: "center"})`, code))
		if got, err := readCode(withoutCorners(session.shot(code))); err != nil || got != want {
			t.Errorf("%s: the code contains %q (%v), want %q", method.CryptoCurrency, got, err, want)
		}
		session.click(fmt.Sprintf("#m%d-amount", n))
		session.waitFor(fmt.Sprintf("#m%d-amount span", n), "Copied")
	}

	shop.simulate(id, api.SimulateExact)
	session.waitFor("#st", "Payment seen")
	shop.simulate(id, api.SimulateConfirm)
	session.waitFor("#st", "Paid")
	session.visit(program.url + "/")
	session.must(goBack, nil, nil)
	session.waitFor("#st", "Paid")
	session.must(goForward, nil, nil)
	if got := session.script("location.pathname"); got != "/" {
		t.Errorf("forward leads to %v", got)
	}

	id = create()
	site.link = program.url + "/invoice/" + id
	session.must(setWindowRect, map[string]any{"width": 1200, "height": 900}, nil)
	session.visit(site.origin)
	session.click("#buy")
	session.waitFor("#events", "open status:created")
	shop.simulate(id, api.SimulateExact, api.SimulateConfirm)
	session.waitFor("#events", "status:paid")
	session.click("dialog button")
	session.waitFor("#events", "close")
	if got := session.script(`document.querySelectorAll("dialog[open]").length`); got != 0.0 {
		t.Errorf("%v dialogs are open after the button", got)
	}
}
