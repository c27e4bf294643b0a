package invoice_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"chequer/internal/chain"
	"chequer/internal/invoice"
	"chequer/internal/storage"
	"chequer/internal/storage/storagetest"
)

// onLightning runs a test with a shop on each engine.
func onLightning(t *testing.T, test func(t *testing.T, s *lightningShop)) {
	t.Helper()
	storagetest.OnBoth(t, func(t *testing.T, store *storage.Storage, _ string) { test(t, openLightning(t, store)) })
}

// inLightning runs a test with a shop on SQLite.
func inLightning(t *testing.T, test func(t *testing.T, s *lightningShop)) {
	t.Helper()
	t.Parallel()
	test(t, openLightning(t, storagetest.SQLite(t)))
}

func TestRequest_is_made_with_the_invoice_and_pays_it(t *testing.T) {
	onLightning(t, func(t *testing.T, s *lightningShop) {
		inv := s.createLive("8.00", "w1")
		r := s.mustShow(inv, 10_000)
		stored := s.mustShow(s.reload(inv), 10_000)
		if r.Address != stored.Address || r.Script != stored.Script || !r.Until.Equal(stored.Until) || r.Address != strings.ToLower(r.Address) {
			t.Errorf("request %+v, stored %+v", r, stored)
		}
		if end := inv.ExpiresAt(); r.Until.Before(end.Add(-time.Second)) || r.Until.After(end.Add(time.Second)) {
			t.Errorf("request ends at %s, want the end of the quote %s", r.Until, end)
		}
		if ask := s.walletsByID["w1"].made()[0]; ask.Memo != "Shop m" {
			t.Errorf("description %q, want the name of the shop", ask.Memo)
		}
		s.scan("w1")
		s.wantState(inv, invoice.Created)
		s.settle("w1", r.Script)
		inv = s.wantState(inv, invoice.Paid)
		if p := inv.Payments(); len(p) != 1 || p[0].Tx != r.Script || p[0].ID != r.Script || !p[0].Final() {
			t.Errorf("payments %+v, want the request", p)
		}
		var types []string
		for _, e := range s.liveEvents() {
			types = append(types, string(e.Type))
		}
		if want := "[invoice.created payment.seen payment.confirmed invoice.paid]"; fmt.Sprint(types) != want {
			t.Errorf("events %v, want %s", types, want)
		}
		events := s.liveEvents()
		if events[1].Version != events[3].Version {
			t.Error("the events of the payment are not of one change")
		}
	})
}

// liveEvents returns the events of the merchant m.
func (s *lightningShop) liveEvents() []invoice.Event {
	s.t.Helper()
	list, err := s.store.Events(s.t.Context(), "m", invoice.Live, 0, 1000)
	s.must(err)
	return list
}

func TestRequest_that_is_late_is_added_to_the_invoice(t *testing.T) {
	onLightning(t, func(t *testing.T, s *lightningShop) {
		w := s.walletsByID["w1"]
		block := make(chan struct{})
		w.set(func() { w.block = block })
		inv := s.createLive("8.00", "w1")
		s.wantNone(inv)
		if _, ok := inv.Quote().Price(chain.CodeLightning); !ok {
			t.Fatal("the method has no price")
		}
		close(block)
		s.eventually("the request is added", func() bool { return len(s.reload(inv).PaymentRequests()) == 1 })
		current := s.reload(inv)
		if current.Version != inv.Version+1 {
			t.Errorf("version %d after %d: an open page does not show the request", current.Version, inv.Version)
		}
		s.settle("w1", s.mustShow(current, 10_000).Script)
		s.wantState(inv, invoice.Paid)
	})
}

