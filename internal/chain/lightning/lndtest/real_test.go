package lndtest_test

import (
	"errors"
	"testing"
	"time"

	"chequer/internal/chain/lightning"
	"chequer/internal/chain/lightning/bolt11"
	"chequer/internal/chain/lightning/lightningtest"
	"chequer/internal/chain/lightning/lnaddress"
	"chequer/internal/chain/lightning/lnd"
	"chequer/internal/chain/lightning/lndtest"
	"chequer/internal/chain/lightning/nwc"
)

// TestReal tests the providers with real nodes and wallets. Its tests share two nodes, because starting nodes takes long.
func TestReal(t *testing.T) {
	pair := lndtest.Start(t)
	relay := lndtest.StartRelay(t)
	for _, group := range []struct {
		name string
		test func(t *testing.T, l lab)
	}{
		{"conformance", testConformance}, {"examination", testExamination}, {"requests", testRequests}, {"scan", testScan},
		{"signals", testSignals}, {"address", testAddress}, {"records", testRecords}, {"wallet records", testWalletRecords}, {"faults", testFaults}, {"restart", testRestart},
	} {
		t.Run(group.name, func(t *testing.T) { group.test(t, lab{pair, relay.URL}) })
	}
}

// lab has the nodes and the relay that the tests share.
type lab struct {
	*lndtest.Pair
	relay string
}

// rig is a provider with the real wallet behind it.
type rig struct {
	lightning.Provider
	lab     lab
	network *lndtest.Switch
	address *lndtest.Address // service of the Lightning address; nil for the other kinds
}

// kinds are the kinds of providers.
var kinds = map[string]struct {
	names lightningtest.Names
	// prepare starts the programs that the providers of a test share. It returns a function that returns a new provider.
	prepare func(t *testing.T, l lab) func(t *testing.T) rig
}{
	"lnd":           {lightningtest.Names{Held: true, Amount: true, Time: true}, prepareNode},
	"nwc":           {lightningtest.Names{Held: true, Time: true}, prepareWallet(lndtest.Service{})},
	"nwc_NIP-04":    {lightningtest.Names{Held: true, Time: true}, prepareWallet(lndtest.Service{LegacyEncryption: true})},
	"nwc_silent":    {lightningtest.Names{Held: true, Time: true}, prepareWallet(lndtest.Service{Silent: true})},
	"nwc_after_3_s": {lightningtest.Names{Held: true, Time: true}, prepareWallet(lndtest.Service{Delay: 3 * time.Second})},
	"address":       {lightningtest.Names{Held: true}, prepareAddress},
}

func prepareNode(t *testing.T, l lab) func(t *testing.T) rig {
	t.Helper()
	return func(t *testing.T) rig { return openNode(t, l, l.Shop.Macaroon(t, "invoice")) }
}

// openNode returns a provider for lnd with a macaroon.
func openNode(t *testing.T, l lab, macaroon string) rig {
	t.Helper()
	s := lndtest.NewSwitch()
	return rig{lnd.New(lightningtest.Config(t, l.Shop.Connection(t, macaroon), s)), l, s, nil}
}

func prepareWallet(s lndtest.Service) func(t *testing.T, l lab) func(t *testing.T) rig {
	return func(t *testing.T, l lab) func(t *testing.T) rig {
		t.Helper()
		s.Relay = l.relay
		w := lndtest.StartWallet(t, l.Shop, s)
		awaitWallet(t, openWallet(t, l, w.Connection))
		return func(t *testing.T) rig { return openWallet(t, l, w.Connection) }
	}
}

// awaitWallet waits until the relay passes requests to a wallet that was started.
func awaitWallet(t *testing.T, r rig) {
	t.Helper()
	waitFor(t, "an answer of the wallet", func() bool {
		_, err := r.Access(t.Context())
		return !errors.Is(err, lightning.ErrSilent)
	})
}

// openWallet returns a provider for a wallet with NWC.
func openWallet(t *testing.T, l lab, connection string) rig {
	t.Helper()
	s := lndtest.NewSwitch()
	p, err := nwc.New(lightningtest.Config(t, connection, s))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return rig{p, l, s, nil}
}

func prepareAddress(t *testing.T, l lab) func(t *testing.T) rig {
	t.Helper()
	return func(t *testing.T) rig { return openAddress(t, l) }
}

// openAddress returns a provider for a Lightning address.
func openAddress(t *testing.T, l lab) rig {
	t.Helper()
	a := lndtest.StartAddress(t, l.Shop)
	c := lightningtest.Config(t, lndtest.AddressName, a)
	c.TLS = a.TLS()
	return rig{lnaddress.New(c), l, nil, a}
}

// setDown makes the provider unreachable, or reachable again.
func (r rig) setDown(t *testing.T, down bool) {
	t.Helper()
	if r.address != nil {
		r.address.SetDown(down)
		return
	}
	r.network.SetOff(down)
	if !down {
		waitFor(t, "an answer of the provider", func() bool {
			_, err := r.Access(t.Context())
			return err == nil
		})
	}
}

// Pay implements lightningtest.Payer.
func (r rig) Pay(t *testing.T, sought lightning.Sought, milliSatoshi int64) {
	t.Helper()
	request, err := bolt11.Parse(sought.Text)
	switch {
	case err != nil:
		t.Fatal(err)
	case request.MilliSatoshi == milliSatoshi:
		r.lab.Payer.Pay(t, sought.Text)
	default:
		r.lab.Payer.PayMore(t, sought.Text, milliSatoshi)
	}
}

// Hold implements lightningtest.Payer.
func (r rig) Hold(t *testing.T) (sought lightning.Sought, cancel func(t *testing.T)) {
	t.Helper()
	h := r.lab.Shop.MakeHeld(t, 1, 1200)
	r.lab.Payer.PayHeld(t, h)
	return r.sought(h.Text, h.Hash), func(t *testing.T) { h.Cancel(t) }
}

// sought returns the values with which a provider looks up a request of the shop's node.
func (r rig) sought(text, hash string) lightning.Sought {
	s := lightning.Sought{Hash: hash, Text: text}
	if r.address != nil {
		s.LookupURL = r.address.LookupURL(hash)
	}
	return s
}

// waitFor waits until isTrue returns true, and fails the test after two minutes.
func waitFor(t *testing.T, condition string, isTrue func() bool) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !isTrue(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("still missing: %s", condition)
		}
	}
}

// testConformance runs the conformance suite for each kind of provider, with real nodes and wallets.
func testConformance(t *testing.T, l lab) {
	for name, kind := range kinds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			open := kind.prepare(t, l)
			lightningtest.RunReal(t, kind.names, func(t *testing.T) lightningtest.Lab {
				r := open(t)
				return lightningtest.Lab{Provider: r.Provider, Payer: r, SetDown: func(down bool) { r.setDown(t, down) }}
			})
		})
	}
}
