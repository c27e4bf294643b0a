package e2e_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"chequer/internal/api"
	"chequer/internal/app"
)

// merchantPage is a page of a merchant under a strict policy. It shows the events that it receives.
const merchantPage = `<!doctype html><html lang="en"><meta charset="utf-8"><title>Tidewater No. 3</title>
<body><h1>Tidewater No. 3</h1><p>A page of the merchant's own.</p><p><a id="buy" href="%s" data-pay>Pay now</a></p><p id="events"></p>
<script src="%s/embed.js" defer></script><script src="%s"></script>`

const eventsScript = `
["open", "status", "close"].forEach(function (type) {
  document.addEventListener("pay:" + type, function (e) {
    document.getElementById("events").textContent += type + (e.detail ? ":" + e.detail.status : "") + " ";
  });
});`

// merchantSite serves a page that links to a payment, on another site: localhost is a different
// site than 127.0.0.1.
type merchantSite struct {
	origin string
	link   string // set before the page is visited
}

func newMerchantSite(t *testing.T) *merchantSite {
	t.Helper()
	m := &merchantSite{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/events.js":
			w.Header().Set("Content-Type", "text/javascript")
			fmt.Fprint(w, eventsScript)
		case "/":
			u, _ := url.Parse(m.link)
			checkout := u.Scheme + "://" + u.Host
			w.Header().Set("Content-Type", "text/html")
			w.Header().Set("Content-Security-Policy", "default-src 'none'; script-src 'self' "+checkout+"; frame-src "+checkout)
			fmt.Fprintf(w, merchantPage, m.link, checkout, "/events.js")
		default:
			w.WriteHeader(http.StatusNoContent)
		}
	}))
	t.Cleanup(server.Close)
	m.origin = strings.Replace(server.URL, "127.0.0.1", "localhost", 1)
	return m
}

// dialogs returns the number of open dialogs.
func (b *tab) dialogs() int {
	b.t.Helper()
	return get(b, chromedp.Evaluate[int](`document.querySelectorAll("dialog[open]").length`))
}

// focused returns the id or the name of the focused element.
func (b *tab) focused() string {
	b.t.Helper()
	return get(b, chromedp.Evaluate[string](`document.activeElement.id || document.activeElement.localName`))
}

