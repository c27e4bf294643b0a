package lndtest_test

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/chain"
	"chequer/internal/chain/chaintest"
	"chequer/internal/chain/lightning"
	"chequer/internal/chain/lightning/lndtest"
	"chequer/internal/money"
)

// shop is a network with the requests that are looked up.
type shop struct {
	rig
	*lightning.Network
	chaintest.Watch
	pending map[string]chain.PendingRequest
	ahead   atomic.Int64 // by which its clock is ahead, in nanoseconds
}

// Requests implements chain.Requests.
func (s *shop) Requests() iter.Seq[chain.PendingRequest] { return maps.Values(s.pending) }

func (s *shop) now() time.Time { return time.Now().UTC().Add(time.Duration(s.ahead.Load())) }

func (s *shop) advance(d time.Duration) { s.ahead.Add(int64(d)) }

const walletID = "wlt_1"

// openShop returns a shop whose clock is ahead of the clocks of all others.
func openShop(r rig, ahead time.Duration) *shop {
	s := &shop{rig: r, Watch: chaintest.Watch{}, pending: map[string]chain.PendingRequest{}}
	s.advance(ahead)
	s.Network = lightning.NewNetwork(lightning.NetworkConfig{
		ID: chain.LightningID(walletID), Name: "test", Provider: r.Provider, Currency: "bcrt", Now: s.now,
	})
	return s
}

// amount is the amount of each request.
var amount = money.FromCents(21, money.BTC)

// ask makes a request that lasts for two hours.
func (s *shop) ask(t *testing.T) chain.PendingRequest {
	t.Helper()
	now := s.now()
	offer, err := s.Network.Ask(t.Context(), chain.Ask{Amount: amount, Until: now.Add(2 * time.Hour), Memo: "Shoes"})
	if err != nil {
		t.Fatal(err)
	}
	return s.watch(chain.PendingRequest{
		Hash: offer.Script, Text: offer.Address, Amount: amount, MadeAt: now, ShownUntil: now.Add(15 * time.Minute), Until: offer.Until, Lookup: offer.Lookup,
	})
}

// watch adds a request.
func (s *shop) watch(r chain.PendingRequest) chain.PendingRequest {
	s.pending[r.Hash] = r
	return r
}

// hold adds a request whose payment the shop's node can hold, and that ends after a time in seconds.
func (s *shop) hold(t *testing.T, expiry int) *lndtest.Held {
	t.Helper()
	h := s.lab.Shop.MakeHeld(t, 21, expiry)
	now := s.now()
	sought := s.sought(h.Text, h.Hash)
	s.watch(chain.PendingRequest{
		Hash: h.Hash, Text: h.Text, Amount: amount, MadeAt: now, ShownUntil: now.Add(15 * time.Minute), Until: now.Add(time.Duration(expiry) * time.Second), Lookup: sought.LookupURL,
	})
	return h
}

// scan makes every request due, and scans.
func (s *shop) scan(t *testing.T) (chain.Snapshot, error) {
	t.Helper()
	s.advance(2 * time.Minute)
	return s.Network.Scan(t.Context(), chain.Cursor{}, s)
}

// check scans and compares the requests that are shown.
func (s *shop) check(t *testing.T, want ...chain.PendingRequest) []chain.Transfer {
	t.Helper()
	snapshot, err := s.scan(t)
	if err != nil || snapshot.Behind {
		t.Fatalf("Scan() = %+v, %v, want a complete snapshot", snapshot, err)
	}
	transfers := map[string]chain.Transfer{}
	for _, r := range want {
		block := &chain.Block{Height: 1, Hash: r.Hash, Time: r.MadeAt}
		transfers[r.Hash] = chain.Transfer{ID: r.Hash, Tx: r.Hash, Asset: "BTC-LN", Script: r.Hash, Amount: r.Amount, Block: block}
	}
	got := map[string]chain.Transfer{}
	for _, transfer := range snapshot.Transfers {
		got[transfer.ID] = transfer
		if want, ok := transfers[transfer.ID]; ok && transfer.Block != nil && transfer.Block.Time.After(want.Block.Time) && !transfer.Block.Time.After(snapshot.Started) {
			want.Block.Time = transfer.Block.Time
		}
	}
	if diff := cmp.Diff(got, transfers); diff != "" || len(got) != len(snapshot.Transfers) {
		t.Errorf("transfers differ (-got +want):\n%s", diff)
	}
	return snapshot.Transfers
}

// testScan scans with each kind of provider.
func testScan(t *testing.T, l lab) {
	for _, name := range []string{"lnd", "nwc", "nwc_NIP-04", "nwc_after_3_s", "address"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			open := kinds[name].prepare(t, l)
			for name, test := range scans {
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					test(t, open)
				})
			}
		})
	}
	t.Run("the times of a wallet are an hour off", func(t *testing.T) {
		for _, off := range []time.Duration{-time.Hour, time.Hour} {
			s := openShop(prepareWallet(lndtest.Service{Clock: off})(t, l)(t), 0)
			r := s.ask(t)
			l.Payer.Pay(t, r.Text)
			s.check(t, r)
		}
	})
	t.Run("a dead connection stops no other", func(t *testing.T) {
		dead, alive := openShop(openNode(t, l, l.Shop.Macaroon(t, "invoice")), 0), openShop(openAddress(t, l), 0)
		lost, r := dead.ask(t), alive.ask(t)
		dead.setDown(t, true)
		l.Payer.Pay(t, r.Text)
		l.Payer.Pay(t, lost.Text)
		if s, err := dead.scan(t); err == nil {
			t.Errorf("Scan() = %+v of the dead connection, want an error", s)
		}
		alive.check(t, r)
	})
}

