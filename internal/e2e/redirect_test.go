package e2e_test

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"chequer/internal/app"
)

// foreignTargets are request targets that a careless redirect would turn into another host.
var foreignTargets = []string{
	"/%5Cevil.example", "//evil.example", "///evil.example", "//evil.example/%2f..", "/%5C%5Cevil.example", "/%2f%2fevil.example",
	"/static//evil.example%2f..", "/static/..//evil.example", "/invoice//evil.example", "/invoice/%2f%2fevil.example/simulate",
	"/invoice/..%2f..%2f/evil.example", "/api//evil.example", "/api/%5Cevil.example", "//api//v2//evil.example", "/v2//evil.example",
	"/login?next=//evil.example", "/?next=//evil.example", "http://evil.example/", "/.//evil.example", "/%09/evil.example",
}

// TestNo_redirect_leaves_the_host sends raw targets over a socket. No response may redirect to another
// host.
func TestNo_redirect_leaves_the_host(t *testing.T) {
	t.Parallel()
	for _, base := range []string{"", "/pay"} {
		t.Run("base_path"+base, func(t *testing.T) {
			t.Parallel()
			c := settings(t)
			c.BaseURL = "http://" + c.Listen + base
			p := start(t, c, app.Options{Demo: true})
			for _, target := range foreignTargets {
				targets := []string{target, strings.TrimSuffix(target, "/") + "/"}
				if base != "" && strings.HasPrefix(target, "/") {
					targets = append(targets, base+target, base+target+"/")
				}
				for _, target := range targets {
					for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPost} {
						checkSameHost(t, p, method, target)
					}
				}
			}
		})
	}
}

// checkSameHost fails if the response to a raw request redirects to another host.
func checkSameHost(t *testing.T, p *program, method, target string) {
	t.Helper()
	host := strings.TrimPrefix(p.url, "http://")
	response := sendRaw(t, host, method, target, "amount=12.50&action=exact")
	location := response.Header.Get("Location")
	if response.StatusCode >= 500 {
		t.Errorf("%s %s: status %d, want one below 500", method, target, response.StatusCode)
	}
	if location == "" {
		if response.StatusCode/100 == 3 {
			t.Errorf("%s %s: status %d without a location", method, target, response.StatusCode)
		}
		return
	}
	// Browsers treat a backslash as a slash, and remove tabs and line ends.
	read := strings.NewReplacer(`\`, "/", "\t", "", "\n", "", "\r", "").Replace(location)
	to, err := url.Parse(read)
	if err != nil || to.Host != "" && to.Host != host || strings.HasPrefix(read, "//") {
		t.Errorf("%s %s leads to %s", method, target, location)
	}
}

// sendRaw sends a request with the target unchanged, and returns the response without its body.
func sendRaw(t *testing.T, host, method, target, body string) *http.Response {
	t.Helper()
	conn, err := net.DialTimeout("tcp", host, waitTimeout)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(waitTimeout)); err != nil {
		t.Fatal(err)
	}
	if method != http.MethodPost {
		body = ""
	}
	_, err = fmt.Fprintf(conn, "%s %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n"+
		"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: %d\r\n\r\n%s", method, target, host, len(body), body)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: method})
	if err != nil {
		t.Fatalf("%s %s: %v", method, target, err)
	}
	response.Body.Close()
	return response
}