func TestRequest_that_is_late_gives_way_to_one_that_the_shopper_sees(t *testing.T) {
	inLightning(t, func(t *testing.T, s *lightningShop) {
		w := s.walletsByID["w1"]
		block := make(chan struct{})
		w.set(func() { w.block = block })
		inv := s.createLive("8.00", "w1")
		w.set(func() { w.block = nil })
		first := s.service
		defer first.Close()
		s.start() // another process
		inv, err := s.service.RequestPayment(t.Context(), inv.ID, chain.CodeLightning)
		s.must(err)
		seen := s.mustShow(inv, 10_000)
		close(block)
		s.eventually("the late request is cancelled", func() bool { return len(w.cancelled()) == 1 })
		if inv = s.reload(inv); len(inv.PaymentRequests()) != 1 || s.mustShow(inv, 10_000).Script != seen.Script || w.cancelled()[0] == seen.Script {
			t.Errorf("requests %+v, cancelled %v, want the one that the shopper saw", inv.PaymentRequests(), w.cancelled())
		}
	})
}

// The provider cancels the request while a payment on chain covers the price. If that payment is double-spent, the shopper needs
// another request.
func TestRequest_that_was_cancelled_is_never_shown_again(t *testing.T) {
	onLightning(t, func(t *testing.T, s *lightningShop) {
		inv := s.createLive("8.00", "w1")
		first := s.mustShow(inv, 10_000)
		tx := s.pay(inv, "BTC", "0.0001")
		s.step()
		s.eventually("the request is cancelled", func() bool { return slices.Equal(s.walletsByID["w1"].cancelled(), []string{first.Script}) })
		s.must(s.net.Replace(t.Context(), tx))
		s.step()
		s.eventually("another request is made", func() bool {
			r, ok := s.shown(s.reload(inv))
			return ok && r.Script != first.Script && r.Amount.Equal(sats(10_000))
		})
		s.settle("w1", s.mustShow(s.reload(inv), 10_000).Script)
		s.wantState(inv, invoice.Paid, invoice.WasReplaced)
	})
}

func TestRequest_of_a_declined_invoice_is_cancelled(t *testing.T) {
	inLightning(t, func(t *testing.T, s *lightningShop) {
		inv := s.createLive("8.00", "w1")
		r := s.mustShow(inv, 10_000)
		inv, err := s.service.Cancel(t.Context(), inv.ID, 0)
		s.must(err)
		s.wantNone(inv)
		s.eventually("the request is cancelled", func() bool { return slices.Equal(s.walletsByID["w1"].cancelled(), []string{r.Script}) })
	})
}

func TestAsset_knows_the_network_of_a_former_connection(t *testing.T) {
	inLightning(t, func(t *testing.T, s *lightningShop) {
		network := chain.LightningID("gone")
		if a, ok := s.service.Asset(network, chain.CodeLightning); !ok || a.Network != network || a.Symbol != "BTC" {
			t.Errorf("asset %+v %t, want bitcoin on %s", a, ok, network)
		}
		if a, ok := s.service.Asset(network, "ETH"); ok {
			t.Errorf("asset %+v, want none", a)
		}
	})
}

func TestRequest_is_made_on_demand_when_the_provider_failed(t *testing.T) {
	inLightning(t, func(t *testing.T, s *lightningShop) {
		w := s.walletsByID["w1"]
		w.set(func() { w.err = errors.New("down") })
		inv := s.createLive("8.00", "w1")
		s.wantNone(inv)
		if !inv.Evaluation().MayRequest(s.method(inv), s.clock.Now()) {
			t.Fatal("the shopper may not ask for a request")
		}
		s.createLive("8.00", "w1")
		if asks := len(w.made()); asks != 1 {
			t.Errorf("%d calls for two invoices, want 1: the provider failed just before", asks)
		}
		if _, err := s.service.RequestPayment(t.Context(), inv.ID, chain.CodeLightning); !errors.Is(err, invoice.ErrNoRequest) {
			t.Errorf("RequestPayment() = %v, want ErrNoRequest", err)
		}
		w.set(func() { w.err = nil })
		inv, err := s.service.RequestPayment(t.Context(), inv.ID, chain.CodeLightning)
		s.must(err)
		first := s.mustShow(inv, 10_000)
		again, err := s.service.RequestPayment(t.Context(), inv.ID, chain.CodeLightning)
		s.must(err)
		if s.mustShow(again, 10_000).Script != first.Script {
			t.Error("another request was made while one is valid")
		}
		s.clock.Advance(2 * time.Minute)
		s.mustShow(s.createLive("8.00", "w1"), 10_000)
	})
}

