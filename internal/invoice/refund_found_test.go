package invoice_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"chequer/internal/chain"
	"chequer/internal/invoice"
	"chequer/internal/money"
	"chequer/internal/wire"
)

// payBefore pays an invoice with bitcoin that the network saw before now, so that a scan finds it now.
func (s *shop) payBefore(inv *invoice.Invoice, ago time.Duration, amount string) {
	s.t.Helper()
	s.clock.Advance(-ago)
	s.pay(inv, "BTC", amount)
	s.clock.Advance(ago)
	s.step()
	s.confirm(inv)
}

// refundAll refunds what an invoice received in bitcoin.
func (s *shop) refundAll(inv *invoice.Invoice, tx string) (*invoice.Invoice, invoice.Refund) {
	s.t.Helper()
	_, made, err := s.refund(inv, invoice.RefundDraft{Kind: invoice.RefundReceived, Address: shopperBTC, Again: true})
	s.must(err)
	inv, err = s.service.SendRefund(s.t.Context(), inv.ID, made.ID, strings.Repeat(tx, 64), "Tove", 0)
	s.must(err)
	return inv, made
}

// partExpired returns an expired invoice of 40 EUR that received 20 EUR in time.
func (s *shop) partExpired() *invoice.Invoice {
	s.t.Helper()
	inv := s.create("40")
	s.pay(inv, "BTC", "0.00025")
	s.step()
	s.confirm(inv)
	s.clock.Advance(16 * time.Minute)
	s.step()
	return s.wantStatus(inv, invoice.Expired, invoice.Underpaid)
}

// Money that a scan finds after the refund of an expired invoice waits for the merchant, although it was seen in time.
func TestRefund_of_an_expired_invoice_ends_it(t *testing.T) {
	for amount, want := range map[string][]invoice.Exception{
		"0.00025": {invoice.Late}, "0.0005": {invoice.Overpaid, invoice.Late}, // the rest, and the whole price
	} {
		t.Run("found "+amount+" BTC", func(t *testing.T) {
			onBoth(t, func(t *testing.T, s *shop) {
				inv := s.partExpired()
				inv, _ = s.refundAll(inv, "a")
				s.wantWaiting(inv, false)
				s.payBefore(inv, 5*time.Minute, amount)
				inv = s.wantStatus(inv, invoice.Expired, want...)
				if p := inv.Payments(); !p[1].FirstSeen.Before(inv.Quote().Until) {
					t.Fatalf("the payment was seen at %s, which is not in time", p[1].FirstSeen)
				}
				s.wantWaiting(inv, true)
				if inv.PaidCount != 0 {
					t.Errorf("paid %d times", inv.PaidCount)
				}
				inv, err := s.service.Accept(t.Context(), inv.ID, "Tove", 0)
				s.must(err)
				if inv.State.Status != invoice.Paid {
					t.Errorf("accepted, but %s", inv.State.Status)
				}
			})
		})
	}
}

// A refund that is cancelled does not end an invoice.
func TestRefund_that_is_cancelled_does_not_end_an_invoice(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		inv := s.partExpired()
		_, made, err := s.refund(inv, invoice.RefundDraft{Kind: invoice.RefundReceived, Address: shopperBTC})
		s.must(err)
		_, err = s.service.CancelRefund(t.Context(), inv.ID, made.ID, "Tove", "", 0)
		s.must(err)
		s.payBefore(inv, 5*time.Minute, "0.00025")
		s.wantStatus(inv, invoice.Paid)
	})
}

// A refund that ends an invoice does so until the next quote. The order in which the payments are found does not matter.
func TestRefund_ends_one_quote(t *testing.T) {
	t.Parallel()
	first := inBlock(pay("a", 50_000, time.Minute), 101, 2*time.Minute)
	second := inBlock(pay("b", 75_000, 3*time.Minute), 102, 4*time.Minute)
	for _, tt := range []struct {
		name  string
		quote int
		state invoice.RefundState
		want  invoice.Status
	}{
		{"no refund", 0, invoice.RefundCancelled, invoice.Paid},
		{"prepared before the end", 0, invoice.RefundSent, invoice.Paid},
		{"ready", 1, invoice.RefundReady, invoice.Expired},
		{"sent", 1, invoice.RefundSent, invoice.Expired},
		{"cancelled", 1, invoice.RefundCancelled, invoice.Paid},
		{"of an earlier quote", 7, invoice.RefundSent, invoice.Paid},
	} {
		for order, found := range [][]chain.Transfer{{first, second}, {second, first}} {
			inv := newInvoice(t, quoteEnd.Add(time.Minute))
			inv.Refunds = []invoice.Refund{{
				Network: "bitcoin", Asset: "BTC", Amount: sats(50_000), State: tt.state, EndedQuote: tt.quote, Asked: invoice.Mark{By: "Tove", At: quoteEnd.Add(time.Hour)},
			}}
			observe(inv, 110, found[0])
			observe(inv, 110, found[1], found[0])
			if got := inv.Evaluate(); got.Status != tt.want || got.Has(invoice.Late) != (tt.want == invoice.Expired) {
				t.Errorf("%s, order %d: %s %v, want %s", tt.name, order, got.Status, got.Exceptions, tt.want)
			}
		}
	}
}

