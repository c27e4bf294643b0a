package bitcointest_test

import (
	"encoding/json"
	"math/big"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/chain"
	"chequer/internal/chain/bitcoin/bitcointest"
	"chequer/internal/chain/chaintest"
	"chequer/internal/money"
)

// A Node with a Network method is a Harness.
var _ chaintest.Harness = struct {
	*bitcointest.Node
	network
}{}

type network interface{ Network() chain.Scanner }

// onEachNode runs a test with each kind of node.
func onEachNode(t *testing.T, test func(t *testing.T, n *bitcointest.Node)) {
	t.Parallel()
	for name, start := range map[string]func(testing.TB, ...bitcointest.Option) *bitcointest.Node{
		"btcd": bitcointest.Btcd, "litecoind": bitcointest.Litecoind,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, start(t))
		})
	}
}

func TestNode_starts_with_coins(t *testing.T) {
	onEachNode(t, func(t *testing.T, n *bitcointest.Node) {
		if got := n.Tip(t).Height; got != 110 {
			t.Errorf("height %d, want 110", got)
		}
		checkWaiting(t, n)
	})
}

func TestSend_is_in_the_mempool_until_it_is_mined(t *testing.T) {
	onEachNode(t, func(t *testing.T, n *bitcointest.Node) {
		first, second := n.Send(t, payment(t, n, "0.5")), n.Send(t, payment(t, n, "7"), payment(t, n, "0.1"))
		checkWaiting(t, n, first, second)
		n.Mine(t, second)
		checkWaiting(t, n, first)
		checkMined(t, n, second)
		n.Mine(t)
		checkWaiting(t, n, first)
		checkMined(t, n)
		n.Mine(t, first)
		checkWaiting(t, n)
		checkMined(t, n, first)
	})
}

func TestSend_has_coins_for_many(t *testing.T) {
	onEachNode(t, func(t *testing.T, n *bitcointest.Node) {
		var txs []string
		for range 100 {
			txs = append(txs, n.Send(t, payment(t, n, "1")))
		}
		n.Mine(t, txs...)
		checkMined(t, n, txs...)
		n.Send(t, payment(t, n, "50"))
	})
}

func TestSendWithFee_pays_the_given_fee(t *testing.T) {
	onEachNode(t, func(t *testing.T, n *bitcointest.Node) {
		fee := money.MustParse("0.00000321", n.Asset().Currency)
		tx := n.SendWithFee(t, fee, payment(t, n, "0.5"))
		var entries map[string]struct{ Fee json.Number }
		n.Call(t, &entries, "getrawmempool", true)
		got, ok := new(big.Rat).SetString(entries[tx].Fee.String())
		if !ok || got.Cmp(fee.Rat()) != 0 {
			t.Errorf("fee %s, want %s", entries[tx].Fee, fee)
		}
	})
}

func TestReplace_replaces_the_transaction(t *testing.T) {
	onEachNode(t, func(t *testing.T, n *bitcointest.Node) {
		tx := n.Send(t, payment(t, n, "0.5"), payment(t, n, "0.5"), payment(t, n, "0.5"))
		second := n.Replace(t, tx, payment(t, n, "0.5"))
		checkWaiting(t, n, second)
		third := n.Replace(t, second, payment(t, n, "20"))
		checkWaiting(t, n, third)
		n.Mine(t, third)
		checkMined(t, n, third)
	})
}

func TestConflict_is_mined_without_the_mempool(t *testing.T) {
	onEachNode(t, func(t *testing.T, n *bitcointest.Node) {
		tx := n.Send(t, payment(t, n, "0.5"))
		conflict := n.Conflict(t, tx, payment(t, n, "0.5"))
		checkWaiting(t, n, tx)
		n.Mine(t, conflict)
		checkWaiting(t, n)
		checkMined(t, n, conflict)
	})
}

func TestSpend_spends_a_received_output(t *testing.T) {
	onEachNode(t, func(t *testing.T, n *bitcointest.Node) {
		tx := n.Send(t, payment(t, n, "0.5"))
		spend := n.Spend(t, tx+":0", payment(t, n, "0.4"))
		checkWaiting(t, n, tx, spend)
		n.Mine(t, tx, spend)
		checkMined(t, n, tx, spend)
	})
}

func TestReorganise_returns_transactions_to_the_mempool(t *testing.T) {
	onEachNode(t, func(t *testing.T, n *bitcointest.Node) {
		tx := n.Send(t, payment(t, n, "0.5"))
		before := n.Tip(t)
		n.Mine(t, tx)
		n.MineBlocks(t, 2)
		n.Reorganise(t, tx)
		checkWaiting(t, n, tx)
		if got, want := n.Tip(t).Height, before.Height+4; got != want {
			t.Errorf("height %d, want %d", got, want)
		}
		n.Mine(t, tx)
		checkMined(t, n, tx)
	})
}

