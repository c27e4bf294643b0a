package invoice_test

import (
	"encoding/hex"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/btcsuite/btcd/btcec/v2"

	"chequer/internal/chain"
	"chequer/internal/chain/lightning/lightningtest"
	"chequer/internal/invoice"
	"chequer/internal/keys"
	"chequer/internal/money"
	"chequer/internal/storage"
	"chequer/internal/storage/storagetest"
)

// refundShop is a lightningShop with the wallet of a shopper.
type refundShop struct {
	*lightningShop
	shopper *lightningtest.Wallet
}

func onBothRefunding(t *testing.T, test func(t *testing.T, s *refundShop)) {
	storagetest.OnBoth(t, func(t *testing.T, store *storage.Storage, _ string) {
		s := openLightning(t, store)
		test(t, &refundShop{s, lightningtest.NewWallet(t, s.clock.Now)})
	})
}

// latePaid returns an invoice of 40 EUR whose request of 50000 satoshis was paid after its end.
func (s *refundShop) latePaid() *invoice.Invoice {
	s.t.Helper()
	s.walletsByID["w1"].set(func() { s.walletsByID["w1"].expiry = 24 * time.Hour })
	inv := s.createLive("40", "w1")
	r := s.mustShow(inv, 50_000)
	s.clock.Advance(20 * time.Minute)
	s.scan("w1")
	s.step()
	s.wantState(inv, invoice.Expired)
	s.clock.Advance(time.Minute) // requests of an ended quote are looked up less often
	s.settle("w1", r.Script)
	return s.wantState(inv, invoice.Expired, invoice.Late)
}

// request returns a payment request of the shopper for an amount in satoshis.
func (s *refundShop) request(satoshis int64, life time.Duration) lightningtest.Invoice {
	return s.shopper.Make(satoshis*chain.MilliSatoshisPerSatoshi, "Refund", nil, life)
}

// sameHash returns a payment request with the payment hash of another one. A wallet pays only one of them.
func (s *refundShop) sameHash(i lightningtest.Invoice) string {
	s.t.Helper()
	key, err := btcec.NewPrivateKey()
	s.must(err)
	r := i.Request
	r.Description = "The same again"
	text, err := r.Sign(key)
	s.must(err)
	return text
}

// prepare prepares a refund of everything to an address.
func (s *refundShop) prepare(inv *invoice.Invoice, address string) (invoice.Refund, error) {
	_, made, err := s.service.CreateRefund(s.t.Context(), inv.ID, invoice.RefundDraft{Kind: invoice.RefundReceived, Asset: chain.CodeLightning, Address: address, By: "Tove"})
	return made, err
}

func (s *refundShop) give(inv *invoice.Invoice, address string) error {
	_, err := s.service.SetRefundAddress(s.t.Context(), inv.ID, "shopper", chain.CodeLightning, address)
	return err
}

func (s *refundShop) send(inv *invoice.Invoice, tx string) error {
	_, err := s.service.SendRefund(s.t.Context(), inv.ID, s.reload(inv).Refunds[0].ID, tx, "Tove", 0)
	return err
}

// only returns the only refund of an invoice.
func (s *refundShop) only(inv *invoice.Invoice) invoice.Refund {
	s.t.Helper()
	all := s.reload(inv).Refunds
	if len(all) != 1 {
		s.t.Fatalf("the refunds are %+v, want one", all)
	}
	return all[0]
}

func TestRefund_of_a_Lightning_payment_to_a_payment_request(t *testing.T) {
	onBothRefunding(t, func(t *testing.T, s *refundShop) {
		inv := s.latePaid()
		to := s.request(50_000, time.Hour)
		s.must(s.give(inv, "lightning:"+strings.ToUpper(to.Text)))
		if r := s.only(inv); !r.Requested() || r.Address != to.Text || r.Script != to.Hash || !r.Amount.Equal(sats(50_000)) {
			t.Errorf("requested: %+v", r)
		}
		made, err := s.prepare(inv, "")
		s.must(err)
		if made.State != invoice.RefundReady || made.Address != to.Text || made.AddressBy != "shopper" {
			t.Errorf("prepared: %+v", made)
		}
		for _, wrong := range []string{"", "paid", strings.Repeat("a", 63), strings.Repeat("a", 64), "0x" + to.Hash} {
			if err := s.send(inv, wrong); !errors.Is(err, invoice.ErrPaymentHash) {
				t.Errorf("sent with %q: %v, want ErrPaymentHash", wrong, err)
			}
		}
		if err := s.send(inv, inv.Transfers[0].Tx); err == nil {
			t.Error("the shopper's payment is taken for the refund")
		}
		s.must(s.send(inv, " "+strings.ToUpper(hex.EncodeToString(to.Preimage))+"\n"))
		if r := s.only(inv); r.State != invoice.RefundSent || r.Tx != to.Hash {
			t.Errorf("sent with the preimage: %+v, want the payment hash %s", r, to.Hash)
		}
		s.must(s.send(inv, to.Hash))
		s.wantState(inv, invoice.Expired, invoice.Late)
		if got := s.reload(inv); got.NeedsDecision() {
			t.Error("the invoice still waits for a decision")
		}
	})
}

