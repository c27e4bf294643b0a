package quorum_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/chain"
	"chequer/internal/chain/chaintest"
	"chequer/internal/chain/ethereum"
	"chequer/internal/chain/ethereum/quorum"
	"chequer/internal/keys"
)

func TestScan_sends_addresses_only_with_permission(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		trusted, allowed, want bool
	}{
		"public endpoints":                        {want: false},
		"public endpoints and allowed by setting": {allowed: true, want: true},
		"trusted nodes":                           {trusted: true, want: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fake := newFakeChain(20)
			fake.mineBlock(tokenPayment(ourAddress, 5_000_000))
			nodes := []*node{newNode(t, fake), newNode(t, fake)}
			list := endpoints(nodes...)
			for i := range list {
				list[i].Trusted = test.trusted
			}
			s := openShop(t, fake, list, func(c *quorum.Config) { c.AddressQueries = test.allowed })
			s.want("5")
			// Destinations that are added later are watched as well.
			s.watch[otherAddress] = true
			s.want("5")
			sent := false
			for _, n := range nodes {
				for _, r := range n.received("eth_getLogs") {
					sent = sent || strings.Contains(fmt.Sprint(r.Params), ourAddress[2:])
				}
			}
			if sent != test.want {
				t.Errorf("our address was sent: %t, want %t", sent, test.want)
			}
		})
	}
}

func TestScan_finds_transfers_to_a_destination_added_later(t *testing.T) {
	t.Parallel()
	for _, allowed := range []bool{false, true} {
		t.Run(fmt.Sprintf("address queries allowed %t", allowed), func(t *testing.T) {
			t.Parallel()
			fake := newFakeChain(20)
			fake.mineBlock(tokenPayment(otherAddress, 7_000_000))
			fake.mineBlock()
			s := openShop(t, fake, endpoints(newNode(t, fake), newNode(t, fake)), func(c *quorum.Config) { c.AddressQueries = allowed })
			s.want()
			s.watch[otherAddress] = true
			s.want("7")
			s.want("7")
		})
	}
}

func TestScan_asks_for_no_logs_while_nothing_is_watched(t *testing.T) {
	t.Parallel()
	fake := newFakeChain(20)
	fake.mineBlock(tokenPayment(ourAddress, 5_000_000))
	n := newNode(t, fake)
	s := openShop(t, fake, endpoints(n, newNode(t, fake)))
	s.watch = chaintest.Watch{}
	s.want()
	if requests := n.received("eth_getLogs"); len(requests) > 0 {
		t.Errorf("asked %v, want nothing", requests)
	}
	s.watch[ourAddress] = true
	s.want("5")
}

func TestScan_asks_for_less_when_an_endpoint_refuses(t *testing.T) {
	t.Parallel()
	fake := newFakeChain(900)
	for range 30 {
		fake.mineBlock(tokenPayment(otherAddress, 1), tokenPayment(ourAddress, 1_000_000))
	}
	fake.final = 800
	modest := func(n *node) { n.maxRange, n.maxCalls = 7, 3 }
	s := openShop(t, fake, endpoints(newNode(t, fake, modest), newNode(t, fake, modest)))
	s.from = chain.Cursor{Height: 0, Hash: fake.blocks[0].hash}
	snapshot := s.want(slices.Repeat([]string{"1"}, 30)...)
	if snapshot.Tip.Height != 930 || snapshot.Behind {
		t.Errorf("reached block %d, want 930", snapshot.Tip.Height)
	}
}

func TestScan_asks_again_after_a_round_number_of_logs(t *testing.T) {
	t.Parallel()
	fake := newFakeChain(10)
	for range 15 {
		fake.mineBlock(append(slices.Repeat([]transfer{tokenPayment(otherAddress, 1)}, 60), tokenPayment(ourAddress, 1_000_000))...)
	}
	fake.final = 25
	withLimit := func(n *node) { n.maxLogs = 500 }
	s := openShop(t, fake, endpoints(newNode(t, fake, withLimit), newNode(t, fake, withLimit)))
	s.from = chain.Cursor{Height: 0, Hash: fake.blocks[0].hash}
	s.want(slices.Repeat([]string{"1"}, 15)...)
}

