package lightningtest

import (
	"encoding/hex"
	"errors"
	"maps"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/chain/lightning"
	"chequer/internal/clocktest"
)

// Lab is a provider with a wallet behind it.
type Lab struct {
	Provider lightning.Provider
	// Payer pays the requests of the wallet. Run sets it for a simulated wallet.
	Payer Payer
	// SetDown makes the provider unreachable, or reachable again.
	SetDown func(down bool)
	// Wallet is a simulated wallet, and Clock is its clock. Both are nil for a real wallet.
	Wallet *Wallet
	Clock  *clocktest.Clock

	names Names
}

// Payer pays requests. Its methods fail the test on errors.
type Payer interface {
	// Pay pays a request with an amount in millisatoshi, and returns when it is settled.
	Pay(t *testing.T, sought lightning.Sought, milliSatoshi int64)
	// Hold returns a request with a payment that the wallet holds. cancel refuses the payment.
	Hold(t *testing.T) (sought lightning.Sought, cancel func(t *testing.T))
}

// Names are the optional values that a provider names.
type Names struct {
	Held   bool // payments that can still be refused
	Amount bool
	Time   bool
}

// Run runs the cases that every provider must pass, with a simulated wallet. newLab returns a new Lab whose clock is at a
// time.
func Run(t *testing.T, names Names, newLab func(t *testing.T, start time.Time) Lab) {
	t.Helper()
	all := maps.Clone(cases)
	maps.Copy(all, simulated)
	run(t, names, all, func(t *testing.T) Lab {
		l := newLab(t, time.Unix(1_790_000_000, 0).UTC())
		l.Payer = simulatedPayer{l}
		return l
	})
}

// RunReal runs the cases that can be made with a real wallet. newLab returns a new Lab.
func RunReal(t *testing.T, names Names, newLab func(t *testing.T) Lab) {
	t.Helper()
	run(t, names, cases, newLab)
}

func run(t *testing.T, names Names, cases map[string]func(t *testing.T, l Lab), newLab func(t *testing.T) Lab) {
	t.Helper()
	for name, test := range cases {
		if name == heldCase && !names.Held {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			l.names = names
			test(t, l)
		})
	}
}

// heldCase is the case that needs Names.Held.
const heldCase = "a_held_payment_is_not_settled"

// cases are the cases with any wallet.
var cases = map[string]func(t *testing.T, l Lab){
	"a_request_asks_the_amount": func(t *testing.T, l Lab) {
		for _, amount := range []int64{1_000, 123_456_000, 5_000_000_000} {
			ask := lightning.Ask{MilliSatoshi: amount, Memo: "Shoes & socks", Expiry: 20 * time.Minute}
			made, err := l.Provider.Make(t.Context(), ask)
			if err != nil {
				t.Fatal(err)
			}
			r, err := lightning.Check(made, ask, "bcrt", l.now())
			if err != nil || l.Wallet != nil && made.Text != l.Wallet.Last().Text {
				t.Errorf("Make(%d) = %+v, %+v, %v, want the request of the wallet", amount, made, r, err)
			}
		}
	},
	"an_open_request_is_not_settled": func(t *testing.T, l Lab) {
		l.look(t, l.make(t), lightning.Status{})
	},
	"a_settled_request_is_settled_each_time": func(t *testing.T, l Lab) {
		sought := l.make(t)
		l.advance(90 * time.Second)
		from := l.now()
		l.Payer.Pay(t, sought, 1_000)
		for range 2 {
			l.lookSettled(t, sought, 1_000, from, l.now())
			sought.Text = "" // may be unknown
		}
	},
	"a_larger_payment_has_its_amount": func(t *testing.T, l Lab) {
		sought, from := l.make(t), l.now()
		l.Payer.Pay(t, sought, 1_500)
		l.lookSettled(t, sought, 1_500, from, l.now())
	},
	heldCase: func(t *testing.T, l Lab) {
		sought, cancel := l.Payer.Hold(t)
		l.look(t, sought, lightning.Status{})
		cancel(t)
		l.look(t, sought, lightning.Status{})
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
		from := l.now()
		l.Payer.Pay(t, sought, 1_000)
		l.SetDown(false)
		l.lookSettled(t, sought, 1_000, from, l.now())
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
	ask := lightning.Ask{MilliSatoshi: 1_000, Memo: "Shoes", Expiry: 20 * time.Minute}
	made, err := l.Provider.Make(t.Context(), ask)
	if err != nil {
		t.Fatal(err)
	}
	r, err := lightning.Check(made, ask, "bcrt", l.now())
	if err != nil {
		t.Fatal(err)
	}
	return lightning.Sought{Hash: hex.EncodeToString(r.PaymentHash[:]), Text: made.Text, LookupURL: made.LookupURL}
}

// look looks up a request and compares its status.
func (l Lab) look(t *testing.T, sought lightning.Sought, want lightning.Status) {
	t.Helper()
	got, err := l.Provider.Look(t.Context(), sought)
	if diff := cmp.Diff(got, want); err != nil || diff != "" {
		t.Errorf("Look() = %v, status differs (-got +want):\n%s", err, diff)
	}
}

// lookSettled looks up a settled request and compares the values that the provider names. It was settled between two
// times.
func (l Lab) lookSettled(t *testing.T, sought lightning.Sought, amount int64, from, to time.Time) {
	t.Helper()
	got, err := l.Provider.Look(t.Context(), sought)
	want := lightning.Status{Settled: true}
	if l.names.Amount {
		want.MilliSatoshi = amount
	}
	if l.names.Time {
		want.SettledAt = from.Truncate(time.Second)
		if got.SettledAt.After(want.SettledAt) && !got.SettledAt.After(to) {
			want.SettledAt = got.SettledAt
		}
	}
	if diff := cmp.Diff(got, want); err != nil || diff != "" {
		t.Errorf("Look() = %v, status differs (-got +want):\n%s", err, diff)
	}
}

// now returns the time of the wallet.
func (l Lab) now() time.Time {
	if l.Clock == nil {
		return time.Now().UTC()
	}
	return l.Clock.Now()
}

// advance advances the clock of a simulated wallet.
func (l Lab) advance(d time.Duration) {
	if l.Clock != nil {
		l.Clock.Advance(d)
	}
}
