package lightning_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/chain"
	"chequer/internal/chain/lightning"
)

func TestAsk_returns_a_checked_offer(t *testing.T) {
	inBubble(t, func(f *fixture) {
		ask := chain.Ask{Amount: sats(2_100), Until: time.Now().Add(20 * time.Minute), Memo: "Shop"}
		offer, err := f.network.Ask(f.t.Context(), ask)
		i := f.provider.wallet.Last()
		want := chain.Offer{Destination: chain.Destination{Address: i.Text, Script: i.Hash}, Until: i.Request.Ends(), Lookup: "https://example.com/verify"}
		if diff := cmp.Diff(offer, want); err != nil || diff != "" || i.Request.MilliSatoshi != 2_100_000 || i.Request.Expiry != 20*time.Minute || i.Request.Description != "Shop" {
			f.t.Errorf("Ask() = %v, offer differs (-got +want):\n%s\nrequest %+v", err, diff, i.Request)
		}
		if d, err := f.network.ReadAddress("BTC-LN", " LIGHTNING:"+strings.ToUpper(i.Text)); err != nil || d != want.Destination {
			f.t.Errorf("ReadAddress() = %+v, %v, want %+v", d, err, want.Destination)
		}
		if err := f.network.Cancel(f.t.Context(), i.Hash); err != nil || len(f.provider.cancels) != 1 {
			f.t.Errorf("Cancel() = %v, cancelled %q", err, f.provider.cancels)
		}
		for name, test := range map[string]struct {
			ask    chain.Ask
			change func()
			want   string
		}{
			"no amount":       {chain.Ask{Amount: sats(0), Until: ask.Until}, func() {}, "no request can ask for 0 satoshis"},
			"too much":        {chain.Ask{Amount: sats(2_100_000_000_000_001), Until: ask.Until}, func() {}, "no request can ask for"},
			"a wrong request": {ask, func() { f.provider.change = func(m *lightning.Made) { m.Text = i.Text[:100] } }, "payment request: bech32"},
			"another hash":    {ask, func() { f.provider.change = func(m *lightning.Made) { m.Hash = i.Hash } }, "another payment hash"},
			"a limit":         {ask, func() { f.provider.err = &lightning.LimitError{Least: 1, Most: 2} }, "from 1 to 2 msat"},
		} {
			f.provider.set(func() { f.provider.change, f.provider.err = func(*lightning.Made) {}, nil; test.change() })
			if offer, err := f.network.Ask(f.t.Context(), test.ask); err == nil || !strings.Contains(err.Error(), test.want) {
				f.t.Errorf("%s: Ask() = %+v, %v, want %q", name, offer, err, test.want)
			}
		}
	})
}

func TestExamine_makes_and_finds_a_request(t *testing.T) {
	inBubble(t, func(f *fixture) {
		f.provider.access.Least = 1_500
		access, err := lightning.Examine(f.t.Context(), f.provider, "bcrt", time.Now)
		if i := f.provider.wallet.Last(); err != nil || i.Request.MilliSatoshi != 2_000 || f.provider.calls[i.Hash] != 1 || len(f.provider.cancels) != 1 {
			f.t.Errorf("Examine() = %+v, %v, request %+v", access, err, i.Request)
		}
		if got := access.Describe(); got != "ready, makes and finds requests, cannot spend" {
			f.t.Errorf("Describe() = %q", got)
		}
		access.Spending = "pay_invoice"
		if got := access.Describe(); got != "may spend from your wallet (pay_invoice): replace it by a receive-only connection" {
			f.t.Errorf("Describe() = %q", got)
		}
		if _, err := lightning.Examine(f.t.Context(), f.provider, "bc", time.Now); err == nil || !strings.Contains(err.Error(), `want "lnbc"`) {
			f.t.Errorf("another network: Examine() = %v", err)
		}
		f.provider.set(func() { f.provider.err = lightning.ErrRevoked })
		if _, err := lightning.Examine(f.t.Context(), f.provider, "bcrt", time.Now); !errors.Is(err, lightning.ErrRevoked) {
			f.t.Errorf("a revoked connection: Examine() = %v", err)
		}
	})
}

// lost is a provider that does not find its requests.
type lost struct{ *provider }

func (lost) Look(context.Context, lightning.Sought) (lightning.Status, error) {
	return lightning.Status{}, lightning.ErrUnknown
}

func TestExamine_refuses_a_provider_that_does_not_find_its_requests(t *testing.T) {
	inBubble(t, func(f *fixture) {
		if _, err := lightning.Examine(f.t.Context(), lost{f.provider}, "bcrt", time.Now); !errors.Is(err, lightning.ErrUnknown) {
			f.t.Errorf("Examine() = %v, want ErrUnknown", err)
		}
	})
}
