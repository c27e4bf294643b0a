package e2e_test

import (
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"chequer/internal/api"
)

// fastIntervals makes the page's intervals ten times as short.
const fastIntervals = `(() => { const every = setInterval; window.setInterval = (task, ms) => every(task, ms / 10); })()`

// manualSeconds replaces intervals of one second by functions in the map beats, which the test calls.
const manualSeconds = `(() => {
	const every = setInterval, end = clearInterval;
	let last = 1e6;
	window.beats = new Map();
	window.setInterval = (task, ms) => ms === 1000 ? (beats.set(++last, task), last) : every(task, ms);
	window.clearInterval = id => beats.delete(id) || end(id);
})()`

// successPage is a shop's success page that counts its visits.
type successPage struct {
	url   string
	count atomic.Int64
}

func newSuccessPage(t *testing.T) *successPage {
	t.Helper()
	s := &successPage{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/thanks" {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		s.count.Add(1)
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte(`<!doctype html><title>Thanks</title><h1 id="thanks">Thank you</h1>`))
	}))
	t.Cleanup(server.Close)
	s.url = strings.Replace(server.URL, "127.0.0.1", "localhost", 1) + "/thanks"
	return s
}

// checkVisitedOnce fails unless the shopper arrives at the success page exactly once.
func (s *successPage) checkVisitedOnce(b *tab) {
	b.t.Helper()
	until(b.t, waitTimeout, "the shopper arrives at the success page", func() bool { return s.count.Load() > 0 })
	b.do(chromedp.WaitVisible(chromedp.CSS("#thanks")), chromedp.Sleep(time.Second)) // in which a second visit would follow
	if got := s.count.Load(); got != 1 {
		b.t.Errorf("the success page was visited %d times, want once", got)
	}
}

// TestFrozen_tab_updates_afterwards changes an invoice while its page is frozen, offline or without its
// stream. The page must update afterwards, and lead to the shop once (C67).
func TestFrozen_tab_updates_afterwards(t *testing.T) {
	site := newDemoSite(t)
	openTab := func(t *testing.T, s *successPage) (*tab, *backgroundPayment) {
		b := open(t, phoneScreen)
		b.addInitScript(fastIntervals)
		b.addInitScript(`document.addEventListener("freeze", () => window.frozen = true)`)
		return b, &backgroundPayment{site.in(t), s}
	}
	t.Run("paid_while_frozen", func(t *testing.T) {
		s := newSuccessPage(t)
		tab, payment := openTab(t, s)
		payment.visit(tab)
		tab.freeze()
		payment.shop().simulate(idOf(payment.page), api.SimulateExact, api.SimulateConfirm)
		payment.shop().waitStatus(idOf(payment.page), api.StatusPaid, waitTimeout)
		if got := tab.text("#st"); got != "Waiting for your payment" {
			t.Errorf("a frozen page shows %q", got)
		}
		tab.setLifecycle(page.SetWebLifecycleStateStateActive)
		s.checkVisitedOnce(tab)
		tab.checkConsole()
	})
	t.Run("expired_while_frozen", func(t *testing.T) {
		s := newSuccessPage(t)
		tab, payment := openTab(t, s)
		payment.visit(tab)
		tab.freeze()
		payment.advance(3600)
		payment.shop().waitStatus(idOf(payment.page), api.StatusExpired, waitTimeout)
		tab.setLifecycle(page.SetWebLifecycleStateStateActive)
		tab.waitFor("#st", "The held price has run out", nil)
		if s.count.Load() != 0 {
			t.Error("the page of an expired invoice led to the success page")
		}
		tab.checkConsole()
	})
	t.Run("seconds_left_come_from_the_server", func(t *testing.T) {
		tab, payment := openTab(t, newSuccessPage(t))
		payment.visit(tab)
		tab.freeze()
		payment.advance(610)
		tab.setLifecycle(page.SetWebLifecycleStateStateActive)
		until(t, waitTimeout, "the clock shows less than five minutes", func() bool { return payment.shownSeconds(tab) <= 290 })
		if got := payment.shownSeconds(tab); got < 230 {
			t.Errorf("the clock shows %d seconds, want at least 230", got)
		}
		tab.waitFor("#say", "Five minutes left at this price.", nil)
		tab.checkConsole()
	})
	t.Run("paid_while_offline", func(t *testing.T) {
		s := newSuccessPage(t)
		tab, payment := openTab(t, s)
		tab.blockURLs("*://*:*/invoice/*/live*") // an open stream survives offline emulation, which affects new requests only
		payment.visit(tab)
		tab.setOffline(true)
		payment.shop().simulate(idOf(payment.page), api.SimulateExact, api.SimulateConfirm)
		payment.shop().waitStatus(idOf(payment.page), api.StatusPaid, waitTimeout)
		if got := get(tab, chromedp.Evaluate[string](`fetch(live.dataset.self).then(() => "online", () => "offline")`, chromedp.EvalAwaitPromise)); got != "offline" {
			t.Fatalf("the tab is %s, want offline", got)
		}
		if got := tab.text("#st"); got != "Waiting for your payment" {
			t.Errorf("an offline page shows %q", got)
		}
		tab.setOffline(false)
		s.checkVisitedOnce(tab)
	})
	t.Run("paid_without_a_stream", func(t *testing.T) {
		s := newSuccessPage(t)
		tab, payment := openTab(t, s)
		tab.blockURLs("*://*:*/invoice/*/live*")
		payment.visit(tab)
		payment.shop().simulate(idOf(payment.page), api.SimulateExact, api.SimulateConfirm)
		s.checkVisitedOnce(tab)
	})
	t.Run("stays_after_the_button", func(t *testing.T) {
		s := newSuccessPage(t)
		tab, payment := open(t, phoneScreen), &backgroundPayment{site.in(t), s}
		tab.addInitScript(manualSeconds)
		payment.visit(tab)
		payment.shop().simulate(idOf(payment.page), api.SimulateExact, api.SimulateConfirm)
		tab.waitFor("#st", "Paid. Thank you.", nil)
		tab.do(chromedp.WaitVisible(chromedp.CSS("#stay")))
		get(tab, chromedp.Evaluate[any](`beats.forEach(beat => beat())`))
		if got := tab.text("#auto b"); got != "9" {
			t.Errorf("after a second the countdown shows %q, want 9", got)
		}
		tab.click("#stay")
		tab.do(chromedp.WaitNotVisible(chromedp.CSS("#auto")))
		if got := get(tab, chromedp.Evaluate[int](`beats.size`)); got != 0 {
			t.Errorf("%d countdowns are running, want none", got)
		}
		if got := tab.attribute("#return", "href"); got != s.url+"?invoice="+idOf(payment.page) || s.count.Load() != 0 {
			t.Errorf("the button leads to %q, and the success page was visited %d times", got, s.count.Load())
		}
	})
}

