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

// terminal creates a terminal of a demo shop while the program runs, as chequer terminal link does. It
// returns the terminal's address and a function that removes it.
func (p *program) terminal(t *testing.T, c config.Config) (url string, remove func()) {
	t.Helper()
	core, err := app.OpenCore(t.Context(), c, app.Options{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { core.Close() })
	shop, err := core.Shop(t.Context(), c, app.Options{})
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
	for _, s := range allScreens() {
		t.Run(s.name, func(t *testing.T) {
			c := settings(t)
			p := start(t, c, app.Options{Demo: true})
			shop, b := newShop(t, p.url, p.key), open(t, s)
			terminal, remove := p.terminal(t, c)
			const submit = "form .btn"

			b.visit(terminal)
			b.waitFor("h1", "Demo shop", nil)
			if s.noJS {
				b.do(chromedp.SendKeys(chromedp.CSS("#amount"), "12.50"))
			} else {
				b.keys("1", "2", ".", "9", ".", "back", "5", "0") // a second dot is ignored
				if got := b.value("#amount"); got != "12.50" {
					t.Errorf("the keypad typed %q, want 12.50", got)
				}
			}
			b.picture(s, "pos")
			b.checkNoSidewaysScroll()
			b.do(chromedp.Click(chromedp.CSS("summary")), chromedp.SendKeys(chromedp.CSS("#order_id"), "Table 4"))
			b.picture(s, "pos-more")
			b.do(chromedp.DoubleClick(chromedp.CSS(submit)))
			b.do(chromedp.WaitVisible(chromedp.CSS(".next a")))
			page := get(b, chromedp.Location())
			if !strings.HasPrefix(page, terminal+"/") {
				t.Fatalf("the form led to %s, want a page of the terminal", page)
			}
			b.waitFor(".due .v", "€12.50", nil)
			if !s.noJS {
				until(t, waitTimeout, "the screen is kept on", func() bool { return get(b, chromedp.Evaluate[string](`document.body.dataset.awake || ""`)) == "1" })
			}
			b.picture(s, "counter")
			b.checkNoSidewaysScroll()
			code := b.decode("section:has(#m1-address) .qr svg")
			if address := b.attribute("#m1-address", "data-copy"); !strings.Contains(strings.ToLower(code), strings.ToLower(address)) {
				t.Errorf("the code contains %q, want the address %s", code, address)
			}
			b.do(chromedp.NavigateBack())
			b.do(chromedp.WaitVisible(chromedp.CSS("#amount")))
			if got := b.value("#amount"); got != "" || invoices(t, c) != 1 {
				t.Errorf("after going back the amount is %q, and there are %d invoices", got, invoices(t, c))
			}
			b.visit(page)
			b.do(chromedp.Reload())
			b.do(chromedp.WaitVisible(chromedp.CSS(".next a")))

			id := idOf(page)
			if inv := shop.invoice(id); inv.OrderID != "Table 4" || inv.Description != "Bar" || !strings.HasPrefix(inv.Metadata[api.MetadataTerminal], "pos_") {
				t.Errorf("the merchant sees %q, %q, %v", inv.OrderID, inv.Description, inv.Metadata)
			}
			again := b.reload(s, page)
			shop.simulate(id, api.SimulateExact)
			b.waitFor("#st", "Payment seen", again)
			b.picture(s, "counter-seen")
			shop.simulate(id, api.SimulateConfirm)
			b.waitFor(".due .k", "Paid", again)
			b.picture(s, "counter-paid")
			b.checkNoSidewaysScroll()
			if high := get(b, chromedp.Evaluate[float64](`parseFloat(getComputedStyle(document.querySelector(".due .k")).fontSize)`)); high < 80 {
				t.Errorf("the word Paid is %g px high, want at least 80, to be readable from a distance", high)
			}
			if rang := get(b, chromedp.Evaluate[string](`document.body.dataset.rang || ""`)); (rang == "1") == s.noJS {
				t.Errorf("data-rang is %q", rang)
			}
			b.send(".next a")
			b.do(chromedp.WaitVisible(chromedp.CSS("#amount")))
			if got := b.value("#amount"); got != "" {
				t.Errorf("the next invoice's amount is %q, want none", got)
			}
			b.checkConsole()

			remove() // from here on the console reports refused requests
			b.visit(terminal)
			b.waitFor("h1", "This terminal is not in use", nil)
		})
	}
}

// keys presses keys of the keypad.
func (b *tab) keys(names ...string) {
	b.t.Helper()
	for _, name := range names {
		b.click(fmt.Sprintf("#keys [data-key=%q]", name))
	}
}