// TestEmbed_pays_in_a_dialog pays in a dialog over a page of a listed origin. See C73 in internal/CASES.md.
func TestEmbed_pays_in_a_dialog(t *testing.T) {
	site := newMerchantSite(t)
	program := start(t, settings(t, "CHEQUER_EMBED_ORIGINS="+site.origin), app.Options{Demo: true})
	shop := newShop(t, program.url, program.key)
	for _, screen := range []screen{{name: "desk", width: 1280, height: 900}, {name: "desk_dark", width: 1280, height: 900, dark: true}} {
		t.Run(screen.name, func(t *testing.T) {
			id, err := shop.client.CreateInvoice(t.Context(), api.InvoiceRequest{
				Amount: "56.50", FiatCurrency: "EUR", OrderID: "1042", URLSuccess: "https://shop.example/thanks",
			}, "")
			if err != nil {
				t.Fatal(err)
			}
			site.link = program.url + "/invoice/" + id
			tab := open(t, screen)
			tab.visit(site.origin)
			tab.click("#buy")
			tab.waitFor("#events", "open status:created", nil)
			if got := tab.focused(); got != "iframe" {
				t.Errorf("the focus is at %s, want the frame", got)
			}
			tab.picture(screen, "embed-open")

			tab.do(chromedp.KeyEvent(kb.Escape)) // within the frame
			tab.waitFor("#events", "close", nil)
			if tab.dialogs() != 0 || tab.focused() != "buy" {
				t.Errorf("after Escape %d dialogs are open, and the focus is at %s, want 0 and buy", tab.dialogs(), tab.focused())
			}

			tab.click("#buy")
			shop.simulate(id, api.SimulateExact)
			tab.waitFor("#events", "status:pending", nil)
			shop.simulate(id, api.SimulateConfirm)
			tab.waitFor("#events", "status:paid", nil)
			tab.picture(screen, "embed-paid")
			tab.do(chromedp.Sleep(11 * time.Second)) // longer than the countdown of a page without a frame
			if got := get(tab, chromedp.Location()); got != site.origin+"/" || tab.dialogs() != 1 {
				t.Errorf("after the payment the page is %s with %d dialogs", got, tab.dialogs())
			}
			tab.click("dialog button")
			if tab.dialogs() != 0 || tab.focused() != "buy" {
				t.Errorf("after the close button %d dialogs are open, and the focus is at %s, want 0 and buy", tab.dialogs(), tab.focused())
			}
			tab.checkConsole()
		})
	}

	t.Run("signed_link_opens_in_a_dialog", func(t *testing.T) {
		s := screen{name: "desk_link", width: 1280, height: 900}
		site.link = program.signedLink("7", "Two prints")
		tab := open(t, s)
		tab.visit(site.origin)
		tab.click("#buy")
		tab.waitFor("#events", "open", nil)
		tab.do(chromedp.Sleep(3 * time.Second)) // longer than the time in which the frame must report that it is ready
		if got := get(tab, chromedp.Location()); got != site.origin+"/" || tab.dialogs() != 1 {
			t.Errorf("the page is %s with %d dialogs, want %s/ with 1", got, tab.dialogs(), site.origin)
		}
		tab.picture(s, "embed-link")
		tab.do(chromedp.MouseClickXY(640, 362)) // the button, within the frame
		tab.waitFor("#events", "status:created", nil)
		tab.do(chromedp.KeyEvent(kb.Escape))
		tab.waitFor("#events", "close", nil)
		tab.checkConsole()
	})

	t.Run("link_is_followed_on_a_phone", func(t *testing.T) {
		site.link = program.signedLink("8", "Two prints")
		tab := open(t, phoneScreen)
		tab.visit(site.origin)
		tab.click("#buy")
		tab.waitFor("main .price", "€56.50", nil)
		if got := get(tab, chromedp.Location()); !strings.HasPrefix(got, program.url+"/pay?") {
			t.Errorf("on a phone the link leads to %s", got)
		}
		tab.checkConsole()
	})

	// On pages of unlisted origins the link is a plain link.
	other := newMerchantSite(t)
	other.link = program.signedLink("9", "Two prints")
	file := filepath.Join(t.TempDir(), "page.html")
	if err := os.WriteFile(file, fmt.Appendf(nil, merchantPage, other.link, program.url, "events.js"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, page := range map[string]string{"another origin": other.origin, "a file": "file://" + file} {
		t.Run(name, func(t *testing.T) {
			tab := open(t, deskScreen)
			tab.visit(page)
			tab.click("#buy")
			tab.waitFor("main .price", "€56.50", nil)
			if got := get(tab, chromedp.Location()); !strings.HasPrefix(got, program.url+"/pay?") {
				t.Errorf("on an unlisted page the link leads to %s", got)
			}
		})
	}
}

// TestEmbed_page_builds_a_snippet builds a snippet, copies it and tries it.
func TestEmbed_page_builds_a_snippet(t *testing.T) {
	m := newMerchantSite(t)
	p := start(t, settings(t, "CHEQUER_EMBED_ORIGINS="+m.origin), app.Options{Demo: true})
	newShop(t, p.url, p.key).call(p.url, p.key, "POST", api.PathLinks, `{"slug":"coffee","amount":"3.50","fiat_currency":"EUR"}`, nil)
	for _, s := range []screen{phoneScreen, deskScreen, darkScreenNoJS} {
		t.Run(s.name, func(t *testing.T) {
			tab := open(t, s)
			tab.visit(p.url + "/embed")
			tab.do(chromedp.SendKeys(chromedp.CSS("#link"), "coffee"))
			tab.send("form button.btn")
			tab.waitFor("#modal", p.url+"/pay/coffee", nil)
			tab.picture(s, "embed-page")
			tab.checkNoSidewaysScroll()
			if !s.noJS {
				tab.click(`[data-copies=modal]`)
				until(t, waitTimeout, "the snippet is copied or selected", func() bool {
					return tab.text(`[data-copies=modal]`) == "Copied" || get(tab, chromedp.Evaluate[string](`String(getSelection())`)) != ""
				})
			}
			tab.click("#try")
			if s.name == "desk" {
				until(t, waitTimeout, "the dialog opens", func() bool { return tab.dialogs() == 1 })
				tab.do(chromedp.Sleep(2 * time.Second))
				if tab.dialogs() != 1 {
					t.Error("the dialog was closed")
				}
			} else {
				tab.waitFor("main .price", "€3.50", nil)
			}
			tab.checkConsole()
		})
	}
}
