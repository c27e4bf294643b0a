package bench_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"
	"github.com/pquerna/otp/totp"

	"chequer/internal/api"
	"chequer/internal/storage/storagetest"
)

// deskSpan is the longest time for which a page of the desk is requested.
const deskSpan = 500 * time.Millisecond

// desk is an account that is signed in to the desk.
type desk struct {
	url    string
	client *http.Client
	shop   string
}

// openDesk creates the first account of the desk with a password and a code.
func (p *program) openDesk(b *testing.B) *desk {
	b.Helper()
	var link struct{ URL string }
	if err := json.Unmarshal(p.run(b, "desk", "link", "--json"), &link); err != nil {
		b.Fatal(err)
	}
	start, err := url.Parse(link.URL)
	if err != nil {
		b.Fatal(err)
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		b.Fatal(err)
	}
	d := &desk{url: start.Scheme + "://" + start.Host, client: &http.Client{Jar: jar, Transport: browser.Transport, Timeout: browser.Timeout}}
	page := d.send(b, "/desk/start/password", url.Values{"token": {start.Fragment}, "name": {"Maren"}, "password": {"correct horse battery"}})
	field := func(name string) string { return page.Find("input[name="+name+"]").AttrOr("value", "") }
	code, err := totp.GenerateCode(field("seed"), time.Now())
	if err != nil {
		b.Fatal(err)
	}
	d.send(b, "/desk/start/code", url.Values{"token": {start.Fragment}, "offer": {field("offer")}, "code": {code}})
	d.shop = storagetest.Rows(b, p.database, "SELECT id FROM merchants")[0]
	return d
}

// send sends a form, and returns the page to which it leads.
func (d *desk) send(b *testing.B, path string, values url.Values) *goquery.Document {
	b.Helper()
	r, err := http.NewRequestWithContext(b.Context(), http.MethodPost, d.url+path, strings.NewReader(values.Encode()))
	if err != nil {
		b.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	response, err := d.client.Do(r)
	if err != nil {
		b.Fatal(err)
	}
	defer response.Body.Close()
	page, err := goquery.NewDocumentFromReader(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = errors.New(response.Status)
	}
	if err != nil {
		b.Fatalf("%s: %v", path, err)
	}
	return page
}

// read requests a page and reads it, or only its first byte.
func (d *desk) read(ctx context.Context, path string, firstByte bool) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // of the rest of the page
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, d.url+path, nil)
	if err != nil {
		return err
	}
	response, err := d.client.Do(r)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK || response.Request.URL.Path == "/desk/signin" {
		return fmt.Errorf("%s: %s", path, response.Status)
	}
	if firstByte {
		_, err = io.ReadFull(response.Body, make([]byte, 1))
		return err
	}
	_, err = io.Copy(io.Discard, response.Body)
	return err
}

// measure measures the pages of the desk about the test invoices.
func (d *desk) measure(b *testing.B, p *program, s sources, figure func(name, unit string, value func(*testing.B) float64)) {
	random := rand.New(rand.NewPCG(2, uint64(settings.stored)))
	paid, err := p.list(b.Context(), "limit=100&status=paid&paid_currency=ETH")
	if err != nil {
		b.Fatal(err)
	}
	copies := count(b, storagetest.Database(b, p.database), "SELECT COUNT(*) FROM invoices WHERE origin = 'terminal'")/10 - 1
	copied := func() int { return 1 + random.IntN(max(copies, 1)) }
	inv := paid.Invoices[0]
	now := time.Now().UTC()
	monthsAgo := func(n int) string { return now.AddDate(0, -n, 0).Format("2006-01") }
	cursor := func(age time.Duration) string { return fmt.Sprintf("%d-%s", now.Add(-age).UnixMilli(), inv.ForeignID) }
	for _, row := range d.pages(s, inv, copied, monthsAgo, cursor) {
		figure("desk "+row.name, "p50-ms", func(b *testing.B) float64 {
			path := "/desk/" + d.shop + row.path()
			if row.ofAll {
				path = "/desk/all" + row.path()
			}
			got, err := load(b.Context(), 1, min(settings.span, deskSpan), func(ctx context.Context) error { return d.read(ctx, path, row.firstByte) })
			if err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(got.percentile(0), "min-ms")
			return got.percentile(.5)
		})
	}
}

// deskPage is a page of the desk that is measured.
type deskPage struct {
	name      string
	path      func() string // below the shop
	ofAll     bool          // below all shops
	firstByte bool          // only the first byte is awaited
}

