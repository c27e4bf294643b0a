package desk_test

import (
	"encoding/hex"
	"net/http"
	"strings"
	"testing"
	"time"

	"chequer/internal/chain"
	"chequer/internal/chain/lightning/lightningtest"
	"chequer/internal/chain/simnet"
	"chequer/internal/invoice"
)

// sellLightning creates an invoice that can be paid over Lightning only.
func (s *testInvoices) sellLightning(order, amount string) *invoice.Invoice {
	s.fixture.t.Helper()
	wallets := s.wallets
	s.wallets = []invoice.Wallet{{Asset: chain.CodeLightning, Key: "simnet", Counter: "simnet"}}
	inv := s.sell(shop, order, amount)
	s.wallets = wallets
	return inv
}

// payRequest pays the payment request of an invoice, and returns its payment hash.
func (s *testInvoices) payRequest(inv *invoice.Invoice) string {
	s.fixture.t.Helper()
	r := s.reload(inv).PaymentRequests()[0]
	m, _ := inv.Method(simnet.ID, chain.CodeLightning)
	hash, err := s.net.Pay(s.fixture.t.Context(), m.Asset, r.Address, r.Amount)
	s.fixture.must(err)
	s.step()
	return hash
}

func TestRefund_of_a_Lightning_payment(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		b := f.owner()
		s := f.testInvoices
		t.Cleanup(s.Close)
		inv := s.sellLightning("1048", "80.00")
		hash := s.payRequest(inv)
		at := "/desk/shop/payments/" + inv.ID + "/refund"
		shopper := lightningtest.NewWallet(t, f.clock.Now)
		request := func(satoshis int64, life time.Duration) lightningtest.Invoice {
			return shopper.Make(satoshis*chain.MilliSatoshisPerSatoshi, "Refund", nil, life)
		}
		ask := b.get(at).want(http.StatusOK, "0.001 BTC, everything that is not refunded yet", "For a Lightning payment: a Lightning address (name@example.com), a payment request for this amount or for any, or a Bitcoin address.")
		form := append(ask.hidden(`form[action$="/refund"]`), "amount", "received:BTC-LN", "address")
		for address, want := range map[string]string{
			request(99_999, time.Hour).Text:              "This is not a valid address: the payment request asks for another amount than the 0.001 BTC of the refund.",
			"to the shopper":                             "want a Lightning address (name@example.com), a payment request (lnbcrt…) or a Bitcoin address",
			s.reload(inv).PaymentRequests()[0].Address:   "This is a payment address of an invoice.",
			"bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4": "This is for another network",
		} {
			b.send(at, append(form, address)...).want(http.StatusUnprocessableEntity, want)
		}
		to := request(100_000, time.Hour)
		b.send(at, append(form, "lightning:"+to.Text)...).wantRedirect(at + "?done=refund-ready")
		ready := b.get(at).want(http.StatusOK, "Address on Lightning, entered by Maren", "Valid address on Lightning", "The payment request ends at", "Payment hash", "The preimage of a payment request is accepted as well.")
		if link := ready.find(`a[href^="lightning:"]`).AttrOr("href", ""); link != "lightning:"+to.Text {
			t.Errorf("the payment link is %q", link)
		}
		if strings.Contains(ready.text(), "The QR code has no amount") || strings.Contains(ready.text(), "Transaction ID") {
			t.Errorf("the page is %s", ready.text())
		}
		r := s.reload(inv).Refunds[0]
		send := at + "/" + r.ID + "/sent"
		state := ready.hidden(`form[action$="/sent"]`)
		for tx, want := range map[string]string{
			"8f3c":                   "This is neither the payment hash nor the preimage of the refund.",
			strings.Repeat("8f", 32): "This is neither the payment hash nor the preimage of the refund.",
			hash:                     "This is", // the shopper's payment
		} {
			b.send(send, append(state, "tx-"+r.ID, tx)...).want(http.StatusUnprocessableEntity, want, "Ready, not sent yet")
		}
		b.send(send, append(state, "tx-"+r.ID, hex.EncodeToString(to.Preimage))...).wantRedirect(at + "?done=refund-sent")
		sent := b.get(at).want(http.StatusOK, "Sent", "By Maren")
		if preimage := hex.EncodeToString(to.Preimage); strings.Contains(sent.body, preimage) || s.reload(inv).Refunds[0].Tx != to.Hash {
			t.Error("the preimage was stored, want the payment hash")
		}
		b.get("/desk/shop/payments/"+inv.ID).want(http.StatusOK, "Refund of 0.001 BTC prepared", "Refund of 0.001 BTC sent")
		b.get("/desk/shop/refunds?mode=test").want(http.StatusOK, "1048", "0.001 BTC", "Sent")
	})
}

