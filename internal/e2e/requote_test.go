package e2e_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"chequer/internal/api"
	"chequer/internal/app"
)

// TestRequote_gives_a_new_quote asks for a new quote while the old quote is held, by a double click,
// and after a partial payment.
func TestRequote_gives_a_new_quote(t *testing.T) {
	p := start(t, settings(t), app.Options{Demo: true})
	merchant := newShop(t, p.url, p.key)
	for _, screen := range screens {
		t.Run(screen.name, func(t *testing.T) {
			tab := open(t, screen)
			page := tab.createInvoice(p.url, "12,50")
			id := idOf(page)
			before := merchant.invoice(id)
			tab.click("#help summary")
			tab.pictureOf("#help", screen, "hold_help")
			get(tab, chromedp.Evaluate[any](`for (const press of [1, 2]) document.querySelector("#requote").click()`))
			tab.waitQuotes(merchant, id, 2)
			tab.do(chromedp.WaitVisible(chromedp.CSS("#pay")))
			after := merchant.invoice(id)
			if after.ExpiredAt <= before.ExpiredAt || after.PaymentMethods[0].Address != before.PaymentMethods[0].Address {
				t.Errorf("held until %s, before %s", after.ExpiredAt, before.ExpiredAt)
			}
			tab.waitFor("#st", "Waiting for your payment", nil)

			// The same form again, as a second click sends it.
			status := sendForm(t, page+"/quote", "quote=1")
			if got := len(merchant.invoice(id).Quotes); got != 2 || status != 303 {
				t.Errorf("sent twice: %d quotes, status %d, want 2 and 303", got, status)
			}

			reload := tab.reloader(screen, page)
			if !screen.noJS {
				tab.click(`label[for=m2]`)
				if got, want := tab.value(".requote [name=m]"), merchant.invoice(id).PaymentMethods[1].CryptoCurrency; got != want {
					t.Errorf("the form keeps the method %q", got)
				}
				tab.click(`label[for=m1]`)
			}
			merchant.simulate(id, api.SimulateUnder)
			tab.waitFor("#st", "Part of it arrived", reload)
			tab.click("#help summary")
			tab.click("#requote")
			tab.waitQuotes(merchant, id, 3)
			tab.do(chromedp.WaitVisible(chromedp.CSS("#pay")))
			tab.waitFor("#st", "Part of it arrived", nil)
			if got := merchant.invoice(id).Quotes[2].DueAmount; got != "5" {
				t.Errorf("the new price is for %s", got)
			}
			tab.picture(screen, "hold_partial")
			tab.checkNoSidewaysScroll()
			tab.checkConsole()
		})
	}
}

// TestRequote_of_an_expired_invoice asks for a new quote on the page of an expired invoice whose merchant
// allows late payments.
func TestRequote_of_an_expired_invoice(t *testing.T) {
	p := start(t, settings(t), app.Options{Demo: true})
	merchant := newShop(t, p.url, p.key)
	for _, s := range screens {
		t.Run(s.name, func(t *testing.T) {
			tab := open(t, s)
			id := merchant.createExpired(api.InvoiceRequest{Amount: "56.50", FiatCurrency: "EUR", AllowPaidExpired: new(true), OrderID: "1042", Description: "Two prints"})
			page := p.url + "/invoice/" + id
			tab.visit(page)
			tab.waitFor("#st", "The held price has run out", nil)
			tab.picture(s, "hold_expired")
			tab.checkNoSidewaysScroll()
			tab.click("#requote")
			tab.waitQuotes(merchant, id, 2)
			tab.waitFor("#st", "Waiting for your payment", nil)
			if got, _, _ := strings.Cut(get(tab, chromedp.Location()), "?"); got != page {
				t.Errorf("the page is %s, want %s", got, page)
			}
			tab.picture(s, "hold_expired_held")
			tab.checkConsole()
		})
	}
}

// TestRefund_address_is_stored enters a refund address after an overpayment and after a late payment.
func TestRefund_address_is_stored(t *testing.T) {
	program := start(t, settings(t), app.Options{Demo: true})
	merchant := newShop(t, program.url, program.key)
	for _, screen := range screens {
		t.Run(screen.name, func(t *testing.T) {
			tab := open(t, screen)
			page := tab.createInvoice(program.url, "12,50")
			id := idOf(page)
			merchant.simulate(id, api.SimulateOver, api.SimulateConfirm)
			tab.visit(page)
			tab.waitFor("#st", "You sent a little extra", nil)
			tab.do(chromedp.WaitVisible(chromedp.CSS("#refund-address")))
			tab.pictureOf("#refund", screen, "refund_asked")
			tab.checkNoSidewaysScroll()

			tab.typeInto("#refund-address", "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4")
			tab.click("#refund-save")
			tab.waitFor("#refund-error", "for another network", nil)
			if got := tab.value("#refund-address"); got != "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4" {
				t.Errorf("the field contains %q", got)
			}
			tab.pictureOf("#refund", screen, "refund_error")
			tab.checkNoSidewaysScroll()
			tab.typeInto("#refund-address", "tb1qw508d6qejxtdg4y5r3zarvary0c5xw7kxpjzsx")
			tab.click("#refund-save")
			tab.waitFor("#refund .hint", "Saved.", nil)
			r := merchant.invoice(id)
			if r.RefundAddress != "tb1qw508d6qejxtdg4y5r3zarvary0c5xw7kxpjzsx" || r.RefundCurrency != "BTC" {
				t.Errorf("saved %s %s", r.RefundCurrency, r.RefundAddress)
			}
			tab.pictureOf("#refund", screen, "refund_saved")
			tab.checkNoSidewaysScroll()
			tab.discardMessages("422") // the browser logs the refused form
			tab.checkConsole()
		})
	}
	t.Run("an_update_of_the_page_keeps_typed_text", func(t *testing.T) {
		s := phoneScreen
		tab := open(t, s)
		page := tab.createInvoice(program.url, "12,50")
		id := idOf(page)
		merchant.simulate(id, api.SimulateLate)
		tab.waitFor("#st", "Your payment arrived late", nil)
		tab.pictureOf("#refund", s, "refund_late")
		tab.markPage()
		tab.typeInto("#refund-address", "tb1qhalf")
		version := tab.attribute("#live", "data-v")
		merchant.simulate(id, api.SimulateConfirm)
		until(t, waitTimeout, "the page is updated", func() bool { return tab.attribute("#live", "data-v") != version })
		if got := tab.value("#refund-address"); got != "tb1qhalf" {
			t.Errorf("after the page changed the field contains %q", got)
		}
		tab.checkNotReloaded()
	})
}