func TestRequest_on_demand_only_is_not_made_before(t *testing.T) {
	inLightning(t, func(t *testing.T, s *lightningShop) {
		r := s.requestLive("8.00", "w1")
		r.Terms.Lightning.OnDemand = true
		inv, err := s.service.Create(t.Context(), r)
		s.must(err)
		s.must(s.net.Confirm(t.Context(), []string{s.pay(inv, "BTC", "0.00005")}))
		s.step()
		s.wantState(inv, invoice.Pending, invoice.Underpaid)
		if asks := s.walletsByID["w1"].made(); len(asks) != 0 {
			t.Errorf("%d calls, want none", len(asks))
		}
		inv, err = s.service.RequestPayment(t.Context(), inv.ID, chain.CodeLightning)
		s.must(err)
		s.mustShow(inv, 5_000)
	})
}

func TestRequest_follows_a_new_quote(t *testing.T) {
	onLightning(t, func(t *testing.T, s *lightningShop) {
		w := s.walletsByID["w1"]
		w.set(func() { w.expiry = 24 * time.Hour }) // as some Lightning addresses choose it
		inv := s.createLive("8.00", "w1")
		old := s.mustShow(inv, 10_000)
		s.clock.Advance(16 * time.Minute)
		s.wantNone(inv)
		s.scan("w1")
		s.step()
		s.wantState(inv, invoice.Expired)
		s.setRates("BTC-EUR=40000,LTC-EUR=80,ETH-EUR=2500,EUR-USD=1.08")
		inv, err := s.service.Requote(t.Context(), inv.ID, invoice.Merchant, 0)
		s.must(err)
		current := s.mustShow(inv, 20_000)
		s.eventually("the old request is cancelled", func() bool { return slices.Equal(w.cancelled(), []string{old.Script}) })
		// The provider settles the old request nevertheless: the payer was faster. It is looked up once in a minute now.
		s.clock.Advance(time.Minute)
		s.settle("w1", old.Script)
		inv = s.wantState(inv, invoice.Pending, invoice.Underpaid)
		rest := inv.Evaluation().Remaining(s.method(inv))
		s.eventually("a request for the rest is made", func() bool {
			r, ok := s.shown(s.reload(inv))
			return ok && r.Amount.Equal(rest) && r.Script != current.Script
		})
		s.settle("w1", s.mustShow(s.reload(inv), rest.Cents()).Script)
		s.wantState(inv, invoice.Paid)
	})
}

func TestRequest_asks_for_the_rest_of_a_payment_on_chain(t *testing.T) {
	inLightning(t, func(t *testing.T, s *lightningShop) {
		inv := s.createLive("8.00", "w1")
		first := s.mustShow(inv, 10_000)
		s.must(s.net.Confirm(t.Context(), []string{s.pay(inv, "BTC", "0.00006")}))
		s.step()
		s.eventually("a request for the rest is made", func() bool {
			r, ok := s.shown(s.reload(inv))
			return ok && r.Amount.Equal(sats(4_000))
		})
		s.eventually("the first request is cancelled", func() bool {
			return slices.Equal(s.walletsByID["w1"].cancelled(), []string{first.Script})
		})
		s.settle("w1", s.mustShow(s.reload(inv), 4_000).Script)
		s.wantState(inv, invoice.Paid)
	})
}

