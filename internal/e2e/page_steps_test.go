package e2e_test

import (
	"crypto/rand"
	"fmt"
	"strings"
	"time"

	"github.com/chromedp/chromedp"

	"chequer/internal/api"
	"chequer/internal/chain/lightning/lightningtest"
)

// inOrder returns a function that runs several steps.
func inOrder(all ...func(*tab, *demoSite)) func(*tab, *demoSite) {
	return func(b *tab, site *demoSite) {
		b.t.Helper()
		for _, step := range all {
			step(b, site)
		}
	}
}

// at returns a step that visits a page of the shop.
func at(path string) func(*tab, *demoSite) {
	return func(b *tab, site *demoSite) { b.t.Helper(); b.visit(site.url + path) }
}

// atTerminal is a step that visits the shop's terminal.
func atTerminal(b *tab, site *demoSite) { b.t.Helper(); b.visit(site.terminal) }

// withQuery returns a step that visits the invoice's page with a query.
func withQuery(query string) func(*tab, *demoSite) {
	return func(b *tab, site *demoSite) { b.t.Helper(); b.visit(site.page + query) }
}

// onStubService returns a step that visits a page of a stub service, whose invoice can have any state. An empty
// path means the invoice's page.
func onStubService(path string, change func(*api.Resource)) func(*tab, *demoSite) {
	return func(b *tab, site *demoSite) {
		b.t.Helper()
		s := newStubService(site.t)
		if change != nil {
			s.change(change)
		}
		if path == "" {
			b.visit(s.address)
			return
		}
		root, _, _ := strings.Cut(s.address, "/invoice/")
		b.visit(root + path)
	}
}

// atInvoice returns a step that creates an invoice of 56.50 euros, runs simulations, and visits its page.
func atInvoice(change func(*api.InvoiceRequest), actions ...string) func(*tab, *demoSite) {
	return func(b *tab, site *demoSite) {
		b.t.Helper()
		r := api.InvoiceRequest{Amount: "56.50", FiatCurrency: "EUR"}
		if change != nil {
			change(&r)
		}
		s := site.shop()
		id, err := s.client.CreateInvoice(site.t.Context(), r, "")
		b.check(err)
		s.simulate(id, actions...)
		s.waitRequests(id)
		site.page = site.url + "/invoice/" + id
		b.visit(site.page)
	}
}

// only returns a change that offers only the given methods.
func only(methods ...string) func(*api.InvoiceRequest) {
	return func(r *api.InvoiceRequest) { r.PaymentMethods = methods }
}

// forOrder gives the invoice an order, and a link back to the shop.
func forOrder(r *api.InvoiceRequest) {
	r.OrderID, r.Description, r.URLFailure = "1042", "Two prints, A4, on the heavy paper", "https://shop.example/basket"
}

// lateAllowed lets a late payment pay the invoice.
func lateAllowed(r *api.InvoiceRequest) { forOrder(r); r.AllowPaidExpired = new(true) }

// longTexts sets the longest texts.
func longTexts(r *api.InvoiceRequest) {
	r.Amount, r.OrderID = "999999.99", "2026-11-27-"+strings.Repeat("0123456789", 4)
	r.Description = strings.Repeat("Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft ", 2)
}

// openedAt returns a step that opens the page with a payment method chosen.
func openedAt(code string, reach func(*tab, *demoSite)) func(*tab, *demoSite) {
	return inOrder(reach, withQuery("?m="+code))
}

// withWallet returns a step that reaches a page in a browser with a wallet.
func withWallet(reach func(*tab, *demoSite)) func(*tab, *demoSite) {
	return func(b *tab, site *demoSite) {
		b.t.Helper()
		b.addWallets(wallet{Name: "Fox", Chain: "0x2105"})
		reach(b, site)
		b.do(chromedp.WaitVisible(chromedp.CSS(`.wallets[data-method=EURC-BASE] button`)))
	}
}

// press returns a step that clicks an element and waits for another to be visible.
func press(selector, to string) func(*tab, *demoSite) {
	return func(b *tab, _ *demoSite) {
		b.t.Helper()
		b.click(selector)
		b.do(chromedp.WaitVisible(chromedp.CSS(to)))
		b.waitLoaded()
	}
}

