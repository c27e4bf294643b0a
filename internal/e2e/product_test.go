package e2e_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"chequer/internal/api"
	"chequer/internal/app"
	"chequer/internal/locale"
)

// allScreens returns the screens, a dark phone and a narrow phone.
func allScreens() []screen {
	return append(screens[:len(screens):len(screens)],
		screen{name: "phone_dark", width: 390, height: 844, dark: true}, screen{name: "narrow", width: 320, height: 640})
}

// TestShopper_orders_a_product goes from the list to the payment page. The invoice has the amount on the
// button, and one form leads to one invoice, however often it is sent.
func TestShopper_orders_a_product(t *testing.T) {
	t.Parallel()
	for _, screen := range allScreens() {
		t.Run(screen.name, func(t *testing.T) {
			config := settings(t)
			program := start(t, config, app.Options{Demo: true})
			shop, tab := newShop(t, program.url, program.key), open(t, screen)
			const pay = ".side button"

			tab.visit(program.url + "/")
			tab.send(`a[href="/shop"]`)
			tab.waitFor("main h1", "Products", nil)
			tab.picture(screen, "shop")
			tab.checkNoSidewaysScroll()
			tab.send(`h2 a[href="/shop/coffee"]`)
			tab.waitFor(pay, "Order and pay €11.50", nil)
			tab.picture(screen, "product")
			tab.checkNoSidewaysScroll()

			tab.typeInto("#quantity", "3")
			tab.do(chromedp.SendKeys(chromedp.CSS("#note"), "Ground, please"))
			tab.send("[name=update]")
			tab.waitFor(pay, "Order and pay €34.50", nil)
			if got := tab.value("#note"); got != "Ground, please" {
				t.Errorf("the note field contains %q", got)
			}
			tab.picture(screen, "product-total")
			tab.typeInto("#quantity", "4") // without updating the total
			tab.checkConsole()
			tab.send(pay) // from here on the console reports refused requests
			tab.waitFor(".err h2", "Check the new total", nil)
			tab.waitFor(pay, "Order and pay €46.00", nil)
			tab.picture(screen, "product-check")
			tab.typeInto("#quantity", "0")
			tab.send(pay)
			tab.waitFor("#quantity-error", "Enter at least 1", nil)
			tab.picture(screen, "product-error")
			tab.checkNoSidewaysScroll()
			if got := countInvoices(t, config); got != 0 {
				t.Errorf("%d invoices were created before an order, want none", got)
			}

			tab.visit(program.url + "/shop/coffee?quantity=2&note=Beans")
			tab.waitFor(pay, "Order and pay €23.00", nil)
			tab.do(chromedp.DoubleClick(chromedp.CSS(pay)))
			tab.do(chromedp.WaitVisible(chromedp.CSS("#pay")))
			tab.waitFor(".due .v", "€23.00", nil)
			page := get(tab, chromedp.Location())
			tab.do(chromedp.Reload())
			tab.do(chromedp.WaitVisible(chromedp.CSS("#pay")))
			tab.do(chromedp.NavigateBack())
			tab.waitFor(pay, "Order and pay €23.00", nil)
			tab.send(pay)
			tab.do(chromedp.WaitVisible(chromedp.CSS("#pay")))
			if got := get(tab, chromedp.Location()); got != page || countInvoices(t, config) != 1 {
				t.Errorf("the form led to %s, then to %s, with %d invoices", page, got, countInvoices(t, config))
			}
			inv := shop.invoice(idOf(page))
			if inv.Description != "2 × Filter coffee" || inv.Metadata["product"] != "coffee" || inv.Metadata["quantity"] != "2" || inv.Metadata["note"] != "Beans" {
				t.Errorf("the merchant sees %q, %v", inv.Description, inv.Metadata)
			}
			shop.simulate(idOf(page), api.SimulateExact, api.SimulateConfirm)
			tab.visit(page)
			tab.waitFor("#st", "Paid", nil)
		})
	}
}

// TestTwo_tabs_order_two_products creates two orders in two tabs, each with a form of its own. After
// going back in a tab, the browser may show the cached form of the other tab. Sending it must lead to
// one of the two invoices.
func TestTwo_tabs_order_two_products(t *testing.T) {
	t.Parallel()
	c := settings(t)
	p := start(t, c, app.Options{Demo: true})
	first, second := open(t, phoneScreen), open(t, deskScreen)
	for _, b := range []*tab{first, second} {
		b.visit(p.url + "/shop/repair?order_id=A-17")
	}
	var locations []string
	for _, b := range []*tab{first, second, first} {
		b.waitFor(".side button", "Order and pay €64.00", nil)
		b.send(".side button")
		b.do(chromedp.WaitVisible(chromedp.CSS("#pay")))
		locations = append(locations, get(b, chromedp.Location()))
		b.do(chromedp.NavigateBack())
	}
	if locations[0] == locations[1] || locations[2] != locations[0] && locations[2] != locations[1] || countInvoices(t, c) != 2 {
		t.Errorf("the tabs led to %s, with %d invoices", strings.Join(locations, ", "), countInvoices(t, c))
	}
}

// longLanguages are the languages with the longest words and lines. Not all languages are tested for
// errors, because one address may send only twenty forms in a burst.
var longLanguages = strings.Fields("ar bg de el fi fr ga hu lt mt pt ro")

// TestProducts_in_other_languages checks that the longest words fit on the smallest screen in both
// directions of writing.
func TestProducts_in_other_languages(t *testing.T) {
	t.Parallel()
	c := settings(t)
	p := start(t, c, app.Options{Demo: true})
	terminal, _ := p.createTerminal(t, c)
	s := screen{name: "narrow", width: 320, height: 640}
	tab := open(t, s)
	for _, language := range locale.All().List() {
		for page, url := range map[string]string{
			"shop": p.url + "/shop", "product": p.url + "/shop/repair", "error": p.url + "/shop/coffee", "pos": terminal, "form": p.url + "/",
		} {
			if page == "error" && !slices.Contains(longLanguages, language.Code) {
				continue
			}
			tab.visit(url + "?lang=" + language.Code)
			if page == "error" {
				tab.typeInto("#quantity", "0")
				tab.send(".side button")
				tab.do(chromedp.WaitVisible(chromedp.CSS("#quantity-error")))
			}
			tab.picture(s, page+"-"+language.Code)
			tab.checkNoSidewaysScroll()
		}
	}
}
