package invoice_test

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"chequer/internal/chain"
	"chequer/internal/chain/ethereum"
	"chequer/internal/chain/simnet"
	"chequer/internal/invoice"
	"chequer/internal/keys"
	"chequer/internal/money"
	"chequer/internal/wire"
)

// Addresses of shoppers.
const (
	shopperBTC = "tb1qw508d6qejxtdg4y5r3zarvary0c5xw7kxpjzsx"
	otherBTC   = "mipcBbFg9gMiCh81Kj8tqqdgoZub1ZJRfn"
	shopperETH = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
)

// btc returns an amount of bitcoin.
func btc(text string) money.Amount { return money.MustParse(text, money.BTC) }

// confirm confirms every payment of an invoice.
func (s *shop) confirm(inv *invoice.Invoice) {
	s.t.Helper()
	var txs []string
	for _, t := range s.reload(inv).Transfers {
		txs = append(txs, t.Tx)
	}
	s.must(s.net.Confirm(s.t.Context(), txs))
	s.step()
}

// latePaid returns an invoice of 40 EUR that expired and then received bitcoin.
func (s *shop) latePaid(amount string) *invoice.Invoice {
	s.t.Helper()
	inv := s.create("40")
	s.clock.Advance(16 * time.Minute)
	s.wantStatus(inv, invoice.Expired)
	s.pay(inv, "BTC", amount)
	s.step()
	s.confirm(inv)
	return s.reload(inv)
}

// overpaid returns an invoice of 40 EUR that received 50 EUR in bitcoin in time.
func (s *shop) overpaid() *invoice.Invoice {
	s.t.Helper()
	inv := s.create("40")
	s.pay(inv, "BTC", "0.000625")
	s.step()
	s.confirm(inv)
	return s.wantStatus(inv, invoice.Paid, invoice.Overpaid)
}

func (s *shop) refund(inv *invoice.Invoice, d invoice.RefundDraft) (*invoice.Invoice, invoice.Refund, error) {
	d.By = "Tove"
	if d.Asset == "" {
		d.Asset = "BTC"
	}
	return s.service.CreateRefund(s.t.Context(), inv.ID, d)
}

// wantWaiting checks whether an invoice waits for a decision, in the domain and in storage.
func (s *shop) wantWaiting(inv *invoice.Invoice, want bool) {
	s.t.Helper()
	tally, err := s.service.Tally(s.t.Context(), "m", invoice.Test)
	s.must(err)
	if got := s.reload(inv).NeedsDecision(); got != want || (tally.NeedDecision > 0) != want {
		s.t.Errorf("waits for a decision: %t, tally %d; want %t", got, tally.NeedDecision, want)
	}
}

