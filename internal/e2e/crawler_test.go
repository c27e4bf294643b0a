package e2e_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"
)

// crawler visits a program's pages by its public address, as through a proxy that terminates TLS.
type crawler struct {
	t    *testing.T
	base *url.URL
	http *http.Client
	seen map[string]bool // paths with their queries
}

func newCrawler(t *testing.T, base, program string) *crawler {
	t.Helper()
	u, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, strings.TrimPrefix(program, "http://"))
	}}
	t.Cleanup(transport.CloseIdleConnections)
	return &crawler{t: t, base: u, seen: map[string]bool{}, http: &http.Client{
		Transport: transport, Timeout: waitTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// path returns the public path of a path of the program.
func (c *crawler) path(programPath string) string { return c.base.Path + programPath }

// target returns the address that the proxy requests from the program.
func (c *crawler) target(path string) string { return "http://" + c.base.Host + path }

// send sends a request as a browser does from one of the program's pages.
func (c *crawler) send(method, path string, form url.Values) *http.Response {
	c.t.Helper()
	r, err := http.NewRequestWithContext(c.t.Context(), method, c.target(path), strings.NewReader(form.Encode()))
	if err != nil {
		c.t.Fatal(err)
	}
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Origin", "null") // the program's pages send no referrer
		if c.base.Scheme == "https" {
			r.Header.Set("Sec-Fetch-Site", "same-origin")
		}
	}
	response, err := c.http.Do(r)
	if err != nil {
		c.t.Fatal(err)
	}
	return response
}

// visit reads a page, checks its status, and visits all its links.
func (c *crawler) visit(path string, status int) {
	c.t.Helper()
	if c.seen[path] {
		return
	}
	c.seen[path] = true
	response := c.send(http.MethodGet, path, nil)
	if response.StatusCode != status {
		c.t.Errorf("%s has status %d, want %d", path, response.StatusCode, status)
	}
	c.examine(path, response)
}

// post sends a form, follows the redirect, and examines the response.
func (c *crawler) post(path string, form url.Values) (location string) {
	c.t.Helper()
	response := c.send(http.MethodPost, path, form)
	location = response.Header.Get("Location")
	if response.StatusCode == http.StatusSeeOther {
		c.checkLink("POST "+path, location)
		delete(c.seen, location) // the form has changed the page
		c.visit(location, http.StatusOK)
	}
	c.examine("POST "+path, response)
	return location
}

// createInvoice sends the storefront's form and returns the path of the invoice's page.
func (c *crawler) createInvoice(amount, token string) (page string) {
	c.t.Helper()
	storefront := c.send(http.MethodGet, c.path("/"), nil)
	defer storefront.Body.Close()
	form, err := goquery.NewDocumentFromReader(storefront.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	action := form.Find("form").AttrOr("action", "")
	return c.post(action, url.Values{"amount": {amount}, "token": {strings.Repeat(token, 20)}})
}

// simulate presses a button of the test tools.
func (c *crawler) simulate(page, action string) {
	c.t.Helper()
	c.post(page+"/simulate", url.Values{"action": {action}})
}

// linkAttributes are the attributes that contain an address for the browser or a script.
var linkAttributes = []string{"href", "src", "action", "formaction", "data-self", "data-stream"}

// examine reads a response, checks its links and visits them.
func (c *crawler) examine(where string, response *http.Response) {
	c.t.Helper()
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	text, header := string(body), response.Header
	if c.base.Scheme == "http" && (strings.Contains(text, "https:") || header.Get("Strict-Transport-Security") != "" ||
		strings.Contains(header.Get("Content-Security-Policy"), "upgrade-insecure-requests")) {
		c.t.Errorf("%s forces https", where)
	}
	if refresh := header.Get("Refresh"); strings.Contains(refresh, "=") {
		c.t.Errorf("%s redirects by Refresh: %s", where, refresh)
	}
	if strings.Contains(text, "url(/") || strings.Contains(text, "@import") {
		c.t.Errorf("%s loads something by a fixed path", where)
	}
	if !strings.HasPrefix(header.Get("Content-Type"), "text/html") {
		return
	}
	page, err := goquery.NewDocumentFromReader(strings.NewReader(text))
	if err != nil {
		c.t.Fatal(err)
	}
	for _, name := range linkAttributes {
		for _, element := range page.Find("[" + name + "]").EachIter() {
			c.follow(where, element, name)
		}
	}
}

// follow checks a link, and visits it if it is a page or an asset.
func (c *crawler) follow(where string, element *goquery.Selection, name string) {
	c.t.Helper()
	link := element.AttrOr(name, "")
	if c.checkLink(where, link) && slices.Contains([]string{"href", "src", "data-self"}, name) {
		link, _, _ = strings.Cut(link, "#")
		c.visit(link, http.StatusOK)
	}
}

// checkLink fails if a link is not below the public address. It reports whether the link is a path of the
// program.
func (c *crawler) checkLink(where, link string) bool {
	c.t.Helper()
	u, err := url.Parse(link)
	switch {
	case err != nil:
		c.t.Errorf("%s links to %q: %v", where, link, err)
		return false
	case strings.HasPrefix(link, "?") && strings.HasSuffix(link, "lang="): // the choice of a language for this page
		return false
	case strings.HasPrefix(link, "#"), slices.Contains([]string{"bitcoin", "lightning", "litecoin", "ethereum", "monero"}, u.Scheme):
		return false
	case u.Scheme != "" || u.Host != "" || !strings.HasPrefix(link, c.path("/")):
		c.t.Errorf("%s links to %q, which is not below %q", where, link, c.path("/"))
		return false
	}
	return true
}
