package e2e_test

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
)

// traffic records the requests of the current page of a tab.
type traffic struct {
	mu     sync.Mutex
	loader cdp.LoaderID // ID that the browser gives all requests of the page
	sent   map[network.RequestID]*exchange
}

// exchange is one request and its response.
type exchange struct {
	url      string
	bytes    float64 // received, including headers
	head     int     // bytes of the headers
	answered bool
	failed   string // the browser's error, or ""
}

// recordTraffic starts the recording and disables the cache, as on a first visit.
func (b *tab) recordTraffic() {
	b.t.Helper()
	b.traffic = &traffic{sent: map[network.RequestID]*exchange{}}
	_, err := chromedp.Call(b.ctx, network.Enable, network.EnableParams{})
	b.check(err)
	_, err = chromedp.Call(b.ctx, network.SetCacheDisabled, network.SetCacheDisabledParams{CacheDisabled: true})
	b.check(err)
	b.check(chromedp.Listen(b.ctx, b.traffic.record))
}

// updatesDesk reports whether a request updates a page of the desk that is already loaded.
func updatesDesk(e *network.EventRequestWillBeSent) bool {
	return strings.Contains(e.Request.URL, "/desk/") && (e.Type == network.ResourceTypeEventSource || e.Type == network.ResourceTypeXHR)
}

// record records an event of the browser's network domain.
func (r *traffic) record(event any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		if e.Type == network.ResourceTypeDocument {
			r.loader = e.LoaderID
			clear(r.sent) // another page
		}
		if updatesDesk(e) {
			return
		}
		if e.LoaderID == r.loader { // the previous page may still send requests
			r.sent[e.RequestID] = &exchange{url: e.Request.URL}
		}
	case *network.EventResponseReceived:
		if x := r.sent[e.RequestID]; x != nil {
			x.bytes = e.Response.EncodedDataLength
			x.answered = e.Type == network.ResourceTypeEventSource // an event stream does not end
		}
	case *network.EventResponseReceivedExtraInfo:
		if x := r.sent[e.RequestID]; x != nil {
			x.head = len(e.HeadersText)
		}
	case *network.EventDataReceived:
		if x := r.sent[e.RequestID]; x != nil {
			x.bytes += float64(e.EncodedDataLength)
		}
	case *network.EventLoadingFinished:
		if x := r.sent[e.RequestID]; x != nil {
			x.answered, x.bytes = true, e.EncodedDataLength
		}
	case *network.EventLoadingFailed:
		if x := r.sent[e.RequestID]; x != nil {
			x.answered, x.failed = true, e.ErrorText
		}
	}
}

// exchanges returns the exchanges so far, and reports whether every request is answered.
func (r *traffic) exchanges() (list []exchange, done bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	done = len(r.sent) > 0
	for _, x := range r.sent {
		x.bytes = max(x.bytes, float64(x.head)) // Chromium may report no bytes of a stream until it ends
		list = append(list, *x)
		done = done && x.answered
	}
	return list, done
}

// String lists the requests with the received bytes, and marks pending requests.
func (r *traffic) String() string {
	list, _ := r.exchanges()
	var lines []string
	for _, x := range list {
		line := fmt.Sprintf("%5.0f %s", x.bytes, x.url)
		if !x.answered {
			line += " (pending)"
		}
		lines = append(lines, line)
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// waitLoaded waits until the page and all its requests are loaded.
func (b *tab) waitLoaded() {
	b.t.Helper()
	defer func() {
		if b.t.Failed() {
			b.t.Logf("the page's requests:\n%s", b.traffic)
		}
	}()
	until(b.t, waitTimeout, "the page is loaded", func() bool {
		_, done := b.traffic.exchanges()
		return done && get(b, chromedp.Evaluate[bool](`document.readyState === "complete"`))
	})
}

// fetchIcon fetches the page's icon, which a headless browser does not request by itself.
func (b *tab) fetchIcon() {
	b.t.Helper()
	get(b, chromedp.Evaluate[int](`fetch(document.querySelector("link[rel=icon]").href, {cache: "reload"}).then(r => r.blob()).then(b => b.size)`, chromedp.EvalAwaitPromise))
	b.waitLoaded()
}

// check reports an error if the page exceeds the budget or requests another host, or if a request receives no bytes.
func (l budget) check(b *tab) {
	b.t.Helper()
	b.fetchIcon()
	list, _ := b.traffic.exchanges()
	address, err := url.Parse(get(b, chromedp.Location()))
	b.check(err)
	bytes, icon := 0.0, get(b, chromedp.Evaluate[string](`document.querySelector("link[rel=icon]").href`))
	slices.SortFunc(list, func(x, y exchange) int { return int(y.bytes - x.bytes) })
	if i := slices.IndexFunc(list, func(x exchange) bool { return x.url == icon }); i >= 0 { // the icon counts once
		list = slices.Concat(list[:i+1], slices.DeleteFunc(list[i+1:], func(x exchange) bool { return x.url == icon }))
	}
	for _, x := range list {
		bytes += x.bytes
		if u, err := url.Parse(x.url); err != nil || u.Host != address.Host {
			b.t.Errorf("the page requests %s from another host", x.url)
		}
		if x.bytes == 0 {
			b.t.Errorf("%s: %v bytes received, %s", x.url, x.bytes, x.failed)
		}
	}
	methods := get(b, chromedp.Evaluate[int](`document.querySelectorAll(".give").length`))
	limit := l.kilobytes + l.perMethod*float64(max(0, methods-2))
	b.t.Logf("%5.1f of %.1f KB, %d of %d requests, %d payment methods", bytes/1024, limit, len(list), l.requests, methods)
	if bytes > limit*1024 || len(list) > l.requests {
		b.t.Errorf("the page has %.1f KB in %d requests, want at most %.1f in %d:\n%s", bytes/1024, len(list), limit, l.requests, b.traffic)
	}
}