func TestRefund_from_the_request_to_the_transaction(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		inv := s.latePaid("0.0005")
		s.wantWaiting(inv, true)
		inv, err := s.service.SetRefundAddress(t.Context(), inv.ID, "shopper", "BTC", shopperBTC)
		s.must(err)
		if len(inv.Refunds) != 1 || !inv.Refunds[0].Requested() || !inv.Refunds[0].Amount.Equal(btc("0.0005")) {
			t.Fatalf("after the shopper's address the refunds are %+v, want one of 0.0005 that is requested", inv.Refunds)
		}
		inv, made, err := s.refund(inv, invoice.RefundDraft{Kind: invoice.RefundReceived, Seen: inv.Version})
		s.must(err)
		if made.State != invoice.RefundReady || made.ID != inv.Refunds[0].ID || len(inv.Refunds) != 1 || made.Address != shopperBTC ||
			made.AddressBy != "shopper" || made.Asked.By != "shopper" || made.Prepared.By != "Tove" || made.Value.String() != "40" {
			t.Errorf("prepared: %+v", made)
		}
		s.wantWaiting(inv, true)
		for _, wrong := range []string{"", "8f3c", strings.Repeat("g", 64), "0x" + strings.Repeat("a", 64)} {
			if _, err := s.service.SendRefund(t.Context(), inv.ID, made.ID, wrong, "Maren", 0); !errors.Is(err, invoice.ErrTransaction) {
				t.Errorf("transaction %q: %v", wrong, err)
			}
		}
		if _, err := s.service.SendRefund(t.Context(), inv.ID, made.ID, inv.Transfers[0].Tx, "Maren", 0); !errors.Is(err, invoice.ErrOwnTransaction) {
			t.Errorf("the shopper's payment as the refund: %v", err)
		}
		tx := strings.Repeat("AB", 32)
		inv, err = s.service.SendRefund(t.Context(), inv.ID, made.ID, " "+tx+"\n", "Maren", inv.Version)
		s.must(err)
		if got := inv.Refunds[0]; got.State != invoice.RefundSent || got.Tx != strings.ToLower(tx) || got.Sent.By != "Maren" {
			t.Errorf("sent: %+v", got)
		}
		s.wantWaiting(inv, false)
		if _, err := s.service.CancelRefund(t.Context(), inv.ID, made.ID, "Tove", "", 0); !errors.Is(err, invoice.ErrState) {
			t.Errorf("cancel a refund that was sent: %v", err)
		}
		var types []string
		for _, body := range s.events() {
			if kind := strings.Fields(body)[1]; strings.HasPrefix(kind, "refund.") {
				types = append(types, kind)
			}
		}
		if got := fmt.Sprint(types); got != "[refund.requested refund.created refund.sent]" {
			t.Errorf("events %s", got)
		}
		s.pay(inv, "BTC", "0.0001") // more money needs another decision
		s.step()
		s.wantWaiting(inv, true)
	})
}

func TestRefund_never_exceeds_the_received_amount(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		inv := s.latePaid("0.0005")
		part := func(amount string) error {
			_, _, err := s.refund(inv, invoice.RefundDraft{Kind: invoice.RefundPart, Amount: btc(amount), Address: shopperBTC})
			return err
		}
		if err := part("0.00050001"); !errors.Is(err, invoice.ErrOverRefund) {
			t.Errorf("one unit too much: %v", err)
		}
		if err := part("0.00000001"); !errors.Is(err, invoice.ErrTooLittle) {
			t.Errorf("dust: %v", err)
		}
		s.must(part("0.0002"))
		if err := part("0.0002"); !errors.Is(err, invoice.ErrRefundExists) {
			t.Errorf("the same again: %v", err)
		}
		if err := part("0.00030001"); !errors.Is(err, invoice.ErrOverRefund) {
			t.Errorf("more than the rest: %v", err)
		}
		got, rest, err := s.refund(inv, invoice.RefundDraft{Kind: invoice.RefundReceived, Address: shopperBTC})
		s.must(err)
		if !rest.Amount.Equal(btc("0.0003")) || len(got.Refunds) != 2 {
			t.Errorf("the rest is %v of %d refunds", rest.Amount, len(got.Refunds))
		}
		if _, _, err := s.refund(inv, invoice.RefundDraft{Kind: invoice.RefundReceived, Address: shopperBTC}); !errors.Is(err, invoice.ErrOverRefund) {
			t.Errorf("after all was refunded: %v", err)
		}
		_, err = s.service.CancelRefund(t.Context(), inv.ID, rest.ID, "Tove", "paid in cash", 0)
		s.must(err)
		s.must(part("0.0003"))
	})
}

func TestRefund_by_concurrent_requests_is_prepared_once(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		inv := s.latePaid("0.0005")
		var mu sync.Mutex
		var group sync.WaitGroup
		made, stale := 0, 0
		for range 8 {
			group.Go(func() {
				_, _, err := s.refund(inv, invoice.RefundDraft{Kind: invoice.RefundPart, Amount: btc("0.0001"), Address: shopperBTC, Again: true, Seen: inv.Version})
				mu.Lock()
				defer mu.Unlock()
				switch {
				case err == nil:
					made++
				case errors.Is(err, invoice.ErrStale):
					stale++
				default:
					t.Error(err)
				}
			})
		}
		group.Wait()
		if got := s.reload(inv); made != 1 || stale != 7 || len(got.Refunds) != 1 {
			t.Errorf("%d prepared, %d refused, %d stored", made, stale, len(got.Refunds))
		}
	})
}

