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
	for _, s := range allScreens() {
		t.Run(s.name, func(t *testing.T) {
			c := settings(t)
			p := start(t, c, app.Options{Demo: true})
			shop, b := newShop(t, p.url, p.key), open(t, s)
			const pay = ".side button"

			b.visit(p.url + "/")
			b.send(`a[href="/shop"]`)
			b.waitFor("main h1", "Products", nil)
			b.picture(s, "shop")
			b.checkNoSidewaysScroll()
			b.send(`h2 a[href="/shop/coffee"]`)
			b.waitFor(pay, "Order and pay €11.50", nil)
			b.picture(s, "product")
			b.checkNoSidewaysScroll()

			b.types("#quantity", "3")
			b.do(chromedp.SendKeys(chromedp.CSS("#note"), "Ground, please"))
			b.send("[name=update]")
			b.waitFor(pay, "Order and pay €34.50", nil)
			if got := b.value("#note"); got != "Ground, please" {
				t.Errorf("the note field contains %q", got)
			}
			b.picture(s, "product-total")
			b.types("#quantity", "4") // without updating the total
			b.checkConsole()
			b.send(pay) // from here on the console reports refused requests
			b.waitFor(".err h2", "Check the new total", nil)
			b.waitFor(pay, "Order and pay €46.00", nil)
			b.picture(s, "product-check")
			b.types("#quantity", "0")
			b.send(pay)
			b.waitFor("#quantity-error", "Enter at least 1", nil)
			b.picture(s, "product-error")
			b.checkNoSidewaysScroll()
			if got := invoices(t, c); got != 0 {
				t.Errorf("%d invoices were created before an order, want none", got)
			}

			b.visit(p.url + "/shop/coffee?quantity=2&note=Beans")
			b.waitFor(pay, "Order and pay €23.00", nil)
			b.do(chromedp.DoubleClick(chromedp.CSS(pay)))
			b.do(chromedp.WaitVisible(chromedp.CSS("#pay")))
			b.waitFor(".due .v", "€23.00", nil)
			page := get(b, chromedp.Location())
			b.do(chromedp.Reload())
			b.do(chromedp.WaitVisible(chromedp.CSS("#pay")))
			b.do(chromedp.NavigateBack())
			b.waitFor(pay, "Order and pay €23.00", nil)
			b.send(pay)
			b.do(chromedp.WaitVisible(chromedp.CSS("#pay")))
			if got := get(b, chromedp.Location()); got != page || invoices(t, c) != 1 {
				t.Errorf("the form led to %s, then to %s, with %d invoices", page, got, invoices(t, c))
			}
			inv := shop.invoice(idOf(page))
			if inv.Description != "2 × Filter coffee" || inv.Metadata["product"] != "coffee" || inv.Metadata["quantity"] != "2" || inv.Metadata["note"] != "Beans" {
				t.Errorf("the merchant sees %q, %v", inv.Description, inv.Metadata)
			}
			shop.simulate(idOf(page), api.SimulateExact, api.SimulateConfirm)
			b.visit(page)
			b.waitFor("#st", "Paid", nil)
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
	first, second := open(t, screens[0]), open(t, screens[1])
	for _, b := range []*tab{first, second} {
		b.visit(p.url + "/shop/repair?order_id=A-17")
	}
	var led []string
	for _, b := range []*tab{first, second, first} {
		b.waitFor(".side button", "Order and pay €64.00", nil)
		b.send(".side button")
		b.do(chromedp.WaitVisible(chromedp.CSS("#pay")))
		led = append(led, get(b, chromedp.Location()))
		b.do(chromedp.NavigateBack())
	}
	if led[0] == led[1] || led[2] != led[0] && led[2] != led[1] || invoices(t, c) != 2 {
		t.Errorf("the tabs led to %s, with %d invoices", strings.Join(led, ", "), invoices(t, c))
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
	terminal, _ := p.terminal(t, c)
	s := screen{name: "narrow", width: 320, height: 640}
	b := open(t, s)
	for _, language := range locale.All().List() {
		for page, url := range map[string]string{
			"shop": p.url + "/shop", "product": p.url + "/shop/repair", "error": p.url + "/shop/coffee", "pos": terminal, "form": p.url + "/",
		} {
			if page == "error" && !slices.Contains(longLanguages, language.Code) {
				continue
			}
			b.visit(url + "?lang=" + language.Code)
			if page == "error" {
				b.types("#quantity", "0")
				b.send(".side button")
				b.do(chromedp.WaitVisible(chromedp.CSS("#quantity-error")))
			}
			b.picture(s, page+"-"+language.Code)
			b.checkNoSidewaysScroll()
		}
	}
}
