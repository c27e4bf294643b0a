package e2e_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"chequer/internal/api"
	"chequer/internal/app"
	"chequer/internal/chain/lightning/lightningtest"
	merchants "chequer/internal/merchant"
)

// TestLightning_is_paid_on_the_page reads the code of a payment request from the screen, pays it with the test tools, and sees the
// payment on the open page, which a page without a script shows after it is loaded again.
func TestLightning_is_paid_on_the_page(t *testing.T) {
	p := start(t, settings(t), app.Options{Demo: true})
	merchant := newShop(t, p.url, p.key)
	for _, s := range screens {
		t.Run(s.name, func(t *testing.T) {
			tab := open(t, s)
			page := tab.createInvoice(p.url, "12,50")
			id, request := lightningOf(t, merchant.invoice(idOf(page)))
			tab.picture(s, "lightning_unified")
			tab.click(fmt.Sprintf(`label[for=%q]`, id))
			section := fmt.Sprintf(`section:has(#%s-address)`, id)
			tab.do(chromedp.WaitVisible(chromedp.CSS(section)))
			tab.picture(s, "lightning")
			tab.checkNoSidewaysScroll()
			if got := tab.attribute(fmt.Sprintf("#%s-address", id), "data-copy"); got != request.Address {
				t.Errorf("the button copies %q, want %q", got, request.Address)
			}
			if got, want := tab.decode(section+" .qr svg"), "LIGHTNING:"+strings.ToUpper(request.Address); got != want {
				t.Errorf("the code contains %q, want %q", got, want)
			}
			reload := tab.reloader(s, page)
			tab.send("#sim-exact")
			tab.waitFor("#st", "Paid", reload)
			tab.picture(s, "lightning_paid")
			if r := merchant.invoice(idOf(page)); r.PaidCurrency != api.MethodLightning || r.Payments[0].Address != request.Address {
				t.Errorf("paid by %s to %s", r.PaidCurrency, r.Payments[0].Address)
			}
			tab.checkConsole()
		})
	}
}

// TestLightning_a_code_on_demand asks for a payment request with the button of the page.
func TestLightning_a_code_on_demand(t *testing.T) {
	c := settings(t)
	p := start(t, c, app.Options{Demo: true})
	core, err := app.OpenCore(t.Context(), c, app.Options{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer core.Close()
	if _, err := core.Settings.Change(t.Context(), p.key.MerchantID, "", merchants.Choices{merchants.SettingLightningOnDemand: "on"}); err != nil {
		t.Fatal(err)
	}
	merchant := newShop(t, p.url, p.key)
	for _, s := range screens {
		t.Run(s.name, func(t *testing.T) {
			tab := open(t, s)
			page := tab.createInvoice(p.url, "12,50")
			id, request := lightningOf(t, merchant.invoice(idOf(page)))
			if request.Address != "" || !request.MayRequest {
				t.Fatalf("the invoice has the request %q", request.Address)
			}
			tab.click(fmt.Sprintf(`label[for=%q]`, id))
			tab.picture(s, "lightning_ask")
			tab.send(fmt.Sprintf("#%s-request", id))
			tab.do(chromedp.WaitVisible(chromedp.CSS(fmt.Sprintf(`section:has(#%s-address)`, id))))
			_, request = lightningOf(t, merchant.invoice(idOf(page)))
			if got := tab.attribute(fmt.Sprintf("#%s-address", id), "data-copy"); got == "" || got != request.Address {
				t.Errorf("after the button the page has %q, the invoice %q", got, request.Address)
			}
			tab.checkConsole()
		})
	}
}

// TestLightning_a_late_code_appears_on_the_page opens the page of an invoice whose node answers after the creation. The request
// appears on the open page, without a reload where the page has a script.
func TestLightning_a_late_code_appears_on_the_page(t *testing.T) {
	node := lightningtest.NewLND(t, time.Now, lightningtest.InvoiceMacaroon)
	server := httptest.NewTLSServer(node)
	t.Cleanup(server.Close)
	p := newProcess(t, t.TempDir(), "CHEQUER_BITCOIN_NETWORK=regtest", "CHEQUER_BITCOIN_NODE=off", "CHEQUER_ETHEREUM_RPC=off", "CHEQUER_BASE_RPC=off", allowLoopback)
	p.run("init")
	p.key = p.connect(node.Connection(server))
	p.serve()
	p.waitConnected()
	merchant := newShop(t, p.url, p.key)
	for _, s := range screens {
		t.Run(s.name, func(t *testing.T) {
			gate := make(chan struct{}) // the node makes no request until it is closed
			node.Set(func() {
				node.Replace = func(_ http.ResponseWriter, r *http.Request) bool {
					if r.Method == http.MethodPost && r.URL.Path == "/v1/invoices" {
						<-gate
					}
					return false
				}
			})
			answer := sync.OnceFunc(func() { close(gate) })
			t.Cleanup(answer)
			tab := open(t, s)
			page := p.url + "/invoice/" + merchant.createInvoice()
			id, m := lightningOf(t, merchant.invoice(idOf(page)))
			if m.Address != "" || !m.MayRequest {
				t.Fatalf("the invoice has the request %q, want none yet", m.Address)
			}
			tab.visit(page)
			section := fmt.Sprintf("#%s-address", id)
			tab.do(chromedp.WaitVisible(chromedp.CSS(fmt.Sprintf("#%s-request", id))))
			if got := tab.text("main"); strings.Contains(got, "lnbcrt") {
				t.Errorf("the page has a request already: %q", got)
			}
			tab.picture(s, "lightning_late_before")
			if !s.noJS {
				tab.markPage()
			}
			answer()
			if s.noJS {
				until(t, waitTimeout, "the invoice has the request", func() bool {
					_, m := lightningOf(t, merchant.invoice(idOf(page)))
					return m.Address != ""
				})
				tab.visit(page)
			}
			tab.do(chromedp.WaitVisible(chromedp.CSS(fmt.Sprintf("section:has(%s)", section))))
			made := node.Wallet.Last().Text
			if got := tab.attribute(section, "data-copy"); got != made {
				t.Errorf("the button copies %q, want %q", got, made)
			}
			if got, want := tab.decode(fmt.Sprintf("section:has(%s) .qr svg", section)), "LIGHTNING:"+strings.ToUpper(made); got != want {
				t.Errorf("the code contains %q, want %q", got, want)
			}
			if !s.noJS {
				tab.checkNotReloaded()
			}
			tab.picture(s, "lightning_late_after")
			tab.checkNoSidewaysScroll()
			tab.checkConsole()
		})
	}
}

// lightningOf returns the payment method of payment requests of an invoice, and its ID on the page.
func lightningOf(t *testing.T, r api.Resource) (id string, m api.PaymentMethod) {
	t.Helper()
	for i, m := range r.PaymentMethods {
		if m.CryptoCurrency == api.MethodLightning {
			return fmt.Sprintf("m%d", i+1), m
		}
	}
	t.Fatal("the invoice does not offer Lightning")
	return "", m
}
