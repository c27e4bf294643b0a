package lndtest_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"chequer/internal/chain/lightning"
	"chequer/internal/chain/lightning/lightningtest"
	"chequer/internal/chain/lightning/lnd"
	"chequer/internal/chain/lightning/lndtest"
)

// testFaults compares the errors for people with the faults of real nodes and wallets.
func testFaults(t *testing.T, l lab) {
	revoked := l.Shop.Bake(t, "7", "invoices:read", "invoices:write")
	l.Shop.Revoke(t, "7")
	locked := l.Locked(t)
	open := func(connection string) lightning.Provider {
		return lnd.New(lightningtest.Config(t, connection, lndtest.NewSwitch()))
	}
	invoices := l.Shop.Macaroon(t, "invoice")
	server, _, _ := strings.Cut(l.Shop.Connection(t, invoices), "&cert=")
	_, certificate, _ := strings.Cut(l.Payer.Connection(t, invoices), "&cert=")
	for name, test := range map[string]struct {
		provider lightning.Provider
		is       error
		want     string
	}{
		"a macaroon of another node": {open(l.Shop.Connection(t, l.Payer.Macaroon(t, "invoice"))), lightning.ErrRevoked, "the macaroon was revoked or is of another node"},
		"a revoked macaroon":         {open(l.Shop.Connection(t, revoked)), lightning.ErrRevoked, "the macaroon was revoked or is of another node"},
		"another certificate":        {open(server + "&cert=" + certificate), lightning.ErrCertificate, "the certificate is not the stored one"},
		"an unknown certificate":     {open(server), nil, "the certificate of the server is not trusted"},
		"a locked node":              {open(locked.Connection(t, invoices)), lightning.ErrLocked, "lnd is locked"},
	} {
		t.Run(name, func(t *testing.T) {
			access, accessErr := test.provider.Access(t.Context())
			made, makeErr := test.provider.Make(t.Context(), lightning.Ask{MilliSatoshi: 21_000, Memo: "Shoes", Expiry: time.Hour})
			status, lookErr := test.provider.Look(t.Context(), lightning.Sought{Hash: strings.Repeat("ab", 32)})
			for call, err := range map[string]error{"Access": accessErr, "Make": makeErr, "Look": lookErr} {
				if err == nil || !strings.Contains(err.Error(), test.want) || test.is != nil && !errors.Is(err, test.is) || errors.Is(err, lightning.ErrUnknown) || strings.Contains(err.Error(), invoices) {
					t.Errorf("%s() = %v, want %q (%+v, %+v, %+v)", call, err, test.want, access, made, status)
				}
			}
		})
	}
	t.Run("too few operations", func(t *testing.T) {
		p := open(l.Shop.Connection(t, l.Shop.Bake(t, "0", "invoices:read")))
		if made, err := p.Make(t.Context(), lightning.Ask{MilliSatoshi: 21_000, Expiry: time.Hour}); !errors.Is(err, lightning.ErrRevoked) {
			t.Errorf("Make() = %+v, %v, want ErrRevoked", made, err)
		}
	})
	t.Run("a wallet that is switched off", func(t *testing.T) {
		w := lndtest.StartWallet(t, l.Shop, lndtest.Service{Relay: l.relay})
		s := openShop(openWallet(t, l, w.Connection), 0)
		awaitWallet(t, s.rig)
		r := s.ask(t)
		w.Stop()
		l.Payer.Pay(t, r.Text)
		if snapshot, err := s.scan(t); !errors.Is(err, lightning.ErrSilent) {
			t.Errorf("Scan() = %+v, %v, want ErrSilent", snapshot, err)
		}
		w.Start(t)
		awaitWallet(t, s.rig)
		s.check(t, r)
	})
	t.Run("a dead relay among two", func(t *testing.T) {
		w := lndtest.StartWallet(t, l.Shop, lndtest.Service{Relay: l.relay})
		s := openShop(openWallet(t, l, strings.Replace(w.Connection, "?relay=", "?relay=ws%3A%2F%2F127.0.0.1%3A1&relay=", 1)), 0)
		awaitWallet(t, s.rig)
		r := s.ask(t)
		l.Payer.Pay(t, r.Text)
		s.check(t, r)
	})
	t.Run("a relay that starts again without its events", func(t *testing.T) {
		relay := lndtest.StartRelay(t)
		w := lndtest.StartWallet(t, l.Shop, lndtest.Service{Relay: relay.URL})
		s := openShop(openWallet(t, l, w.Connection), 0)
		awaitWallet(t, s.rig)
		r := s.ask(t)
		relay.Stop()
		l.Payer.Pay(t, r.Text)
		if snapshot, err := s.scan(t); err == nil {
			t.Errorf("Scan() = %+v without a relay, want an error", snapshot)
		}
		relay.Start(t)
		for name, again := range map[string]*shop{"the same program": s, "a program that was started again": openShop(openWallet(t, l, w.Connection), 0)} {
			waitFor(t, name+" reaches the wallet", func() bool {
				_, err := again.Access(t.Context())
				return err == nil || errors.Is(err, lightning.ErrUnsupported)
			})
			again.watch(r)
			again.check(t, r)
		}
	})
	t.Run("the encryption of a wallet", func(t *testing.T) {
		for want, service := range map[string]lndtest.Service{"nip44_v2": {}, "nip04": {LegacyEncryption: true}} {
			service.Relay = l.relay
			w := lndtest.StartWallet(t, l.Shop, service)
			s := openShop(openWallet(t, l, w.Connection), 0)
			awaitWallet(t, s.rig)
			s.ask(t)
			waitFor(t, "make_invoice with "+want, func() bool {
				return slices.Contains(w.Requests(), lndtest.WalletRequest{Method: "make_invoice", Encryption: want})
			})
			if i := slices.IndexFunc(w.Requests(), func(r lndtest.WalletRequest) bool { return r.Encryption != want }); i >= 0 {
				t.Errorf("the wallet has read %+v, want %s only", w.Requests(), want)
			}
		}
	})
}