// pages returns the pages that are measured. inv is an invoice that the pages find.
func (d *desk) pages(s sources, inv api.Resource, copied func() int, monthsAgo func(int) string, cursor func(time.Duration) string) []deskPage {
	const day = 24 * time.Hour
	fixed := func(path string) func() string { return func() string { return path } }
	list := func(query string) func() string { return fixed("/payments?mode=test" + query) }
	search := func(text func() string) func() string {
		return func() string { return "/payments?mode=test&q=" + url.QueryEscape(text()) }
	}
	pages := []deskPage{
		{name: "overview", path: fixed("?mode=test")},
		{name: "overview of 30 days", path: fixed("?mode=test&period=month")},
		{name: "overview of all shops", path: fixed("?mode=test&period=month"), ofAll: true},
		{name: "needs attention", path: fixed("/attention?mode=test")},
		{name: "needs attention in all shops", path: fixed("/attention?mode=test"), ofAll: true},
		{name: "payments", path: list("")},
		{name: "payments after a cursor", path: list("&after=" + cursor(day))},
		{name: "payments after a cursor 360 days back", path: list("&after=" + cursor(360*day))},
		{name: "payments of today", path: list("&period=today")},
		{name: "payments of a week", path: list("&period=week")},
		{name: "payments of a month", path: list("&period=" + monthsAgo(6))},
		{name: "search for an order", path: search(func() string { return fmt.Sprintf("order-%d-%d", 11+copied()%5, copied()) })},
		{name: "search for a reference", path: search(func() string { return fmt.Sprintf("table-%d-%d", 11+copied()%5, copied()) })},
		{name: "search for an invoice", path: search(fixed(inv.ForeignID))},
		{name: "search for an address", path: search(fixed(inv.PaymentMethods[0].Address))},
		{name: "search for a transaction", path: search(fixed(inv.PaidTx))},
		{name: "search for an amount", path: search(fixed(priceOf(11)))},
		{name: "search for an amount of none", path: search(fixed("77.77"))},
		{name: "search for a date", path: search(fixed(time.Now().UTC().Format(time.DateOnly)))},
		{name: "search for a word of none", path: search(fixed("absent"))},
		{name: "one payment", path: fixed("/payments/" + inv.ForeignID)},
		{name: "refunds", path: fixed("/refunds?mode=test")},
		{name: "refunds that are ready", path: fixed("/refunds?mode=test&state=ready")},
		{name: "refunds of none", path: fixed("/refunds?mode=test&state=sent")},
		{name: "first byte of an export of a year", path: fixed("/reports/export?mode=test&period=days&from=" + time.Now().UTC().Add(-364*day).Format(time.DateOnly) + "&to=" + time.Now().UTC().Format(time.DateOnly)), firstByte: true},
		{name: "products", path: fixed("/products?mode=test")},
		{name: "links", path: fixed("/links?mode=test")},
		{name: "one link", path: fixed("/links/" + s.link + "/edit")},
		{name: "terminals", path: fixed("/terminals?mode=test")},
		{name: "log", path: fixed("/log")},
		{name: "log below an entry", path: fixed("/log?below=3")},
		{name: "webhooks", path: fixed("/webhooks?mode=test")},
		{name: "health", path: fixed("/health")},
		{name: "reports of all shops", path: fixed("/reports?mode=test"), ofAll: true},
	}
	for _, state := range []string{"waiting", "seen", "paid", "attention", "expired", "cancelled"} {
		pages = append(pages, deskPage{name: "payments " + state, path: list("&state=" + state)})
	}
	filters := []struct{ name, query string }{
		{"by bitcoin", "&method=BTC"}, {"by a method of none", "&method=EURC-BASE"}, {"from the link", "&source=link:" + s.link},
		{"from links", "&source=link"}, {"from a terminal", "&source=terminal:" + s.terminalID}, {"from the API", "&source=api"}, {"from a source of none", "&source=product:none"},
	}
	for i, f := range filters {
		pages = append(pages,
			deskPage{name: "payments " + f.name, path: list(f.query)},
			deskPage{name: "payments of a month " + f.name, path: list(f.query + "&period=" + monthsAgo(6))},
			deskPage{name: "payments of 12.50 " + f.name, path: list(f.query + "&q=12.50")},
			deskPage{name: "payments after a cursor 360 days back " + f.name, path: list(f.query + "&after=" + cursor(360*day))})
		for _, state := range []string{"waiting", "paid", "attention", "expired", "cancelled"} {
			pages = append(pages, deskPage{name: "payments " + state + " " + f.name, path: list(f.query + "&state=" + state)})
		}
		for _, other := range filters[i+1:] {
			if f.query[:8] != other.query[:8] { // "&method=" and "&source=", not two values of one parameter
				pages = append(pages, deskPage{name: "payments " + f.name + " " + other.name, path: list(f.query + other.query)})
			}
		}
	}
	for _, period := range []struct{ name, query string }{{"a month", monthsAgo(1)}, {"a year", monthsAgo(0)[:4]}} {
		for _, by := range []string{"method", "origin", "product", "link", "terminal", "key"} {
			pages = append(pages, deskPage{name: "report of " + period.name + " by " + by, path: fixed("/reports?mode=test&period=" + period.query + "&by=" + by)})
		}
	}
	return pages
}