func TestRefund_checks_the_address(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		inv := s.create("40")
		other := s.create("40")
		s.clock.Advance(16 * time.Minute)
		s.step()
		s.pay(inv, "BTC", "0.0005")
		s.pay(inv, "USDC", "40")
		s.step()
		s.confirm(inv)
		live := []chain.Network{ethereum.New(ethereum.Base)}
		s.service = invoice.NewService(invoice.Config{
			Storage: s.store, Networks: map[invoice.Mode][]chain.Network{invoice.Test: {s.net}, invoice.Live: live}, Rates: s.currentRates,
			Now: s.clock.Now, NewID: s.newID, Log: slog.New(slog.DiscardHandler), Encode: func(*invoice.Invoice, invoice.Event) []byte { return nil },
		})
		contract := live[0].Assets()[slices.IndexFunc(live[0].Assets(), func(a chain.Asset) bool { return a.Code == "USDC-BASE" })].Contract
		bitcoin, _ := other.Method(simnet.ID, "BTC")
		token, _ := other.Method(simnet.ID, "USDC")
		for _, tt := range []struct {
			name, asset, address string
			want                 error
		}{
			{"of another kind of network", "BTC", shopperETH, keys.ErrAddress},
			{"of the real network", "BTC", "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4", keys.ErrNetwork},
			{"with a wrong checksum", "USDC", strings.Replace(shopperETH, "BeAed", "BeaEd", 1), keys.ErrAddress},
			{"of another invoice", "BTC", bitcoin.Destination.Address, invoice.ErrPaymentAddress},
			{"of another invoice, for another asset of the network", "USDC", token.Destination.Address, invoice.ErrPaymentAddress},
			{"the contract of a token", "USDC", contract, invoice.ErrTokenContract},
			{"the address zero", "USDC", "0x0000000000000000000000000000000000000000", invoice.ErrTokenContract},
			{"a precompiled contract", "USDC", "0x0000000000000000000000000000000000000004", invoice.ErrTokenContract},
			{"a private key", "BTC", "L1aW4aubDFB7yfras2S1mN3bqg9nwySY8nkoLmJebSLD5BWv3ENZ", keys.ErrPrivateKey},
			{"of an asset that was not received", "LTC", shopperBTC, invoice.ErrRefundAsset},
		} {
			if _, _, err := s.refund(inv, invoice.RefundDraft{Kind: invoice.RefundReceived, Asset: tt.asset, Address: tt.address}); !errors.Is(err, tt.want) {
				t.Errorf("an address: %s: %v, want %v", tt.name, err, tt.want)
			}
		}
		if got := s.reload(inv).Refunds; len(got) != 0 {
			t.Errorf("every address was refused, but there are refunds: %+v", got)
		}
		_, made, err := s.refund(inv, invoice.RefundDraft{Kind: invoice.RefundReceived, Asset: "USDC", Address: strings.ToLower(shopperETH)})
		s.must(err)
		if made.Address != shopperETH || made.AddressBy != "Tove" || !made.Amount.Equal(money.MustParse("40", token.Asset.Currency)) {
			t.Errorf("prepared: %+v", made)
		}
	})
}

func TestRefund_needs_a_confirmed_payment(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		inv := s.create("40")
		s.clock.Advance(16 * time.Minute)
		s.step()
		if _, _, err := s.refund(inv, invoice.RefundDraft{Kind: invoice.RefundReceived, Address: shopperBTC}); !errors.Is(err, invoice.ErrNothingReceived) {
			t.Errorf("without a payment: %v", err)
		}
		s.pay(inv, "BTC", "0.0005")
		s.step()
		if _, _, err := s.refund(inv, invoice.RefundDraft{Kind: invoice.RefundReceived, Address: shopperBTC}); !errors.Is(err, invoice.ErrNothingReceived) {
			t.Errorf("unconfirmed: %v", err)
		}
	})
}

