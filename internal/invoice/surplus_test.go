package invoice_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"chequer/internal/invoice"
)

// The surplus of several payments is refunded as a whole, in the assets that were paid last.
func TestSurplus_of_several_payments(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		inv := s.create("40")
		for _, p := range []struct{ asset, amount string }{{"BTC", "0.0005"}, {"BTC", "0.0005"}, {"USDC", "10"}, {"BTC", "0.0001"}} {
			s.pay(inv, p.asset, p.amount)
			s.clock.Advance(time.Second)
			s.step()
		}
		s.confirm(inv)
		inv = s.wantStatus(inv, invoice.Paid, invoice.Overpaid)
		for asset, want := range map[string]string{"BTC": "0.0006", "USDC": "10"} {
			if b, _ := s.service.Evaluation(inv).Balance(asset); b.Surplus.String() != want {
				t.Errorf("the surplus is %v %s, want %s", b.Surplus, asset, want)
			}
		}
	})
}

// A payment after everything was refunded waits for a decision.
func TestSurplus_after_the_refund_of_everything(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		inv := s.overpaid()
		_, made, err := s.refund(inv, invoice.RefundDraft{Kind: invoice.RefundReceived, Address: shopperBTC})
		s.must(err)
		_, err = s.service.SendRefund(t.Context(), inv.ID, made.ID, strings.Repeat("a", 64), "Tove", 0)
		s.must(err)
		s.wantWaiting(inv, false)
		s.pay(inv, "BTC", "0.0005")
		s.step()
		s.confirm(inv)
		s.wantWaiting(inv, true)
		_, made, err = s.refund(inv, invoice.RefundDraft{Kind: invoice.RefundSurplus, Address: shopperBTC})
		s.must(err)
		if !made.Amount.Equal(btc("0.0005")) {
			t.Errorf("the surplus is %v, want 0.0005", made.Amount)
		}
		_, err = s.service.SendRefund(t.Context(), inv.ID, made.ID, strings.Repeat("b", 64), "Tove", 0)
		s.must(err)
		s.wantWaiting(inv, false)
	})
}

func TestSurplus_is_refunded(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		inv := s.overpaid()
		s.wantWaiting(inv, true)
		inv, made, err := s.refund(inv, invoice.RefundDraft{Kind: invoice.RefundSurplus, Address: shopperBTC})
		s.must(err)
		if !made.Amount.Equal(btc("0.000125")) {
			t.Errorf("the surplus is %v, want 0.000125", made.Amount)
		}
		if _, _, err := s.refund(inv, invoice.RefundDraft{Kind: invoice.RefundSurplus, Address: shopperBTC, Again: true}); !errors.Is(err, invoice.ErrNoSurplus) {
			t.Errorf("the surplus again: %v", err)
		}
		if _, err := s.service.KeepSurplus(t.Context(), inv.ID, "Tove", "", 0); !errors.Is(err, invoice.ErrNoSurplus) {
			t.Errorf("kept while its refund is ready: %v", err)
		}
		_, err = s.service.SendRefund(t.Context(), inv.ID, made.ID, strings.Repeat("a", 64), "Tove", 0)
		s.must(err)
		s.wantWaiting(inv, false)
	})
}

func TestSurplus_is_kept(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		inv := s.overpaid()
		inv, err := s.service.KeepSurplus(t.Context(), inv.ID, "Tove", "a tip", inv.Version)
		s.must(err)
		if got := inv.Kept; got.By != "Tove" || got.Reason != "a tip" || got.Amount.String() != "10" {
			t.Errorf("kept: %+v", got)
		}
		s.wantWaiting(inv, false)
		if _, err := s.service.KeepSurplus(t.Context(), inv.ID, "Tove", "", 0); !errors.Is(err, invoice.ErrNoSurplus) {
			t.Errorf("kept again: %v", err)
		}
		s.clock.Advance(invoice.UndoPeriod)
		inv, err = s.service.ReleaseSurplus(t.Context(), inv.ID, inv.Version)
		s.must(err)
		s.wantWaiting(inv, true)
		if _, err := s.service.ReleaseSurplus(t.Context(), inv.ID, 0); !errors.Is(err, invoice.ErrState) {
			t.Errorf("taken back again: %v", err)
		}
		inv, err = s.service.KeepSurplus(t.Context(), inv.ID, "Maren", "", inv.Version)
		s.must(err)
		s.clock.Advance(invoice.UndoPeriod + time.Second)
		if _, err := s.service.ReleaseSurplus(t.Context(), inv.ID, 0); !errors.Is(err, invoice.ErrState) {
			t.Errorf("taken back after the period: %v", err)
		}
		s.pay(inv, "BTC", "0.0001")
		s.step()
		s.confirm(inv)
		s.wantWaiting(inv, true) // the surplus is larger now
	})
}

func TestSurplus_and_goods_are_separate(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		inv := s.overpaid()
		_, made, err := s.refund(inv, invoice.RefundDraft{Kind: invoice.RefundPart, Amount: btc("0.0003"), Address: shopperBTC})
		s.must(err)
		_, err = s.service.SendRefund(t.Context(), inv.ID, made.ID, strings.Repeat("a", 64), "Tove", 0)
		s.must(err)
		s.wantWaiting(inv, true)
		_, surplus, err := s.refund(inv, invoice.RefundDraft{Kind: invoice.RefundSurplus, Address: shopperBTC})
		s.must(err)
		if !surplus.Amount.Equal(btc("0.000125")) {
			t.Errorf("after the refund of goods the surplus is %v, want 0.000125", surplus.Amount)
		}
	})
}