// createExpired creates an invoice whose quote has expired and that has no payment: SimulateLate ends the quote and
// pays, and SimulateReplace removes that payment.
func (s shop) createExpired(r api.InvoiceRequest) (id string) {
	s.t.Helper()
	id, err := s.client.CreateInvoice(s.t.Context(), r, "")
	if err != nil {
		s.t.Fatal(err)
	}
	s.simulate(id, api.SimulateLate, api.SimulateReplace)
	s.waitStatus(id, api.StatusExpired, waitTimeout)
	return id
}

// waitQuotes waits until an invoice has the wanted number of quotes.
func (b *tab) waitQuotes(s shop, id string, want int) {
	b.t.Helper()
	until(b.t, waitTimeout, fmt.Sprintf("the invoice has %d quotes", want), func() bool { return len(s.invoice(id).Quotes) >= want })
	if got := len(s.invoice(id).Quotes); got != want {
		b.t.Errorf("%d quotes, want %d", got, want)
	}
}

// sendForm sends a form as a browser does, and follows no redirect.
func sendForm(t *testing.T, url, form string) (status int) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(form))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	response, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	return response.StatusCode
}

// typeInto replaces the value of a field.
func (b *tab) typeInto(selector, text string) {
	b.t.Helper()
	get(b, chromedp.Evaluate[any](fmt.Sprintf(`document.querySelector(%q).value = ""`, selector)))
	b.do(chromedp.SendKeys(chromedp.CSS(selector), text))
}

// value returns the value of a field.
func (b *tab) value(selector string) string {
	b.t.Helper()
	return get(b, chromedp.Evaluate[string](fmt.Sprintf(`document.querySelector(%q).value`, selector)))
}

// discardMessages removes the console messages that contain a text.
func (b *tab) discardMessages(text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.console = slices.DeleteFunc(b.console, func(line string) bool { return strings.Contains(line, text) })
}

// pictureOf saves a screenshot with a part of the page in its centre.
func (b *tab) pictureOf(selector string, s screen, state string) {
	b.t.Helper()
	b.shoot(s, state, fmt.Sprintf(`document.querySelector(%q).scrollIntoView({block: "center", behavior: "instant"})`, selector))
}

// TestReceipt_prints_without_controls prints a paid page. It must have the order, the times, the amounts, the transaction
// and the reference, and no controls. It must have a light background although the browser prefers the dark scheme.
func TestReceipt_prints_without_controls(t *testing.T) {
	p := start(t, settings(t), app.Options{Demo: true})
	merchant := newShop(t, p.url, p.key)
	s := darkScreenNoJS
	tab := open(t, s)
	id, err := merchant.client.CreateInvoice(t.Context(), api.InvoiceRequest{Amount: "56.50", FiatCurrency: "EUR", OrderID: "1042", Description: "Two prints"}, "")
	if err != nil {
		t.Fatal(err)
	}
	merchant.simulate(id, api.SimulateExact, api.SimulateConfirm)
	tab.visit(p.url + "/invoice/" + id)
	_, err = chromedp.Call(tab.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Media: "print", Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "dark"}},
	})
	tab.check(err)
	tab.do(chromedp.EmulateViewport(794, 1123, chromedp.EmulateScale(2))) // A4 at 96 dpi
	tab.picture(screen{name: "paper"}, "receipt")
	r := merchant.invoice(id)
	text := tab.visibleText("body")
	for _, want := range []string{"Demo shop", "Order 1042", "Two prints", "not a VAT invoice", "€56.50", "0.00065379 BTC", "1 BTC = €86,420.00", r.PaidTx, "UTC", "Test"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not on the receipt: %s", want, text)
		}
	}
	for _, not := range []string{"Test tools", "Return to", "Check for", "cookies", "Receipt as PDF"} {
		if strings.Contains(text, not) {
			t.Errorf("%q is on the receipt", not)
		}
	}
	if got := get(tab, chromedp.Evaluate[string](`getComputedStyle(document.body).backgroundColor`)); got != "rgb(255, 255, 255)" {
		t.Errorf("the background is %s, want white", got)
	}
}