// testRestart stops the node of the shop. It is the last test.
func testRestart(t *testing.T, l lab) {
	s := openShop(openNode(t, l, l.Shop.Macaroon(t, "invoice")), 0)
	waker := s.Provider.(lightning.Waker)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- waker.Run(ctx) }()
	r := s.ask(t)
	l.Payer.Pay(t, r.Text)
	waitFor(t, "a subscription", func() bool {
		s.ask(t) // a change, with which lnd begins its answer
		return waker.Subscribed()
	})
	l.Shop.Stop(t)
	waitFor(t, "the end of the subscription", func() bool { return !waker.Subscribed() })
	if snapshot, err := s.scan(t); err == nil {
		t.Errorf("Scan() = %+v of a stopped node, want an error", snapshot)
	}
	done := make(chan map[string]bool)
	stop := make(chan struct{})
	go func() { // what a start of the node shows
		errs := map[string]bool{}
		for {
			status, err := s.Provider.Look(t.Context(), lightning.Sought{Hash: r.Hash})
			if err == nil && !status.Settled || errors.Is(err, lightning.ErrUnknown) || errors.Is(err, lightning.ErrRevoked) {
				t.Errorf("Look() = %+v, %v during the start of the node", status, err)
			}
			if err != nil {
				errs[err.Error()] = true
			}
			select {
			case <-stop:
				done <- errs
				return
			case <-time.After(5 * time.Millisecond):
			}
		}
	}()
	l.Shop.Start(t)
	close(stop)
	for text := range <-done {
		t.Log(text)
	}
	s.check(t, r)
	l.WaitForChannel(t)
	next := s.ask(t)
	l.Payer.Pay(t, next.Text)
	s.check(t, r, next)
	waitFor(t, "another subscription", func() bool {
		s.ask(t)
		return waker.Subscribed()
	})
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("Run() = %v, want nil", err)
	}
}
