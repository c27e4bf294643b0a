package quorum_test

import (
	"testing"

	"chequer/internal/chain"
	"chequer/internal/chain/chaintest"
	"chequer/internal/chain/ethereum"
	"chequer/internal/chain/ethereum/quorum"
)

// feeToken is the contract of the claimed token.
const feeToken = "0x420CA0f9B9b604cE0fd9C18EF134C705e5Fa3430"

// sixDecimals makes the contract of the claimed token return 6 decimals.
func sixDecimals(n *node) { answerDecimals(feeToken, six)(n) }

// openClaimed opens a shop that also watches the claimed token.
func openClaimed(t *testing.T, fake *fakeChain, list []quorum.Endpoint, change ...func(*quorum.Config)) *shop {
	t.Helper()
	s := openShop(t, fake, list, change...)
	s.scanner = ethereum.Watch(ethereum.New(claimed(t)), s.quorum, fake.Now)
	return s
}

func TestCredit_is_at_most_the_rise_of_the_balance(t *testing.T) {
	t.Parallel()
	token := func(units uint64, fee int64) transfer {
		return transfer{contract: feeToken, to: ourAddress, units: units, fee: fee}
	}
	for name, test := range map[string]struct {
		transfers []transfer
		want      []string
	}{
		"the whole amount arrives":                    {[]transfer{token(5_000_000, 0)}, []string{"5"}},
		"the token keeps a fee":                       {[]transfer{token(5_000_000, 50_000)}, []string{"4.95"}},
		"the token adds to the balance":               {[]transfer{token(5_000_000, -1_000_000)}, []string{"5"}},
		"nothing arrives":                             {[]transfer{token(5_000_000, 5_000_000)}, nil},
		"the balance falls":                           {[]transfer{token(5_000_000, 6_000_000)}, nil},
		"two logs share the rise":                     {[]transfer{token(5_000_000, 50_000), token(2_000_000, 20_000)}, []string{"1.93", "5"}},
		"a log without a rise":                        {[]transfer{token(5_000_000, 0), token(9_000_000, 9_000_000)}, []string{"5"}},
		"a transfer to another address in the block":  {[]transfer{token(5_000_000, 50_000), {contract: feeToken, to: otherAddress, units: 7_000_000}}, []string{"4.95"}},
		"the log of a listed token proves its amount": {[]transfer{{contract: other.Contract, to: ourAddress, units: 5_000_000, fee: 50_000}}, []string{"5"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fake := newFakeChain(100)
			fake.mineBlock(token(3_000_000, 0)) // the address already holds an amount
			var nodes []*node
			for range 3 {
				nodes = append(nodes, newNode(t, fake, sixDecimals))
			}
			s := openClaimed(t, fake, endpoints(nodes...), askAddresses)
			s.from = chain.Cursor{Height: 101, Hash: fake.blocks[101].hash}
			fake.mineBlock(test.transfers...)
			s.want(test.want...)
			fake.mineBlock()
			s.want(test.want...)
		})
	}
}

func TestCredit_needs_the_balance_of_two_operators(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change [3]func(*node)
		want   string // "" = an error
	}{
		"one of three endpoints lies":  {[3]func(*node){func(n *node) { n.addedBalance = 1_000_000 }}, "4.95"},
		"one of three endpoints fails": {[3]func(*node){func(n *node) { n.failingMethod = "eth_call" }}, "4.95"},
		"two of three endpoints fail":  {[3]func(*node){func(n *node) { n.failingMethod = "eth_call" }, func(n *node) { n.failingMethod = "eth_call" }}, ""},
		"the endpoints do not agree":   {[3]func(*node){func(n *node) { n.addedBalance = 1 }, func(n *node) { n.addedBalance = 2 }}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fake := newFakeChain(100)
			var nodes []*node
			for range 3 {
				nodes = append(nodes, newNode(t, fake, sixDecimals))
			}
			s := openClaimed(t, fake, endpoints(nodes...), askAddresses)
			s.want()
			for i, change := range test.change {
				if change != nil {
					nodes[i].change(change)
				}
			}
			fake.mineBlock(transfer{contract: feeToken, to: ourAddress, units: 5_000_000, fee: 50_000})
			if test.want == "" {
				s.wantError("balance of token " + feeToken)
				return
			}
			s.want(test.want)
		})
	}
}

