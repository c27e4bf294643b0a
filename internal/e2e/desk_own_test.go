package e2e_test

import (
	"crypto/rand"
	"net/url"
	"path"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"
	"github.com/chromedp/chromedp"

	"chequer/internal/api"
)

// sellAtTerminal creates an invoice at the terminal of the shop, and runs simulations. It returns its identifier.
func (d *demoSite) sellAtTerminal(order, amount string, actions ...string) string {
	d.t.Helper()
	u, err := url.Parse(d.terminal)
	if err != nil {
		d.t.Fatal(err)
	}
	response := d.owner.send("/order"+u.Path, "amount", amount, "order_id", order, "token", rand.Text())
	defer response.Body.Close()
	id := path.Base(response.Request.URL.Path)
	d.shop().simulate(id, actions...)
	return id
}

// newSeller creates a seller of the shop.
func (d *demoSite) newSeller() (seller *deskClient, name string) {
	d.t.Helper()
	name = "Jonas " + rand.Text()[:8] // each test has a seller of its own
	return newDeskClient(d.t, d.owner.invite("seller"), name), name
}

// sellersPage returns the path of the sellers of the shop's first terminal.
func (d *demoSite) sellersPage() string {
	d.t.Helper()
	return d.owner.read(deskShop+"/terminals?mode=test").Find(`main a[href$="/sellers"]`).First().AttrOr("href", "")
}

// withTerminal returns a step that signs in as a new seller, who uses the terminal with some payments, and visits a
// page of the seller.
func withTerminal(below string) func(*tab, *demoSite) {
	return func(b *tab, w *demoSite) {
		b.t.Helper()
		w.sellAtTerminal("Table 4", "12.50")
		w.sellAtTerminal("Table 5", "48.00", api.SimulateExact, api.SimulateConfirm)
		seller, name := w.newSeller()
		at := w.sellersPage()
		assign := w.owner.read(at).Find("main li").FilterFunction(func(_ int, li *goquery.Selection) bool { return li.Find("h2").Text() == name })
		pairs := []string{}
		assign.Find("input").Each(func(_ int, input *goquery.Selection) {
			pairs = append(pairs, input.AttrOr("name", ""), input.AttrOr("value", ""))
		})
		w.owner.post(at, pairs...)
		b.signInAs(seller)
		b.visit(seller.url + deskShop + below)
	}
}

// withoutTerminal signs in as a new seller, who uses no terminal.
func withoutTerminal(b *tab, w *demoSite) {
	b.t.Helper()
	seller, _ := w.newSeller()
	b.signInAs(seller)
	b.visit(seller.url + deskShop)
}

// atSellers visits the page of the sellers of a terminal.
func atSellers(b *tab, w *demoSite) {
	b.t.Helper()
	b.signInAs(w.owner)
	b.visit(w.owner.url + w.sellersPage())
}

// A seller lands on the page of the assigned terminal, sees a new payment when the page tells of it, and opens the
// terminal.
func TestDesk_seller_sees_new_payments_and_opens_the_terminal(t *testing.T) {
	t.Parallel()
	w, b := newDemoSite(t), openAlone(t, screen{width: 390, height: 844})
	withTerminal("")(b, w)
	b.waitFor("h1", "Your terminals", nil)
	w.sellAtTerminal("Table 6", "7.00")
	b.do(chromedp.WaitVisible(chromedp.CSS("#new a")))
	b.click("#new a")
	b.waitFor(".rows tbody th", "Table 6", nil)
	b.send(`form[action$="/open"] button`)
	b.do(chromedp.WaitVisible(chromedp.CSS("#amount")))
	if at := get(b, chromedp.Location()); !strings.Contains(at, "/pos/") || strings.HasSuffix(at, w.terminal[strings.LastIndexByte(w.terminal, '/'):]) {
		t.Errorf("the terminal of the seller is at %s, want an address below /pos/ that is not the terminal's own", at)
	}
}
