package web_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"
	"github.com/google/go-cmp/cmp"

	"chequer/internal/manual"
	"chequer/web"
)

// belowPath serves the documentation below a base path.
func belowPath(c *web.Config) {
	c.Docs, c.BasePath, c.BaseURL = true, "/pay", "https://shop.example/pay"
}

// docsPage returns a page of the documentation, which must have status 200.
func docsPage(t *testing.T, h http.Handler, address string) *goquery.Document {
	t.Helper()
	response := get(t, h, address)
	if response.StatusCode != http.StatusOK {
		t.Fatalf("%s answers %d", address, response.StatusCode)
	}
	page, err := goquery.NewDocumentFromReader(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return page
}

// Below a base path, all links between pages stay below the path and lead to pages and sections that exist.
func TestManual_links_lead_to_existing_pages_and_sections(t *testing.T) {
	t.Parallel()
	h := pages(t, newService(), belowPath)
	addresses := []string{"/pay/docs", "/pay/docs/api", "/pay/docs/search?q=wallet"}
	for _, p := range manual.Pages() {
		addresses = append(addresses, "/pay/docs/"+p.Slug)
	}
	known, links := map[string]bool{"#main": true}, map[string]string{}
	for _, address := range addresses {
		page := docsPage(t, h, address)
		known[address] = true
		for _, n := range page.Find("[id]").EachIter() {
			id := address + "#" + n.AttrOr("id", "")
			if known[id] {
				t.Errorf("the id %s occurs twice", id)
			}
			known[id] = true
		}
		for _, a := range page.Find("main a").EachIter() {
			link := a.AttrOr("href", "")
			if strings.HasPrefix(link, "#") {
				link = address + link
			}
			links[link] = address
		}
		if got := page.Find("form[role=search]").AttrOr("action", ""); got != "/pay/docs/search" {
			t.Errorf("the search of %s is at %q, want /pay/docs/search", address, got)
		}
		if got, want := page.Find(".pages a[href^='/pay/docs']").Length(), listedPages(strings.TrimPrefix(address, "/pay/docs/"))+2; got != want {
			t.Errorf("%s lists %d pages, want %d", address, got, want)
		}
		if n := page.Find("script, style, [style]").Length(); n > 0 {
			t.Errorf("%s has %d script or style elements or style attributes", address, n)
		}
	}
	for link, address := range links {
		if !known[link] && !strings.HasPrefix(link, "/pay/openapi.") {
			t.Errorf("%s links to %s, which does not exist", address, link)
		}
	}
}

// listedPages returns the number of pages of the manual that the navigation lists on the page with a slug: those of a
// group only on the pages of the group.
func listedPages(slug string) (n int) {
	shown, _ := manual.Find(slug)
	for _, p := range manual.Pages() {
		if p.Parent == "" || p.Parent == slug || p.Parent == shown.Parent {
			n++
		}
	}
	return n
}

// The lead of the overview links to the API reference. Each section and article of the API reference keeps its fragment, because
// the reference had this address in earlier versions.
func TestManual_overview_lists_all_pages(t *testing.T) {
	t.Parallel()
	h := pages(t, newService(), belowPath)
	overview := docsPage(t, h, "/pay/docs")
	if got := overview.Find("h1").Text(); got != "Chequer manual" {
		t.Errorf("the heading is %q, want Chequer manual", got)
	}
	want := []string{}
	for _, p := range manual.Pages() {
		if p.Parent == "" {
			want = append(want, "/pay/docs/"+p.Slug)
		}
	}
	got := overview.Find(".topics a").Map(func(_ int, s *goquery.Selection) string { return s.AttrOr("href", "") })
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("pages (-want +got):\n%s", diff)
	}
	if overview.Find(`.lead a[href="/pay/docs/api"]`).Length() != 1 {
		t.Error("the lead of the overview has no link to the API reference")
	}
	for _, n := range docsPage(t, h, "/pay/docs/api").Find("section[id],article[id]").EachIter() {
		id := n.AttrOr("id", "")
		if overview.Find("#"+id+` > a[href="/pay/docs/api#`+id+`"]`).Length() != 1 {
			t.Errorf("the overview has no link with the id %s", id)
		}
	}
}

