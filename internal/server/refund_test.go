package server_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"chequer/internal/api"
)

// newLateFixture returns a fixture with an expired invoice whose price was paid after the expiry.
func newLateFixture(t *testing.T) *fixture {
	t.Helper()
	now := noon
	f := newFixture(t, func() time.Time { return now })
	f.create(t, "all", `{"amount":40,"fiat_currency":"EUR","payment_methods":["BTC"],"order_id":"1042"}`)
	now = noon.Add(time.Hour)
	f.expire(t)
	for _, action := range []string{"exact", "confirm"} {
		if got := f.send(message{method: "POST", target: testTarget + "/simulate", key: "page", signRequest: true, body: `{"action":"` + action + `"}`}); got.StatusCode != 200 {
			t.Fatalf("%s: %s", action, read(t, got))
		}
	}
	return f
}

// decide posts an action on the invoice and returns the changed invoice.
func (f *fixture) decide(t *testing.T, action, key, body string) (r api.Resource) {
	t.Helper()
	got := f.send(invoiceAction(action, key, body))
	text := read(t, got)
	if got.StatusCode != 200 {
		t.Fatalf("%s: answer %d: %s", action, got.StatusCode, text)
	}
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		t.Fatal(err)
	}
	return r
}

const (
	refundReceivedBody = `{"kind":"received","currency":"BTC"}`
	refundAddressBody  = `{"currency":"BTC","address":"TB1QW508D6QEJXTDG4Y5R3ZARVARY0C5XW7KXPJZSX"}`
	walletAddress      = "tb1qw508d6qejxtdg4y5r3zarvary0c5xw7kxpjzsx"
)

func TestRefunds_by_the_API(t *testing.T) {
	t.Parallel()
	f := newLateFixture(t)
	asked := f.decide(t, "refunds", "admin", refundReceivedBody)
	if r := asked.Refunds[0]; len(asked.Refunds) != 1 || r.State != "asked" || r.Address != "" || r.PaymentURI != "" || r.FiatAmount != "40" {
		t.Errorf("without an address: %+v", asked.Refunds)
	}
	checkRefused(t, f.send(invoiceAction("refunds", "admin", refundReceivedBody)), 409, "over_refund")
	byShopper := f.decide(t, "refund-address", "page", refundAddressBody)
	r := byShopper.Refunds[0]
	if r.State != "ready" || r.Address != walletAddress || r.PaymentURI != "" || r.AskedBy != "" || r.AddressBy != "" {
		t.Errorf("as the page sees it: %+v", r)
	}
	var list api.RefundList
	got := f.send(message{method: "GET", target: invoiceTarget + "/refunds", key: "read", signRequest: true})
	if err := json.Unmarshal([]byte(read(t, got)), &list); err != nil || got.StatusCode != 200 {
		t.Fatal(got.StatusCode, err)
	}
	if refund := list.Refunds[0]; refund.PaymentURI != "bitcoin:"+walletAddress+"?amount="+refund.Amount+"&label=Refund%201042" || refund.AddressBy != "shopper" || refund.AskedBy == "" {
		t.Errorf("as the merchant sees it: %+v", refund)
	}
	path := "refunds/" + r.ID
	checkRefused(t, f.send(invoiceAction(path+"/sent", "admin", `{"tx":"8f3c"}`)), 400, "invalid_tx")
	checkRefused(t, f.send(invoiceAction(path+"/sent", "admin", `{"tx":"`+byShopper.Payments[0].Tx+`"}`)), 400, "invalid_tx")
	checkRefused(t, f.send(invoiceAction("refunds/ref_0/sent", "admin", `{"tx":"`+strings.Repeat("8f", 32)+`"}`)), 404, "refund_not_found")
	checkRefused(t, f.send(invoiceAction(path+"/cancel", "admin", `{"version":1}`)), 409, "invoice_changed")
	checkRefused(t, f.send(invoiceAction(path+"/renew", "admin", `{}`)), 409, "wrong_state")
	sent := f.decide(t, path+"/sent", "admin", `{"tx":"`+strings.Repeat("8F", 32)+`"}`)
	if r := sent.Refunds[0]; r.State != "sent" || r.Tx != strings.Repeat("8f", 32) || r.SentAt == "" {
		t.Errorf("sent: %+v", r)
	}
	if rows := f.summaries(t, "needs_decision=true"); len(rows) != 0 {
		t.Errorf("%d invoices wait for a decision", len(rows))
	}
}

