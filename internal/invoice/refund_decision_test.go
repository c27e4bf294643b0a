package invoice_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"chequer/internal/invoice"
)

func TestRefund_is_declined(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		inv := s.latePaid("0.0005")
		if _, err := s.service.DeclineRefund(t.Context(), inv.ID, "Tove", "", 0); !errors.Is(err, invoice.ErrState) {
			t.Errorf("without a request: %v", err)
		}
		inv, err := s.service.SetRefundAddress(t.Context(), inv.ID, "shopper", "BTC", shopperBTC)
		s.must(err)
		s.pay(inv, "BTC", "0.0001") // after the request
		s.step()
		if _, err := s.service.DeclineRefund(t.Context(), inv.ID, "Tove", "", inv.Version); !errors.Is(err, invoice.ErrStale) {
			t.Errorf("about an older version: %v", err)
		}
		inv, err = s.service.DeclineRefund(t.Context(), inv.ID, "Tove", "the goods were not returned", 0)
		s.must(err)
		got := inv.Refunds[0]
		if len(inv.Refunds) != 1 || got.State != invoice.RefundDeclined || got.Closed.By != "Tove" || got.Reason != "the goods were not returned" || !got.Amount.Equal(btc("0.0006")) {
			t.Errorf("declined: %+v", inv.Refunds)
		}
		s.wantWaiting(inv, false)
		if _, err := s.service.DeclineRefund(t.Context(), inv.ID, "Tove", "", 0); !errors.Is(err, invoice.ErrState) {
			t.Errorf("declined again: %v", err)
		}
		s.confirm(inv)
		_, _, err = s.refund(inv, invoice.RefundDraft{Kind: invoice.RefundReceived}) // the merchant may still pay
		s.must(err)
		s.wantWaiting(inv, false)
	})
}

// lateInTwoAssets returns an expired invoice that was paid late in BTC and in USDC. The shopper gave an address for the
// BTC, and the merchant refunded the USDC.
func (s *shop) lateInTwoAssets() *invoice.Invoice {
	s.t.Helper()
	inv := s.create("40")
	s.clock.Advance(16 * time.Minute)
	s.wantStatus(inv, invoice.Expired)
	s.pay(inv, "BTC", "0.0005")
	s.pay(inv, "USDC", "40")
	s.step()
	s.confirm(inv)
	_, err := s.service.SetRefundAddress(s.t.Context(), inv.ID, "shopper", "BTC", shopperBTC)
	s.must(err)
	_, made, err := s.refund(inv, invoice.RefundDraft{Kind: invoice.RefundReceived, Asset: "USDC", Address: shopperETH})
	s.must(err)
	_, err = s.service.SendRefund(s.t.Context(), inv.ID, made.ID, strings.Repeat("c", 64), "Tove", 0)
	s.must(err)
	return inv
}

// The refund of one asset stays as it is if the merchant declines that of another one.
func TestRefund_is_declined_in_the_asset_of_the_address(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		inv := s.lateInTwoAssets()
		_, err := s.service.DeclineRefund(t.Context(), inv.ID, "Tove", "", 0)
		s.must(err)
		for i, want := range []string{"BTC declined 0.0005 BTC", "USDC sent 40 USDC"} {
			r := s.reload(inv).Refunds[i]
			if got := fmt.Sprint(r.Asset, " ", r.State, " ", r.Amount, " ", r.Amount.Currency().Code); got != want {
				t.Errorf("refund %d is %s, want %s", i, got, want)
			}
		}
		s.wantWaiting(inv, false)
	})
}

