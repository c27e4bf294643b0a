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

// A payment in the network's native coin to an address for tokens is recorded as wrong_asset.
func TestStray_coin_is_recorded_as_wrong_asset(t *testing.T) {
	t.Parallel()
	fake := newFakeChain(100)
	e := openEther(t, fake, threeNodes(t, fake)...)
	e.step()
	inv, to := e.invoice("EURC")
	e.want(inv, "created")
	e.mine(3)
	b := fake.mineBlock(accountPays(to, fortyEuros))
	fake.pass(time.Minute)
	e.mine(2)
	first := fmt.Sprint("0.02 wrong_asset in ", b.height, " by ", b.transfers[0].tx[:6])
	e.want(inv, "created wrong_asset", first)
	e.mine(2)
	e.want(inv, "created wrong_asset", first)

	// A second transfer is found after a restart.
	e.start()
	second := fake.mineBlock(contractPays(to, fortyEuros))
	fake.pass(time.Minute)
	e.mine(2)
	secondWant := fmt.Sprint("0.02 wrong_asset in ", second.height)
	e.want(inv, "created wrong_asset", first, secondWant)
	b = fake.mineBlock(tokenPayment(to, 40_000_000))
	e.mine(12)
	e.want(inv, "paid wrong_asset", first, secondWant, fmt.Sprint("40 confirmed in ", b.height, " by ", b.transfers[0].tx[:6]))
}

func TestStray_coin_is_removed_with_its_block(t *testing.T) {
	t.Parallel()
	fake := newFakeChain(100)
	e := openEther(t, fake, threeNodes(t, fake)...)
	e.step()
	inv, to := e.invoice("EURC")
	e.want(inv, "created")
	fake.pass(time.Minute)
	b := fake.mineBlock(accountPays(to, fortyEuros))
	e.want(inv, "created wrong_asset", fmt.Sprint("0.02 wrong_asset in ", b.height, " by ", b.transfers[0].tx[:6]))
	fake.reorganise(1)
	e.mine(3)
	e.want(inv, "created", fmt.Sprint("0.02 wrong_asset by ", b.transfers[0].tx[:6]))
}

// A merchant sends ether to an address to pay for the sweep of its tokens. That
// transfer is not wrong_asset if the tokens already cover the price.
func TestStray_gas_for_a_sweep_is_not_wrong_asset(t *testing.T) {
	t.Parallel()
	fake := newFakeChain(100)
	e := openEther(t, fake, threeNodes(t, fake)...)
	e.step()
	inv, to := e.invoice("EURC")
	b := fake.mineBlock(tokenPayment(to, 40_000_000))
	e.mine(12)
	paid := fmt.Sprint("40 confirmed in ", b.height, " by ", b.transfers[0].tx[:6])
	e.want(inv, "paid", paid)
	fake.pass(time.Minute)
	gas := fake.mineBlock(accountPays(to, 500_000_000_000_000))
	fake.pass(time.Minute)
	e.mine(1)
	gasDust := fmt.Sprint("0.0005 dust in ", gas.height, " by ", gas.transfers[0].tx[:6])
	e.want(inv, "paid", paid, gasDust)
	fake.pass(time.Minute)
	large := fake.mineBlock(accountPays(to, fortyEuros))
	fake.pass(time.Minute)
	e.mine(1)
	e.want(inv, "paid wrong_asset", paid, gasDust, fmt.Sprint("0.02 wrong_asset in ", large.height, " by ", large.transfers[0].tx[:6]))
}

// Errors in the search for stray coins must not delay payments or expiry.
func TestStray_errors_do_not_delay_payments(t *testing.T) {
	t.Parallel()
	fake := newFakeChain(100)
	nodes := threeNodes(t, fake)
	for _, n := range nodes {
		n.change(func(n *node) { n.failingMethod = "eth_getBalance" })
	}
	e := openEther(t, fake, nodes...)
	e.step()
	inv, to := e.invoice("EURC")
	b := fake.mineBlock(tokenPayment(to, 40_000_000))
	for range 12 {
		fake.pass(time.Minute)
		fake.mineBlock()
		e.step()
	}
	e.want(inv, "paid", fmt.Sprint("40 confirmed in ", b.height, " by ", b.transfers[0].tx[:6]))
	other, _ := e.invoice("EURC")
	fake.pass(20 * time.Minute)
	e.mine(1)
	e.want(other, "expired")
}