// scrollToTop is a step that shows the top of a page. The sticky bar of the desk may cover a part of a row after a click
// further down, and axe then measures only the visible part of a target.
func scrollToTop(b *tab, _ *demoSite) {
	b.t.Helper()
	get(b, chromedp.Evaluate[bool](`scrollTo({top: 0, behavior: "instant"}), true`))
}

// clickThrough returns a step that clicks an element and waits for the next page.
func clickThrough(selector string) func(*tab, *demoSite) {
	return func(b *tab, _ *demoSite) {
		b.t.Helper()
		page := chromedp.Evaluate[float64](`document.readyState === "complete" ? performance.timeOrigin : 0`)
		before := get(b, page)
		b.click(selector)
		until(b.t, waitTimeout, "another page is loaded", func() bool {
			now, err := chromedp.Run(b.ctx, page) // it fails while there is no page
			return err == nil && now != 0 && now != before
		})
		b.waitLoaded()
	}
}

// enter returns a step that types a text into a field.
func enter(selector, text string) func(*tab, *demoSite) {
	return func(b *tab, _ *demoSite) { b.t.Helper(); b.typeInto(selector, text) }
}

// refundTo returns a step that saves a refund address, and waits for an element.
func refundTo(address, to string) func(*tab, *demoSite) {
	return inOrder(enter("#refund-address", address), press("#refund-save", to))
}

// refundToNew saves a new address of the test network as the refund address, to which no other refund is paid.
func refundToNew(b *tab, site *demoSite) {
	b.t.Helper()
	program := make([]byte, 20)
	_, _ = rand.Read(program) // never fails
	refundTo(witnessAddress(b.t, "tb", program), "#refund .addr")(b, site)
}

// refundToRequest saves a payment request without an amount as the refund address.
func refundToRequest(b *tab, site *demoSite) {
	b.t.Helper()
	refundTo(lightningtest.NewWallet(b.t, time.Now).Make(0, "Refund", nil, 72*time.Hour).Text, "#refund .addr")(b, site)
}

// scrollTo returns a step that scrolls to an element.
func scrollTo(selector string) func(*tab, *demoSite) {
	return func(b *tab, _ *demoSite) { b.t.Helper(); b.do(chromedp.ScrollIntoView(chromedp.CSS(selector))) }
}

// onSignedLink returns a step that visits the page of a signed link.
func onSignedLink(orderID, description string) func(*tab, *demoSite) {
	return func(b *tab, site *demoSite) { b.t.Helper(); b.visit(site.signedLink(orderID, description)) }
}

// paidTooLittle visits the page of a link whose order has a payment of less than the price.
func paidTooLittle(b *tab, site *demoSite) {
	b.t.Helper()
	to := site.signedLink("1043", "Two prints")
	id := sendLink(site.t, to)
	s := site.shop()
	s.simulate(id, api.SimulateUnder, api.SimulateConfirm)
	b.check(s.client.Simulate(site.t.Context(), id, api.SimulateRequest{Action: api.SimulateClock, Seconds: 2 * 24 * 3600}))
	s.waitStatus(id, api.StatusExpired, waitTimeout)
	b.visit(to)
	b.do(chromedp.WaitVisible(chromedp.CSS(".err")))
}

// updatedByStream returns a step that brings an open page to a state through its stream.
func updatedByStream(heading string, actions ...string) func(*tab, *demoSite) {
	return inOrder(atInvoice(forOrder), func(b *tab, site *demoSite) {
		b.t.Helper()
		b.waitFor("#clock", ":", nil)
		b.waitLoaded()
		ofPayment.check(b)
		site.shop().simulate(idOf(site.page), actions...)
		b.waitFor("#st", heading, nil)
	})
}

// goingBack is a step that opens a paid page, and stops its countdown to the return to the shop.
func goingBack(b *tab, site *demoSite) {
	b.t.Helper()
	atInvoice(func(r *api.InvoiceRequest) { r.URLSuccess = "https://shop.example/thanks" }, api.SimulateExact)(b, site)
	b.waitLoaded()
	ofPayment.check(b)
	get(b, chromedp.Evaluate[any](`void (window.setInterval = () => 0)`))
	site.shop().simulate(idOf(site.page), api.SimulateConfirm)
	b.do(chromedp.WaitVisible(chromedp.CSS("#auto")))
}