func TestRefund_of_a_Lightning_payment_to_an_address(t *testing.T) {
	onBothRefunding(t, func(t *testing.T, s *refundShop) {
		for address, want := range map[string]string{
			"Tove.P@Example.com":                                   "tove.p@example.com",
			"lightning:shopper@pay.example.com":                    "shopper@pay.example.com",
			"bcrt1qw508d6qejxtdg4y5r3zarvary0c5xw7kygt080":         "bcrt1qw508d6qejxtdg4y5r3zarvary0c5xw7kygt080",
			"bitcoin:BCRT1QW508D6QEJXTDG4Y5R3ZARVARY0C5XW7KYGT080": "bcrt1qw508d6qejxtdg4y5r3zarvary0c5xw7kygt080",
		} {
			inv := s.latePaid()
			made, err := s.prepare(inv, address)
			if err != nil || made.State != invoice.RefundReady || made.Address != want || made.AddressBy != "Tove" {
				t.Errorf("%s: %+v, %v", address, made, err)
				continue
			}
			if err := s.send(inv, "paid in cash"); err == nil {
				t.Errorf("%s: any text is a transaction", address)
			}
			hash := strings.Repeat("b", 62) + hex.EncodeToString([]byte{byte(len(address))})
			if err := s.send(inv, hash); err != nil || s.only(inv).Tx != hash {
				t.Errorf("%s: sent: %v, %+v", address, err, s.only(inv))
			}
		}
	})
}

// A payment over Lightning pays one refund, to whatever address.
func TestRefund_of_a_Lightning_payment_needs_a_hash_of_its_own(t *testing.T) {
	onBothRefunding(t, func(t *testing.T, s *refundShop) {
		first, second := s.latePaid(), s.latePaid()
		_, err := s.prepare(first, "a@example.com")
		s.must(err)
		_, err = s.prepare(second, "b@example.com")
		s.must(err)
		hash := strings.Repeat("c", 64)
		s.must(s.send(first, hash))
		if err := s.send(second, hash); !errors.Is(err, invoice.ErrUsedTransaction) {
			t.Errorf("two refunds with one payment hash: %v", err)
		}
	})
}

