package bench_test

import (
	"context"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"
)

// BenchmarkPage measures the payment page with every payment method and with one: the time of its first
// view, of its first view after its codes were drawn ahead, and of another view, and the bytes of a first
// visit.
func BenchmarkPage(b *testing.B) {
	onEngines(b, func(b *testing.B, e engine) {
		p := serve(b, e)
		p.useKey(b, "--test")
		for name, terms := range map[string]string{
			"every method": body,
			"one method":   `{"amount":12.50,"fiat_currency":"EUR","payment_methods":["BTC"]}`,
		} {
			create := func() (page string) {
				inv, err := p.createWith(b.Context(), terms)
				if err != nil {
					b.Fatal(err)
				}
				return p.url + "/invoice/" + inv.ForeignID
			}
			measure(b, name+"/first view", func(b *testing.B) { measureFirstViews(b, create, 0) })
			measure(b, name+"/drawn ahead", func(b *testing.B) { measureFirstViews(b, create, drawTime) })
			page := create()
			measure(b, name+"/again", func(b *testing.B) {
				repeat(b, 1, func(ctx context.Context) error { return view(ctx, page) }).report(b, "pages")
			})
			measure(b, name+"/again, 32 clients", func(b *testing.B) {
				repeat(b, 32, func(ctx context.Context) error { return view(ctx, page) }).report(b, "pages")
			})
			measure(b, name+"/first visit", func(b *testing.B) { b.ReportMetric(float64(visitSize(b, p.url, page)), "sent-bytes") })
		}
	})
}

// drawTime is enough time for the program to draw the codes of a new invoice.
const drawTime = 100 * time.Millisecond

// measureFirstViews times the first view of each of many invoices, a pause after its creation.
func measureFirstViews(b *testing.B, create func() (page string), pause time.Duration) {
	b.Helper()
	var times []time.Duration
	for range 50 {
		page := create()
		time.Sleep(pause)
		start := time.Now()
		if err := view(b.Context(), page); err != nil {
			b.Fatal(err)
		}
		times = append(times, time.Since(start))
	}
	sortedTimes := newLatencies(times)
	b.ReportMetric(sortedTimes.percentile(.5), "p50-ms")
	b.ReportMetric(sortedTimes.percentile(.95), "p95-ms")
}

// view loads a page as a browser does.
func view(ctx context.Context, page string) error {
	_, err := loadCompressed(ctx, page)
	return err
}

// assetPath matches the addresses of a page's style sheet, script and icon.
var assetPath = regexp.MustCompile(`/static/[a-z]+\.[0-9a-f]+\.[a-z]+`)

// visitSize returns the bytes that a browser receives for a page and what it loads: bodies and headers.
func visitSize(b *testing.B, base, page string) (bytes int) {
	b.Helper()
	r, err := http.NewRequestWithContext(b.Context(), http.MethodGet, page, nil)
	if err != nil {
		b.Fatal(err)
	}
	text, err := fetch(r) // decompressed by the client
	if err != nil {
		b.Fatal(err)
	}
	loaded := map[string]bool{page: true}
	for _, path := range assetPath.FindAllString(string(text), -1) {
		loaded[base+path] = true
	}
	for url := range loaded {
		n, err := loadCompressed(b.Context(), url)
		if err != nil {
			b.Fatal(err)
		}
		bytes += n
	}
	return bytes
}

// loadCompressed loads an address, and returns the size of the response.
func loadCompressed(ctx context.Context, url string) (bytes int, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, err
	}
	r.Header.Set("Accept-Encoding", "gzip, deflate, br, zstd")
	response, err := browser.Do(r)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	n, err := io.Copy(io.Discard, response.Body)
	var header strings.Builder
	if err := response.Header.Write(&header); err != nil {
		return 0, err
	}
	return int(n) + header.Len() + len("HTTP/1.1 200 OK\r\n\r\n"), err
}