func TestRequest_counts_although(t *testing.T) {
	cases := map[string]func(s *lightningShop, w *wallet, inv *invoice.Invoice, r invoice.PaymentRequest){
		"the program was down": func(s *lightningShop, w *wallet, _ *invoice.Invoice, r invoice.PaymentRequest) {
			w.Pay(r.Script)
			s.clock.Advance(3 * time.Hour)
			s.start()
			s.scan("w1")
		},
		"the clock of the provider is an hour ahead": func(s *lightningShop, w *wallet, _ *invoice.Invoice, r invoice.PaymentRequest) {
			w.set(func() { w.settled[r.Script] = s.clock.Now().Add(time.Hour) })
			s.settle("w1", r.Script)
		},
		"the clock of the provider is an hour behind": func(s *lightningShop, w *wallet, _ *invoice.Invoice, r invoice.PaymentRequest) {
			w.set(func() { w.settled[r.Script] = s.clock.Now().Add(-time.Hour) })
			s.settle("w1", r.Script)
		},
		"the provider was down and the quote ended": func(s *lightningShop, w *wallet, inv *invoice.Invoice, r invoice.PaymentRequest) {
			w.Pay(r.Script)
			w.set(func() { w.err = errors.New("down") })
			s.clock.Advance(20 * time.Minute)
			if _, err := s.watchers["w1"].Step(s.t.Context()); err == nil {
				s.t.Error("a scan without an answer of the provider succeeded")
			}
			s.step()
			s.wantState(inv, invoice.Created)
			w.set(func() { w.err = nil })
			s.clock.Advance(2 * time.Minute)
			s.scan("w1")
		},
		"the payment was held first": func(s *lightningShop, w *wallet, inv *invoice.Invoice, r invoice.PaymentRequest) {
			w.Hold(r.Script)
			s.clock.Advance(20 * time.Second)
			s.scan("w1")
			s.wantState(inv, invoice.Created)
			s.settle("w1", r.Script)
		},
	}
	for name, pay := range cases {
		t.Run(name, func(t *testing.T) {
			inLightning(t, func(_ *testing.T, s *lightningShop) {
				inv := s.createLive("8.00", "w1")
				pay(s, s.walletsByID["w1"], inv, s.mustShow(inv, 10_000))
				s.expire()
				s.wantState(inv, invoice.Paid)
			})
		})
	}
}

func TestRequest_that_is_cancelled_by_the_payer_pays_nothing(t *testing.T) {
	inLightning(t, func(_ *testing.T, s *lightningShop) {
		inv := s.createLive("8.00", "w1")
		r, w := s.mustShow(inv, 10_000), s.walletsByID["w1"]
		w.Hold(r.Script)
		w.Wallet.Cancel(r.Script) // its amount stays visible
		s.clock.Advance(20 * time.Second)
		s.scan("w1")
		s.wantState(inv, invoice.Created)
	})
}

func TestRequest_paid_after_the_end_is_late_at_its_time(t *testing.T) {
	inLightning(t, func(t *testing.T, s *lightningShop) {
		w := s.walletsByID["w1"]
		w.set(func() { w.expiry = 30 * 24 * time.Hour })
		inv := s.createLive("8.00", "w1")
		r := s.mustShow(inv, 10_000)
		s.clock.Advance(20 * time.Minute)
		s.scan("w1")
		s.step()
		s.wantState(inv, invoice.Expired)
		s.clock.Advance(20 * 24 * time.Hour)
		paidAt := s.clock.Now()
		s.start()
		s.settle("w1", r.Script)
		inv = s.wantState(inv, invoice.Expired, invoice.Late)
		if p := inv.Payments(); len(p) != 1 || !p[0].FirstSeen.Equal(paidAt) {
			t.Errorf("payments %+v, want one at %s", p, paidAt)
		}
	})
}

func TestRequest_of_one_invoice_paid_twice_overpays(t *testing.T) {
	inLightning(t, func(t *testing.T, s *lightningShop) {
		inv := s.createLive("8.00", "w1")
		first := s.mustShow(inv, 10_000)
		s.setRates("BTC-EUR=79000,LTC-EUR=80,ETH-EUR=2500,EUR-USD=1.08")
		inv, err := s.service.Requote(t.Context(), inv.ID, invoice.Shopper, 0)
		s.must(err)
		second := s.mustShow(inv, 10_127)
		s.walletsByID["w1"].Pay(first.Script)
		s.settle("w1", second.Script)
		s.wantState(inv, invoice.Paid, invoice.Overpaid)
	})
}