// backgroundPayment is an invoice with a success page that counts visits.
type backgroundPayment struct {
	*demoSite
	thanks *successPage
}

// visit creates the invoice, and visits its page.
func (p *backgroundPayment) visit(b *tab) {
	b.t.Helper()
	atInvoice(func(r *api.InvoiceRequest) { r.URLSuccess = p.thanks.url })(b, p.demoSite)
	b.waitFor("#clock", ":", nil)
}

// freeze freezes the tab, and returns when it is frozen.
func (b *tab) freeze() {
	b.t.Helper()
	b.setLifecycle(page.SetWebLifecycleStateStateFrozen)
	until(b.t, waitTimeout, "the tab is frozen", func() bool { return get(b, chromedp.Evaluate[bool](`!!window.frozen`)) })
}

// advance advances the invoice's clock.
func (p *backgroundPayment) advance(seconds int64) {
	p.t.Helper()
	err := p.shop().client.Simulate(p.t.Context(), idOf(p.page), api.SimulateRequest{Action: api.SimulateClock, Seconds: seconds})
	if err != nil {
		p.t.Fatal(err)
	}
}

// shownSeconds returns the number of seconds that the page's clock shows. If it shows no time,
// the number is very large, so that a test waits on.
func (p *backgroundPayment) shownSeconds(b *tab) int {
	b.t.Helper()
	minutes, seconds, found := strings.Cut(b.text("#clock"), ":")
	m, err := strconv.Atoi(minutes)
	s, secondsErr := strconv.Atoi(seconds)
	if !found || err != nil || secondsErr != nil {
		return 1 << 20
	}
	return 60*m + s
}

// setOffline switches the tab's network off or on.
func (b *tab) setOffline(enabled bool) {
	b.t.Helper()
	_, err := chromedp.Call(b.ctx, network.Enable, network.EnableParams{})
	b.check(err)
	_, err = chromedp.Call(b.ctx, network.EmulateNetworkConditionsByRule, network.EmulateNetworkConditionsByRuleParams{
		MatchedNetworkConditions: []*network.Conditions{{Offline: enabled, DownloadThroughput: -1, UploadThroughput: -1}},
	})
	b.check(err)
	_, err = chromedp.Call(b.ctx, network.OverrideNetworkState, network.OverrideNetworkStateParams{Offline: enabled, DownloadThroughput: -1, UploadThroughput: -1})
	b.check(err)
}

// addInitScript makes the tab run a script in every page before the page's own scripts.
func (b *tab) addInitScript(script string) {
	b.t.Helper()
	_, err := chromedp.Call(b.ctx, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: script})
	b.check(err)
}
