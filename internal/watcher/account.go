package watcher

import (
	"iter"
	"slices"

	"chequer/internal/chain"
	"chequer/internal/invoice"
)

// account is a destination whose balance is looked at.
type account struct {
	Account
	merchant uint32 // in merchants
	// known tells that what was there at its birth is recorded, or was nothing.
	known bool
	// stale tells that a rise left the network which tells what was there at the birth.
	stale bool
	rises []chain.Transfer // that are on the network, lowest first
	// stray tells that the network's own coin came there by mistake.
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
			script, _ := e.split()
			if x.accounts[script] == nil && !yield(script) {
				return
			}
		}
	}
}

// account is a destination's, made for one that the network's own coin came to
// without being expected; nil for one that is not ours.
func (x *index) account(script string) *account {
	if a := x.accounts[script]; a != nil {
		return a
	}
	if !x.Destination(script) {
		return nil
	}
	a := &account{stray: true}
	x.accounts[script] = a
	return a
}

// Read implements chain.Accounts.
func (x *index) Read() chain.Block { return x.read }

// forget begins to take in anew what is recorded of balances: destinations that were
// loaded when all of them were read are known.
func (x *index) forget(was invoice.Progress) {
	x.read = was.Read
	for script, a := range x.accounts {
		if a.stray {
			delete(x.accounts, script)
			continue
		}
		loaded, isLoaded := was.Loaded[x.merchants[a.merchant]]
		a.known, a.stale, a.rises = isLoaded && a.Born <= loaded, false, nil
	}
}

// rise takes in a recorded rise. One that is older than the invoice, or may be, and
// left the network tells nothing any more of what was there before.
func (x *index) rise(r Rise) {
	a := x.account(r.Script)
	switch {
	case a == nil:
	case r.Block == nil:
		a.stale = a.stale || r.Old || r.Unsure
	default:
		a.add(r.Transfer)
	}
}

// add puts a rise, or a newer state of it, in its place.
func (a *account) add(t chain.Transfer) {
	a.rises = slices.DeleteFunc(slices.Clone(a.rises), func(o chain.Transfer) bool { return o.ID == t.ID })
	i, _ := slices.BinarySearchFunc(a.rises, t, func(a, b chain.Transfer) int {
		return int(a.Block.Height - b.Block.Height)
	})
	a.rises = slices.Insert(a.rises, i, t)
}

// recorded takes note of a snapshot that is recorded.
func (x *index) recorded(s chain.Snapshot) {
	shown := map[string]bool{}
	for _, t := range s.Transfers {
		if !t.IsRise() {
			continue
		}
		if a := x.account(t.Script); a != nil {
			shown[t.ID] = true
			a.add(t)
		}
	}
	for _, a := range x.accounts {
		kept := a.rises[:0:0]
		for _, t := range a.rises {
			if s.Covers(t.Block.Height) && !shown[t.ID] {
				a.stale = a.stale || t.Unsure || t.Block.Height <= a.Birth.Height
				continue
			}
			kept = append(kept, t)
		}
		a.rises = kept
		if s.Read.Hash != "" && !a.stray {
			a.known, a.stale = true, false
		}
	}
	if s.Read.Hash != "" {
		x.read = s.Read
	}
	x.unsettled = false
}
