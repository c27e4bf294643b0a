package web_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"chequer/internal/client"
	"chequer/web"
	"chequer/web/present/presenttest"
)

func TestRequote_redirects_to_the_page(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		form    url.Values
		refusal error
		status  int
		to      string
		text    string
	}{
		{"success", url.Values{"quote": {"2"}}, nil, 303, "/invoice/abc", ""},
		{"keeps the method", url.Values{"quote": {"2"}, "m": {"EURC-BASE"}}, nil, 303, "/invoice/abc?m=EURC-BASE", ""},
		{"no rate", url.Values{"quote": {"2"}}, &client.Error{Status: 503, Code: "no_rate"}, 303, "/invoice/abc?requote_refused=no_rate", "no price at the moment"},
		{"no database", url.Values{"quote": {"2"}}, &client.Error{Status: 503, Code: "unavailable"}, 303, "/invoice/abc?requote_refused=unavailable", "What you have paid is not lost"},
		{"interrupted", url.Values{"quote": {"2"}}, &client.Error{Status: 503, Code: "interrupted"}, 303, "/invoice/abc?requote_refused=unavailable", "What you have paid is not lost"},
		{"too little", url.Values{"quote": {"2"}}, &client.Error{Status: 409, Code: "too_little_due"}, 303, "/invoice/abc?requote_refused=too_little_due", "less than the networks carry"},
		{"wrong state", url.Values{"quote": {"2"}}, &client.Error{Status: 409, Code: "wrong_state"}, 303, "/invoice/abc?requote_refused=changed", "does not fit any more"},
		{"an invalid form", url.Values{"quote": {"x"}}, nil, 422, "", ""},
		{"a service without requotes", url.Values{"quote": {"2"}}, client.ErrUnsupported, 404, "", ""},
		{"the key of the pages is refused", url.Values{"quote": {"2"}}, &client.Error{Status: 403}, 500, "", ""},
	} {
		s := newService(presenttest.Requotable(nil))
		s.refusal = tt.refusal
		h := pages(t, s, nil)
		response := post(t, h, "/invoice/abc/quote", tt.form, nil)
		if got := response.Header.Get("Location"); response.StatusCode != tt.status || got != tt.to {
			t.Errorf("%s: %d to %q, want %d to %q", tt.name, response.StatusCode, got, tt.status, tt.to)
		}
		if tt.text != "" && !strings.Contains(document(t, get(t, h, tt.to)).Find(`.note[role=alert]`).Text(), tt.text) {
			t.Errorf("%s: the page does not say %q", tt.name, tt.text)
		}
		if tt.status == 303 && (len(s.requoted) != 1 || s.requoted[0].Quote != 2) {
			t.Errorf("%s: requests for a quote %v", tt.name, s.requoted)
		}
	}
}

func TestRequote_and_refund_have_a_rate_limit(t *testing.T) {
	t.Parallel()
	h := pages(t, newService(presenttest.Requotable(nil)), func(c *web.Config) { c.PostsPerMinute = 1 })
	var last int
	for range 4 {
		last = post(t, h, "/invoice/abc/quote", url.Values{"quote": {"2"}}, nil).StatusCode
	}
	if last != http.StatusTooManyRequests {
		t.Errorf("the fourth request within a minute: status %d, want 429", last)
	}
	for _, target := range []string{"/invoice/abc/quote", "/invoice/abc/refund"} {
		if got := get(t, h, target); got.StatusCode != 303 || got.Header.Get("Location") != "/invoice/abc" {
			t.Errorf("GET %s: %d", target, got.StatusCode)
		}
	}
	response := post(t, h, "/invoice/abc/refund", url.Values{}, map[string]string{"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"})
	if response.StatusCode != http.StatusForbidden {
		t.Errorf("from another site: %d", response.StatusCode)
	}
}
