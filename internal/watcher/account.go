package watcher

import (
	"iter"
	"slices"

	"chequer/internal/chain"
	"chequer/internal/invoice"
)

// account is a destination whose balance is watched.
type account struct {
	Account
	merchant uint32 // index in merchants
	// known is true if the balance at the account's birth is recorded, or was zero.
	known bool
	// stale is true if a reorganisation removed the rise that recorded the balance at birth.
	stale bool
	rises []chain.Transfer // rises on the network, by ascending block height
	// stray is true if the network's native coin arrived at a destination for tokens.
	stray bool
}

var _ chain.Accounts = (*index)(nil)

// Accounts implements chain.Accounts.
func (x *index) Accounts() iter.Seq[chain.Account] {
	return func(yield func(chain.Account) bool) {
		for script, a := range x.accounts {
			known := !a.stale && (a.known || len(a.rises) > 0)
			if !yield(chain.Account{Script: script, Birth: a.Birth, Known: known, Recorded: a.rises, Stray: a.stray}) {
				return
			}
		}
	}
}

// Strays implements chain.Accounts.
func (x *index) Strays() iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, e := range slices.Backward(x.entries) {
			script, invoiceID := e.split()
			if invoiceID != "" && x.accounts[script] == nil && !yield(script) {
				return
			}
		}
	}
}

// account returns the account of a script. It creates one if the network's native coin arrived at a
// destination where it is not expected, and returns nil if the script is not a destination.
func (x *index) account(script string) *account {
	if a := x.accounts[script]; a != nil {
		return a
	}
	if _, owned := x.owner(script); !owned {
		return nil
	}
	a := &account{stray: true}
	x.accounts[script] = a
	return a
}

// Read implements chain.Accounts.
func (x *index) Read() chain.Block { return x.read }

// resetAccounts resets the recorded balances before they are loaded again. The balance at birth is
// known for destinations that were loaded when all balances were last read.
func (x *index) resetAccounts(saved invoice.Progress) {
	x.read = saved.Read
	for script, a := range x.accounts {
		if a.stray {
			delete(x.accounts, script)
			continue
		}
		loaded, isLoaded := saved.Loaded[x.merchants[a.merchant]]
		a.known, a.stale, a.rises = isLoaded && a.Position <= loaded, false, nil
	}
}

// addRise adds a recorded rise. If the rise is no longer on the network and was, or may have been,
// older than the invoice, the balance at birth is no longer known.
func (x *index) addRise(r Rise) {
	a := x.account(r.Script)
	switch {
	case a == nil:
	case r.Block == nil:
		a.stale = a.stale || r.Old || r.Unsure
	default:
		a.add(r.Transfer)
	}
}

// add inserts a rise in the order of heights. It replaces an earlier state of the same rise.
func (a *account) add(t chain.Transfer) {
	a.rises = slices.DeleteFunc(slices.Clone(a.rises), func(o chain.Transfer) bool { return o.ID == t.ID })
	i, _ := slices.BinarySearchFunc(a.rises, t, func(a, b chain.Transfer) int {
		return int(a.Block.Height - b.Block.Height)
	})
	a.rises = slices.Insert(a.rises, i, t)
}

// applySnapshot updates the accounts and the requests with a snapshot whose transfers are recorded.
func (x *index) applySnapshot(s chain.Snapshot) {
	shown := map[string]bool{}
	for _, t := range s.Transfers {
		delete(x.requests, t.Script)
		if !t.IsRise() {
			continue
		}
		if a := x.account(t.Script); a != nil {
			shown[t.ID] = true
			a.add(t)
		}
	}
	for _, a := range x.accounts {
		rises := a.rises[:0:0]
		for _, t := range a.rises {
			if s.Covers(t.Block.Height) && !shown[t.ID] {
				a.stale = a.stale || t.Unsure || t.Block.Height <= a.Birth.Height
				continue
			}
			rises = append(rises, t)
		}
		a.rises = rises
		if s.Read.Hash != "" && !a.stray {
			a.known, a.stale = true, false
		}
	}
	if s.Read.Hash != "" {
		x.read = s.Read
	}
	x.unsettled = false
}