func TestRefund_of_a_Lightning_payment_checks_the_address(t *testing.T) {
	onBothRefunding(t, func(t *testing.T, s *refundShop) {
		inv := s.latePaid()
		other := s.createLive("40", "w1")
		own := s.mustShow(other, 50_000)
		live := lightningtest.NewWallet(t, s.clock.Now)
		live.Network = "bc"
		for _, test := range []struct {
			name, address string
			want          error
			reason        string
		}{
			{"another network", live.Make(50_000_000, "", nil, time.Hour).Text, keys.ErrNetwork, `for the network "lnbc", want "lnbcrt"`},
			{"another amount", s.request(49_999, time.Hour).Text, keys.ErrAddress, "asks for another amount than the 0.0005 BTC of the refund"},
			{"a part of a satoshi", s.shopper.Make(50_000_001, "", nil, time.Hour).Text, keys.ErrAddress, "another amount"},
			{"a typing error", own.Address[:len(own.Address)-1], keys.ErrAddress, ""},
			{"an own request", own.Address, invoice.ErrPaymentAddress, ""},
			{"an own request in capitals", strings.ToUpper(own.Address), invoice.ErrPaymentAddress, ""},
			{"an LNURL", "LNURL1DP68GURN8GHJ7", keys.ErrAddress, "Lightning address"},
			{"an offer", "lno1qgsyxjtl6luzd9t3pr62xr7eemp6awnejusgf6gw45q75vcfqqqqqqq", keys.ErrAddress, "Lightning address"},
			{"a connection", "nostr+walletconnect://b889ff5b1513b641e2a139f661a661364979c5beee91842f8f0ef42ab558e9d4?relay=wss%3A%2F%2Frelay.damus.io&secret=71a8c14c1407c113601079c4302dab36460f0ccd0ad506f1f2dc73b5100e4f3c", keys.ErrPrivateKey, ""},
			{"a bitcoin address of another network", "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4", keys.ErrNetwork, ""},
			{"another coin", shopperETH, keys.ErrAddress, "want a Lightning address (name@example.com), a payment request (lnbcrt…) or a Bitcoin address"},
			{"nonsense", "to my wallet", keys.ErrAddress, "want a Lightning address"},
		} {
			for by, err := range map[string]error{"merchant": func() error { _, err := s.prepare(inv, test.address); return err }(), "shopper": s.give(inv, test.address)} {
				if !errors.Is(err, test.want) || !strings.Contains(err.Error(), test.reason) {
					t.Errorf("%s by the %s: %v, want %v with %q", test.name, by, err, test.want, test.reason)
				}
			}
		}
		ended := s.request(50_000, time.Minute)
		s.clock.Advance(time.Minute)
		if err := s.give(inv, ended.Text); !errors.Is(err, keys.ErrAddress) || !strings.Contains(err.Error(), "the payment request ended at ") {
			t.Errorf("a request that has ended: %v", err)
		}
		if got := s.reload(inv); len(got.Refunds) != 0 || !got.RefundAddress.IsZero() {
			t.Errorf("refused addresses were stored: %+v, %+v", got.RefundAddress, got.Refunds)
		}
		_, _, err := s.service.CreateRefund(t.Context(), inv.ID, invoice.RefundDraft{
			Kind: invoice.RefundPart, Asset: chain.CodeLightning, Amount: sats(545), Address: "bcrt1qw508d6qejxtdg4y5r3zarvary0c5xw7kygt080", By: "Tove",
		})
		if !errors.Is(err, keys.ErrAddress) || !strings.Contains(err.Error(), "Bitcoin cannot transfer 0.00000545 BTC") {
			t.Errorf("less than Bitcoin can transfer: %v", err)
		}
		s.must(s.give(inv, s.request(0, time.Hour).Text)) // the payer states the amount
		if r := s.only(inv); !r.Requested() {
			t.Errorf("a request without an amount: %+v", r)
		}
	})
}

// A payment request of the shopper may end before the merchant pays it.
func TestRefund_to_a_request_that_has_ended_waits_for_another(t *testing.T) {
	onBothRefunding(t, func(t *testing.T, s *refundShop) {
		inv := s.latePaid()
		s.must(s.give(inv, s.request(50_000, 10*time.Minute).Text))
		if err := s.give(inv, "shopper@example.com"); !errors.Is(err, invoice.ErrRefundSet) {
			t.Errorf("another address before the end: %v", err)
		}
		s.clock.Advance(10 * time.Minute)
		made, err := s.prepare(inv, "")
		s.must(err)
		if r := s.only(inv); made.State != invoice.RefundAsked || made.Address != "" || !r.Pending() {
			t.Errorf("prepared after the end of the request: %+v, want one that waits for an address", made)
		}
		to := s.request(50_000, 10*time.Minute)
		s.must(s.give(inv, to.Text))
		if r := s.only(inv); !r.Answered() || r.Address != to.Text {
			t.Errorf("after the second request: %+v", r)
		}
		s.clock.Advance(10 * time.Minute)
		s.must(s.give(inv, "shopper@example.com"))
		if r := s.only(inv); r.State != invoice.RefundReady || r.Address != "shopper@example.com" {
			t.Errorf("after the end of the second request: %+v", r)
		}
		s.must(s.send(inv, strings.Repeat("d", 64)))
		if err := s.give(inv, "other@example.com"); !errors.Is(err, invoice.ErrRefundSet) {
			t.Errorf("another address after the refund was sent: %v", err)
		}
	})
}

// The merchant refunds another amount than the one that the shopper's payment request asks for.
func TestRefund_of_another_amount_than_the_request_waits_for_another(t *testing.T) {
	onBothRefunding(t, func(t *testing.T, s *refundShop) {
		inv := s.latePaid()
		s.must(s.give(inv, s.request(50_000, time.Hour).Text))
		_, made, err := s.service.CreateRefund(t.Context(), inv.ID, invoice.RefundDraft{Kind: invoice.RefundPart, Asset: chain.CodeLightning, Amount: sats(20_000), By: "Tove"})
		s.must(err)
		if r := s.only(inv); made.State != invoice.RefundAsked || made.Address != "" || !r.Pending() || r.Asked.By != "Tove" {
			t.Errorf("prepared: %+v, want one that waits for an address", r)
		}
		if err := s.give(inv, s.request(50_000, 2*time.Hour).Text); !errors.Is(err, keys.ErrAddress) {
			t.Errorf("another request for the whole amount: %v", err)
		}
		to := s.request(20_000, time.Hour)
		s.must(s.give(inv, to.Text))
		if r := s.only(inv); !r.Answered() || r.Address != to.Text || r.AddressBy != "shopper" {
			t.Errorf("after the second request: %+v", r)
		}
	})
}

