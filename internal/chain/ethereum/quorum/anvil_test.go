package quorum_test

import (
	"log/slog"
	"math/big"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/chain"
	"chequer/internal/chain/chaintest"
	"chequer/internal/chain/ethereum"
	"chequer/internal/chain/ethereum/ethereumtest"
	"chequer/internal/chain/ethereum/quorum"
)

func TestAnvil(t *testing.T) {
	t.Parallel()
	t.Run("read_by_a_trusted_node", func(t *testing.T) {
		t.Parallel()
		chaintest.Run(t, func(t *testing.T) chaintest.Harness {
			n := ethereumtest.Anvil(t, chainID)
			return newHarness(t, n, quorum.Endpoint{URL: n.RPC, Trusted: true})
		})
	})
	t.Run("read_by_two_operators", func(t *testing.T) {
		t.Parallel()
		chaintest.Run(t, func(t *testing.T) chaintest.Harness { return newHarness(t, ethereumtest.Anvil(t, chainID)) })
	})
}

// harness is a real node that is scanned through a quorum.
type harness struct {
	*ethereumtest.Node
	net     *ethereum.Scanner
	quorum  *quorum.Quorum
	bridged chain.Asset
}

func (h *harness) Network() chain.Scanner { return h.net }

// Asset is the token that the harness pays with.
func (h *harness) Asset() chain.Asset { return h.net.Assets()[0] }

// Bridged implements chaintest.BridgedHarness.
func (h *harness) Bridged() chain.Asset { return h.bridged }

// SendBridged implements chaintest.BridgedHarness.
func (h *harness) SendBridged(t testing.TB, output chaintest.Output) (tx string) {
	t.Helper()
	return h.Transact(t, h.bridged.Contract, ethereumtest.Data("transfer(address,uint256)", output.Script, output.Amount.Minor()))
}

