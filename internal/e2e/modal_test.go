package e2e_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"chequer/internal/api"
	"chequer/internal/app"
)

// modalPage is a page of a shop whose plug-in shows payments over the page.
const modalPage = `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Web shop Nord</title>
<body><h1>Web shop Nord</h1><p><button id="buy">Pay now</button> <button id="append">Append</button> <button id="again">Again</button></p><p id="events"></p><p id="direct"></p>
<script src="%s/modal/btcpay.js?ver=2.8.0"></script><script src="/modal-events.js"></script>`

// modalEvents is the script of modalPage. It writes the messages and events that it receives by window.btcpay into #events, and the
// messages to the window into #direct.
const modalEvents = `
var id = location.search.slice(1), events = document.getElementById("events"), direct = document.getElementById("direct");
function text(data) { return typeof data === "string" ? data : data.invoiceId === id ? data.status : "?"; }
btcpay.onModalWillEnter(function () { events.textContent += "enter "; });
btcpay.onModalWillLeave(function () { events.textContent += "leave "; });
btcpay.onModalReceiveMessage(function (e) { events.textContent += text(e.data) + " "; });
addEventListener("message", function (e) { if (!e.data.pay) direct.textContent += text(e.data) + "@" + e.origin + " "; });
document.getElementById("buy").onclick = function () { btcpay.showInvoice(id, {animateEntrance: false}); };
document.getElementById("append").onclick = function () { btcpay.appendInvoiceFrame(id); };
document.getElementById("again").onclick = function () { btcpay.showFrame(); setTimeout(btcpay.hideFrame, 3000); };`

// newModalShop returns the address of the page of a shop, on the site localhost, whose plug-in uses a server.
func newModalShop(t *testing.T, server string) string {
	t.Helper()
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/modal-events.js":
			w.Header().Set("Content-Type", "text/javascript")
			fmt.Fprint(w, modalEvents)
		case "/":
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprintf(w, modalPage, server)
		default:
			w.WriteHeader(http.StatusNoContent)
		}
	}))
	t.Cleanup(site.Close)
	return strings.Replace(site.URL, "127.0.0.1", "localhost", 1)
}

// The script of shop plug-ins shows the page of an invoice over a page of the shop to which the invoice leads back. The page
// receives the messages of both versions of BTCPay Server. No origin is listed in the settings.
func TestModal_pays_over_the_page_of_the_shop(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ screen, base string }{{"desk", ""}, {"phone", "/pay"}} {
		t.Run(tt.screen, func(t *testing.T) {
			t.Parallel()
			var more []string
			if tt.base != "" {
				more = append(more, "CHEQUER_BASE_URL=https://pay.example"+tt.base)
			}
			p := start(t, settings(t, more...), app.Options{Demo: true})
			server := p.url + tt.base
			shop, site := newShop(t, server, p.key), newModalShop(t, server)
			create := func(success string) string {
				id, err := shop.client.CreateInvoice(t.Context(), api.InvoiceRequest{Amount: "56.50", FiatCurrency: "EUR", OrderID: "1042", URLSuccess: success}, "")
				if err != nil {
					t.Fatal(err)
				}
				return id
			}
			id := create(site + "/thanks")
			s := map[string]screen{"desk": deskScreen, "phone": phoneScreen}[tt.screen]
			tab := open(t, s)
			tab.visit(site + "/?" + id)
			tab.click("#buy")
			tab.waitFor("#events", "enter loaded", nil)
			if tab.dialogs() != 1 || tab.focused() != "iframe" {
				t.Errorf("%d dialogs are open, and the focus is at %s, want one, at iframe", tab.dialogs(), tab.focused())
			}
			tab.do(chromedp.Sleep(time.Second))
			tab.picture(s, "modal-open")
			tab.do(chromedp.KeyEvent(kb.Escape)) // within the frame
			tab.waitFor("#events", "enter loaded close leave", nil)
			tab.click("#append")
			tab.waitFor("#events", "leave loaded", nil)
			if tab.dialogs() != 0 {
				t.Error("the appended page is shown")
			}
			tab.click("#again") // and hides it
			tab.waitFor("#events", "leave loaded enter leave", nil)
			tab.click("#buy")
			tab.waitFor("#events", "enter leave enter loaded", nil)
			shop.simulate(id, api.SimulateUnder) // no message: a part is not the price
			shop.simulate(id, api.SimulateExact)
			tab.waitFor("#events", "enter leave enter loaded Processing paid", nil)
			shop.simulate(id, api.SimulateConfirm)
			tab.waitFor("#events", "Processing paid Settled complete", nil)
			tab.picture(s, "modal-paid")
			tab.click("dialog button")
			tab.waitFor("#events", "Settled complete close leave", nil)
			if tab.dialogs() != 0 || get(tab, chromedp.Location()) != site+"/?"+id {
				t.Errorf("%d dialogs are open at %s, want none at the page of the shop", tab.dialogs(), get(tab, chromedp.Location()))
			}
			for _, want := range []string{"loaded", "paid", "Settled", "close"} {
				tab.waitFor("#direct", want+"@"+p.url+" ", nil)
			}
			late, over := create(site), create(site)
			for other, want := range map[string]string{late: "loaded Expired expired", over: "Settled complete"} {
				tab.visit(site + "/?" + other)
				tab.click("#buy")
				tab.waitFor("#events", "loaded", nil)
				if other == late {
					shop.simulate(other, api.SimulateLate)
				} else {
					shop.simulate(other, api.SimulateOver, api.SimulateConfirm)
				}
				tab.waitFor("#events", want, nil)
			}
			tab.checkConsole()
		})
	}
}

// A page whose origin is not that of the invoice's return address cannot show the invoice in a frame and receives no message. The
// browser opens the page of the invoice instead.
func TestModal_of_another_origin_opens_the_page(t *testing.T) {
	t.Parallel()
	p := start(t, settings(t), app.Options{Demo: true})
	shop, site := newShop(t, p.url, p.key), newModalShop(t, p.url)
	for name, success := range map[string]string{"another shop": newModalShop(t, p.url) + "/thanks", "no address": ""} {
		t.Run(name, func(t *testing.T) {
			id, err := shop.client.CreateInvoice(t.Context(), api.InvoiceRequest{Amount: "56.50", FiatCurrency: "EUR", URLSuccess: success}, "")
			if err != nil {
				t.Fatal(err)
			}
			tab := open(t, deskScreen)
			tab.visit(site + "/?" + id)
			tab.click("#buy")
			tab.waitFor("#events", "enter", nil)
			if got := tab.text("#direct"); got != "" {
				t.Errorf("the page received %q, want no message", got)
			}
			tab.waitFor("main", "Pay", nil)
			if got := get(tab, chromedp.Location()); !strings.HasPrefix(got, p.url+"/invoice/"+id) {
				t.Errorf("the browser is at %s, want the page of the invoice", got)
			}
		})
	}
}
