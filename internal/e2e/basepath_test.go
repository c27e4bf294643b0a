package e2e_test

import (
	"net/http"
	"strings"
	"testing"

	"chequer/internal/api"
	"chequer/internal/app"
)

// TestLinks_keep_the_public_address crawls the pages of programs with different public addresses, as
// behind a proxy or an onion service. No link may leave the base path, and none may change http to
// https.
func TestLinks_keep_the_public_address(t *testing.T) {
	t.Parallel()
	onion := "http://" + strings.Repeat("chequer2", 7) + ".onion"
	for name, base := range map[string]string{
		"path":           "https://shop.example/pay",
		"onion":          onion,
		"onion_and_path": onion + "/pay",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := start(t, settings(t, "CHEQUER_BASE_URL="+base+"/"), app.Options{Demo: true})
			c := newCrawler(t, base, p.url)
			c.visit(c.path("/"), http.StatusOK)
			c.visit(c.path("/nothing/here"), http.StatusNotFound)
			c.visit(c.path("/invoice/"+strings.Repeat("x", 32)), http.StatusNotFound)
			c.createInvoice("12,5,0", "a") // refused with a message
			page := c.createInvoice("12.50", "a")
			for _, action := range []string{"under", "exact", "confirm", "reorganise", "confirm"} {
				c.simulate(page, action)
			}
			c.simulate(page, "replace") // refused with a message
			c.simulate(c.createInvoice("12.50", "b"), "late")
			for _, needed := range []string{page + "?m=USDC-BASE", page + "?auto=1&m=BTC", c.path("/")} {
				if !c.seen[needed] {
					t.Errorf("no link leads to %s", needed)
				}
			}
			c.checkAPI(p)
		})
	}
}

// checkAPI fails if the API is not below the base path, or returns a page address that is not below
// the public address.
func (c *crawler) checkAPI(p *program) {
	c.t.Helper()
	merchant := shopVia(c.t, c.target(c.path("")), p.key, c.http.Transport)
	id := merchant.createInvoice()
	merchant.simulate(id, api.SimulateExact)
	if got := merchant.invoice(id).Status; got != api.StatusPending {
		c.t.Errorf("the invoice is %s, want %s", got, api.StatusPending)
	}
	response := c.send(http.MethodGet, c.path(api.PathInvoiceStatus+"?id="+id), nil)
	response.Body.Close()
	if got, want := response.Header.Get("Location"), c.base.String()+"/invoice/"+id; got != want || response.StatusCode != http.StatusOK {
		c.t.Errorf("invoice/status has status %d and leads to %q, want %q", response.StatusCode, got, want)
	}
	if c.base.Path == "" {
		return
	}
	response = c.send(http.MethodGet, api.PathInvoiceStatus+"?id="+id, nil)
	response.Body.Close()
	if response.StatusCode != http.StatusNotFound {
		c.t.Errorf("the API outside the base path has status %d, want 404", response.StatusCode)
	}
}

// TestPage_works_below_a_base_path pays in a browser with style sheet, script, stream and forms below a
// path.
func TestPage_works_below_a_base_path(t *testing.T) {
	c := settings(t)
	c.BaseURL = "http://" + c.Listen + "/pay"
	p := start(t, c, app.Options{Demo: true})
	merchant := newShop(t, c.BaseURL, p.key)
	for _, s := range []screen{phoneScreen, phoneScreenNoJS} {
		t.Run(s.name, func(t *testing.T) {
			tab := open(t, s)
			page := tab.createInvoice(c.BaseURL, "12,50")
			if !strings.HasPrefix(page, c.BaseURL+"/invoice/") {
				t.Errorf("the form led to %s", page)
			}
			merchant.simulate(idOf(page), api.SimulateExact)
			tab.waitFor("#st", "Payment seen", tab.reloader(s, page))
			tab.send("#sim-confirm")
			tab.waitFor("#st", "Paid", tab.reloader(s, page))
			tab.checkConsole()
		})
	}
}
