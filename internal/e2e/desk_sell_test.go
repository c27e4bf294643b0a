package e2e_test

import (
	"crypto/rand"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"
	"github.com/chromedp/chromedp"

	"chequer/internal/api"
)

// changedMeanwhile sends the form of a product that another session has changed meanwhile.
func changedMeanwhile(b *tab, site *demoSite) {
	b.t.Helper()
	path := deskShop + "/products/coffee/edit"
	signedIn("/products/coffee/edit")(b, site)
	form := site.owner.read(path)
	pairs := []string{}
	form.Find("#edit [name]").Each(func(_ int, s *goquery.Selection) {
		value := s.AttrOr("value", "")
		if s.Is("select") {
			value = s.Find("option[selected]").AttrOr("value", "")
		}
		if s.AttrOr("name", "") == "price" {
			value = "3.60"
			if strings.HasPrefix(s.AttrOr("value", ""), "3.60") {
				value = "3.50"
			}
		}
		pairs = append(pairs, s.AttrOr("name", ""), value)
	})
	site.owner.post(path, pairs...)
	enter("#name", "Coffee of the day")(b, site)
	press("#edit .go", "#price-error")(b, site)
}

// The owner changes a price, creates a link, gets the code for a site and adds a terminal, each in three clicks from
// the first page and the click that sends the form; with and without JavaScript. The results are the shopper's pages.
func TestDesk_pages_of_selling_are_three_clicks_away(t *testing.T) {
	for _, s := range []screen{{name: "phone", width: 390, height: 844}, {name: "without JavaScript", width: 390, height: 844, noJS: true}} {
		t.Run(s.name, func(t *testing.T) {
			site, tab := newDemoSite(t), openAlone(t, s)
			tab.observe()
			follow := func(path, loaded string) {
				tab.send(`main a[href*="` + path + `"]`)
				tab.do(chromedp.WaitVisible(chromedp.CSS(loaded)))
			}
			sell := func() {
				signedIn("/payments?mode=test")(tab, site)
				tab.click(`.bar a[href$="/products"]`)
				tab.waitFor("h1", "Sell", nil)
				tab.visit(get(tab, chromedp.Location()) + "?mode=test")
			}
			sell()
			follow("/products/coffee/edit", "#edit .go")
			enter("#price", "4.20")(tab, site)
			tab.send("#edit .go")
			tab.waitFor("[role=status]", "The product was saved. Existing invoices keep their price.", nil)
			tab.visit(site.url + "/shop/coffee")
			tab.waitFor("main", "€4.20", nil)

			sell()
			follow("/links?", `a[href*="/links/new?"]`)
			follow("/links/new?", "#edit .go")
			tab.typeInto("#slug", "workshop")
			tab.typeInto("#amount", "85")
			tab.send("#edit .go")
			tab.waitFor("[role=status]", "The link was created.", nil)
			link := tab.text("#address")
			tab.visit(link)
			tab.waitFor("main", "€85.00", nil)

			sell()
			follow("/storefront?", "#code-link")
			tab.waitFor("#code-link", `<a href="`+link+`">Pay €85.00</a>`, nil)

			sell()
			follow("/terminals?", `a[href*="/terminals/new?"]`)
			follow("/terminals/new?", "#edit .go")
			tab.typeInto("#name", "Market stall")
			tab.send("#edit .go")
			tab.waitFor("h1", "Terminal added", nil)
			tab.visit(tab.text("#address"))
			tab.waitFor("main", "Charge", nil)
			tab.checkConsole()
		})
	}
}

// A button copies an address, or selects it if the browser refuses. It is hidden without JavaScript.
func TestDesk_button_copies_or_selects_an_address(t *testing.T) {
	site := newDemoSite(t)
	for name, tt := range map[string]struct{ setup, want string }{
		"allowed": {"", "Copied"},
		"refused": {deniedClipboard, "Selected: copy it by hand"},
		"missing": {noClipboard, "Selected: copy it by hand"},
	} {
		t.Run(name, func(t *testing.T) {
			site, tab := site.in(t), openAlone(t, phoneScreen)
			tab.allowClipboardReading(tt.setup)
			signedIn("/links/tip-jar/edit")(tab, site)
			tab.click("[data-copies]")
			tab.waitFor("[data-copied]", tt.want, nil)
			got := get(tab, chromedp.Evaluate[string]("getSelection().toString()"))
			if tt.setup == "" {
				got = tab.clipboard()
			}
			if want := site.url + "/pay/tip-jar"; got != want {
				t.Errorf("copied or selected %q, want %q", got, want)
			}
			tab.waitFor("[data-copies]", "Copy", nil)
			tab.checkConsole()
		})
	}
	t.Run("without JavaScript", func(t *testing.T) {
		site, tab := site.in(t), openAlone(t, screen{width: 390, height: 844, noJS: true})
		signedIn("/links/tip-jar/edit")(tab, site)
		if get(tab, chromedp.Evaluate[bool](`document.querySelector("[data-copies]").checkVisibility()`)) {
			t.Error("the button is visible")
		}
	})
}

// settingsChangedMeanwhile is a step that ends with the page of payment settings that another change has replaced.
func settingsChangedMeanwhile(b *tab, site *demoSite) {
	b.t.Helper()
	owner := newOwner(b, site) // the settings of the other states do not change
	b.visit(owner.url + deskShop + "/payment-settings")
	save := func(minutes string) {
		pairs := []string{}
		owner.read(deskShop + "/payment-settings").Find("main form [name]").Each(func(_ int, s *goquery.Selection) {
			value := s.AttrOr("value", "")
			if s.Is("select") {
				value = s.Find("option[selected]").AttrOr("value", "")
			}
			if s.AttrOr("name", "") == "quote_minutes" {
				value = minutes
			}
			if _, checked := s.Attr("checked"); s.AttrOr("type", "") != "checkbox" || checked {
				pairs = append(pairs, s.AttrOr("name", ""), value)
			}
		})
		owner.post(deskShop+"/payment-settings", pairs...)
	}
	save("16")
	enter("#quote_minutes", "30")(b, site)
	press("main form .end button", "#quote_minutes-error")(b, site)
	save("15")
}

// linkRemoved removes a checkout link of the test mode, and visits the list.
func linkRemoved(b *tab, site *demoSite) {
	b.t.Helper()
	slug := "old-" + strings.ToLower(rand.Text())
	newShop(site.t, site.program.url, site.key).call(site.program.url, site.key, "POST", api.PathLinks, `{"slug":"`+slug+`","fiat_currency":"EUR","description":"Coffee at the market"}`, nil)
	inOrder(signedIn("/links/"+slug+"/remove"), clickThrough("#decide button"))(b, site)
	b.waitFor("#removed", slug, nil)
}