// If the state of the block is pruned, the amount cannot be proved: the merchant decides.
func TestCredit_without_the_state_of_the_block_is_unsure(t *testing.T) {
	t.Parallel()
	fake := newFakeChain(100)
	n := newNode(t, fake, sixDecimals, func(n *node) { n.keptStates = 5 })
	s := openClaimed(t, fake, []quorum.Endpoint{{URL: n.URL, Trusted: true}})
	s.from = chain.Cursor{Height: 100, Hash: fake.blocks[100].hash}
	fake.mineBlock(transfer{contract: feeToken, to: ourAddress, units: 5_000_000, fee: 50_000})
	for range 10 {
		fake.mineBlock()
	}
	got := s.want("5")
	if len(got.Transfers) != 1 || !got.Transfers[0].Unsure {
		t.Errorf("transfers %+v, want an unsure one", got.Transfers)
	}
}

// After a restart the recorded amount is valid, even if the state of its block is pruned or if
// only the receipt still shows the transfer.
func TestCredit_is_unchanged_after_a_restart(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*node){
		"with logs":                     func(*node) {},
		"without the state":             func(n *node) { n.keptStates = 3 },
		"with receipts and no logs":     func(n *node) { n.hidesLogs = true },
		"with receipts and other state": func(n *node) { n.hidesLogs, n.addedBalance = true, 7 },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fake := newFakeChain(100)
			n := newNode(t, fake, sixDecimals)
			list := []quorum.Endpoint{{URL: n.URL, Trusted: true}}
			s := openClaimed(t, fake, list)
			s.from = chain.Cursor{Height: 100, Hash: fake.blocks[100].hash}
			fake.mineBlock(transfer{contract: feeToken, to: ourAddress, units: 5_000_000, fee: 50_000})
			fake.mineBlock()
			before := s.want("4.95")
			for range 10 {
				fake.mineBlock()
			}
			n.change(change)
			next := openClaimed(t, fake, list)
			recording := chaintest.Recording{Watch: s.watch, Transfers: before.Transfers}
			after, err := next.scanner.Scan(t.Context(), s.from, recording)
			if err != nil {
				t.Fatal(err)
			}
			next.compare(after, []string{"4.95"})
			if len(after.Transfers) == 1 && after.Transfers[0].Unsure {
				t.Error("recorded transfer became unsure")
			}
		})
	}
}

// A log that an earlier process did not see gets no share that is recorded for another log.
func TestCredit_shares_only_the_unrecorded_rise(t *testing.T) {
	t.Parallel()
	fake := newFakeChain(100)
	n := newNode(t, fake, sixDecimals)
	list := []quorum.Endpoint{{URL: n.URL, Trusted: true}}
	from := chain.Cursor{Height: 100, Hash: fake.blocks[100].hash}
	b := fake.mineBlock(transfer{contract: feeToken, to: ourAddress, units: 5_000_000, fee: 5_000_000}, transfer{contract: feeToken, to: ourAddress, units: 5_000_000})
	s := openClaimed(t, fake, list)
	s.from = from
	first := s.want("5")
	second := first.Transfers[0]
	second.ID, second.Tx = b.transfers[1].tx+":1", b.transfers[1].tx
	after, err := openClaimed(t, fake, list).scanner.Scan(t.Context(), from, chaintest.Recording{Watch: s.watch, Transfers: []chain.Transfer{second}})
	if err != nil {
		t.Fatal(err)
	}
	s.compare(after, []string{"5"})
	if len(after.Transfers) == 1 && after.Transfers[0].ID != second.ID {
		t.Errorf("scan shows transfer %s, want the recorded %s", after.Transfers[0].ID, second.ID)
	}
}

// If no endpoint may be queried by address, the balance is not read, and the token is neither
// offered nor watched. Other assets are not affected.
func TestCredit_queries_no_endpoint_without_permission(t *testing.T) {
	t.Parallel()
	fake := newFakeChain(100)
	nodes := []*node{newNode(t, fake, sixDecimals), newNode(t, fake, sixDecimals)}
	s := openClaimed(t, fake, endpoints(nodes...))
	s.want()
	fake.mineBlock(transfer{contract: feeToken, to: ourAddress, units: 5_000_000}, tokenPayment(ourAddress, 2_000_000))
	s.want("2")
	for _, a := range s.scanner.Assets() {
		if a.Code == "EURE" && !a.Unverified {
			t.Error("token without readable balances is offered")
		}
	}
	if faults := s.scanner.TokenFaults(); len(faults) != 1 || !faults[0].Unreadable {
		t.Errorf("token faults %+v, want one with Unreadable", faults)
	}
}
