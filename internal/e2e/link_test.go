package e2e_test

import (
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"chequer/internal/api"
	"chequer/internal/app"
	"chequer/internal/programtest"
	"chequer/internal/signature"
)

// signers are the manual's programs that sign a link, and the commands that run them.
var signers = map[string][]string{
	"link.go": {"go", "run"}, "link.php": {"php"}, "link.mjs": {"node"}, "link.py": {"python3"},
}

// TestManual_signs_valid_links runs every such program, and pays by the link that it prints.
func TestManual_signs_valid_links(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../manual/links-and-products.md")
	if err != nil {
		t.Fatal(err)
	}
	for name, run := range signers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join("testdata", "link", name)
			source, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(string(page), "\n"+string(source)+"```") {
				t.Errorf("the manual does not contain the exact text of %s", file)
			}
			programtest.RequireProgram(t, run[0])
			p := start(t, settings(t), app.Options{Demo: true})
			c := exec.CommandContext(t.Context(), run[0], append(run[1:], file)...)
			c.Env = append(os.Environ(), "CHEQUER_BASE_URL="+p.url, "CHEQUER_API_KEY="+p.key.Key, "CHEQUER_API_SECRET="+p.key.Secret)
			output, err := c.Output()
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			link := strings.TrimSpace(string(output))
			page := readPage(t, link, http.StatusOK)
			if got := page.Find("main").Text(); !strings.Contains(got, "€56.50") || !strings.Contains(got, "Two prints (A4) & a frame") {
				t.Errorf("the page shows %s", got)
			}
			id := sendLink(t, link)
			if second := sendLink(t, link); second != id || id == "" {
				t.Errorf("the link led to %q, then to %q", id, second)
			}
			got := newShop(t, p.url, p.key).invoice(id)
			if got.OrderID != "1042" || got.URLSuccess != "https://shop.example/thanks?order=1042" || got.ClientAmount != "56.5" {
				t.Errorf("the invoice is %+v, want the values of the link", got)
			}
		})
	}
}

// sendLink sends the form of a link's page, and returns the id of the invoice that it leads to.
func sendLink(t *testing.T, link string) (id string) {
	t.Helper()
	client := http.Client{Timeout: waitTimeout, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, link, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != http.StatusSeeOther {
		t.Fatalf("the form's response has status %d, want 303", response.StatusCode)
	}
	return idOf(response.Header.Get("Location"))
}

// signedLink returns a signed link of a demo shop for an order.
func (p *program) signedLink(order, description string) string {
	parameters := map[string]string{
		"amount": "56.50", "fiat_currency": "EUR", "order_id": order, "description": description, "key": p.key.Key,
		"url_success": "https://shop.example/thanks",
	}
	values := url.Values{"sig": {signature.Sign(p.key.Secret, signature.LinkMessage(parameters))}}
	for name, value := range parameters {
		values.Set(name, value)
	}
	return p.url + "/pay?" + values.Encode()
}

// TestShopper_pays_by_link opens links of both kinds in a browser. One order leads to one invoice,
// however often the link is opened or the form is sent.
func TestShopper_pays_by_link(t *testing.T) {
	allScreens := append(screens[:len(screens):len(screens)],
		screen{name: "phone_dark", width: 390, height: 844, dark: true}, screen{name: "narrow", width: 320, height: 640})
	for _, screen := range allScreens {
		t.Run(screen.name, func(t *testing.T) {
			c := settings(t)
			p := start(t, c, app.Options{Demo: true})
			shop, tab := newShop(t, p.url, p.key), open(t, screen)
			var slug api.Link
			shop.call(p.url, p.key, "POST", api.PathLinks, `{"slug":"tip-jar","fiat_currency":"EUR","description":"Whatever it was worth to you"}`, &slug)

			link := p.signedLink("1042", "Two prints, A4, on the heavy paper")
			tab.visit(link)
			tab.waitFor("main .price", "€56.50", nil)
			tab.picture(screen, "link")
			tab.checkNoSidewaysScroll()
			if got := countInvoices(t, c); got != 0 {
				t.Errorf("opening the link created %d invoices, want none", got)
			}
			tab.do(chromedp.DoubleClick(chromedp.CSS("form button.btn")))
			tab.do(chromedp.WaitVisible(chromedp.CSS("#pay")))
			page := get(tab, chromedp.Location())
			tab.visit(link)
			tab.do(chromedp.WaitVisible(chromedp.CSS("#pay")))
			if got := get(tab, chromedp.Location()); got != page || countInvoices(t, c) != 1 {
				t.Errorf("the link led to %s, then to %s, with %d invoices", page, got, countInvoices(t, c))
			}
			shop.simulate(idOf(page), api.SimulateExact, api.SimulateConfirm)
			tab.visit(link)
			tab.waitFor("#st", "Paid", nil)

			tab.visit(slug.URL)
			tab.picture(screen, "link-open")
			tab.checkNoSidewaysScroll()
			tab.do(chromedp.SendKeys(chromedp.CSS("#amount"), "7,50"))
			tab.send("form button.btn")
			tab.waitFor(".due .v", "€7.50", nil)
			tab.checkConsole()

			tab.visit(slug.URL) // from here on the console reports refused requests
			tab.send("form button.btn")
			tab.waitFor("#amount-error", "Enter an amount", nil)
			tab.picture(screen, "link-open-refused")
			tab.visit(strings.Replace(link, "amount=56.50", "amount=5.65", 1))
			tab.waitFor("h1", "This link was changed", nil)
			tab.picture(screen, "link-changed")
			tab.checkNoSidewaysScroll()
		})
	}
}