func TestRefund_of_a_reorganised_payment(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		inv := s.latePaid("0.0005")
		inv, made, err := s.refund(inv, invoice.RefundDraft{Kind: invoice.RefundPart, Amount: btc("0.0002"), Address: shopperBTC})
		s.must(err)
		s.must(s.net.Reorganise(t.Context(), []string{inv.Transfers[0].Tx}))
		s.step()
		inv = s.reload(inv)
		b, _ := s.service.Evaluation(inv).Balance("BTC")
		if received := b.Received; !received.IsZero() {
			t.Fatalf("received %v after the reorganisation", received)
		}
		if _, _, err := s.refund(inv, invoice.RefundDraft{Kind: invoice.RefundReceived, Address: shopperBTC}); err == nil {
			t.Error("a payment that left its network was refunded")
		}
		if got := b.Excess(); !got.Equal(btc("0.0002")) {
			t.Errorf("the refunds exceed what was received by %v", got)
		}
		_, err = s.service.CancelRefund(t.Context(), inv.ID, made.ID, "Tove", "", 0)
		s.must(err)
	})
}

// A refund that is ready exceeds the received amount if the payment is replaced after a reorganisation.
func TestRefund_of_a_replaced_payment(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		inv := s.latePaid("0.0005")
		inv, _, err := s.refund(inv, invoice.RefundDraft{Kind: invoice.RefundReceived, Address: shopperBTC})
		s.must(err)
		s.must(s.net.Reorganise(t.Context(), []string{inv.Transfers[0].Tx}))
		s.step()
		s.must(s.net.Replace(t.Context(), inv.Transfers[0].Tx))
		s.step()
		inv = s.reload(inv)
		b, _ := s.service.Evaluation(inv).Balance("BTC")
		if !b.Excess().Equal(btc("0.0005")) {
			t.Errorf("the refunds exceed what was received by %v", b.Excess())
		}
		list := wire.Refunds(s.service, inv)
		if list[0].PaymentURI != "" {
			t.Errorf("the refund of a replaced payment has the payment link %s", list[0].PaymentURI)
		}
	})
}

func TestRefund_in_fiat_holds_its_rate_for_a_day(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		inv := s.latePaid("0.0005")
		draft := invoice.RefundDraft{Kind: invoice.RefundPart, Fiat: fiat("20"), Address: shopperBTC}
		inv, made, err := s.refund(inv, draft)
		s.must(err)
		if !made.Amount.Equal(btc("0.00025")) || made.Value.String() != "20" || !made.HeldUntil.Equal(s.clock.Now().Add(24*time.Hour)) {
			t.Errorf("prepared: %+v", made)
		}
		s.clock.Advance(24*time.Hour + time.Second)
		if !inv.Refunds[0].Stale(s.clock.Now()) {
			t.Error("the rate is held for longer than a day")
		}
		if got := wire.Refunds(s.service, inv)[0].PaymentURI; got != "" {
			t.Errorf("the refund has the payment link %s after its rate was held", got)
		}
		s.setRates(strings.Replace(table, "BTC-EUR=80000", "BTC-EUR=100000", 1))
		inv, err = s.service.RenewRefund(t.Context(), inv.ID, made.ID, "Maren", inv.Version)
		s.must(err)
		if got := inv.Refunds[0]; !got.Amount.Equal(btc("0.0002")) || got.Value.String() != "20" || got.Stale(s.clock.Now()) {
			t.Errorf("renewed: %+v", got)
		}
		s.setRates(strings.Replace(table, "BTC-EUR=80000", "BTC-EUR=10000", 1))
		if _, err := s.service.RenewRefund(t.Context(), inv.ID, made.ID, "Maren", 0); !errors.Is(err, invoice.ErrOverRefund) {
			t.Errorf("at a rate at which it is more than was received: %v", err)
		}
		s.setRates(strings.Replace(table, "BTC-EUR=80000", "BTC-EUR=800000000", 1))
		if _, err := s.service.RenewRefund(t.Context(), inv.ID, made.ID, "Maren", 0); !errors.Is(err, invoice.ErrTooLittle) {
			t.Errorf("at a rate at which it is dust: %v", err)
		}
	})
}

