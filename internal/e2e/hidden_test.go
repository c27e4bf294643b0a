package e2e_test

import (
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

// A page in a hidden tab has no event stream, and is up to date when it is seen again.
func TestHiddenPageHasNoStream(t *testing.T) {
	p := start(t, settings(t), app.Options{Demo: true})
	merchant := newShop(t, p.url, p.key)
	b := open(t, screens[0])
	b.before(countStreams)
	id := idOf(b.order(p.url, "12,50"))
	b.mark()
	streams := func() int {
		return get(b, chromedp.Evaluate[int](`streams.filter(s => s.readyState !== EventSource.CLOSED).length`))
	}
	hide := func(hidden string) {
		get(b, chromedp.Evaluate[bool](`Object.defineProperty(document, "hidden", {configurable: true, get: () => `+hidden+`}) &&
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
	b.awaits("#st", "Payment seen", nil)
	if got := streams(); got != 1 {
		t.Errorf("a page that is visible again has %d streams, want 1", got)
	}
	get(b, chromedp.Evaluate[bool](`window.dispatchEvent(new PageTransitionEvent("pagehide"))`))
	if got := streams(); got != 0 {
		t.Errorf("a page that is left has %d streams, want 0", got)
	}
	b.unmoved()
	b.quiet()
}