func TestManual_page_has_navigation(t *testing.T) {
	t.Parallel()
	page := docsPage(t, pages(t, newService(), documented), "/docs/webhooks")
	for selector, want := range map[string]string{
		"h1":                                     "Webhooks",
		".pages > ul > li > [aria-current=page]": "Webhooks",
		".turn [rel=prev]":                       "← The payment page",
		".turn [rel=next]":                       "Testing →",
		"title":                                  "Webhooks – Chequer manual",
	} {
		if got := page.Find(selector).Text(); got != want {
			t.Errorf("%s is %q, want %q", selector, got, want)
		}
	}
	if page.Find(`.pages ul ul a[href="#ship-once"]`).Length() != 1 || page.Find(`h2#ship-once a[href="#ship-once"]`).Length() != 1 {
		t.Error("the section Ship once has no link")
	}
	if got := page.Find("td[data-label]").Length(); got > 0 {
		t.Errorf("%d cells of tables with two columns repeat the heading", got)
	}
	settings := docsPage(t, pages(t, newService(), documented), "/docs/configuration")
	if got := settings.Find("td[data-label=default]").Length(); got < 40 {
		t.Errorf("%d settings have the heading of the default beside it", got)
	}
}

func TestManual_answers_404_for_an_unknown_page(t *testing.T) {
	t.Parallel()
	for address, config := range map[string]func(*web.Config){
		"/docs/nothing": documented, "/docs/start/": documented, "/docs/..%2fstart": documented,
		"/docs/start": nil, "/docs/search?q=wallet": nil, // this service shows no documentation
	} {
		if got := get(t, pages(t, newService(), config), address).StatusCode; got != http.StatusNotFound {
			t.Errorf("%s answers %d, want 404", address, got)
		}
	}
}

func TestManual_search_finds_sections(t *testing.T) {
	t.Parallel()
	h := pages(t, newService(), belowPath)
	search := func(query string) *goquery.Document {
		t.Helper()
		return docsPage(t, h, "/pay/docs/search?q="+url.QueryEscape(query))
	}
	page := search(" Idempotency-KEY ")
	if got := page.Find(".hits a").First().AttrOr("href", ""); !strings.HasPrefix(got, "/pay/docs") {
		t.Errorf("the first hit is at %q, want a page below /pay/docs", got)
	}
	if page.Find(`.hits a[href="/pay/docs/accept-payments#create-an-invoice"]`).Length() != 1 || page.Find(`.hits a[href="/pay/docs/api#createInvoice"]`).Length() != 1 {
		t.Error("the search does not find the manual and the API reference")
	}
	if got := page.Find(".hits mark").First().Text(); !strings.EqualFold(got, "Idempotency-Key") {
		t.Errorf("the first word marked is %q, want Idempotency-Key", got)
	}
	if got := page.Find("#find").AttrOr("value", ""); got != "Idempotency-KEY" {
		t.Errorf("the form has %q, want Idempotency-KEY", got)
	}
	for query, want := range map[string]string{
		"": "Enter one or more words.", "xyzzy": "No section has all of these words.",
		`"><script>alert(1)</script>`: "No section has all of these words.",
		"the":                         "The best 30 sections that have these words:",
		"\xff":                        "Enter one or more words.",
		strings.Repeat("é ", 2000):    "No section has all of these words.",
	} {
		page := search(query)
		if got := strings.TrimSpace(page.Find("h1 + p").Text()); got != want {
			t.Errorf("%.30q: %q, want %q", query, got, want)
		}
		if page.Find("main script").Length() > 0 {
			t.Error("the query became a script")
		}
	}
}