func TestLogs_limits_the_size_of_filters(t *testing.T) {
	t.Parallel()
	fake := newFakeChain(20)
	b := fake.mineBlock(tokenPayment(ourAddress, 5_000_000))
	n := newNode(t, fake)
	list := endpoints(n)
	list[0].Trusted = true
	q := openShop(t, fake, list).quorum
	best, err := q.Best(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	contract, _ := keys.ParseEthereumAddress(token.Contract)
	query := ethereum.Query{Contracts: []keys.EthereumAddress{contract}}
	for i := range 2500 {
		query.To = append(query.To, fmt.Sprintf("0x%040x", i))
	}
	query.To = append(query.To, ourAddress)
	logs, err := q.Logs(t.Context(), ethereum.Span{From: b.height, To: best.Header}, query)
	if err != nil || len(logs) != 1 {
		t.Fatalf("%d logs, %v; want 1", len(logs), err)
	}
	requests := n.received("eth_getLogs")
	if len(requests) != 3 {
		t.Errorf("%d filters, want 3", len(requests))
	}
	for _, r := range requests {
		topics := r.Params[0].(map[string]any)["topics"].([]any)
		if to := topics[2].([]any); len(to) > 1000 {
			t.Errorf("%d addresses in one filter, want at most 1000", len(to))
		}
	}
}

func TestScan_asks_without_addresses_if_they_are_many(t *testing.T) {
	t.Parallel()
	fake := newFakeChain(20)
	fake.mineBlock(tokenPayment(ourAddress, 5_000_000))
	n := newNode(t, fake)
	list := endpoints(n)
	list[0].Trusted = true
	s := openShop(t, fake, list)
	for i := range 2500 {
		s.watch[fmt.Sprintf("0x%040x", i)] = true
	}
	s.want("5")
	for _, r := range n.received("eth_getLogs") {
		if topics := r.Params[0].(map[string]any)["topics"].([]any); len(topics) != 1 {
			t.Errorf("filter has %d topics, want 1", len(topics))
		}
	}
}

func TestScan_shows_only_listed_contracts(t *testing.T) {
	t.Parallel()
	fake := newFakeChain(20)
	counterfeit := tokenPayment(ourAddress, 20_000_000)
	counterfeit.contract = "0x" + strings.Repeat("11", 20)
	second := tokenPayment(ourAddress, 3_000_000)
	second.contract = other.Contract
	fake.mineBlock(counterfeit, tokenPayment(ourAddress, 0), second, tokenPayment(ourAddress, 5_000_000))
	snapshot := openShop(t, fake, endpoints(newNode(t, fake), newNode(t, fake))).want("3", "5")
	got := map[string]string{}
	for _, tr := range snapshot.Transfers {
		got[tr.Asset] = tr.Amount.String()
	}
	if diff := cmp.Diff(got, map[string]string{"USDC": "3", "EURC": "5"}); diff != "" {
		t.Errorf("assets (-got +want):\n%s", diff)
	}
}

// C28: addresses and hashes are bytes, however an endpoint writes their hex digits.
func TestScan_accepts_hex_in_capitals(t *testing.T) {
	t.Parallel()
	fake := newFakeChain(20)
	fake.mineBlock(tokenPayment(ourAddress, 5_000_000), tokenPayment(otherAddress, 1))
	s := openShop(t, fake, endpoints(newNode(t, fake, func(n *node) { n.capitals = true }), newNode(t, fake)))
	for _, transfer := range s.want("5").Transfers {
		if transfer.Script != ourAddress {
			t.Errorf("transfer to %s, want %s", transfer.Script, ourAddress)
		}
	}
}

// C49: two equal amounts in one transaction are two transfers, and so are those to two invoices.
func TestScan_shows_all_transfers_of_one_transaction(t *testing.T) {
	t.Parallel()
	fake := newFakeChain(20)
	tx := hashOf("many")
	paymentInTx := func(to string, units uint64) transfer {
		p := tokenPayment(to, units)
		p.tx = tx
		return p
	}
	unwatched := "0x" + strings.Repeat("c3", 20)
	fake.mineBlock(paymentInTx(unwatched, 9), paymentInTx(ourAddress, 5_000_000), paymentInTx(ourAddress, 5_000_000), paymentInTx(unwatched, 9), paymentInTx(otherAddress, 10_000_000))
	fake.mineBlock()
	s := openShop(t, fake, endpoints(newNode(t, fake), newNode(t, fake)))
	s.watch[otherAddress] = true
	want := map[string]string{tx + ":1": ourAddress + " 5", tx + ":2": ourAddress + " 5", tx + ":4": otherAddress + " 10"}
	for range 2 {
		got := map[string]string{}
		for _, tr := range s.want("10", "5", "5").Transfers {
			got[tr.ID] = tr.Script + " " + tr.Amount.String()
		}
		if diff := cmp.Diff(got, want); diff != "" {
			t.Errorf("transfers (-got +want):\n%s", diff)
		}
	}
}

func TestScan_accepts_repeated_and_removed_logs(t *testing.T) {
	t.Parallel()
	fake := newFakeChain(20)
	repeating := func(n *node) { n.repeats = true }
	s := openShop(t, fake, endpoints(newNode(t, fake, repeating), newNode(t, fake, repeating)))
	paid := fake.mineBlock(tokenPayment(ourAddress, 20_000_000))
	s.want("20")
	fake.reorganise(1)
	fake.mineBlock()
	s.want()
	s.want()
	fake.mineBlock(tokenPayment(otherAddress, 1), paid.transfers[0])
	s.want("20")
}
