package invoice_test

import (
	"errors"
	"testing"
	"time"

	"chequer/internal/chain"
	"chequer/internal/invoice"
)

func TestRequest_limits_the_calls_for_an_invoice(t *testing.T) {
	inLightning(t, func(t *testing.T, s *lightningShop) {
		w := s.walletsByID["w1"]
		inv := s.createLive("8.00", "w1")
		w.set(func() { w.err = errors.New("down") })
		inv, err := s.service.Requote(t.Context(), inv.ID, invoice.Shopper, 0) // one call, without success
		s.must(err)
		for range 9 {
			if _, err := s.service.RequestPayment(t.Context(), inv.ID, chain.CodeLightning); !errors.Is(err, invoice.ErrNoRequest) {
				t.Fatalf("RequestPayment() = %v, want ErrNoRequest", err)
			}
		}
		w.set(func() { w.err = nil })
		if _, err := s.service.RequestPayment(t.Context(), inv.ID, chain.CodeLightning); !errors.Is(err, invoice.ErrTooManyRequests) {
			t.Fatalf("the eleventh call in an hour: %v, want ErrTooManyRequests", err)
		}
		s.clock.Advance(61 * time.Minute)
		s.scan("w1")
		s.step()
		inv, err = s.service.Requote(t.Context(), inv.ID, invoice.Merchant, 0)
		s.must(err)
		s.mustShow(inv, 10_000)
	})
}

func TestRequest_is_made_by_one_call_at_a_time(t *testing.T) {
	inLightning(t, func(t *testing.T, s *lightningShop) {
		w := s.walletsByID["w1"]
		r := s.requestLive("8.00", "w1")
		r.Terms.Lightning.OnDemand = true
		inv, err := s.service.Create(t.Context(), r)
		s.must(err)
		block := make(chan struct{})
		w.set(func() { w.block = block })
		done := make(chan error, 1)
		go func() {
			_, err := s.service.RequestPayment(t.Context(), inv.ID, chain.CodeLightning)
			done <- err
		}()
		s.eventually("the first call runs", func() bool { return len(w.made()) == 1 })
		if _, err := s.service.RequestPayment(t.Context(), inv.ID, chain.CodeLightning); !errors.Is(err, invoice.ErrAsking) {
			t.Errorf("RequestPayment() = %v, want ErrAsking", err)
		}
		close(block)
		s.must(<-done)
		s.mustShow(s.reload(inv), 10_000)
	})
}

func TestRequest_keeps_the_limits_of_the_merchant(t *testing.T) {
	inLightning(t, func(t *testing.T, s *lightningShop) {
		for amount, want := range map[string]bool{"0.07": false, "0.08": true, "4000.00": true, "4000.01": false} {
			inv := s.createLive(amount, "w1")
			if _, priced := inv.Quote().Price(chain.CodeLightning); priced != want {
				t.Errorf("%s euro can be paid by Lightning: %t, want %t", amount, priced, want)
			}
		}
		_, err := s.service.Create(t.Context(), s.requestLive("4000.01", "w1", chain.CodeLightning))
		if !errors.Is(err, invoice.ErrTooLarge) {
			t.Errorf("above the most: %v, want ErrTooLarge", err)
		}
		_, err = s.service.Create(t.Context(), s.requestLive("0.07", "w1", chain.CodeLightning))
		if small, ok := errors.AsType[*invoice.TooSmallError](err); !ok || small.Smallest.String() != "0.08" {
			t.Errorf("below the least: %v, want a *TooSmallError with 0.08", err)
		}
		w := s.walletsByID["w1"]
		w.set(func() { w.least = 50_000_000 })
		s.wantNone(s.createLive("8.00", "w1"))
		s.mustShow(s.createLive("80.00", "w1"), 100_000) // the refusal of an amount is no failure of the provider
	})
}

func TestRequest_that_was_seen_before_is_refused(t *testing.T) {
	onLightning(t, func(t *testing.T, s *lightningShop) {
		first := s.mustShow(s.createLive("8.00", "w1"), 10_000)
		s.walletsByID["w1"].set(func() { s.walletsByID["w1"].repeat = first.Script })
		s.wantNone(s.createLive("8.00", "w1"))
		s.start() // another process, or after a restart
		s.wantNone(s.createLive("8.00", "w1"))
		// A wallet of another shop has another network, and may be the same provider.
		w2 := s.walletsByID["w2"]
		w2.set(func() { w2.Wallet, w2.repeat = s.walletsByID["w1"].Wallet, first.Script })
		s.wantNone(s.createLive("8.00", "w2"))
		s.settle("w1", first.Script)
		var paid int
		for _, e := range s.liveEvents() {
			if e.Type == invoice.EventPaid {
				paid++
			}
		}
		if paid != 1 {
			t.Errorf("%d invoices are paid, want 1", paid)
		}
	})
}