func TestRefunds_refuse_bad_requests(t *testing.T) {
	t.Parallel()
	f := newLateFixture(t)
	for _, tt := range []struct {
		body   string
		status int
		code   string
	}{
		{`{"kind":"all","currency":"BTC"}`, 400, "invalid_kind"},
		{`{"currency":"BTC"}`, 400, "invalid_kind"},
		{`{"kind":"part","currency":"BTC"}`, 400, "invalid_kind"},
		{`{"kind":"part","currency":"BTC","amount":"0.0001","fiat_amount":"1"}`, 400, "invalid_kind"},
		{`{"kind":"received","currency":"BTC","amount":"0.0001"}`, 400, "invalid_kind"},
		{`{"kind":"received","currency":"LTC"}`, 400, "invalid_currency"},
		{`{"kind":"received","currency":"BTC","address":"` + walletAddress + `"}`, 400, "unknown_field"},
		{`{"kind":"part","currency":"BTC","amount":"0.000000001"}`, 400, "invalid_amount"},
		{`{"kind":"part","currency":"BTC","amount":"0.00000001"}`, 400, "invalid_amount"},
		{`{"kind":"part","currency":"BTC","amount":0.5e0}`, 409, "over_refund"},
		{`{"kind":"part","currency":"BTC","fiat_amount":"0.001"}`, 400, "invalid_fiat_amount"},
		{`{"kind":"surplus","currency":"BTC"}`, 409, "no_surplus"},
		{`{"kind":"received","currency":"BTC","version":1}`, 409, "invoice_changed"},
	} {
		got := f.send(invoiceAction("refunds", "admin", tt.body))
		if code := got.Header.Get(api.HeaderErrorCode); got.StatusCode != tt.status || code != tt.code {
			t.Errorf("%s: %d %s: %s", tt.body, got.StatusCode, code, read(t, got))
		}
	}
	checkRefused(t, f.send(invoiceAction("decline-refund", "admin", `{}`)), 409, "wrong_state")
	checkRefused(t, f.send(invoiceAction("keep-surplus", "admin", `{}`)), 409, "no_surplus")
	checkRefused(t, f.send(invoiceAction("keep-surplus", "admin", `{"reason":"a\nb"}`)), 400, "invalid_reason")
	checkRefused(t, f.send(invoiceAction("release-surplus", "admin", `{}`)), 409, "wrong_state")
	part := `{"kind":"part","currency":"BTC","amount":"0.0001"}`
	f.decide(t, "refunds", "admin", part)
	checkRefused(t, f.send(invoiceAction("refunds", "admin", part)), 409, "refund_exists")
	if got := f.decide(t, "refunds", "admin", strings.Replace(part, "}", `,"again":true}`, 1)); len(got.Refunds) != 2 {
		t.Errorf("%d refunds, want 2", len(got.Refunds))
	}
}

func TestRefunds_enforce_scopes(t *testing.T) {
	t.Parallel()
	f := newLateFixture(t)
	for _, action := range []string{"refunds", "refunds/ref_1/sent", "refunds/ref_1/cancel", "refunds/ref_1/renew", "decline-refund", "keep-surplus", "release-surplus"} {
		body := map[string]string{"refunds": refundReceivedBody, "refunds/ref_1/sent": `{"tx":"8f"}`}[action]
		if body == "" {
			body = `{}`
		}
		for key, want := range map[string]int{"page": 403, "create": 403, "read": 403, "other": 404, "liveread": 404} {
			if got := f.send(invoiceAction(action, key, body)); got.StatusCode != want {
				t.Errorf("%s by %s: %d, want %d: %s", action, key, got.StatusCode, want, read(t, got))
			}
		}
	}
	for key, want := range map[string]int{"read": 200, "page": 403, "create": 403, "other": 404, "liveread": 404} {
		if got := f.send(message{method: "GET", target: invoiceTarget + "/refunds", key: key, signRequest: true}); got.StatusCode != want {
			t.Errorf("list by %s: %d, want %d", key, got.StatusCode, want)
		}
	}
}

func TestRefunds_are_declined_and_surpluses_kept(t *testing.T) {
	t.Parallel()
	f := newLateFixture(t)
	f.decide(t, "refund-address", "page", refundAddressBody)
	got := f.decide(t, "decline-refund", "admin", `{"reason":"the goods were not returned"}`)
	if r := got.Refunds[0]; r.State != "declined" || r.Reason != "the goods were not returned" || r.ClosedBy == "" {
		t.Errorf("declined: %+v", r)
	}
	var seen api.Resource
	page := f.send(message{method: "GET", target: invoiceTarget, key: "page", signRequest: true})
	if err := json.Unmarshal([]byte(read(t, page)), &seen); err != nil || seen.Refunds[0].Reason != "" || seen.Refunds[0].ClosedBy != "" || seen.Refunds[0].State != "declined" {
		t.Errorf("as the page sees it: %+v, %v", seen.Refunds, err)
	}

	over := newFixture(t, nil)
	over.create(t, "all", `{"amount":40,"fiat_currency":"EUR","payment_methods":["BTC"]}`)
	for _, action := range []string{"over", "confirm"} {
		over.send(message{method: "POST", target: testTarget + "/simulate", key: "page", signRequest: true, body: `{"action":"` + action + `"}`})
	}
	kept := over.decide(t, "keep-surplus", "admin", `{"reason":"a tip"}`)
	if k := kept.KeptSurplus; k.Amount != "4" || k.Reason != "a tip" || k.At == "" || k.Actor == "" {
		t.Errorf("kept: %+v", k)
	}
	if k := over.decide(t, "release-surplus", "admin", `{}`).KeptSurplus; k != (api.KeptSurplus{Amount: "0"}) {
		t.Errorf("taken back: %+v", k)
	}
	if r := over.decide(t, "refunds", "admin", `{"kind":"surplus","currency":"BTC"}`).Refunds; len(r) != 1 || r[0].FiatAmount != "4" {
		t.Errorf("the surplus: %+v", r)
	}
}
