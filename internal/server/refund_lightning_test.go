package server_test

import (
	"encoding/hex"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"chequer/internal/api"
	"chequer/internal/chain/lightning/lightningtest"
)

// The refund of a Lightning payment by the API: to the shopper's payment request, while it lasts.
func TestRefunds_of_a_Lightning_payment(t *testing.T) {
	t.Parallel()
	now := noon
	f, l := newLightningFixture(t, func() time.Time { return now })
	id := f.create(t, "all", `{"amount":40,"fiat_currency":"EUR","payment_methods":["BTC-LN"],"order_id":"1042"}`)
	l.settle(t, "0.0005")
	act := func(action, key, body string) *http.Response {
		return f.send(message{method: "POST", target: "/api/v2/invoices/" + id + "/" + action, key: key, signRequest: true, body: body})
	}
	var asked api.Resource
	decode(t, read(t, act("refunds", "admin", `{"kind":"received","currency":"BTC-LN"}`)), &asked)
	amount := asked.Refunds[0].Amount
	wallet := lightningtest.NewWallet(t, f.now)
	give := func(address string) *http.Response {
		body, err := json.Marshal(api.RefundRequest{Currency: "BTC-LN", Address: address})
		if err != nil {
			t.Fatal(err)
		}
		return act("refund-address", "page", string(body))
	}
	for address, want := range map[string]string{
		wallet.Make(1_000, "", nil, time.Hour).Text: "the payment request asks for another amount than the " + amount + " BTC of the refund",
		"my wallet": "want a Lightning address (name@example.com), a payment request (lnbcrt…) or a Bitcoin address",
	} {
		got := give(address)
		if text := read(t, got); got.StatusCode != 400 || !strings.Contains(text, want) {
			t.Errorf("%s: answer %d: %s", address, got.StatusCode, text)
		}
	}
	to := wallet.Make(0, "", nil, time.Hour)
	if got := give("LIGHTNING:" + strings.ToUpper(to.Text)); got.StatusCode != 200 {
		t.Fatalf("answer %d: %s", got.StatusCode, read(t, got))
	}
	resource := func(tag string) (int, string, api.Refund) {
		got := f.send(message{method: "GET", target: "/api/v2/invoices/" + id, key: "read", signRequest: true, header: http.Header{"If-None-Match": {tag}}})
		var r api.Resource
		if got.StatusCode == http.StatusOK {
			decode(t, read(t, got), &r)
			return got.StatusCode, got.Header.Get("ETag"), r.Refunds[0]
		}
		return got.StatusCode, tag, api.Refund{}
	}
	_, tag, r := resource("")
	if r.State != "ready" || r.Address != to.Text || r.PaymentURI != "lightning:"+to.Text || r.NetworkName != "Lightning" {
		t.Errorf("ready: %+v", r)
	}
	now = now.Add(time.Hour)
	if status, _, r := resource(tag); status != http.StatusOK || r.PaymentURI != "" {
		t.Errorf("after the end of the payment request: answer %d, %+v", status, r)
	}
	path := "refunds/" + r.ID + "/sent"
	for _, tx := range []string{strings.Repeat("8f", 32), "8f3c"} {
		got := act(path, "admin", `{"tx":"`+tx+`"}`)
		if text := read(t, got); got.StatusCode != 400 || !strings.Contains(text, "neither the payment hash nor the preimage of the refund") {
			t.Errorf("sent with %s: answer %d: %s", tx, got.StatusCode, text)
		}
	}
	var sent api.Resource
	decode(t, read(t, act(path, "admin", `{"tx":"`+hex.EncodeToString(to.Preimage)+`"}`)), &sent)
	if r := sent.Refunds[0]; r.State != "sent" || r.Tx != to.Hash {
		t.Errorf("sent: %+v, want the payment hash %s", r, to.Hash)
	}
}