// The actor that gave the address for refunds is stored, and the refunds to the address state the same actor.
func TestRefund_states_the_actor_that_gave_the_address(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		for _, by := range []string{"shopper", "key_page"} {
			inv := s.latePaid("0.0005")
			inv, err := s.service.SetRefundAddress(t.Context(), inv.ID, by, "BTC", shopperBTC)
			s.must(err)
			if got := s.reload(inv).RefundAddress; got.By != by {
				t.Errorf("the address was given by %q, want %q", got.By, by)
			}
			if got := s.reload(inv).Refunds[0]; got.AddressBy != by || got.Asked.By != "shopper" {
				t.Errorf("requested: %+v", got)
			}
			_, made, err := s.refund(inv, invoice.RefundDraft{Kind: invoice.RefundPart, Amount: btc("0.0001"), Address: otherBTC})
			s.must(err)
			if made.AddressBy != "Tove" {
				t.Errorf("the address that Tove entered was given by %q", made.AddressBy)
			}
		}
	})
}

// A request and an answered refund wait for the merchant, with an event, until the merchant acts.
func TestRefund_request_needs_attention(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		requested := func() (n int) {
			for _, body := range s.events() {
				if strings.Contains(body, " refund.requested ") {
					n++
				}
			}
			return n
		}
		inv := s.create("40") // paid exactly, and some of the goods come back
		s.pay(inv, "BTC", "0.0005")
		s.step()
		s.confirm(inv)
		inv = s.wantStatus(inv, invoice.Paid)
		_, made, err := s.refund(inv, invoice.RefundDraft{Kind: invoice.RefundPart, Amount: btc("0.0002")})
		s.must(err)
		s.wantWaiting(inv, false)
		inv, err = s.service.SetRefundAddress(t.Context(), inv.ID, "shopper", "BTC", shopperBTC)
		s.must(err)
		s.wantWaiting(inv, true)
		if got := requested(); got != 1 {
			t.Errorf("%d events", got)
		}
		summaries, _, err := s.service.Summaries(t.Context(), invoice.Filter{MerchantID: "m", Mode: invoice.Test, NeedsDecision: true}, invoice.Position{}, 10)
		s.must(err)
		if len(summaries) != 1 || !summaries[0].RefundAsked || !summaries[0].NeedsDecision() {
			t.Errorf("waiting: %+v", summaries)
		}
		inv, err = s.service.SendRefund(t.Context(), inv.ID, made.ID, strings.Repeat("a", 64), "Tove", 0)
		s.must(err)
		s.wantWaiting(inv, false)

		accepted := s.latePaid("0.0005") // the late payment was accepted, then more came
		_, err = s.service.Accept(t.Context(), accepted.ID, "Tove", 0)
		s.must(err)
		s.pay(accepted, "BTC", "0.0003")
		s.step()
		s.confirm(accepted)
		s.wantWaiting(accepted, false)
		accepted, err = s.service.SetRefundAddress(t.Context(), accepted.ID, "shopper", "BTC", shopperBTC)
		s.must(err)
		if !accepted.State.RefundAsked || requested() != 2 {
			t.Errorf("state %+v, %d events", accepted.State, requested())
		}
		s.wantWaiting(accepted, true)
		accepted, err = s.service.DeclineRefund(t.Context(), accepted.ID, "Tove", "", 0)
		s.must(err)
		s.wantWaiting(accepted, false)
	})
}

