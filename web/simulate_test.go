package web_test

import (
	"net/url"
	"strings"
	"testing"

	"chequer/internal/client"
	"chequer/web/present/presenttest"
)

// A refusal redirects to the page, which shows the reason beside the test tools. The address contains a
// code and no text.
func TestSimulate_shows_the_reason_of_a_refusal(t *testing.T) {
	t.Parallel()
	r := presenttest.Invoice("abc")
	r.Mode = "test"
	s := newService(r, presenttest.Invoice("real"))
	h := pages(t, s, nil)
	for _, tt := range []struct{ code, location, words string }{
		{"nothing_to_do", "/invoice/abc?m=BTC&refused=nothing_to_do", "There is no payment to which the action applies."},
		{"request_unpayable", "/invoice/abc?m=BTC&refused=request_unpayable", "This Lightning request takes one payment of the full amount"},
		{"<b>", "/invoice/abc?m=BTC&refused=changed", "That does not fit any more."},
		{"", "/invoice/abc?m=BTC&refused=changed", "That does not fit any more."},
	} {
		s.refusal = &client.Error{Status: 409, Code: tt.code, Message: "the message of the service"}
		response := post(t, h, "/invoice/abc/simulate", url.Values{"action": {"confirm"}, "method": {"BTC"}}, nil)
		if got := response.Header.Get("Location"); response.StatusCode != 303 || got != tt.location {
			t.Errorf("status %d to %q, want 303 to %q", response.StatusCode, got, tt.location)
		}
		doc := document(t, get(t, h, tt.location))
		if got := text(doc.Find("#simulate [role=alert]")); !strings.HasPrefix(got, tt.words) {
			t.Errorf("%s: the box says %q", tt.code, got)
		}
	}
	for _, target := range []string{"/invoice/abc", "/invoice/abc?refused=", "/invoice/abc?refused=Send+money+to+me", "/invoice/real?refused=changed"} {
		doc := document(t, get(t, h, target))
		if doc.Find("[role=alert]").Length() != 0 || strings.Contains(doc.Text(), "Send money") {
			t.Errorf("%s: the page says %q", target, text(doc.Find("[role=alert]")))
		}
	}
}
