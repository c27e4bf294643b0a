package lightningtest

import (
	"errors"
	"testing"
	"time"

	"chequer/internal/chain/lightning"
)

// simulated are the cases that need a simulated wallet.
var simulated = map[string]func(t *testing.T, l Lab){
	"a_wrong_preimage_of_a_settled_request_is_a_fault": func(t *testing.T, l Lab) {
		sought := l.make(t)
		l.Wallet.BreakPreimage(sought.Hash)
		l.look(t, sought, lightning.Status{})
		l.Wallet.Pay(sought.Hash)
		if status, err := l.Provider.Look(t.Context(), sought); !errors.Is(err, lightning.ErrFault) || status.Settled {
			t.Errorf("Look() = %+v, %v, want ErrFault", status, err)
		}
	},
	"a_payment_is_found_after_the_end": func(t *testing.T, l Lab) {
		sought := l.make(t)
		l.Clock.Advance(time.Hour)
		paidAt := l.Clock.Now()
		l.Wallet.Pay(sought.Hash)
		l.Clock.Advance(24 * time.Hour)
		l.lookSettled(t, sought, 1_000, paidAt, paidAt)
	},
}

// simulatedPayer pays requests of a simulated wallet.
type simulatedPayer struct{ lab Lab }

// Pay implements Payer.
func (p simulatedPayer) Pay(_ *testing.T, sought lightning.Sought, milliSatoshi int64) {
	p.lab.Wallet.Pay(sought.Hash)
	p.lab.Wallet.Change(sought.Hash, func(i *Invoice) { i.Paid = milliSatoshi })
}

// Hold implements Payer.
func (p simulatedPayer) Hold(t *testing.T) (sought lightning.Sought, cancel func(t *testing.T)) {
	t.Helper()
	sought = p.lab.make(t)
	p.lab.Wallet.Hold(sought.Hash)
	return sought, func(*testing.T) { p.lab.Wallet.Cancel(sought.Hash) }
}
