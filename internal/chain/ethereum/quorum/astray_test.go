package quorum_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"chequer/internal/chain"
	"chequer/internal/chain/chaintest"
	"chequer/internal/chain/ethereum/quorum"
)

// The network's own coin that comes to an invoice of tokens is told as a mistake.
func TestAstray_is_told_as_a_mistake(t *testing.T) {
	t.Parallel()
	w := newWorld(100)
	e := openEther(t, w, three(t, w)...)
	e.step()
	inv, to := e.invoice("EURC")
	e.want(inv, "created")
	e.mine(3)
	b := w.mine(plainly(to, forty))
	w.pass(time.Minute)
	e.mine(2)
	told := fmt.Sprint("0.02 wrong_asset in ", b.height, " by ", b.transfers[0].tx[:6])
	e.want(inv, "created wrong_asset", told)
	e.mine(2)
	e.want(inv, "created wrong_asset", told)

	// And once more, after a restart.
	e.start()
	again := w.mine(sends(to, forty))
	w.pass(time.Minute)
	e.mine(2)
	more := fmt.Sprint("0.02 wrong_asset in ", again.height)
	e.want(inv, "created wrong_asset", told, more)
	b = w.mine(pays(to, 40_000_000))
	e.mine(12)
	e.want(inv, "paid wrong_asset", told, more, fmt.Sprint("40 confirmed in ", b.height, " by ", b.transfers[0].tx[:6]))
}

func TestAstray_leaves_with_its_block(t *testing.T) {
	t.Parallel()
	w := newWorld(100)
	e := openEther(t, w, three(t, w)...)
	e.step()
	inv, to := e.invoice("EURC")
	e.want(inv, "created")
	w.pass(time.Minute)
	b := w.mine(plainly(to, forty))
	e.want(inv, "created wrong_asset", fmt.Sprint("0.02 wrong_asset in ", b.height, " by ", b.transfers[0].tx[:6]))
	w.reorganise(1)
	e.mine(3)
	e.want(inv, "created", fmt.Sprint("0.02 wrong_asset by ", b.transfers[0].tx[:6]))
}

// A merchant brings ether to an address to gather the tokens there: that is no mistake
// once they cover the price.
func TestAstray_gas_for_gathering_is_no_mistake(t *testing.T) {
	t.Parallel()
	w := newWorld(100)
	e := openEther(t, w, three(t, w)...)
	e.step()
	inv, to := e.invoice("EURC")
	b := w.mine(pays(to, 40_000_000))
	e.mine(12)
	paid := fmt.Sprint("40 confirmed in ", b.height, " by ", b.transfers[0].tx[:6])
	e.want(inv, "paid", paid)
	w.pass(time.Minute)
	gas := w.mine(plainly(to, 500_000_000_000_000))
	w.pass(time.Minute)
	e.mine(1)
	brought := fmt.Sprint("0.0005 dust in ", gas.height, " by ", gas.transfers[0].tx[:6])
	e.want(inv, "paid", paid, brought)
	w.pass(time.Minute)
	much := w.mine(plainly(to, forty))
	w.pass(time.Minute)
	e.mine(1)
	e.want(inv, "paid wrong_asset", paid, brought, fmt.Sprint("0.02 wrong_asset in ", much.height, " by ", much.transfers[0].tx[:6]))
}

// What is looked for beside must not keep anything else waiting.
func TestAstray_that_cannot_be_asked_for_holds_nothing_up(t *testing.T) {
	t.Parallel()
	w := newWorld(100)
	nodes := three(t, w)
	for _, n := range nodes {
		n.change(func(n *node) { n.fails = "eth_getBalance" })
	}
	e := openEther(t, w, nodes...)
	e.step()
	inv, to := e.invoice("EURC")
	b := w.mine(pays(to, 40_000_000))
	for range 12 {
		w.pass(time.Minute)
		w.mine()
		e.step()
	}
	e.want(inv, "paid", fmt.Sprint("40 confirmed in ", b.height, " by ", b.transfers[0].tx[:6]))
	other, _ := e.invoice("EURC")
	w.pass(20 * time.Minute)
	e.mine(1)
	e.want(other, "expired")
}

func TestAstray_asks_no_endpoint_that_may_not_learn_addresses(t *testing.T) {
	t.Parallel()
	w := newWorld(100)
	nodes := three(t, w)
	s := open(t, w, endpoints(nodes...))
	watch := &book{Watch: chaintest.Watch{}, strays: []string{ours}}
	for range 5 {
		w.pass(time.Minute)
		w.mine(plainly(ours, forty))
		if _, err := s.scanner.Scan(t.Context(), chain.Cursor{}, watch); err != nil {
			t.Fatal(err)
		}
	}
	for _, n := range nodes {
		if asked := n.asked("eth_getBalance"); len(asked) != 0 {
			t.Errorf("an endpoint was asked for balances %d times", len(asked))
		}
	}
}

// However many addresses there are, what is asked beside is one request a minute: of
// the newest each time, and of the others in turn.
func TestAstray_costs_as_much_for_many_addresses_as_for_some(t *testing.T) {
	t.Parallel()
	w := newWorld(100)
	n := newNode(t, w)
	s := open(t, w, []quorum.Endpoint{{URL: n.URL, Trusted: true}})
	watch := &book{Watch: chaintest.Watch{}}
	for i := range 2_000 {
		watch.strays = append(watch.strays, fmt.Sprintf("0x%040x", i+1))
	}
	seen := map[string]int{}
	turns := 0
	for range 100 {
		w.mine()
		w.pass(6 * time.Second)
		if _, err := s.scanner.Scan(t.Context(), chain.Cursor{}, watch); err != nil {
			t.Fatal(err)
		}
		asked := n.asked("eth_getBalance")
		n.change(func(n *node) { n.requests = nil })
		if len(asked) > 500 {
			t.Errorf("%d balances were asked for at once", len(asked))
		}
		if len(asked) > 0 {
			turns++
		}
		for _, r := range asked {
			seen[strings.ToLower(r.Params[0].(string))]++
		}
	}
	if turns != 13 { // in 800 seconds
		t.Errorf("it was asked %d times", turns)
	}
	for i, script := range watch.strays {
		if times := seen[script]; times == 0 || i < 100 && times != turns {
			t.Errorf("address %d was asked for %d times of %d", i, times, turns)
		}
	}
}

// An account that spent tells nothing any more, and many of them must not hide others.
func TestAstray_is_found_among_accounts_that_spent(t *testing.T) {
	t.Parallel()
	w := newWorld(100)
	n := newNode(t, w)
	s := open(t, w, []quorum.Endpoint{{URL: n.URL, Trusted: true}})
	watch := &book{Watch: chaintest.Watch{}}
	var gathered []transfer
	for i := range 30 {
		script := fmt.Sprintf("0x%040x", i+1)
		watch.strays = append(watch.strays, script)
		gathered = append(gathered, sends(script, 5), transfer{to: script, units: 5, spent: true}, sends(script, 9))
	}
	watch.strays = append(watch.strays, ours)
	w.mine(gathered...)
	w.mine(plainly(ours, forty))
	var found []string
	for range 3 {
		w.pass(time.Minute)
		w.mine()
		snapshot, err := s.scanner.Scan(t.Context(), chain.Cursor{}, watch)
		if err != nil {
			t.Fatal(err)
		}
		for _, transfer := range snapshot.Transfers {
			found = append(found, transfer.Script)
		}
	}
	if !slices.Contains(found, ours) {
		t.Errorf("found at %q", found)
	}
}
