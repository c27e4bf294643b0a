package lightningtest

import (
	"encoding/hex"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/chain/lightning"
	"chequer/internal/clocktest"
)

// Lab is a provider with a simulated wallet behind it.
type Lab struct {
	Provider lightning.Provider
	Wallet   *Wallet
	// Clock is the clock of the wallet.
	Clock *clocktest.Clock
	// SetDown makes the provider unreachable, or reachable again.
	SetDown func(down bool)

	names Names
}

// Names are the optional values that a provider names.
type Names struct {
	Held   bool // payments that can still be refused
	Amount bool
	Time   bool
}

// Run runs the cases that every provider must pass. newLab returns a new Lab whose clock is at a time.
func Run(t *testing.T, names Names, newLab func(t *testing.T, start time.Time) Lab) {
	t.Helper()
	start := time.Unix(1_790_000_000, 0).UTC()
	for name, test := range cases {
		if name == heldCase && !names.Held {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, start)
			l.names = names
			test(t, l)
		})
	}
}

// heldCase is the case that needs Names.Held.
const heldCase = "a_held_payment_is_not_settled"

var cases = map[string]func(t *testing.T, l Lab){
	"a_request_asks_the_amount": func(t *testing.T, l Lab) {
		for _, amount := range []int64{1_000, 123_456_000, 5_000_000_000} {
			ask := lightning.Ask{MilliSatoshi: amount, Memo: "Shoes & socks", Expiry: 20 * time.Minute}
			made, err := l.Provider.Make(t.Context(), ask)
			if err != nil {
				t.Fatal(err)
			}
			r, err := lightning.Check(made, ask, "bcrt", l.Clock.Now())
			if err != nil || made.Text != l.Wallet.Last().Text {
				t.Errorf("Make(%d) = %+v, %+v, %v, want the request of the wallet", amount, made, r, err)
			}
		}
	},
	"an_open_request_is_not_settled": func(t *testing.T, l Lab) {
		l.look(t, l.make(t), lightning.Status{})
	},
	"a_settled_request_is_settled_each_time": func(t *testing.T, l Lab) {
		sought := l.make(t)
		l.Clock.Advance(90 * time.Second)
		l.Wallet.Pay(sought.Hash)
		for range 2 {
			l.look(t, sought, l.settled(1_000, l.Clock.Now()))
			sought.Text = "" // may be unknown
		}
	},
	"a_larger_payment_has_its_amount": func(t *testing.T, l Lab) {
		sought := l.make(t)
		l.Wallet.Pay(sought.Hash)
		l.Wallet.Change(sought.Hash, func(i *Invoice) { i.Paid = 1_500 })
		l.look(t, sought, l.settled(1_500, l.Clock.Now()))
	},
	heldCase: func(t *testing.T, l Lab) {
		sought := l.make(t)
		l.Wallet.Hold(sought.Hash)
		l.look(t, sought, lightning.Status{})
		l.Wallet.Cancel(sought.Hash)
		l.look(t, sought, lightning.Status{})
	},
	"a_wrong_preimage_of_a_settled_request_is_a_fault": func(t *testing.T, l Lab) {
		sought := l.make(t)
		l.Wallet.BreakPreimage(sought.Hash)
		l.look(t, sought, lightning.Status{})
		l.Wallet.Pay(sought.Hash)
		if status, err := l.Provider.Look(t.Context(), sought); !errors.Is(err, lightning.ErrFault) || status.Settled {
			t.Errorf("Look() = %+v, %v, want ErrFault", status, err)
		}
	},
	"a_payment_while_the_provider_was_down_is_found": func(t *testing.T, l Lab) {
		sought := l.make(t)
		l.SetDown(true)
		if status, err := l.Provider.Look(t.Context(), sought); err == nil || errors.Is(err, lightning.ErrUnknown) {
			t.Errorf("Look() = %+v, %v while the provider is down, want an error other than ErrUnknown", status, err)
		}
		if made, err := l.Provider.Make(t.Context(), lightning.Ask{MilliSatoshi: 1_000, Expiry: time.Hour}); err == nil {
			t.Errorf("Make() = %+v while the provider is down, want an error", made)
		}
		if access, err := l.Provider.Access(t.Context()); err == nil {
			t.Errorf("Access() = %+v while the provider is down, want an error", access)
		}
		l.Wallet.Pay(sought.Hash)
		l.SetDown(false)
		l.look(t, sought, l.settled(1_000, l.Clock.Now()))
	},
	"a_payment_is_found_after_the_end": func(t *testing.T, l Lab) {
		sought := l.make(t)
		l.Clock.Advance(time.Hour)
		paidAt := l.Clock.Now()
		l.Wallet.Pay(sought.Hash)
		l.Clock.Advance(24 * time.Hour)
		l.look(t, sought, l.settled(1_000, paidAt))
	},
	"a_request_of_another_wallet_is_unknown": func(t *testing.T, l Lab) {
		sought := l.make(t)
		sought.Hash, sought.Text = hex.EncodeToString(make([]byte, 32)), ""
		if sought.LookupURL != "" {
			sought.LookupURL += "0"
		}
		if status, err := l.Provider.Look(t.Context(), sought); !errors.Is(err, lightning.ErrUnknown) || status.Settled {
			t.Errorf("Look() = %+v, %v, want ErrUnknown", status, err)
		}
	},
	"a_receiving_connection_cannot_spend": func(t *testing.T, l Lab) {
		if access, err := l.Provider.Access(t.Context()); err != nil || access.Spending != "" {
			t.Errorf("Access() = %+v, %v, want no permission to spend", access, err)
		}
	},
}

// make makes a request of 1 satoshi for 20 minutes.
func (l Lab) make(t *testing.T) lightning.Sought {
	t.Helper()
	made, err := l.Provider.Make(t.Context(), lightning.Ask{MilliSatoshi: 1_000, Memo: "Shoes", Expiry: 20 * time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	return lightning.Sought{Hash: l.Wallet.Last().Hash, Text: made.Text, LookupURL: made.LookupURL}
}

// look looks up a request and compares its status.
func (l Lab) look(t *testing.T, sought lightning.Sought, want lightning.Status) {
	t.Helper()
	got, err := l.Provider.Look(t.Context(), sought)
	if diff := cmp.Diff(got, want); err != nil || diff != "" {
		t.Errorf("Look() = %v, status differs (-got +want):\n%s", err, diff)
	}
}

// settled returns the status of a settled request, with the values that the provider names.
func (l Lab) settled(amount int64, at time.Time) lightning.Status {
	s := lightning.Status{Settled: true}
	if l.names.Amount {
		s.MilliSatoshi = amount
	}
	if l.names.Time {
		s.SettledAt = at
	}
	return s
}
