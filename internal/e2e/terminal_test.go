package e2e_test

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"chequer/internal/api"
	"chequer/internal/app"
	"chequer/internal/config"
	"chequer/internal/merchant"
)

// createTerminal creates a terminal of a demo shop while the program runs, as chequer terminal link does. It
// returns the terminal's address and a function that removes it.
func (p *program) createTerminal(t *testing.T, c config.Config) (url string, remove func()) {
	t.Helper()
	core, err := app.OpenCore(t.Context(), c, app.Options{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { core.Close() })
	shop, err := core.FirstShop(t.Context(), c, app.Options{})
	if err != nil {
		t.Fatal(err)
	}
	created, err := core.Terminals.Create(t.Context(), merchant.Terminal{MerchantID: shop.ID, Mode: merchant.Test, Name: "Bar", Currency: "EUR"})
	if err != nil {
		t.Fatal(err)
	}
	return p.url + "/pos/" + created.Secret, func() {
		if err := core.Terminals.Remove(t.Context(), shop.ID, created.ID); err != nil {
			t.Fatal(err)
		}
	}
}

// TestTerminal_creates_an_invoice enters an amount at a terminal. The shopper's phone must be able to
// read the QR code, the result must be readable from a distance, and the next invoice starts empty.
func TestTerminal_creates_an_invoice(t *testing.T) {
	t.Parallel()
	for _, screen := range allScreens() {
		t.Run(screen.name, func(t *testing.T) {
			config := settings(t)
			p := start(t, config, app.Options{Demo: true})
			shop, tab := newShop(t, p.url, p.key), open(t, screen)
			terminal, remove := p.createTerminal(t, config)
			const submit = "form .btn"

			tab.visit(terminal)
			tab.waitFor("h1", "Demo shop", nil)
			if screen.noJS {
				tab.do(chromedp.SendKeys(chromedp.CSS("#amount"), "12.50"))
			} else {
				tab.pressKeys("1", "2", ".", "9", ".", "back", "5", "0") // a second dot is ignored
				if got := tab.value("#amount"); got != "12.50" {
					t.Errorf("the keypad typed %q, want 12.50", got)
				}
			}
			tab.picture(screen, "pos")
			tab.checkNoSidewaysScroll()
			tab.do(chromedp.Click(chromedp.CSS("summary")), chromedp.SendKeys(chromedp.CSS("#order_id"), "Table 4"))
			tab.picture(screen, "pos-more")
			tab.do(chromedp.DoubleClick(chromedp.CSS(submit)))
			tab.do(chromedp.WaitVisible(chromedp.CSS(".next a")))
			page := get(tab, chromedp.Location())
			if !strings.HasPrefix(page, terminal+"/") {
				t.Fatalf("the form led to %s, want a page of the terminal", page)
			}
			tab.waitFor(".due .v", "€12.50", nil)
			if !screen.noJS {
				until(t, waitTimeout, "the screen is kept on", func() bool { return get(tab, chromedp.Evaluate[string](`document.body.dataset.awake || ""`)) == "1" })
			}
			tab.picture(screen, "counter")
			tab.checkNoSidewaysScroll()
			code := tab.decode("section:has(#m1-address) .qr svg")
			if address := tab.attribute("#m1-address", "data-copy"); !strings.Contains(strings.ToLower(code), strings.ToLower(address)) {
				t.Errorf("the code contains %q, want the address %s", code, address)
			}
			tab.do(chromedp.NavigateBack())
			tab.do(chromedp.WaitVisible(chromedp.CSS("#amount")))
			if got := tab.value("#amount"); got != "" || countInvoices(t, config) != 1 {
				t.Errorf("after going back the amount is %q, and there are %d invoices", got, countInvoices(t, config))
			}
			tab.visit(page)
			tab.do(chromedp.Reload())
			tab.do(chromedp.WaitVisible(chromedp.CSS(".next a")))

			id := idOf(page)
			if inv := shop.invoice(id); inv.OrderID != "Table 4" || inv.Description != "Bar" || !strings.HasPrefix(inv.Metadata[api.MetadataTerminal], "pos_") {
				t.Errorf("the merchant sees %q, %q, %v", inv.OrderID, inv.Description, inv.Metadata)
			}
			reload := tab.reloader(screen, page)
			shop.simulate(id, api.SimulateExact)
			tab.waitFor("#st", "Payment seen", reload)
			tab.picture(screen, "counter-seen")
			shop.simulate(id, api.SimulateConfirm)
			tab.waitFor(".due .k", "Paid", reload)
			tab.picture(screen, "counter-paid")
			tab.checkNoSidewaysScroll()
			if fontSize := get(tab, chromedp.Evaluate[float64](`parseFloat(getComputedStyle(document.querySelector(".due .k")).fontSize)`)); fontSize < 80 {
				t.Errorf("the word Paid is %g px high, want at least 80, to be readable from a distance", fontSize)
			}
			if rang := get(tab, chromedp.Evaluate[string](`document.body.dataset.rang || ""`)); (rang == "1") == screen.noJS {
				t.Errorf("data-rang is %q, want 1 only with a script", rang)
			}
			tab.send(".next a")
			tab.do(chromedp.WaitVisible(chromedp.CSS("#amount")))
			if got := tab.value("#amount"); got != "" {
				t.Errorf("the next invoice's amount is %q, want none", got)
			}
			tab.checkConsole()

			remove() // from here on the console reports refused requests
			tab.visit(terminal)
			tab.waitFor("h1", "This terminal is not in use", nil)
		})
	}
}

// pressKeys presses keys of the keypad.
func (b *tab) pressKeys(names ...string) {
	b.t.Helper()
	for _, name := range names {
		b.click(fmt.Sprintf("#keys [data-key=%q]", name))
	}
}
