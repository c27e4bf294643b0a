package e2e_test

import (
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"chequer/internal/api"
)

// hurry has the seconds that pages count pass ten times as fast.
const hurry = `(() => { const every = setInterval; window.setInterval = (what, ms) => every(what, ms / 10); })()`

// byBeats has seconds pass only when the test says so, by calling all beats.
const byBeats = `(() => {
	const every = setInterval, end = clearInterval;
	let last = 1e6;
	window.beats = new Map();
	window.setInterval = (what, ms) => ms === 1000 ? (beats.set(++last, what), last) : every(what, ms);
	window.clearInterval = id => beats.delete(id) || end(id);
})()`

// thanks is a shop's page that counts how often shoppers come to it.
type thanks struct {
	url   string
	count atomic.Int64
}

func newThanks(t *testing.T) *thanks {
	t.Helper()
	s := &thanks{}
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

// once fails unless the shopper comes to the shop, one time.
func (s *thanks) once(b *tab) {
	b.t.Helper()
	until(b.t, patience, "the shopper is at the shop", func() bool { return s.count.Load() > 0 })
	b.do(chromedp.WaitVisible(chromedp.CSS("#thanks")), chromedp.Sleep(patience/60))
	if got := s.count.Load(); got != 1 {
		b.t.Errorf("the shopper came to the shop %d times", got)
	}
}

// TestTabThatSleeps has an invoice move on while its page is frozen, or hears
// nothing of its stream: the page catches up by itself, and leads to the shop once
// (C67).
func TestTabThatSleeps(t *testing.T) {
	town := newTown(t)
	begin := func(t *testing.T, s *thanks) (*tab, *errand) {
		b := open(t, screens[0])
		b.before(hurry)
		b.before(`document.addEventListener("freeze", () => window.slept = true)`)
		return b, &errand{town.in(t), s}
	}
	t.Run("paid", func(t *testing.T) {
		s := newThanks(t)
		b, w := begin(t, s)
		w.opens(b)
		b.sleeps()
		w.shop().simulate(idOf(w.page), api.SimulateExact, api.SimulateConfirm)
		w.shop().status(idOf(w.page), api.StatusPaid, patience)
		if got := b.text("#st"); got != "Waiting for your payment" {
			t.Errorf("a frozen page says %q", got)
		}
		b.lifecycle(page.SetWebLifecycleStateStateActive)
		s.once(b)
		b.quiet()
	})
	t.Run("expired", func(t *testing.T) {
		s := newThanks(t)
		b, w := begin(t, s)
		w.opens(b)
		b.sleeps()
		w.passes(3600)
		w.shop().status(idOf(w.page), api.StatusExpired, patience)
		b.lifecycle(page.SetWebLifecycleStateStateActive)
		b.awaits("#st", "The held price has run out", nil)
		if s.count.Load() != 0 {
			t.Error("the shopper was led to the page of those who paid")
		}
		b.quiet()
	})
	t.Run("seconds_are_the_server's", func(t *testing.T) {
		b, w := begin(t, newThanks(t))
		w.opens(b)
		b.sleeps()
		w.passes(610)
		b.lifecycle(page.SetWebLifecycleStateStateActive)
		until(t, patience, "the clock shows less than five minutes", func() bool { return w.clock(b) <= 290 })
		if got := w.clock(b); got < 230 {
			t.Errorf("%d seconds are left", got)
		}
		b.awaits("#say", "Five minutes left at this price.", nil)
		b.quiet()
	})
	t.Run("paid_while_offline", func(t *testing.T) {
		s := newThanks(t)
		b, w := begin(t, s)
		b.block("*://*:*/invoice/*/live*") // it would go on: offline is what cannot be asked anew
		w.opens(b)
		b.offline(true)
		w.shop().simulate(idOf(w.page), api.SimulateExact, api.SimulateConfirm)
		w.shop().status(idOf(w.page), api.StatusPaid, patience)
		if got := get(b, chromedp.Evaluate[string](`fetch(live.dataset.self).then(() => "online", () => "offline")`, chromedp.EvalAwaitPromise)); got != "offline" {
			t.Fatalf("the tab is %s", got)
		}
		if got := b.text("#st"); got != "Waiting for your payment" {
			t.Errorf("a page that is offline says %q", got)
		}
		b.offline(false)
		s.once(b)
	})
	t.Run("paid_without_a_stream", func(t *testing.T) {
		s := newThanks(t)
		b, w := begin(t, s)
		b.block("*://*:*/invoice/*/live*")
		w.opens(b)
		w.shop().simulate(idOf(w.page), api.SimulateExact, api.SimulateConfirm)
		s.once(b)
	})
	t.Run("stays_when_told", func(t *testing.T) {
		s := newThanks(t)
		b, w := open(t, screens[0]), &errand{town.in(t), s}
		b.before(byBeats)
		w.opens(b)
		w.shop().simulate(idOf(w.page), api.SimulateExact, api.SimulateConfirm)
		b.awaits("#st", "Paid. Thank you.", nil)
		b.do(chromedp.WaitVisible(chromedp.CSS("#stay")))
		get(b, chromedp.Evaluate[any](`beats.forEach(beat => beat())`))
		if got := b.text("#auto b"); got != "9" {
			t.Errorf("after a second %q are left", got)
		}
		b.click("#stay")
		b.do(chromedp.WaitNotVisible(chromedp.CSS("#auto")))
		if got := get(b, chromedp.Evaluate[int](`beats.size`)); got != 0 {
			t.Errorf("%d countdowns go on", got)
		}
		if got := b.attribute("#return", "href"); got != s.url+"?invoice="+idOf(w.page) || s.count.Load() != 0 {
			t.Errorf("the button leads to %q, and the shopper was there %d times", got, s.count.Load())
		}
	})
}

// errand is a payment for a shop that the shopper comes back to.
type errand struct {
	*town
	thanks *thanks
}

func (w *errand) opens(b *tab) {
	b.t.Helper()
	paying(func(r *api.InvoiceRequest) { r.URLSuccess = w.thanks.url })(b, w.town)
	b.awaits("#clock", ":", nil)
}

// sleeps freezes the tab, and returns when it is.
func (b *tab) sleeps() {
	b.t.Helper()
	b.lifecycle(page.SetWebLifecycleStateStateFrozen)
	until(b.t, patience, "the tab is frozen", func() bool { return get(b, chromedp.Evaluate[bool](`!!window.slept`)) })
}

// passes moves the invoice's own clock.
func (w *errand) passes(seconds int64) {
	w.t.Helper()
	err := w.shop().client.Simulate(w.t.Context(), idOf(w.page), api.SimulateRequest{Action: api.SimulateClock, Seconds: seconds})
	if err != nil {
		w.t.Fatal(err)
	}
}

// clock is how many seconds the page shows to be left.
func (w *errand) clock(b *tab) int {
	b.t.Helper()
	minutes, seconds, found := strings.Cut(b.text("#clock"), ":")
	m, err := strconv.Atoi(minutes)
	s, err2 := strconv.Atoi(seconds)
	if !found || err != nil || err2 != nil {
		return 1 << 20
	}
	return 60*m + s
}

// offline takes the tab off the network, or puts it back.
func (b *tab) offline(is bool) {
	b.t.Helper()
	_, err := chromedp.Call(b.ctx, network.Enable, network.EnableParams{})
	b.check(err)
	_, err = chromedp.Call(b.ctx, network.EmulateNetworkConditionsByRule, network.EmulateNetworkConditionsByRuleParams{
		MatchedNetworkConditions: []*network.Conditions{{Offline: is, DownloadThroughput: -1, UploadThroughput: -1}},
	})
	b.check(err)
	_, err = chromedp.Call(b.ctx, network.OverrideNetworkState, network.OverrideNetworkStateParams{Offline: is, DownloadThroughput: -1, UploadThroughput: -1})
	b.check(err)
}

// before runs a script in every page that the tab opens, before the page's own.
func (b *tab) before(script string) {
	b.t.Helper()
	_, err := chromedp.Call(b.ctx, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: script})
	b.check(err)
}