// A payment request can be paid once only, also one whose payer states the amount.
func TestRefund_to_the_request_of_another_refund_waits_for_another(t *testing.T) {
	onBothRefunding(t, func(t *testing.T, s *refundShop) {
		inv := s.latePaid()
		to := s.request(0, 48*time.Hour)
		s.must(s.give(inv, to.Text))
		prepare := func(satoshis int64, address string) (invoice.Refund, error) {
			draft := invoice.RefundDraft{Kind: invoice.RefundPart, Asset: chain.CodeLightning, Amount: sats(satoshis), Address: address, By: "Tove"}
			_, made, err := s.service.CreateRefund(t.Context(), inv.ID, draft)
			return made, err
		}
		first, err := prepare(20_000, "")
		s.must(err)
		if first.State != invoice.RefundReady || first.Address != to.Text {
			t.Fatalf("the first refund: %+v", first)
		}
		if _, err := prepare(10_000, to.Text); !errors.Is(err, keys.ErrAddress) || !strings.Contains(err.Error(), "another refund") {
			t.Errorf("the request typed for a second refund: %v", err)
		}
		if _, err := prepare(10_000, s.sameHash(to)); !errors.Is(err, keys.ErrAddress) || !strings.Contains(err.Error(), "another refund") {
			t.Errorf("another request with the same payment hash: %v", err)
		}
		s.must(s.send(inv, to.Hash))
		second, err := prepare(10_000, "")
		s.must(err)
		if second.State != invoice.RefundAsked || second.Address != "" {
			t.Errorf("the second refund: %+v, want one that waits for an address", second)
		}
		next := s.request(0, 48*time.Hour)
		s.must(s.give(inv, next.Text))
		all := s.reload(inv).Refunds
		if len(all) != 2 || all[0].Address != to.Text || all[1].State != invoice.RefundReady || all[1].Address != next.Text {
			t.Errorf("after the second request: %+v", all)
		}
	})
}

func TestRefund_in_fiat_to_a_request_can_be_renewed_at_the_same_rate(t *testing.T) {
	onBothRefunding(t, func(t *testing.T, s *refundShop) {
		inv := s.latePaid()
		draft := invoice.RefundDraft{
			Kind: invoice.RefundPart, Asset: chain.CodeLightning, Fiat: money.MustParse("20", money.EUR), By: "Tove", Address: s.request(0, 48*time.Hour).Text,
		}
		_, made, err := s.service.CreateRefund(t.Context(), inv.ID, draft)
		s.must(err)
		if _, err := s.service.RenewRefund(t.Context(), inv.ID, made.ID, "Tove", 0); err != nil {
			t.Errorf("renewed: %v", err)
		}
	})
}

func TestRefund_in_fiat_to_a_request_cannot_change_its_amount(t *testing.T) {
	onBothRefunding(t, func(t *testing.T, s *refundShop) {
		inv := s.latePaid()
		draft := invoice.RefundDraft{
			Kind: invoice.RefundPart, Asset: chain.CodeLightning, Fiat: money.MustParse("20", money.EUR), By: "Tove", Address: s.request(25_000, 48*time.Hour).Text,
		}
		_, made, err := s.service.CreateRefund(t.Context(), inv.ID, draft)
		s.must(err)
		s.setRates("BTC-EUR=100000,EUR-USD=1")
		if _, err := s.service.RenewRefund(t.Context(), inv.ID, made.ID, "Tove", 0); !errors.Is(err, invoice.ErrRequestAmount) {
			t.Errorf("renewed at another rate: %v", err)
		}
	})
}

// The merchant may have removed the connection before it refunds.
func TestRefund_of_a_payment_by_a_former_connection(t *testing.T) {
	onBothRefunding(t, func(t *testing.T, s *refundShop) {
		inv := s.latePaid()
		delete(s.connections, chain.LightningID("w1"))
		if err := s.give(inv, "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4"); !errors.Is(err, keys.ErrNetwork) {
			t.Errorf("an address of another network: %v", err)
		}
		s.must(s.give(inv, "shopper@example.com"))
		if r := s.only(inv); r.Address != "shopper@example.com" {
			t.Errorf("requested: %+v", r)
		}
	})
}
