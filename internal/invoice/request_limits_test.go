package invoice_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"chequer/internal/chain"
	"chequer/internal/invoice"
	"chequer/internal/storage"
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
		if _, err := s.service.RequestPayment(t.Context(), inv.ID, chain.CodeLightning); !errors.Is(err, invoice.ErrRequestRunning) {
			t.Errorf("RequestPayment() = %v, want ErrRequestRunning", err)
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
	})
}

func TestRequest_keeps_the_limits_of_the_provider(t *testing.T) {
	inLightning(t, func(t *testing.T, s *lightningShop) {
		w := s.walletsByID["w1"]
		w.set(func() { w.least, w.most = 50_000_000, 150_000_000 })
		for amount, want := range map[string]bool{"39.99": false, "40.00": true, "120.00": true, "120.01": false} {
			inv := s.createLive(amount, "w1")
			if _, priced := inv.Quote().Price(chain.CodeLightning); priced != want {
				t.Errorf("%s euro can be paid by Lightning: %t, want %t", amount, priced, want)
			}
		}
		_, err := s.service.Create(t.Context(), s.requestLive("8.00", "w1", chain.CodeLightning))
		if small, ok := errors.AsType[*invoice.TooSmallError](err); !ok || small.Smallest.String() != "40" {
			t.Errorf("below the least: %v, want a *TooSmallError with 40", err)
		}
		if _, err := s.service.Create(t.Context(), s.requestLive("200.00", "w1", chain.CodeLightning)); !errors.Is(err, invoice.ErrTooLarge) {
			t.Errorf("above the most: %v, want ErrTooLarge", err)
		}
		r := s.requestLive("8.00", "w1")
		r.Terms.Lightning.OnDemand = true
		inv, err := s.service.Create(t.Context(), r)
		s.must(err)
		_, err = s.service.RequestPayment(t.Context(), inv.ID, chain.CodeLightning)
		if limit, ok := errors.AsType[*chain.LimitError](err); !ok || !limit.Least.Equal(sats(50_000)) {
			t.Errorf("on demand: %v, want a *LimitError", err)
		}
	})
}

func TestRequest_is_not_made_for_a_creation_that_is_refused(t *testing.T) {
	onLightning(t, func(t *testing.T, s *lightningShop) {
		plain := func() invoice.CreateRequest { return s.requestLive("8.00", "w1") }
		keyed := plain()
		keyed.Key, keyed.BodyHash = invoice.IdempotencyKey{Namespace: "n", Value: "k"}, "b"
		limited := plain()
		limited.UnpaidLimits = []invoice.UnpaidLimit{{Max: 1}}
		nonce := plain()
		nonce.Nonce = invoice.Nonce{Key: "key", Value: "nonce", TTL: time.Hour}
		for name, r := range map[string]invoice.CreateRequest{"a known key": keyed, "a limit": limited, "a used nonce": nonce} {
			first, err := s.service.Create(t.Context(), r)
			s.must(err)
			before := len(s.walletsByID["w1"].made())
			second, err := s.service.Create(t.Context(), r)
			if err == nil && second.ID != first.ID {
				t.Errorf("%s: another invoice was made", name)
			}
			if made := len(s.walletsByID["w1"].made()) - before; made != 0 {
				t.Errorf("%s: %d requests were made for nothing (%v)", name, made, err)
			}
		}
	})
}

// uncertainStorage writes an invoice, and loses the answer.
type uncertainStorage struct{ *storage.Storage }

func (s uncertainStorage) CreateInvoice(ctx context.Context, c invoice.Creation) (*invoice.Invoice, bool, error) {
	if _, _, err := s.Storage.CreateInvoice(ctx, c); err != nil {
		return nil, false, err
	}
	return nil, false, invoice.ErrUnavailable
}

func TestRequest_is_not_cancelled_if_the_invoice_may_be_written(t *testing.T) {
	inLightning(t, func(t *testing.T, s *lightningShop) {
		s.startOn(uncertainStorage{s.store})
		if _, err := s.service.Create(t.Context(), s.requestLive("8.00", "w1")); !errors.Is(err, invoice.ErrUnavailable) {
			t.Fatalf("Create() = %v, want ErrUnavailable", err)
		}
		s.service.Close() // it waits for the calls
		if got := s.walletsByID["w1"].cancelled(); len(got) > 0 {
			t.Errorf("cancelled: %v, want none", got)
		}
	})
}

func TestRequest_is_not_made_while_that_of_the_creation_is(t *testing.T) {
	inLightning(t, func(t *testing.T, s *lightningShop) {
		w, block := s.walletsByID["w1"], make(chan struct{})
		w.set(func() { w.block = block })
		inv := s.createLive("8.00", "w1")
		s.wantNone(inv)
		if _, err := s.service.RequestPayment(t.Context(), inv.ID, chain.CodeLightning); !errors.Is(err, invoice.ErrRequestRunning) {
			t.Errorf("RequestPayment() = %v, want ErrRequestRunning", err)
		}
		close(block)
		s.eventually("the late request appears", func() bool { _, ok := s.shown(s.reload(inv)); return ok })
	})
}

func TestMayRequest_allows_twenty_requests(t *testing.T) {
	inLightning(t, func(t *testing.T, s *lightningShop) {
		inv := s.createLive("8.00", "w1")
		old := s.mustShow(inv, 10_000)
		old.Superseded = true
		for n, want := range map[int]bool{19: true, 20: false} {
			inv.Quotes[0].Requests = slices.Repeat([]invoice.PaymentRequest{old}, n)
			if got := inv.Evaluation().MayRequest(s.method(inv), s.clock.Now()); got != want {
				t.Errorf("after %d requests the shopper may ask for another: %t, want %t", n, got, want)
			}
		}
	})
}

func TestRequote_names_an_amount_above_the_limits(t *testing.T) {
	inLightning(t, func(t *testing.T, s *lightningShop) {
		r := s.requestLive("8.00", "w1", chain.CodeLightning)
		r.Terms.Lightning.Most = sats(10_000)
		inv, err := s.service.Create(t.Context(), r)
		s.must(err)
		s.setRates("BTC-EUR=40000,LTC-EUR=80,ETH-EUR=2500,EUR-USD=1.08")
		if _, err := s.service.Requote(t.Context(), inv.ID, invoice.Shopper, 0); !errors.Is(err, invoice.ErrTooMuch) {
			t.Errorf("Requote() = %v, want ErrTooMuch", err)
		}
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