// newHarness watches a node through two endpoints with different operators, unless endpoints are
// given.
func newHarness(t *testing.T, n *ethereumtest.Node, endpoints ...quorum.Endpoint) *harness {
	t.Helper()
	if len(endpoints) == 0 {
		endpoints = []quorum.Endpoint{{URL: n.RPC, Operator: "a"}, {URL: n.RPC, Operator: "b"}}
	}
	q, err := quorum.New(quorum.Config{
		ChainID: n.ChainID, Tags: true, Endpoints: endpoints, Now: time.Now, Chance: func() float64 { return 0.5 }, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	p := ethereum.Mainnet
	eurc, usdc := p.Assets[2], p.Assets[1]
	eurc.Contract, usdc.Contract = n.Token, n.FeeToken
	bridged := ethereum.Base.Bridged[0]
	bridged.Contract = n.Deploy(t, ethereumtest.Code("token", 0))
	p.ChainID, p.Assets, p.Bridged = n.ChainID, []chain.Asset{eurc, usdc, p.Assets[0]}, []chain.Asset{bridged}
	return &harness{Node: n, net: ethereum.Watch(ethereum.New(p), q, time.Now), quorum: q, bridged: bridged}
}

func TestAnvil_shows_only_transfers_that_arrived(t *testing.T) {
	t.Parallel()
	n := ethereumtest.Anvil(t, chainID)
	h := newHarness(t, n)
	counterfeit := n.Deploy(t, ethereumtest.Code("token", 0))
	ourAddress := n.NewScript(t)
	watch := chaintest.Watch{ourAddress: true}
	five := big.NewInt(5_000_000)
	honest := n.Transact(t, n.Token, ethereumtest.Data("transfer(address,uint256)", ourAddress, five))
	taxed := n.Transact(t, n.FeeToken, ethereumtest.Data("transfer(address,uint256)", ourAddress, five))
	inner := n.Transact(t, n.LookalikeToken, ethereumtest.Data("through(address,address,uint256)", n.Token, ourAddress, big.NewInt(7_000_000)))
	failedTx := n.Transact(t, n.Token, ethereumtest.Data("payAndFail(address,uint256)", ourAddress, five))
	others := []string{
		n.Transact(t, counterfeit, ethereumtest.Data("transfer(address,uint256)", ourAddress, five)),
		n.Transact(t, n.LookalikeToken, ethereumtest.Data("fake(address,uint256)", ourAddress, five)),
		n.Transact(t, n.LookalikeToken, ethereumtest.Data("nft(address,uint256)", ourAddress, five)),
		n.Transact(t, n.Token, ethereumtest.Data("transfer(address,uint256)", ourAddress, big.NewInt(0))),
	}
	n.Mine(t, append(others, honest, taxed, inner, failedTx)...)
	for _, tx := range others {
		if _, succeeded := n.Outcome(t, tx); !succeeded {
			t.Errorf("transaction %s failed", tx)
		}
	}
	if mined, succeeded := n.Outcome(t, failedTx); !mined || succeeded {
		t.Errorf("failing transaction: mined %t, succeeded %t", mined, succeeded)
	}
	snapshot, err := h.net.Scan(t.Context(), chain.Cursor{}, watch)
	if err != nil {
		t.Fatal(err)
	}
	type shown struct{ Tx, Asset, Amount string }
	got := map[shown]bool{}
	for _, transfer := range snapshot.Transfers {
		got[shown{transfer.Tx, transfer.Asset, transfer.Amount.String()}] = true
		if age := time.Since(transfer.Block.Time); age > time.Minute || age < -time.Minute {
			t.Errorf("block time is %s, want one of the last minute", transfer.Block.Time)
		}
	}
	want := map[shown]bool{{honest, "EURC", "5"}: true, {taxed, "USDC", "4.5"}: true, {inner, "EURC", "7"}: true}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("transfers (-got +want):\n%s", diff)
	}
}

func TestAnvil_transfer_leaves_with_its_block(t *testing.T) {
	t.Parallel()
	n := ethereumtest.Anvil(t, chainID)
	h := newHarness(t, n)
	ourAddress := n.NewScript(t)
	watch := chaintest.Watch{ourAddress: true}
	scan := func() chain.Snapshot {
		t.Helper()
		s, err := h.net.Scan(t.Context(), chain.Cursor{}, watch)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	n.Mine(t)
	var state string
	n.Call(t, &state, "evm_snapshot")
	tx := n.Transact(t, n.Token, ethereumtest.Data("transfer(address,uint256)", ourAddress, big.NewInt(5_000_000)))
	n.Mine(t, tx)
	if s := scan(); len(s.Transfers) != 1 {
		t.Fatalf("%d transfers, want 1", len(s.Transfers))
	}
	n.Call(t, nil, "evm_revert", state)
	n.Mine(t)
	n.Mine(t)
	if s := scan(); len(s.Transfers) != 0 {
		t.Errorf("%d transfers after the reorganisation, want none", len(s.Transfers))
	}
}

// C46: a transfer in a delegatecall or in a reverted call is not shown.
func TestAnvil_shows_the_coin_that_arrived(t *testing.T) {
	t.Parallel()
	node := ethereumtest.Anvil(t, chainID)
	h := newHarness(t, node, quorum.Endpoint{URL: node.RPC, Trusted: true})
	wei := big.NewInt(1_000_000_000_000_000)
	type shown struct{ Amount, Tx string }
	for name, test := range map[string]struct {
		code  string // "" = sent by a transaction
		moves bool
	}{
		"sent by a transaction":               {"", true},
		"sent by a contract":                  {ethereumtest.Forwards, true},
		"sent by a self-destructing contract": {ethereumtest.Ends, true},
		"reverted":                            {ethereumtest.Fails, false},
		"value of a delegatecall":             {ethereumtest.Delegates, false},
		"value of a callcode":                 {ethereumtest.CallsCode, false},
	} {
		ourAddress := node.NewScript(t)
		watch := &accountWatch{Watch: chaintest.Watch{ourAddress: true}}
		scan := func(from chain.Cursor) chain.Snapshot {
			t.Helper()
			s, err := h.net.Scan(t.Context(), from, watch)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			watch.read = s.Read
			return s
		}
		to, data := ourAddress, ""
		if test.code != "" {
			to, data = node.Deploy(t, test.code), ethereumtest.Account(ourAddress)
		}
		before := scan(chain.Cursor{})
		node.Mine(t)
		tx := node.TransactWith(t, wei, to, data)
		node.Mine(t, tx)
		node.Mine(t)
		got := []shown{}
		for _, rise := range scan(before.Next).Transfers {
			got = append(got, shown{rise.Amount.String(), rise.Tx})
			if want := before.Tip.Height + 2; rise.Block.Height != want || rise.Asset != "ETH" {
				t.Errorf("%s: %s in block %d, want %d", name, rise.Asset, rise.Block.Height, want)
			}
		}
		want := []shown{}
		switch {
		case test.code == "":
			want = []shown{{"0.001", tx}}
		case test.moves:
			want = []shown{{"0.001", ""}}
		}
		if diff := cmp.Diff(got, want); diff != "" {
			t.Errorf("%s (-got +want):\n%s", name, diff)
		}
	}
}
