package web_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"

	"chequer/internal/api"
	"chequer/internal/client"
	"chequer/web/present/presenttest"
)

func TestRefund_saves_an_address_or_names_its_fault(t *testing.T) {
	t.Parallel()
	const address = "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4"
	refuse := func(status int, code, message string) error {
		return &client.Error{Status: status, Code: code, Message: message}
	}
	for _, tt := range []struct {
		name, address      string
		refusal            error
		status             int
		words, keptAddress string
	}{
		{"saved", " " + address + "\n", nil, 303, "", ""},
		{"nothing typed", "  ", nil, 422, "Enter an address.", ""},
		{"mistyped", "bc1qx", refuse(400, "invalid_address", "address is not a valid address"), 422, "This is not a valid address.", "bc1qx"},
		{"another network", "tb1q", refuse(400, "invalid_address", "address is for another network: addresses here begin with bc1"), 422, "This is for another network: addresses here begin with bc1.", "tb1q"},
		{"a private key is not shown again", "L1aW", refuse(400, "private_key", "address is a private key"), 422, "This is a private key.", ""},
		{"markup", `"><script>`, refuse(400, "invalid_address", "address is not a valid address"), 422, "This is not a valid address.", `"><script>`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newService(presenttest.Overpaid())
			s.refusal = tt.refusal
			response := post(t, pages(t, s, nil), "/invoice/abc/refund", url.Values{"currency": {"BTC"}, "address": {tt.address}}, nil)
			if response.StatusCode != tt.status {
				t.Fatalf("status %d, want %d", response.StatusCode, tt.status)
			}
			if tt.status == 303 {
				if got := response.Header.Get("Location"); got != "/invoice/abc#refund" || s.refunds[0] != (api.RefundRequest{Currency: "BTC", Address: address}) {
					t.Errorf("led to %s with %v, want the invoice with the entered address", got, s.refunds)
				}
				return
			}
			doc := document(t, response)
			if got := doc.Find("#refund-error").Text(); got != "Error: "+tt.words {
				t.Errorf("the field says %q, want %q", got, tt.words)
			}
			if got := doc.Find(`.note.bad[role=alert] a[href="#refund-address"]`).Text(); got != tt.words {
				t.Errorf("the summary says %q", got)
			}
			if got := doc.Find("#refund-address").AttrOr("value", "?"); got != tt.keptAddress {
				t.Errorf("the field contains %q, want %q", got, tt.keptAddress)
			}
			if got := doc.Find("title").First().Text(); !strings.HasPrefix(got, "Error: ") {
				t.Errorf("title %q", got)
			}
		})
	}
}

func TestSaved_refund_address_is_shown(t *testing.T) {
	t.Parallel()
	r := presenttest.Overpaid()
	r.RefundCurrency, r.RefundAddress = "BTC", "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4"
	s := newService(r)
	s.refusal = &client.Error{Status: 409, Code: "refund_address_set", Message: "A refund address is set already, and only the merchant can change it"}
	h := pages(t, s, nil)
	doc := document(t, get(t, h, "/invoice/abc"))
	if got := doc.Find("#refund .addr").Text(); got != r.RefundAddress || doc.Find("form#refund").Length() != 0 {
		t.Errorf("shows %q", got)
	}
	doc = document(t, post(t, h, "/invoice/abc/refund", url.Values{"currency": {"BTC"}, "address": {"bc1qother"}}, nil))
	if got := doc.Find(`.note[role=alert]`).Text(); !strings.Contains(got, "set already") {
		t.Errorf("setting a second address: %q", got)
	}
}

// On a page in the frame of a shop plug-in, every address of the page and of its forms keeps the view, and so do the redirects.
func TestPaymentPage_keeps_the_view_in_a_frame(t *testing.T) {
	t.Parallel()
	for name, r := range map[string]api.Resource{"open": presenttest.Invoice("abc"), "overpaid": presenttest.Overpaid(), "requotable": presenttest.Requotable(nil)} {
		h := pages(t, newService(r), nil)
		addresses := func(query string) (own int, kept int) {
			doc := document(t, get(t, h, "/invoice/abc"+query))
			doc.Find("[href], [action], [data-self], [data-stream]").Each(func(_ int, e *goquery.Selection) {
				for _, attribute := range []string{"href", "action", "data-self", "data-stream"} {
					address, found := e.Attr(attribute)
					isFile := strings.Contains(address, "/proof") || strings.Contains(address, "/receipt")
					if !found || isFile || !strings.HasPrefix(address, "/invoice/abc") && !strings.HasPrefix(address, "?") {
						continue
					}
					if own++; strings.Contains(address, "view=modal") {
						kept++
					} else if query != "" {
						t.Errorf("%s: %s=%q does not keep the view", name, attribute, address)
					}
				}
			})
			return own, kept
		}
		if own, kept := addresses(""); own == 0 || kept > 0 {
			t.Errorf("%s: %d of %d addresses of a page without the view have it", name, kept, own)
		}
		if own, kept := addresses("?view=modal"); own == 0 || kept != own {
			t.Errorf("%s: %d of %d addresses keep the view", name, kept, own)
		}
	}
	h := pages(t, newService(presenttest.Overpaid()), nil)
	for target, form := range map[string]url.Values{
		"/invoice/abc/refund": {"currency": {"BTC"}, "address": {"bc1q"}}, "/invoice/abc/quote": {"quote": {"1"}}, "/invoice/abc/simulate": {"action": {"exact"}},
	} {
		got := post(t, h, target+"?view=modal&lang=de", form, nil)
		if to, err := got.Location(); err != nil || to.Query().Get("view") != "modal" || to.Query().Get("lang") != "de" || to.Path != "/invoice/abc" {
			t.Errorf("POST %s: %d to %q, error %v, want the page with the view", target, got.StatusCode, to, err)
		}
		if got := post(t, h, target, form, nil).Header.Get("Location"); strings.Contains(got, "view") {
			t.Errorf("POST %s without the view leads to %q", target, got)
		}
	}
	refused := document(t, post(t, h, "/invoice/abc/refund?view=modal", url.Values{"currency": {"BTC"}, "address": {""}}, nil))
	if got := refused.Find("form#refund").AttrOr("action", ""); got != "/invoice/abc/refund?view=modal" {
		t.Errorf("the refused form posts to %q", got)
	}
}