var scans = map[string]func(t *testing.T, open func(t *testing.T) rig){
	"an open request is not shown": func(t *testing.T, open func(t *testing.T) rig) {
		s := openShop(open(t), 0)
		r := s.ask(t)
		snapshot, err := s.scan(t)
		if err != nil {
			t.Fatal(err)
		}
		preimage, _ := base64.StdEncoding.DecodeString(fmt.Sprint(s.lab.Shop.Invoice(t, r.Hash)["r_preimage"]))
		text, err := json.Marshal(snapshot)
		if err != nil || len(preimage) != 32 || len(snapshot.Transfers) > 0 || strings.Contains(string(text), hex.EncodeToString(preimage)) {
			t.Errorf("Scan() = %s, %v, want no transfer and no preimage; lnd shows a preimage of %d bytes", text, err, len(preimage))
		}
	},
	"a settled request is shown the same twice": func(t *testing.T, open func(t *testing.T) rig) {
		s := openShop(open(t), 0)
		r := s.ask(t)
		s.check(t)
		s.lab.Payer.Pay(t, "lightning:"+strings.ToUpper(r.Text))
		first := s.check(t, r)
		if diff := cmp.Diff(s.check(t, r), first); diff != "" {
			t.Errorf("the second scan differs (-got +want):\n%s", diff)
		}
		later := openShop(s.rig, time.Minute) // another process, which has asked nothing before
		later.watch(r)
		later.check(t, r)
	},
	"a held payment is not shown, nor after it was refused": func(t *testing.T, open func(t *testing.T) rig) {
		s := openShop(open(t), 0)
		h := s.hold(t, 7200)
		s.lab.Payer.PayHeld(t, h)
		s.check(t)
		h.Cancel(t)
		if paid := s.lab.Shop.Invoice(t, h.Hash)["amt_paid_msat"]; paid != "21000" {
			t.Errorf("lnd shows %v msat of the refused payment, want 21000", paid)
		}
		s.check(t)
	},
	"a payment that settles after the end is shown": func(t *testing.T, open func(t *testing.T) rig) {
		s := openShop(open(t), 0)
		h := s.hold(t, 15)
		s.lab.Payer.PayHeld(t, h)
		r := s.pending[h.Hash]
		waitFor(t, "the end of the request", func() bool { return time.Now().After(r.Until) })
		s.check(t)
		h.Settle(t)
		s.check(t, r)
	},
	"a payment while the program was down is found": func(t *testing.T, open func(t *testing.T) rig) {
		before := openShop(open(t), 0)
		r := before.ask(t)
		before.check(t)
		before.lab.Payer.Pay(t, r.Text)
		after := openShop(open(t), 0)
		after.watch(r)
		after.check(t, r)
	},
	"a provider that is down is an error": func(t *testing.T, open func(t *testing.T) rig) {
		s := openShop(open(t), 0)
		r := s.ask(t)
		s.check(t)
		s.setDown(t, true)
		s.lab.Payer.Pay(t, r.Text)
		for range 2 {
			if snapshot, err := s.scan(t); err == nil {
				t.Errorf("Scan() = %+v, want an error", snapshot)
			}
		}
		s.setDown(t, false)
		s.check(t, r)
	},
	"clocks that are an hour off change nothing": func(t *testing.T, open func(t *testing.T) rig) {
		for _, ahead := range []time.Duration{-time.Hour, time.Hour} {
			s := openShop(open(t), ahead)
			if s.address != nil { // a Lightning address chooses the end
				s.address.SetExpiry(2 * time.Hour)
			}
			r := s.ask(t)
			s.check(t)
			s.lab.Payer.Pay(t, r.Text)
			s.check(t, r)
		}
	},
	"the old and the new request of an invoice are found": func(t *testing.T, open func(t *testing.T) rig) {
		s := openShop(open(t), 0)
		old := s.ask(t)
		s.check(t)
		later := s.ask(t)
		s.lab.Payer.Pay(t, old.Text)
		s.check(t, old)
		s.lab.Payer.Pay(t, later.Text)
		s.check(t, old, later)
	},
	"a larger payment is shown": func(t *testing.T, open func(t *testing.T) rig) {
		s := openShop(open(t), 0)
		r := s.ask(t)
		s.lab.Payer.PayMore(t, r.Text, 23_000)
		status, err := s.Provider.Look(t.Context(), lightning.Sought{Hash: r.Hash, Text: r.Text, LookupURL: r.Lookup})
		if err != nil {
			t.Fatal(err)
		}
		if status.MilliSatoshi > 0 { // the provider names the amount received
			r.Amount = money.FromCents(23, money.BTC)
		}
		s.check(t, r)
	},
}
