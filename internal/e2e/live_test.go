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

// TestOpen_page_updates_by_itself pays with another client while a page is open. The page must update
// without a reload, also without its stream.
func TestOpen_page_updates_by_itself(t *testing.T) {
	p := start(t, settings(t), app.Options{Demo: true})
	merchant := newShop(t, p.url, p.key)
	s := screens[0]
	t.Run("by_its_stream", func(t *testing.T) {
		b := open(t, s)
		id := idOf(b.createInvoice(p.url, "12,50"))
		b.mark()
		merchant.simulate(id, api.SimulateExact)
		b.waitFor("#st", "Payment seen", nil)
		merchant.simulate(id, api.SimulateConfirm)
		b.waitFor("#st", "Paid. Thank you.", nil)
		if got := get(b, chromedp.Title()); got != "Paid – Demo shop" {
			t.Errorf("the tab's title is %q", got)
		}
		b.waitFor("#say", "Paid. Your payment is confirmed.", nil)
		b.checkNotReloaded()
		b.checkConsole()
	})
	t.Run("again_after_a_reorganisation", func(t *testing.T) {
		b := open(t, s)
		id := idOf(b.createInvoice(p.url, "12,50"))
		b.mark()
		merchant.simulate(id, api.SimulateExact, api.SimulateConfirm)
		b.waitFor("#st", "Paid. Thank you.", nil)
		b.click("#sim-reorganise")
		b.waitFor("#st", "Payment seen", nil)
		merchant.simulate(id, api.SimulateConfirm)
		b.waitFor("#st", "Paid. Thank you.", nil)
		b.checkNotReloaded()
		b.checkConsole()
	})
	t.Run("by_polling_when_the_stream_is_blocked", func(t *testing.T) {
		b := open(t, s)
		b.block("*://*:*/invoice/*/live*")
		id := idOf(b.createInvoice(p.url, "12,50"))
		b.mark()
		stream := `fetch(document.getElementById("live").dataset.stream).then(() => "open", () => "blocked")`
		if got := get(b, chromedp.Evaluate[string](stream, chromedp.EvalAwaitPromise)); got != "blocked" {
			t.Fatalf("the stream is %s", got)
		}
		merchant.simulate(id, api.SimulateExact)
		b.waitFor("#st", "Payment seen", nil)
		b.checkNotReloaded()
	})
	t.Run("after_the_tab_was_frozen", func(t *testing.T) {
		b := open(t, s)
		id := idOf(b.createInvoice(p.url, "12,50"))
		b.mark()
		b.lifecycle(page.SetWebLifecycleStateStateFrozen)
		merchant.simulate(id, api.SimulateExact, api.SimulateConfirm)
		merchant.status(id, api.StatusPaid, waitTimeout)
		if got := b.text("#st"); got != "Waiting for your payment" {
			t.Errorf("a frozen page shows %q", got)
		}
		b.lifecycle(page.SetWebLifecycleStateStateActive)
		b.waitFor("#st", "Paid. Thank you.", nil)
		b.checkNotReloaded()
		b.checkConsole()
	})
}

// mark sets a value on the page that is lost when the page is loaded again.
func (b *tab) mark() {
	b.t.Helper()
	get(b, chromedp.Evaluate[bool](`window.marked = true`))
}

// checkNotReloaded fails if the page was loaded again since mark.
func (b *tab) checkNotReloaded() {
	b.t.Helper()
	if !get(b, chromedp.Evaluate[bool](`window.marked === true`)) {
		b.t.Error("the page was loaded again")
	}
}

// block prevents the tab from loading URLs that match a pattern.
func (b *tab) block(pattern string) {
	b.t.Helper()
	_, err := chromedp.Call(b.ctx, network.Enable, network.EnableParams{})
	b.check(err)
	_, err = chromedp.Call(b.ctx, network.SetBlockedURLs, network.SetBlockedURLsParams{
		URLPatterns: []*network.BlockPattern{{URLPattern: pattern, Block: true}},
	})
	b.check(err)
}

// lifecycle freezes the tab, as browsers do in the background, or makes it active.
func (b *tab) lifecycle(state page.SetWebLifecycleStateState) {
	b.t.Helper()
	_, err := chromedp.Call(b.ctx, page.SetWebLifecycleState, page.SetWebLifecycleStateParams{State: state})
	b.check(err)
	if state == page.SetWebLifecycleStateStateActive { // freezing has hidden the tab
		_, err := chromedp.Call(b.ctx, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true})
		b.check(err)
	}
}