func TestStray_search_asks_no_endpoint_without_permission(t *testing.T) {
	t.Parallel()
	fake := newFakeChain(100)
	nodes := threeNodes(t, fake)
	s := openShop(t, fake, endpoints(nodes...))
	watch := &accountWatch{Watch: chaintest.Watch{}, strays: []string{ourAddress}}
	for range 5 {
		fake.pass(time.Minute)
		fake.mineBlock(accountPays(ourAddress, fortyEuros))
		if _, err := s.scanner.Scan(t.Context(), chain.Cursor{}, watch); err != nil {
			t.Fatal(err)
		}
	}
	for _, n := range nodes {
		if requests := n.received("eth_getBalance"); len(requests) != 0 {
			t.Errorf("endpoint was asked for balances %d times, want 0", len(requests))
		}
	}
}

// The search makes one request per minute for any number of addresses. Each request reads the newest
// addresses, and some of the others in turn.
func TestStray_search_has_a_limited_cost(t *testing.T) {
	t.Parallel()
	fake := newFakeChain(100)
	n := newNode(t, fake)
	s := openShop(t, fake, []quorum.Endpoint{{URL: n.URL, Trusted: true}})
	watch := &accountWatch{Watch: chaintest.Watch{}}
	for i := range 2_000 {
		watch.strays = append(watch.strays, fmt.Sprintf("0x%040x", i+1))
	}
	seen := map[string]int{}
	rounds := 0
	for range 100 {
		fake.mineBlock()
		fake.pass(6 * time.Second)
		if _, err := s.scanner.Scan(t.Context(), chain.Cursor{}, watch); err != nil {
			t.Fatal(err)
		}
		requests := n.received("eth_getBalance")
		n.change(func(n *node) { n.requests = nil })
		if len(requests) > 500 {
			t.Errorf("%d balances in one scan, want at most 500", len(requests))
		}
		if len(requests) > 0 {
			rounds++
		}
		for _, r := range requests {
			seen[strings.ToLower(r.Params[0].(string))]++
		}
	}
	if rounds != 13 { // in 800 seconds
		t.Errorf("asked %d times, want 13", rounds)
	}
	for i, script := range watch.strays {
		if times := seen[script]; times == 0 || i < 100 && times != rounds {
			t.Errorf("address %d was read in %d of %d rounds", i, times, rounds)
		}
	}
}

// The balance of an account that has spent does not show what it received. Many such accounts must not
// prevent the search from finding a coin at another address.
func TestStray_coin_is_found_among_accounts_that_spent(t *testing.T) {
	t.Parallel()
	fake := newFakeChain(100)
	n := newNode(t, fake)
	s := openShop(t, fake, []quorum.Endpoint{{URL: n.URL, Trusted: true}})
	watch := &accountWatch{Watch: chaintest.Watch{}}
	var swept []transfer
	for i := range 30 {
		script := fmt.Sprintf("0x%040x", i+1)
		watch.strays = append(watch.strays, script)
		swept = append(swept, contractPays(script, 5), transfer{to: script, units: 5, spent: true}, contractPays(script, 9))
	}
	watch.strays = append(watch.strays, ourAddress)
	fake.mineBlock(swept...)
	fake.mineBlock(accountPays(ourAddress, fortyEuros))
	var found []string
	for range 3 {
		fake.pass(time.Minute)
		fake.mineBlock()
		snapshot, err := s.scanner.Scan(t.Context(), chain.Cursor{}, watch)
		if err != nil {
			t.Fatal(err)
		}
		for _, transfer := range snapshot.Transfers {
			found = append(found, transfer.Script)
		}
	}
	if !slices.Contains(found, ourAddress) {
		t.Errorf("found at %q, want %s among them", found, ourAddress)
	}
}