// Money that was refunded does not pay an invoice: neither together with a later payment, nor by an acceptance.
func TestRefund_does_not_pay_an_invoice(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		everything := invoice.RefundDraft{Kind: invoice.RefundReceived, Address: shopperBTC}
		inv := s.create("40")
		s.pay(inv, "BTC", "0.00025")
		s.step()
		s.confirm(inv)
		inv = s.wantStatus(inv, invoice.Pending, invoice.Underpaid)
		e := s.service.Evaluation(inv)
		if b, received := e.Balance("BTC"); !received || e.MayRefund(b) {
			t.Errorf("balance %+v can be refunded", b)
		}
		if _, _, err := s.refund(inv, everything); !errors.Is(err, invoice.ErrState) {
			t.Errorf("a part of the price of an invoice that can still be paid was refunded: %v", err)
		}
		s.clock.Advance(16 * time.Minute)
		s.step()
		s.wantStatus(inv, invoice.Expired, invoice.Underpaid)
		inv = s.reload(inv)
		e = s.service.Evaluation(inv)
		if b, _ := e.Balance("BTC"); !e.MayRefund(b) {
			t.Error("nothing of an expired invoice can be refunded")
		}
		_, made, err := s.refund(inv, everything)
		s.must(err)
		if _, err := s.service.Requote(t.Context(), inv.ID, invoice.Merchant, 0); !errors.Is(err, invoice.ErrState) {
			t.Errorf("a quote for the rest after a refund of the first part: %v", err)
		}
		_, err = s.service.CancelRefund(t.Context(), inv.ID, made.ID, "Tove", "", 0)
		s.must(err)
		_, err = s.service.Requote(t.Context(), inv.ID, invoice.Merchant, 0)
		s.must(err)

		late := s.latePaid("0.0005")
		_, made, err = s.refund(late, everything)
		s.must(err)
		late, err = s.service.SendRefund(t.Context(), late.ID, made.ID, strings.Repeat("a", 64), "Tove", 0)
		s.must(err)
		if s.service.Evaluation(late).Decisions(s.clock.Now(), invoice.Tolerance{}).Accept {
			t.Error("an invoice that was refunded can be accepted")
		}
		if _, err := s.service.Accept(t.Context(), late.ID, "Tove", 0); !errors.Is(err, invoice.ErrState) {
			t.Errorf("an invoice that was refunded was accepted: %v", err)
		}
	})
}

// Even if the terms allow late payments, a late payment that follows a refund of the first part waits for a decision.
func TestRefund_does_not_pay_an_invoice_with_a_late_payment(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		r := s.request("40")
		r.Terms.AllowPaidExpired, r.Terms.Rules.LatePercent = true, 0
		inv, err := s.service.Create(t.Context(), r)
		s.must(err)
		s.pay(inv, "BTC", "0.00025")
		s.step()
		s.confirm(inv)
		s.clock.Advance(16 * time.Minute)
		s.step()
		s.wantStatus(inv, invoice.Expired, invoice.Underpaid)
		_, made, err := s.refund(inv, invoice.RefundDraft{Kind: invoice.RefundReceived, Address: shopperBTC})
		s.must(err)
		_, err = s.service.SendRefund(t.Context(), inv.ID, made.ID, strings.Repeat("a", 64), "Tove", 0)
		s.must(err)
		s.clock.Advance(time.Minute)
		s.pay(inv, "BTC", "0.00025")
		s.step()
		s.confirm(inv)
		s.wantStatus(inv, invoice.Expired, invoice.Underpaid, invoice.Late)
		s.wantWaiting(inv, true)
	})
}

// An acceptance after a refund of a part needs a confirmed sign-in.
func TestRefund_of_a_part_makes_an_acceptance_high_risk(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		late := s.latePaid("0.0006")
		limit := invoice.Tolerance{BasisPoints: 500}
		if d := s.service.Evaluation(late).Decisions(s.clock.Now(), limit); !d.Accept || d.HighRisk {
			t.Errorf("before a refund: %+v", d)
		}
		late, _, err := s.refund(late, invoice.RefundDraft{Kind: invoice.RefundPart, Amount: btc("0.0003"), Address: shopperBTC})
		s.must(err)
		if d := s.service.Evaluation(late).Decisions(s.clock.Now(), limit); !d.Accept || !d.HighRisk {
			t.Errorf("after a refund: %+v", d)
		}
	})
}