// declinedAfter returns a step that visits an invoice that the merchant cancelled.
func declinedAfter(actions ...string) func(*tab, *demoSite) {
	return inOrder(atInvoice(forOrder, actions...), func(b *tab, site *demoSite) {
		b.t.Helper()
		id := idOf(site.page)
		site.shop().call(site.url, site.key, "POST", fmt.Sprintf("%s/%s/cancel", api.PathInvoices, id), `{}`, nil)
		site.shop().waitStatus(id, api.StatusDeclined, waitTimeout)
	}, withQuery(""))
}

// wrongAsset gives the invoice a payment in an asset that it does not accept.
func wrongAsset(r *api.Resource) {
	r.Exceptions = []string{api.ExceptionWrongAsset}
	r.Payments = []api.Payment{{
		ID: "w", CryptoCurrency: "USDC", Symbol: "USDC", NetworkName: "Ethereum", Amount: "56.5", FiatAmount: "0", State: "wrong_asset", Tx: "0x1",
	}}
}

// olderMoney gives the invoice a payment that its address received before the invoice existed.
func olderMoney(r *api.Resource) {
	r.Exceptions = []string{api.ExceptionOld}
	r.Payments = []api.Payment{{
		ID: "o", CryptoCurrency: "BTC", Symbol: "BTC", NetworkName: "Bitcoin", Amount: "0.0005", FiatAmount: "0", State: "old", Tx: "1f",
	}}
}

// contested gives the invoice a payment whose coins another unconfirmed transaction spends.
func contested(r *api.Resource) {
	r.Status, r.DueAmount = api.StatusPending, "0"
	r.Payments = []api.Payment{{
		ID: "c", CryptoCurrency: "BTC", Symbol: "BTC", NetworkName: "Bitcoin", Amount: "0.00065379", FiatAmount: "56.5", State: "seen", Required: 1, Tx: "1f", Contested: true,
	}}
}

// withRefund makes the invoice late, with a refund in a state.
func withRefund(state string) func(*api.Resource) {
	return func(r *api.Resource) {
		r.Status, r.Exceptions = api.StatusExpired, []string{api.ExceptionLate}
		r.Payments = []api.Payment{{
			ID: "l", CryptoCurrency: "BTC", Symbol: "BTC", NetworkName: "Bitcoin", Amount: "0.00065379", FiatAmount: "56.5", State: "late", Tx: "1f",
		}}
		r.RefundCurrency, r.RefundAddress = "BTC", "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4"
		r.Refunds = []api.Refund{{ID: "ref_1", Kind: "received", State: state, CryptoCurrency: "BTC", Amount: "0.00065379", FiatAmount: "56.5", Address: r.RefundAddress}}
		r.KeptSurplus.Amount = "0"
	}
}

// surplusKept makes the invoice overpaid, with a surplus that the merchant keeps.
func surplusKept(r *api.Resource) {
	r.Status, r.DueAmount, r.OverpaidAmount, r.Exceptions = api.StatusPaid, "0", "6.91", []string{api.ExceptionOverpaid}
	r.PaidAmount, r.PaidAt = r.ClientAmount, r.ExpiredAt
	r.Payments = []api.Payment{{
		ID: "p", CryptoCurrency: "BTC", Symbol: "BTC", NetworkName: "Bitcoin", Amount: "0.00073", FiatAmount: "63.41", State: "confirmed", Tx: "1f",
	}}
	r.KeptSurplus = api.KeptSurplus{At: r.ExpiredAt, Amount: "6.91"}
}

// withBridged gives a token of the invoice bridged versions.
func withBridged(r *api.Resource) {
	r.PaymentMethods[1].Bridged = []string{"EURC.e", "EURbC"}
}

// unwatched marks all networks of an invoice as not watched.
func unwatched(r *api.Resource) {
	for i := range r.PaymentMethods {
		r.PaymentMethods[i].Watched = false
	}
}
