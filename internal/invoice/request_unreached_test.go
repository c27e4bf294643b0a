package invoice_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"chequer/internal/chain"
	"chequer/internal/chain/lightning"
	"chequer/internal/chain/lightning/lightningtest"
	"chequer/internal/invoice"
)

// wantUnreached fails unless no invoice can be created that is paid by Lightning only.
func (s *lightningShop) wantUnreached(why string) {
	s.t.Helper()
	if inv, err := s.service.Create(s.t.Context(), s.requestLive("8.00", "w1", chain.CodeLightning)); !errors.Is(err, invoice.ErrUnreached) {
		s.t.Errorf("%s: Create() = %+v, %v, want ErrUnreached", why, inv, err)
	}
}

// One request whose lookup always fails lets each scan fail. Its invoice does not expire, but the shop goes on, also after a
// restart: a provider that makes and finds a request is reached.
func TestRequest_is_made_while_the_lookup_of_another_fails(t *testing.T) {
	inLightning(t, func(t *testing.T, s *lightningShop) {
		w := s.walletsByID["w1"]
		failing := s.createLive("8.00", "w1")
		r := s.mustShow(failing, 10_000)
		w.Pay(r.Script)
		w.Change(r.Script, func(i *lightningtest.Invoice) { i.Paid = 1 })
		s.maxScanAge = 10 * time.Minute
		s.start()
		s.clock.Advance(11 * time.Minute)
		if _, err := s.watchers["w1"].Step(t.Context()); !errors.Is(err, lightning.ErrFault) {
			t.Fatalf("Step() = %v, want ErrFault", err)
		}
		inv := s.createLive("8.00", "w1", chain.CodeLightning)
		request := s.mustShow(inv, 10_000)
		w.Pay(request.Script)
		s.clock.Advance(20 * time.Second)
		_, err := s.watchers["w1"].Step(t.Context())
		s.must(err) // the part of a scan with the new payment
		s.wantState(inv, invoice.Paid)
		s.clock.Advance(10 * time.Minute)
		s.expire()
		s.wantState(failing, invoice.Created)
	})
}

// A provider whose requests could not be looked up, or that makes none in time, is left out while scans fail.
func TestRequest_must_be_found_while_scans_fail(t *testing.T) {
	inLightning(t, func(t *testing.T, s *lightningShop) {
		w := s.walletsByID["w1"]
		s.maxScanAge = 10 * time.Minute
		s.start()
		s.clock.Advance(11 * time.Minute)
		w.set(func() { w.lookErr = lightning.ErrRevoked })
		s.wantUnreached("no lookups")
		made := w.Last().Hash
		s.eventually("the request that is not found is cancelled", func() bool { return slices.Contains(w.cancelled(), made) })
		w.set(func() { w.lookErr, w.err = nil, lightning.ErrSilent })
		s.clock.Advance(2 * time.Minute) // no wait after the failure
		s.wantUnreached("no answers")
		block := make(chan struct{})
		w.set(func() { w.err, w.block = nil, block })
		s.clock.Advance(2 * time.Minute)
		before := len(w.made())
		s.wantUnreached("no answer in time")
		s.eventually("the provider is asked", func() bool { return len(w.made()) > before })
		close(block)
		s.eventually("the late request is cancelled", func() bool { return slices.Contains(w.cancelled(), w.Last().Hash) && w.Last().Hash != made })
		w.set(func() { w.block = nil })
		s.clock.Advance(2 * time.Minute)
		r := s.requestLive("8.00", "w1", chain.CodeLightning)
		r.Terms.Lightning.OnDemand = true // creation asks for no request
		if inv, err := s.service.Create(t.Context(), r); !errors.Is(err, invoice.ErrUnreached) {
			t.Errorf("on demand: Create() = %+v, %v, want ErrUnreached", inv, err)
		}
		s.mustShow(s.createLive("8.00", "w1", chain.CodeLightning), 10_000)
	})
}
