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
func changedMeanwhile(b *tab, w *demoSite) {
	b.t.Helper()
	at := deskShop + "/products/coffee/edit"
	signedIn("/products/coffee/edit")(b, w)
	form := w.owner.read(at)
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
	w.owner.post(at, pairs...)
	enter("#name", "Coffee of the day")(b, w)
	press("#edit .go", "#price-error")(b, w)
}

// The owner changes a price, creates a link, gets the code for a site and adds a terminal, each in three clicks from
// the first page and the click that sends the form; with and without JavaScript. The results are the shopper's pages.
func TestDesk_sell(t *testing.T) {
	for _, s := range []screen{{name: "phone", width: 390, height: 844}, {name: "without JavaScript", width: 390, height: 844, noJS: true}} {
		t.Run(s.name, func(t *testing.T) {
			w, b := newDemoSite(t), openAlone(t, s)
			b.observe()
			to := func(path, loaded string) {
				b.send(`main a[href*="` + path + `"]`)
				b.do(chromedp.WaitVisible(chromedp.CSS(loaded)))
			}
			sell := func() {
				signedIn("/payments?mode=test")(b, w)
				b.click(`.bar a[href$="/products"]`)
				b.waitFor("h1", "Sell", nil)
				b.visit(get(b, chromedp.Location()) + "?mode=test")
			}
			sell()
			to("/products/coffee/edit", "#edit .go")
			enter("#price", "4.20")(b, w)
			b.send("#edit .go")
			b.waitFor("[role=status]", "The product was saved. Existing invoices keep their price.", nil)
			b.visit(w.url + "/shop/coffee")
			b.waitFor("main", "€4.20", nil)

			sell()
			to("/links?", `a[href*="/links/new?"]`)
			to("/links/new?", "#edit .go")
			b.typeInto("#slug", "workshop")
			b.typeInto("#amount", "85")
			b.send("#edit .go")
			b.waitFor("[role=status]", "The link was created.", nil)
			link := b.text("#address")
			b.visit(link)
			b.waitFor("main", "€85.00", nil)

			sell()
			to("/storefront?", "#code-link")
			b.waitFor("#code-link", `<a href="`+link+`">Pay €85.00</a>`, nil)

			sell()
			to("/terminals?", `a[href*="/terminals/new?"]`)
			to("/terminals/new?", "#edit .go")
			b.typeInto("#name", "Market stall")
			b.send("#edit .go")
			b.waitFor("h1", "Terminal added", nil)
			b.visit(b.text("#address"))
			b.waitFor("main", "Charge", nil)
			b.checkConsole()
		})
	}
}

// A button copies an address, or selects it if the browser refuses. It is hidden without JavaScript.
func TestDesk_copy(t *testing.T) {
	site := newDemoSite(t)
	for name, tt := range map[string]struct{ setup, want string }{
		"allowed": {"", "Copied"},
		"refused": {deniedClipboard, "Selected: copy it by hand"},
		"missing": {noClipboard, "Selected: copy it by hand"},
	} {
		t.Run(name, func(t *testing.T) {
			w, b := site.in(t), openAlone(t, screens[0])
			b.allowClipboardReading(tt.setup)
			signedIn("/links/tip-jar/edit")(b, w)
			b.click("[data-copies]")
			b.waitFor("[data-copied]", tt.want, nil)
			got := get(b, chromedp.Evaluate[string]("getSelection().toString()"))
			if tt.setup == "" {
				got = b.clipboard()
			}
			if want := w.url + "/pay/tip-jar"; got != want {
				t.Errorf("copied or selected %q, want %q", got, want)
			}
			b.waitFor("[data-copies]", "Copy", nil)
			b.checkConsole()
		})
	}
	t.Run("without JavaScript", func(t *testing.T) {
		w, b := site.in(t), openAlone(t, screen{width: 390, height: 844, noJS: true})
		signedIn("/links/tip-jar/edit")(b, w)
		if get(b, chromedp.Evaluate[bool](`document.querySelector("[data-copies]").checkVisibility()`)) {
			t.Error("the button is visible")
		}
	})
}

// settingsChangedMeanwhile is a step that ends with the page of payment settings that another change has replaced.
func settingsChangedMeanwhile(b *tab, w *demoSite) {
	b.t.Helper()
	o := newFirstRunDesk(w.t) // the settings of the other states do not change
	owner := newDeskClient(w.t, o.link, "Maren")
	b.signInAs(owner)
	b.visit(o.url + deskShop + "/payment-settings")
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
	enter("#quote_minutes", "30")(b, w)
	press("main form .end button", "#quote_minutes-error")(b, w)
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
