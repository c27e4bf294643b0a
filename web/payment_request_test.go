package web_test

import (
	"net/url"
	"strings"
	"testing"

	"chequer/internal/api"
	"chequer/internal/client"
	"chequer/web/present/presenttest"
)

func TestRequestPayment_redirects_to_the_page(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		refusal error
		status  int
		to      string
		text    string
	}{
		{"success", nil, 303, "/invoice/abc?m=BTC-LN", ""},
		{"the wallet is away", &client.Error{Status: 503, Code: "no_payment_request"}, 303, "/invoice/abc?m=BTC-LN&request_refused=no_payment_request", "Lightning does not answer now. Pay another way, or try again."},
		{"the wallet refuses the amount", &client.Error{Status: 409, Code: "payment_request_amount"}, 303, "/invoice/abc?m=BTC-LN&request_refused=payment_request_amount", "This amount cannot be paid over Lightning. Pay another way."},
		{"too many", &client.Error{Status: 429, Code: "too_many_payment_requests"}, 303, "/invoice/abc?m=BTC-LN&request_refused=too_many_payment_requests", "try again in an hour"},
		{"one is being made", &client.Error{Status: 409, Code: "payment_request_running"}, 303, "/invoice/abc?m=BTC-LN&request_refused=payment_request_running", "Look again in a few seconds"},
		{"no database", &client.Error{Status: 503, Code: "unavailable"}, 303, "/invoice/abc?m=BTC-LN&request_refused=unavailable", "Lightning does not answer now"},
		{"wrong state", &client.Error{Status: 409, Code: "wrong_state"}, 303, "/invoice/abc?m=BTC-LN&request_refused=changed", "does not fit any more"},
		{"too many calls", &client.Error{Status: 429, Code: "too_many_requests"}, 429, "", ""},
		{"a service without requests", client.ErrUnsupported, 404, "", ""},
	} {
		s := newService(presenttest.Lightning(presenttest.Unrequested))
		s.refusal = tt.refusal
		h := pages(t, s, nil)
		response := post(t, h, "/invoice/abc/request", url.Values{"m": {"BTC-LN"}}, nil)
		if got := response.Header.Get("Location"); response.StatusCode != tt.status || got != tt.to {
			t.Errorf("%s: %d to %q, want %d to %q", tt.name, response.StatusCode, got, tt.status, tt.to)
		}
		if tt.text != "" && !strings.Contains(document(t, get(t, h, tt.to)).Find(`.note[role=alert]`).Text(), tt.text) {
			t.Errorf("%s: the page does not say %q", tt.name, tt.text)
		}
		if len(s.asked) != 1 || s.asked[0] != (api.NewPaymentRequest{PaymentMethod: "BTC-LN"}) {
			t.Errorf("%s: asked for %v", tt.name, s.asked)
		}
		s.set(presenttest.Lightning(nil)) // the request was made meanwhile
		if tt.text != "" && document(t, get(t, h, tt.to)).Find(`.note[role=alert]`).Length() != 0 && !strings.Contains(tt.to, "changed") {
			t.Errorf("%s: the page with a request still says why there is none", tt.name)
		}
	}
	h := pages(t, newService(presenttest.Lightning(nil)), nil)
	if got := get(t, h, "/invoice/abc/request"); got.StatusCode != 303 || got.Header.Get("Location") != "/invoice/abc" {
		t.Errorf("GET: %d to %q", got.StatusCode, got.Header.Get("Location"))
	}
}