func TestFork_can_contain_a_conflict(t *testing.T) {
	onEachNode(t, func(t *testing.T, n *bitcointest.Node) {
		tx, other := n.Send(t, payment(t, n, "0.5")), n.Send(t, payment(t, n, "0.5"))
		spend := n.Spend(t, tx+":0", payment(t, n, "0.4"))
		n.Mine(t, tx, spend, other)
		n.Fork(t, 1, n.Conflict(t, tx, payment(t, n, "0.5")))
		checkWaiting(t, n, other)
	})
}

func TestRestart_keeps_the_chain(t *testing.T) {
	onEachNode(t, func(t *testing.T, n *bitcointest.Node) {
		tx := n.Send(t, payment(t, n, "0.5"))
		n.Mine(t, tx)
		tip := n.Tip(t)
		n.Restart(t)
		if got := n.Tip(t); got != tip {
			t.Errorf("tip %v, want %v", got, tip)
		}
		checkMined(t, n, tx)
		n.Kill(t)
		n.Start(t)
		if got := n.Tip(t); got != tip {
			t.Errorf("tip %v after it was killed, want %v", got, tip)
		}
		n.Mine(t, n.Send(t, payment(t, n, "0.5")))
	})
}

func TestRaw_returns_the_transaction_of_the_node(t *testing.T) {
	onEachNode(t, func(t *testing.T, n *bitcointest.Node) {
		tx := n.Send(t, payment(t, n, "0.5"))
		var raw string
		n.Call(t, &raw, "getrawtransaction", tx)
		if got := n.Raw(t, tx); got != raw {
			t.Errorf("Raw() = %s, want %s", got, raw)
		}
	})
}

func TestPeer_shares_the_chain_and_the_wallet(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(testing.TB, ...bitcointest.Option) *bitcointest.Node{
		"btcd": bitcointest.Btcd, "litecoind": bitcointest.Litecoind,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			first := start(t)
			second := start(t, bitcointest.Listen("127.1.0.1"), bitcointest.Peer(first))
			if !strings.HasPrefix(second.P2P, "127.1.0.1:") {
				t.Errorf("listens on %s, want 127.1.0.1", second.P2P)
			}
			tx := first.Send(t, payment(t, first, "0.5"))
			second.Sync(t, first)
			checkWaiting(t, second, tx)
			second.Mine(t, tx)
			first.Sync(t, second)
			checkMined(t, first, tx)
			first.Mine(t, first.Send(t, payment(t, first, "0.5")))
			first.Fork(t, 1)
			second.Sync(t, first)
		})
	}
}

func TestBtcd_with_TLS_has_an_https_address(t *testing.T) {
	t.Parallel()
	n := bitcointest.Btcd(t, bitcointest.TLS())
	if !strings.HasPrefix(n.RPC, "https://") {
		t.Errorf("RPC at %s, want TLS", n.RPC)
	}
}

func TestLitecoind_has_a_cookie_and_options(t *testing.T) {
	t.Parallel()
	n := bitcointest.Litecoind(t, bitcointest.Listen(""), bitcointest.Arguments("-prune=550", "-txindex=0"))
	n.Mine(t, n.Send(t, payment(t, n, "0.5")))
	var info struct{ Pruned bool }
	n.Call(t, &info, "getblockchaininfo")
	if !info.Pruned {
		t.Error("node does not prune")
	}
	cookie, err := os.ReadFile(n.Cookie)
	if err != nil {
		t.Fatal(err)
	}
	n.User, n.Password, _ = strings.Cut(string(cookie), ":")
	n.Tip(t)
}

// payment returns an output to a new script.
func payment(t *testing.T, n *bitcointest.Node, amount string) chaintest.Output {
	t.Helper()
	return chaintest.Output{Script: n.NewScript(t), Amount: money.MustParse(amount, n.Asset().Currency)}
}

// checkWaiting fails the test if the mempool has other transactions.
func checkWaiting(t *testing.T, n *bitcointest.Node, want ...string) {
	t.Helper()
	if diff := cmp.Diff(sorted(n.Waiting(t)), sorted(want)); diff != "" {
		t.Errorf("mempool differs (-got +want):\n%s", diff)
	}
}

// checkMined fails the test if the newest block has other transactions.
func checkMined(t *testing.T, n *bitcointest.Node, want ...string) {
	t.Helper()
	var block struct{ Tx []string }
	n.Call(t, &block, "getblock", n.Tip(t).Hash, 1)
	if diff := cmp.Diff(sorted(block.Tx[1:]), sorted(want)); diff != "" {
		t.Errorf("newest block differs (-got +want):\n%s", diff)
	}
}

func sorted(s []string) []string { return slices.Sorted(slices.Values(s)) }
