package e2e_test

import (
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"chequer/internal/api"
	"chequer/internal/app"
)

// TestPage_updates_without_reload pays with another client while a page is open. The page must update
// without a reload, also without its stream.
func TestPage_updates_without_reload(t *testing.T) {
	program := start(t, settings(t), app.Options{Demo: true})
	merchant := newShop(t, program.url, program.key)
	screen := phoneScreen
	t.Run("by_its_stream", func(t *testing.T) {
		tab := open(t, screen)
		id := idOf(tab.createInvoice(program.url, "12,50"))
		tab.markPage()
		merchant.simulate(id, api.SimulateExact)
		tab.waitFor("#st", "Payment seen", nil)
		merchant.simulate(id, api.SimulateConfirm)
		tab.waitFor("#st", "Paid. Thank you.", nil)
		if got := get(tab, chromedp.Title()); got != "Paid – Demo shop" {
			t.Errorf("the tab's title is %q, want Paid – Demo shop", got)
		}
		tab.waitFor("#say", "Paid. Your payment is confirmed.", nil)
		tab.checkNotReloaded()
		tab.checkConsole()
	})
	t.Run("again_after_a_reorganisation", func(t *testing.T) {
		tab := open(t, screen)
		id := idOf(tab.createInvoice(program.url, "12,50"))
		tab.markPage()
		merchant.simulate(id, api.SimulateExact, api.SimulateConfirm)
		tab.waitFor("#st", "Paid. Thank you.", nil)
		tab.click("#sim-reorganise")
		tab.waitFor("#st", "Payment seen", nil)
		merchant.simulate(id, api.SimulateConfirm)
		tab.waitFor("#st", "Paid. Thank you.", nil)
		tab.checkNotReloaded()
		tab.checkConsole()
	})
	t.Run("by_polling_when_the_stream_is_blocked", func(t *testing.T) {
		tab := open(t, screen)
		tab.blockURLs("*://*:*/invoice/*/live*")
		id := idOf(tab.createInvoice(program.url, "12,50"))
		tab.markPage()
		stream := `fetch(document.getElementById("live").dataset.stream).then(() => "open", () => "blocked")`
		if got := get(tab, chromedp.Evaluate[string](stream, chromedp.EvalAwaitPromise)); got != "blocked" {
			t.Fatalf("the stream is %s, want blocked", got)
		}
		merchant.simulate(id, api.SimulateExact)
		tab.waitFor("#st", "Payment seen", nil)
		tab.checkNotReloaded()
	})
	t.Run("after_the_tab_was_frozen", func(t *testing.T) {
		tab := open(t, screen)
		id := idOf(tab.createInvoice(program.url, "12,50"))
		tab.markPage()
		tab.setLifecycle(page.SetWebLifecycleStateStateFrozen)
		merchant.simulate(id, api.SimulateExact, api.SimulateConfirm)
		merchant.waitStatus(id, api.StatusPaid, waitTimeout)
		if got := tab.text("#st"); got != "Waiting for your payment" {
			t.Errorf("a frozen page shows %q", got)
		}
		tab.setLifecycle(page.SetWebLifecycleStateStateActive)
		tab.waitFor("#st", "Paid. Thank you.", nil)
		tab.checkNotReloaded()
		tab.checkConsole()
	})
}

// markPage sets a value on the page that is lost when the page is loaded again.
func (b *tab) markPage() {
	b.t.Helper()
	get(b, chromedp.Evaluate[bool](`window.marked = true`))
}

// checkNotReloaded fails if the page was loaded again since markPage.
func (b *tab) checkNotReloaded() {
	b.t.Helper()
	if !get(b, chromedp.Evaluate[bool](`window.marked === true`)) {
		b.t.Error("the page was loaded again")
	}
}

// blockURLs prevents the tab from loading URLs that match a pattern.
func (b *tab) blockURLs(pattern string) {
	b.t.Helper()
	_, err := chromedp.Call(b.ctx, network.Enable, network.EnableParams{})
	b.check(err)
	_, err = chromedp.Call(b.ctx, network.SetBlockedURLs, network.SetBlockedURLsParams{
		URLPatterns: []*network.BlockPattern{{URLPattern: pattern, Block: true}},
	})
	b.check(err)
}

// setLifecycle freezes the tab, as browsers do in the background, or makes it active.
func (b *tab) setLifecycle(state page.SetWebLifecycleStateState) {
	b.t.Helper()
	_, err := chromedp.Call(b.ctx, page.SetWebLifecycleState, page.SetWebLifecycleStateParams{State: state})
	b.check(err)
	if state == page.SetWebLifecycleStateStateActive { // freezing has hidden the tab
		_, err := chromedp.Call(b.ctx, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true})
		b.check(err)
	}
}
