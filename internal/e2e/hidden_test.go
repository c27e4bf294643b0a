package e2e_test

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"

	"chequer/internal/api"
	"chequer/internal/app"
)

// countStreams keeps the page's event streams in window.streams.
const countStreams = `(() => {
	window.streams = [];
	window.EventSource = class extends EventSource {
		constructor(url) { super(url); window.streams.push(this); }
	};
})()`

// TestHidden_page_has_no_stream hides a tab. The page must close its event stream, and be up to date
// when it is visible again.
func TestHidden_page_has_no_stream(t *testing.T) {
	p := start(t, settings(t), app.Options{Demo: true})
	merchant := newShop(t, p.url, p.key)
	tab := open(t, phoneScreen)
	tab.addInitScript(countStreams)
	id := idOf(tab.createInvoice(p.url, "12,50"))
	tab.markPage()
	streams := func() int {
		return get(tab, chromedp.Evaluate[int](`streams.filter(s => s.readyState !== EventSource.CLOSED).length`))
	}
	hide := func(hidden string) {
		get(tab, chromedp.Evaluate[bool](`Object.defineProperty(document, "hidden", {configurable: true, get: () => `+hidden+`}) &&
			document.dispatchEvent(new Event("visibilitychange"))`))
	}
	if got := streams(); got != 1 {
		t.Fatalf("a visible page has %d streams, want 1", got)
	}
	hide("true")
	if got := streams(); got != 0 {
		t.Errorf("a hidden page has %d streams, want 0", got)
	}
	merchant.simulate(id, api.SimulateExact)
	hide("false")
	tab.waitFor("#st", "Payment seen", nil)
	if got := streams(); got != 1 {
		t.Errorf("a page that is visible again has %d streams, want 1", got)
	}
	get(tab, chromedp.Evaluate[bool](`window.dispatchEvent(new PageTransitionEvent("pagehide"))`))
	if got := streams(); got != 0 {
		t.Errorf("a page that is left has %d streams, want 0", got)
	}
	tab.checkNotReloaded()
	tab.checkConsole()
}

// TestHidden_frame_has_no_stream hides a page that frames an invoice. The frame has the page's origin,
// so that the test can read the frame's streams.
func TestHidden_frame_has_no_stream(t *testing.T) {
	p := start(t, settings(t, "CHEQUER_EMBED_ORIGINS=https://shop.example"), app.Options{Demo: true})
	merchant := newShop(t, p.url, p.key)
	id := merchant.createInvoice()
	tab := open(t, deskScreen)
	tab.addInitScript(countStreams)
	tab.visit(p.url + "/embed")
	get(tab, chromedp.Evaluate[bool](fmt.Sprintf(`(() => {
		const frame = document.body.appendChild(document.createElement("iframe"));
		frame.src = %q;
		return new Promise(done => { frame.onload = () => done(true); });
	})()`, p.url+"/invoice/"+id), chromedp.EvalAwaitPromise))
	streams := func() int {
		return get(tab, chromedp.Evaluate[int](`frames[0].streams.filter(s => s.readyState !== EventSource.CLOSED).length`))
	}
	hide := func(hidden string) {
		get(tab, chromedp.Evaluate[bool](`Object.defineProperty(frames[0].document, "hidden", {configurable: true, get: () => `+hidden+`}) &&
			frames[0].document.dispatchEvent(new Event("visibilitychange"))`))
	}
	if got := streams(); got != 1 {
		t.Fatalf("a visible frame has %d streams, want 1", got)
	}
	hide("true")
	if got := streams(); got != 0 {
		t.Errorf("a hidden frame has %d streams, want 0", got)
	}
	merchant.simulate(id, api.SimulateExact)
	hide("false")
	until(t, waitTimeout, "the frame shows the payment", func() bool {
		return get(tab, chromedp.Evaluate[string](`frames[0].document.querySelector("#st").textContent.trim()`)) == "Payment seen"
	})
	if got := streams(); got != 1 {
		t.Errorf("a frame that is visible again has %d streams, want 1", got)
	}
	tab.checkConsole()
}