// A transaction pays one refund to an address in an asset, also of another invoice of the shop.
func TestRefund_transactions_pay_one_refund_each(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		first, second := s.latePaid("0.0005"), s.latePaid("0.0004")
		ready := func(inv *invoice.Invoice, amount, address string) string {
			t.Helper()
			_, made, err := s.refund(inv, invoice.RefundDraft{Kind: invoice.RefundPart, Amount: btc(amount), Address: address})
			s.must(err)
			return made.ID
		}
		state := func(inv *invoice.Invoice, ref, tx string, want error) {
			t.Helper()
			if _, err := s.service.SendRefund(t.Context(), inv.ID, ref, strings.Repeat(tx, 64), "Tove", 0); !errors.Is(err, want) || (want == nil) != (err == nil) {
				t.Errorf("refund %s by %s: %v, want %v", ref, tx, err, want)
			}
		}
		a, b, c := ready(first, "0.0001", shopperBTC), ready(first, "0.0002", shopperBTC), ready(first, "0.00015", otherBTC)
		d := ready(second, "0.0001", shopperBTC)
		state(first, a, "a", nil)
		state(first, a, "a", nil) // again
		state(first, b, "a", invoice.ErrUsedTransaction)
		state(second, d, "a", invoice.ErrUsedTransaction)
		state(first, c, "a", nil) // another output of the batch
		state(first, a, "b", nil) // corrected
		state(first, b, "a", nil)
		state(second, d, "b", invoice.ErrUsedTransaction)
		if r := s.reload(second).Refunds[0]; r.State != invoice.RefundReady || r.Tx != "" {
			t.Errorf("after the refusals: %+v", r)
		}
		state(second, d, "d", nil)
	})
}

// Of two refunds that state one transaction at the same time, one is sent.
func TestRefund_transactions_at_once(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		var refs []string
		var invoices []*invoice.Invoice
		for range 4 {
			inv := s.latePaid("0.0005")
			_, made, err := s.refund(inv, invoice.RefundDraft{Kind: invoice.RefundReceived, Address: shopperBTC})
			s.must(err)
			refs, invoices = append(refs, made.ID), append(invoices, inv)
		}
		results := make([]error, len(refs))
		var group sync.WaitGroup
		for i := range refs {
			group.Go(func() {
				_, results[i] = s.service.SendRefund(t.Context(), invoices[i].ID, refs[i], strings.Repeat("e", 64), fmt.Sprint("Tove ", i), 0)
			})
		}
		group.Wait()
		sent := 0
		for _, err := range results {
			switch {
			case err == nil:
				sent++
			case !errors.Is(err, invoice.ErrUsedTransaction):
				t.Error(err)
			}
		}
		if sent != 1 {
			t.Errorf("%d refunds have the transaction, want 1", sent)
		}
	})
}

// An absurd amount on the test network, or from a contract, is recorded, refunded and declined with its exact amount.
func TestRefund_of_an_absurd_amount(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		const absurd = "9000000000000000000000"
		inv := s.create("40")
		s.pay(inv, "BTC", absurd)
		s.step()
		for range 12 { // the depth for a large value
			s.confirm(inv)
		}
		inv = s.wantStatus(inv, invoice.Paid, invoice.Overpaid)
		inv, err := s.service.SetRefundAddress(t.Context(), inv.ID, "shopper", "BTC", shopperBTC)
		s.must(err)
		if r := inv.Refunds[0]; !r.Requested() || !r.Rate.IsZero() || !r.Value.IsZero() || r.Amount.Cmp(btc("8999999999999999999999")) < 0 {
			t.Errorf("requested: %+v", r)
		}
		_, made, err := s.refund(inv, invoice.RefundDraft{Kind: invoice.RefundReceived})
		s.must(err)
		if got := s.reload(inv).Refunds[0]; got.Amount.String() != absurd || got.State != invoice.RefundReady || made.Value.String() != "0" {
			t.Errorf("prepared: %+v", got)
		}
		_, err = s.service.CancelRefund(t.Context(), inv.ID, made.ID, "Tove", "", 0)
		s.must(err)
		huge := money.MustParse("99999999999999999999", money.EUR)
		if _, _, err := s.refund(inv, invoice.RefundDraft{Kind: invoice.RefundPart, Fiat: huge}); !errors.Is(err, invoice.ErrOverRefund) {
			t.Errorf("a value of more than 64 bits: %v", err)
		}
		inv, err = s.service.KeepSurplus(t.Context(), inv.ID, "Tove", "", 0)
		s.must(err)
		if !inv.State.Decided {
			t.Errorf("kept: %+v", inv.State)
		}
		late := s.latePaid(absurd)
		for range 11 {
			s.confirm(late)
		}
		late, err = s.service.Accept(t.Context(), late.ID, "Tove", 0)
		s.must(err)
		if late.State.Status != invoice.Paid || late.State.Paid.String() != "40" {
			t.Errorf("accepted: %+v", late.State)
		}
		if resource := wire.Resource(s.service, late, nil); resource.Payments[0].Amount != absurd {
			t.Errorf("the resource has the payment %+v", resource.Payments[0])
		}
	})
}