func TestRequest_of_a_dead_provider_delays_no_other(t *testing.T) {
	inLightning(t, func(t *testing.T, s *lightningShop) {
		dead, live := s.createLive("8.00", "w1"), s.createLive("8.00", "w2")
		s.mustShow(dead, 10_000)
		w := s.walletsByID["w1"]
		w.set(func() { w.err = errors.New("down") })
		s.clock.Advance(20 * time.Second)
		if _, err := s.watchers["w1"].Step(t.Context()); err == nil {
			t.Error("a scan without an answer of the provider succeeded")
		}
		s.settle("w2", s.mustShow(live, 10_000).Script)
		s.wantState(live, invoice.Paid)
		s.wantNone(s.createLive("8.00", "w1"))
		s.mustShow(s.createLive("8.00", "w2"), 10_000)
	})
}

func TestRequest_describes_the_shop_and_no_secret(t *testing.T) {
	inLightning(t, func(t *testing.T, s *lightningShop) {
		r := s.requestLive("8.00", "w1")
		r.Terms.Merchant, r.Terms.Lightning.NamesOrder = strings.Repeat("ä", 48), true
		r.Terms.Metadata = map[string]string{"email": "anna@example.com"}
		inv, err := s.service.Create(t.Context(), r)
		s.must(err)
		if memo := s.walletsByID["w1"].made()[0].Memo; memo != strings.Repeat("ä", 48)+" ord" || strings.Contains(memo, inv.ID) {
			t.Errorf("description %q, want the shop and the order ID, cut at %d bytes", memo, chain.MaxMemo)
		}
	})
}

func TestRequest_is_watched_for_thirty_days_at_most(t *testing.T) {
	inLightning(t, func(t *testing.T, s *lightningShop) {
		w := s.walletsByID["w1"]
		w.set(func() { w.expiry = 365 * 24 * time.Hour })
		inv := s.createLive("8.00", "w1")
		if until, want := s.mustShow(inv, 10_000).LookUpUntil(), noon.Add(30*24*time.Hour+chain.LookupGrace); !until.Equal(want) {
			t.Errorf("looked up until %s, want %s", until, want)
		}
	})
}

func TestRequest_of_a_removed_connection_lets_the_invoice_expire(t *testing.T) {
	inLightning(t, func(_ *testing.T, s *lightningShop) {
		w := s.walletsByID["w1"]
		w.set(func() { w.err = errors.New("down") })
		inv := s.createLive("8.00", "w1")
		delete(s.connections, chain.LightningID("w1"))
		s.clock.Advance(16 * time.Minute)
		s.step()
		s.wantState(inv, invoice.Expired)
	})
}

func TestList_finds_an_invoice_by_its_payment_request(t *testing.T) {
	onLightning(t, func(t *testing.T, s *lightningShop) {
		inv := s.createLive("8.00", "w1")
		s.createLive("8.00", "w1")
		r := s.mustShow(inv, 10_000)
		for _, text := range []string{r.Address, "LIGHTNING:" + strings.ToUpper(r.Address)} {
			scripts := s.service.Scripts(invoice.Live, text)
			found, _, err := s.service.Invoices(t.Context(), invoice.Filter{MerchantID: "m", Mode: invoice.Live, Scripts: scripts}, invoice.Position{}, 10)
			s.must(err)
			if len(found) != 1 || found[0].ID != inv.ID {
				t.Errorf("%d invoices found by %q, want the invoice", len(found), text)
			}
			if f := (invoice.Filter{MerchantID: "m", Mode: invoice.Live, Scripts: scripts}); !f.Selects(s.reload(inv)) {
				t.Error("the filter does not select the invoice")
			}
		}
	})
}