func TestRefund_without_an_address_waits_for_the_shopper(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		inv := s.latePaid("0.0005")
		inv, made, err := s.refund(inv, invoice.RefundDraft{Kind: invoice.RefundPart, Amount: btc("0.0002")})
		s.must(err)
		if made.State != invoice.RefundAsked || made.Requested() || made.Address != "" {
			t.Errorf("prepared: %+v", made)
		}
		if _, err := s.service.SendRefund(t.Context(), inv.ID, made.ID, strings.Repeat("a", 64), "Tove", 0); !errors.Is(err, invoice.ErrState) {
			t.Errorf("sent without an address: %v", err)
		}
		inv, err = s.service.SetRefundAddress(t.Context(), inv.ID, "shopper", "BTC", shopperBTC)
		s.must(err)
		if got := inv.Refunds[0]; len(inv.Refunds) != 1 || got.State != invoice.RefundReady || got.Address != shopperBTC || got.AddressBy != "shopper" {
			t.Errorf("after the address: %+v", inv.Refunds)
		}
		if !inv.State.RefundAsked {
			t.Error("the shopper does not wait for the refund")
		}
		if _, err := s.service.SetRefundAddress(t.Context(), inv.ID, "key_page", "BTC", otherBTC); !errors.Is(err, invoice.ErrRefundSet) {
			t.Errorf("another address: %v", err)
		}
	})
}

// A request keeps its address if the merchant has refunded another asset to another address since.
func TestRefund_of_a_request_keeps_its_address(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		inv := s.lateInTwoAssets()
		_, made, err := s.refund(inv, invoice.RefundDraft{Kind: invoice.RefundReceived})
		s.must(err)
		if made.State != invoice.RefundReady || made.Address != shopperBTC || made.AddressBy != "shopper" || made.Asked.By != "shopper" || made.Prepared.By != "Tove" {
			t.Errorf("prepared: %+v", made)
		}
	})
}

// A repeated request of a caller without idempotency keys gets the refund that the first one prepared.
func TestRefund_by_a_repeated_request(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		inv := s.latePaid("0.0005")
		draft := invoice.RefundDraft{Kind: invoice.RefundPart, Fiat: fiat("5"), Again: true, RepeatTime: 2 * time.Minute}
		prepare := func(draft invoice.RefundDraft) string {
			t.Helper()
			_, made, err := s.refund(inv, draft)
			s.must(err)
			return made.ID
		}
		first := prepare(draft)
		s.setRates(strings.Replace(table, "BTC-EUR=80000", "BTC-EUR=100000", 1)) // the amount in coins is another one
		if again := prepare(draft); again != first {
			t.Errorf("repeated at another rate: got %s, want %s", again, first)
		}
		other := draft
		other.Fiat = fiat("6")
		if id := prepare(other); id == first {
			t.Error("another amount counts as repeated")
		}
		coins := draft
		coins.Fiat, coins.Amount = fiat("0"), btc("0.0000625") // what the first one is worth
		if id := prepare(coins); id == first {
			t.Error("an amount in coins counts as a repeated amount in fiat")
		}
		_, err := s.service.CancelRefund(t.Context(), inv.ID, first, "Tove", "", 0)
		s.must(err)
		second := prepare(draft)
		if second == first {
			t.Error("a cancelled refund counts as repeated")
		}
		s.clock.Advance(2 * time.Minute)
		if id := prepare(draft); id == second {
			t.Error("an equal refund after the time counts as repeated")
		}
	})
}
