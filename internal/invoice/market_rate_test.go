package invoice_test

import (
	"strings"
	"testing"
	"time"

	"chequer/internal/chain"
	"chequer/internal/invoice"
	"chequer/internal/money"
)

// The market rate is that of the first sight of a live transfer, in time or late. It stays, and test money has none.
func TestObserve_keeps_the_market_rate_of_the_first_sight(t *testing.T) {
	t.Parallel()
	for mode, want := range map[invoice.Mode]string{invoice.Live: "81234.5", invoice.Test: ""} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			s := openShop(t, table)
			request := s.request("40", "BTC")
			request.Mode = mode
			inv, err := s.service.Create(t.Context(), request)
			s.must(err)
			s.setRates("BTC-EUR=81234.5,LTC-EUR=80,ETH-EUR=2500,EUR-USD=1.08")
			s.clock.Advance(time.Minute)
			s.pay(inv, "BTC", "0.0005")
			s.step()
			at := s.clock.Now()
			s.setRates(table)
			s.clock.Advance(time.Minute)
			s.must(s.net.Confirm(t.Context(), nil))
			s.step()
			got := s.reload(inv).Transfers[0]
			if want == "" && !got.Rate.IsZero() {
				t.Errorf("test money has the rate %+v", got.Rate)
			}
			if want != "" && (got.Rate.Price.Price() != want || got.Rate.Source != "fixed" || !got.Rate.At.Equal(at)) {
				t.Errorf("rate %s of %q at %v, want %s at %v", got.Rate.Price.Price(), got.Rate.Source, got.Rate.At, want, at)
			}
		})
	}
}

// Parts of the price add up to it, however the payments are rounded, and what is above it belongs to none.
func TestPriceParts_add_up_to_the_price(t *testing.T) {
	t.Parallel()
	for name, amounts := range map[string][]int64{
		"thirds":   {full / 3, full / 3, full - 2*(full/3)},
		"overpaid": {full / 7, full, full / 2},
		"in full":  {full},
	} {
		inv := newInvoice(t, noon)
		var all []chain.Transfer
		for i, units := range amounts {
			all = append(all, inBlock(pay(string(rune('a'+i)), units, time.Minute), 101, 2*time.Minute))
		}
		observe(inv, 110, all...)
		sum := money.Zero(money.EUR)
		for _, part := range inv.PriceParts() {
			sum = sum.Add(part)
		}
		if !sum.Equal(inv.Terms.Price) {
			t.Errorf("%s: parts %v of %s", name, inv.PriceParts(), inv.Terms.Price)
		}
	}
}

// A refund has the market rate of the moment at which it is seen or stated as paid.
func TestRefund_keeps_the_market_rate(t *testing.T) {
	t.Parallel()
	s := openShop(t, table)
	request := s.request("40", "BTC")
	request.Mode = invoice.Live
	inv, err := s.service.Create(t.Context(), request)
	s.must(err)
	s.confirmTx(s.pay(inv, "BTC", "0.001"))
	s.step()
	_, r, err := s.service.CreateRefund(t.Context(), inv.ID, invoice.RefundDraft{
		Kind: invoice.RefundPart, Asset: "BTC", Amount: money.MustParse("0.0002", money.BTC), Address: shopperBTC, By: "Tove",
	})
	s.must(err)
	s.setRates("BTC-EUR=90000,LTC-EUR=80,ETH-EUR=2500,EUR-USD=1.08")
	_, err = s.service.SendRefund(t.Context(), inv.ID, r.ID, strings.Repeat("8f", 32), "Tove", 0)
	s.must(err)
	s.setRates(table)
	if got := s.reload(inv).Refunds[0].MarketRate; got.Price.Price() != "90000" || got.Source != "fixed" || !got.At.Equal(s.clock.Now()) {
		t.Errorf("market rate %s of %q at %v", got.Price.Price(), got.Source, got.At)
	}
}