// The page states the amount where the code has none, and the network where it is not Lightning.
func TestRefund_of_a_Lightning_payment_to_other_addresses(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.owner()
	s := f.testInvoices
	t.Cleanup(s.Close)
	shopper := lightningtest.NewWallet(t, f.clock.Now)
	open := shopper.Make(0, "Refund", nil, time.Hour).Text
	for _, tt := range []struct{ address, link, want, not string }{
		{"shopper@example.com", "lightning:shopper@example.com", "Address on Lightning, entered by Maren", "The payment request ends at"},
		{"shopper@example.com", "lightning:shopper@example.com", "The QR code has no amount. Enter 0.001 BTC in your wallet.", "Transaction ID"},
		{open, "lightning:" + open, "The QR code has no amount. Enter 0.001 BTC in your wallet.", "Transaction ID"},
		{shopperAddress, "bitcoin:" + shopperAddress + "?amount=0.001&label=Refund%201048", "Address on Bitcoin, entered by Maren", "Payment hash"},
		{"bitcoin:" + shopperAddress + "?lightning=" + open, "lightning:" + open, "Payment hash", "Transaction ID"},
	} {
		inv := s.sellLightning("1048", "80.00")
		s.payRequest(inv)
		at := "/desk/shop/payments/" + inv.ID + "/refund"
		form := append(b.get(at).hidden(`form[action$="/refund"]`), "amount", "received:BTC-LN", "address", tt.address)
		b.send(at, form...).wantRedirect(at + "?done=refund-ready")
		p := b.get(at).want(http.StatusOK, tt.want, "Valid address on")
		if link := p.find(`section a[href*=":"].b`).First().AttrOr("href", ""); link != tt.link {
			t.Errorf("%s: the payment link is %q, want %q", tt.address, link, tt.link)
		}
		if strings.Contains(p.text(), tt.not) {
			t.Errorf("%s: the page has %q: %s", tt.address, tt.not, p.text())
		}
	}
}

// A payment request of the shopper that ended is not paid: the payment page asks for another.
func TestRefund_to_an_ended_request_warns_and_waits_for_another(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.owner()
	s := f.testInvoices
	t.Cleanup(s.Close)
	inv := s.sellLightning("1048", "80.00")
	s.payRequest(inv)
	at := "/desk/shop/payments/" + inv.ID + "/refund"
	to := lightningtest.NewWallet(t, f.clock.Now).Make(100_000_000, "Refund", nil, 5*time.Minute)
	form := append(b.get(at).hidden(`form[action$="/refund"]`), "amount", "received:BTC-LN")
	b.send(at, append(form, "address", to.Text)...).wantRedirect(at + "?done=refund-ready")
	f.clock.Advance(5 * time.Minute)
	p := b.get(at).want(http.StatusOK, "Do not pay: the payment request ended at", "Mark as sent", "Cancel refund")
	if n := p.find(`a[href^="lightning:"], svg.qr`).Length(); n != 0 {
		t.Errorf("the page still has %d links and codes of the payment request", n)
	}
	r := s.reload(inv).Refunds[0]
	b.send(at+"/"+r.ID+"/cancel", p.hidden(`form[action$="/cancel"]`)...).wantRedirect(at + "?done=refund-cancelled")
	form = append(b.get(at).hidden(`form[action$="/refund"]`), "amount", "received:BTC-LN")
	b.send(at, append(form, "address", to.Text)...).want(http.StatusUnprocessableEntity, "This is not a valid address: the payment request ended at")
	b.send(at, form...).wantRedirect(at + "?done=refund-asked")
	b.get(at).want(http.StatusOK, "Waits for the shopper’s address")
	_, err := s.SetRefundAddress(t.Context(), inv.ID, "shopper", chain.CodeLightning, "shopper@example.com")
	f.must(err)
	b.get(at).want(http.StatusOK, "Address on Lightning, entered by the shopper")
}
