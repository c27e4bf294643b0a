package watcher_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/chain"
	"chequer/internal/invoice"
	"chequer/internal/watcher"
)

// withAccount returns a destination whose balance is watched, created in block 10.
func withAccount(n int, birth int64) watcher.Destination {
	d := destination(n, 9)
	d.MerchantID = "m"
	d.Account = &watcher.Account{Position: birth, Birth: chain.Cursor{Height: 10, Hash: "0x0a"}}
	return d
}

// rise returns a rise of the nth destination's balance.
func rise(n, highest int, height int64) chain.Transfer {
	return chain.Transfer{ID: fmt.Sprintf("balance:1:script%d:%d", n, highest), Script: fmt.Sprint("script", n), Block: &chain.Block{Height: height}}
}

// wantAccounts checks the accounts: their scripts, whether they are known, and the heights of their
// rises.
func wantAccounts(t *testing.T, x watcher.Index, want ...string) {
	t.Helper()
	var got []string
	for a := range x.Accounts() {
		line := fmt.Sprint(a.Script, " ", a.Known)
		for _, r := range a.Recorded {
			line += fmt.Sprint(" ", r.Block.Height)
		}
		got = append(got, line)
	}
	slices.Sort(got)
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("accounts (-got +want):\n%s", diff)
	}
}

func TestIndex_loads_known_balances_after_a_restart(t *testing.T) {
	t.Parallel()
	x := watcher.NewIndex(watcher.Index{})
	if !x.Unsettled() {
		t.Error("a new index is not unsettled")
	}
	for n, birth := range []int64{5, 6, 7, 8} {
		x.Add(withAccount(n, birth))
	}
	x.Add(destination(9, 9)) // without an account
	departed := watcher.Rise{Transfer: rise(1, 3, 0), Old: true}
	departed.Block = nil
	x.Load(invoice.Progress{Read: chain.Block{Height: 20}, Loaded: watcher.Marks{"m": 6}},
		watcher.Rise{Transfer: rise(0, 9, 13)}, watcher.Rise{Transfer: rise(0, 4, 12)}, departed, watcher.Rise{Transfer: rise(3, 4, 21)})
	// The second account lost the rise from before its birth, the third was never read, and the
	// fourth has a recorded rise.
	wantAccounts(t, x, "script0 true 12 13", "script1 false", "script2 false", "script3 true 21")
	if x.Read().Height != 20 {
		t.Errorf("read at %+v, want height 20", x.Read())
	}
}

func TestIndex_follows_recorded_balances(t *testing.T) {
	t.Parallel()
	x := watcher.NewIndex(watcher.Index{})
	for n := range 3 {
		x.Add(withAccount(n, 5))
	}
	x.Load(invoice.Progress{}, watcher.Rise{Transfer: rise(0, 9, 8)}, watcher.Rise{Transfer: rise(1, 9, 13)}, watcher.Rise{Transfer: rise(2, 9, 10)})
	s := chain.Snapshot{From: chain.Cursor{Height: 9}, Tip: chain.Block{Height: 20}, Transfers: []chain.Transfer{rise(1, 9, 14), rise(1, 12, 15), {ID: "0x01:1", Script: "script1", Block: &chain.Block{Height: 15}}}}
	x.Settle(s, watcher.Marks{"m": 5}) // balances were not read
	wantAccounts(t, x, "script0 true 8", "script1 true 14 15", "script2 false")
	s.Read = chain.Block{Height: 20, Hash: "0x14"}
	x.Settle(s, watcher.Marks{"m": 5})
	wantAccounts(t, x, "script0 true 8", "script1 true 14 15", "script2 true")

	x.Add(withAccount(4, 6))
	if x.Unsettled() {
		t.Error("a new destination makes the index unsettled")
	}
	x.Drop(noon.Add(10 * time.Hour))
	wantAccounts(t, x)
	x.Add(withAccount(1, 5)) // watched again
	if !x.Unsettled() {
		t.Error("a destination that is watched again does not make the index unsettled")
	}
}

// The network's native coin may arrive at destinations where it is not expected. Accounts includes the
// destinations where it is recorded; Strays lists the others, newest first.
func TestIndex_lists_destinations_where_the_coin_is_not_expected(t *testing.T) {
	t.Parallel()
	x := watcher.NewIndex(watcher.Index{})
	x.Add(withAccount(0, 5))
	for n := 1; n < 5; n++ {
		x.Add(destination(n, 9))
	}
	wantStrays := func(want ...string) {
		t.Helper()
		if diff := cmp.Diff(slices.Collect(x.Strays()), want); diff != "" {
			t.Errorf("strays (-got +want):\n%s", diff)
		}
	}
	wantStrays("script4", "script3", "script2", "script1")
	x.Load(invoice.Progress{}, watcher.Rise{Transfer: rise(2, 9, 8)}, watcher.Rise{Transfer: rise(7, 9, 8)})
	wantStrays("script4", "script3", "script1")
	s := chain.Snapshot{From: chain.Cursor{Height: 9}, Tip: chain.Block{Height: 20, Hash: "0x14"}, Transfers: []chain.Transfer{rise(3, 9, 14), rise(9, 9, 14)}}
	s.Read = s.Tip
	x.Settle(s, nil)
	wantStrays("script4", "script1")
	wantAccounts(t, x, "script0 true", "script2 true 8", "script3 true 14")
	for a := range x.Accounts() {
		if a.Stray != (a.Script != "script0") {
			t.Errorf("%s is a stray: %t", a.Script, a.Stray)
		}
	}
	x.Load(invoice.Progress{}) // no rises are recorded any more
	wantStrays("script4", "script3", "script2", "script1")
	x.Drop(noon.Add(10 * time.Hour))
	wantStrays()
}
