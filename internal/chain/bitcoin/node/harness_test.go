package node_test

import (
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/btcsuite/btcd/chaincfg"

	"chequer/internal/chain"
	"chequer/internal/chain/bitcoin"
	"chequer/internal/chain/bitcoin/bitcointest"
	"chequer/internal/chain/bitcoin/node"
	"chequer/internal/chain/chaintest"
)

func TestBtcd_passes_the_suite_of_networks(t *testing.T) {
	t.Parallel()
	chaintest.Run(t, func(t *testing.T) chaintest.Harness { return btcd(t) })
}

func TestLitecoind_passes_the_suite_of_networks(t *testing.T) {
	t.Parallel()
	chaintest.Run(t, func(t *testing.T) chaintest.Harness { return litecoind(t) })
}

var _ chaintest.UTXOHarness = (*harness)(nil)

// harness is a real node that is scanned through its RPC.
type harness struct {
	*bitcointest.Node
	source *node.Node
	net    *bitcoin.Scanner
}

func (h *harness) Network() chain.Scanner { return h.net }

func btcd(t *testing.T, options ...bitcointest.Option) *harness {
	n := bitcointest.Btcd(t, options...)
	return newHarness(t, n, bitcoin.Mainnet, node.Config{
		User: n.User, Password: n.Password, CertFile: n.Cert, Genesis: chaincfg.RegressionNetParams.GenesisHash.String(),
	})
}

// litecoinGenesis is the first block of Litecoin's regression test network.
const litecoinGenesis = "530827f38f93b43ed12af0b3ad25a288dc02ed74d6d7857862df51fc56c416f9"

func litecoind(t *testing.T, options ...bitcointest.Option) *harness {
	n := bitcointest.Litecoind(t, options...)
	return newHarness(t, n, bitcoin.Litecoin, node.Config{CookieFile: n.Cookie, Genesis: litecoinGenesis, BlocksAsJSON: true})
}

func newHarness(t *testing.T, n *bitcointest.Node, params bitcoin.Params, c node.Config) *harness {
	t.Helper()
	c.URL, c.Setting, c.Chain, c.Now, c.Log = n.RPC, "CHEQUER_BITCOIN_NODE", "regtest", time.Now, slog.New(slog.DiscardHandler)
	source, err := node.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return &harness{Node: n, source: source, net: bitcoin.Watch(bitcoin.New(params), source, time.Now)}
}

func TestBtcd_with_its_own_certificate(t *testing.T) {
	t.Parallel()
	h := btcd(t, bitcointest.TLS())
	best, err := h.source.Best(t.Context())
	if err != nil || best.Cursor() != h.Tip(t) {
		t.Errorf("Best() = %v, %v, want %v", best, err, h.Tip(t))
	}
}

// onEachNode runs a test with each kind of node.
func onEachNode(t *testing.T, test func(t *testing.T, h *harness)) {
	t.Parallel()
	for name, start := range map[string]func(*testing.T, ...bitcointest.Option) *harness{"btcd": btcd, "litecoind": litecoind} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, start(t))
		})
	}
}

func TestRestart_of_the_node(t *testing.T) {
	onEachNode(t, func(t *testing.T, h *harness) {
		script := h.NewScript(t)
		watch := chaintest.Watch{script: true}
		payment := chaintest.Output{Script: script, Amount: h.Asset().Dust}
		mined := h.Send(t, payment)
		h.Mine(t, mined)
		waits := h.Send(t, payment)
		dust := h.Asset().Dust.String()
		before := mustScan(t, h.net, chain.Cursor{}, watch, dust, dust)
		h.Stop(t)
		if _, err := h.net.Scan(t.Context(), before.Next, watch); err == nil || h.source.Health().Fault == "" {
			t.Fatalf("Scan() = %v with the fault %q while the node is down", err, h.source.Health().Fault)
		}
		started := time.Now()
		h.Start(t)
		var pool struct{ Loaded *bool }
		for pool.Loaded == nil || !*pool.Loaded { // litecoind reads its mempool file
			if h.Call(t, &pool, "getmempoolinfo"); h.Cookie == "" {
				break
			}
		}
		after, err := h.net.Scan(t.Context(), before.Next, watch)
		if err != nil {
			t.Fatal(err)
		}
		if after.Unconfirmed != chain.Partial {
			t.Errorf("coverage %q after a restart, want partial", after.Unconfirmed)
		}
		if after.ViewSince.Before(started.Add(-time.Second)) || !before.ViewSince.Before(started) {
			t.Errorf("ViewSince is %v, was %v, want the restart at %v", after.ViewSince, before.ViewSince, started)
		}
		if after.Transfers[0].Tx != mined {
			t.Errorf("first transfer is of %s, want %s", after.Transfers[0].Tx, mined)
		}
		for _, transfer := range after.Transfers[1:] { // btcd does not keep its mempool
			if transfer.Tx != waits || !transfer.FirstSeen.Equal(before.Transfers[1].FirstSeen) {
				t.Errorf("%s was seen at %v, want %s at %v", transfer.Tx, transfer.FirstSeen, waits, before.Transfers[1].FirstSeen)
			}
		}
	})
}

func TestRestart_of_the_program(t *testing.T) {
	onEachNode(t, func(t *testing.T, h *harness) {
		script := h.NewScript(t)
		before := time.Now().Truncate(time.Second)
		h.Send(t, chaintest.Output{Script: script, Amount: h.Asset().Dust})
		after := time.Now().Add(time.Second)
		h.Mine(t)
		s := mustScan(t, h.net, chain.Cursor{}, chaintest.Watch{script: true}, h.Asset().Dust.String())
		if seen := s.Transfers[0].FirstSeen; seen.Before(before) || seen.After(after) {
			t.Errorf("seen at %v, want the node's time between %v and %v", seen, before, after)
		}
	})
}

func TestLitecoind_with_blocksonly(t *testing.T) {
	t.Parallel()
	h := litecoind(t, bitcointest.Arguments("-blocksonly"))
	s := mustScan(t, h.net, chain.Cursor{}, chaintest.Watch{})
	if s.Unconfirmed != chain.None || !s.ViewSince.IsZero() {
		t.Errorf("coverage %q since %v, want none", s.Unconfirmed, s.ViewSince)
	}
}

func TestLitecoind_is_refused_as_bitcoind(t *testing.T) {
	t.Parallel()
	h := litecoind(t)
	source, err := node.New(node.Config{
		URL: h.RPC, CookieFile: h.Cookie, Setting: "CHEQUER_BITCOIN_NODE", Chain: "regtest",
		Genesis: chaincfg.RegressionNetParams.GenesisHash.String(), Now: time.Now, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := source.Best(t.Context()); err == nil || !strings.Contains(err.Error(), "the node is of another coin, see CHEQUER_BITCOIN_NODE") {
		t.Errorf("Best() = %v, want an error for a node of another coin", err)
	}
}

func TestLitecoind_with_MWEB(t *testing.T) {
	t.Parallel()
	h := litecoind(t)
	var home, hidden string
	h.Call(t, nil, "createwallet", "wallet")
	h.Call(t, &home, "getnewaddress")
	mine := func(count int) { h.Call(t, nil, "generatetoaddress", count, home) }
	const last = 431 // block before MWEB
	mine(last - int(h.Tip(t).Height))
	watch := chaintest.Watch{}
	pay := func(amount string) { // from the wallet to a new address
		var address string
		var info struct{ ScriptPubKey string }
		h.Call(t, &address, "getnewaddress", "", "bech32")
		h.Call(t, &info, "getaddressinfo", address)
		watch[info.ScriptPubKey] = true
		h.Call(t, nil, "sendtoaddress", address, amount)
	}
	h.Call(t, &hidden, "getnewaddress", "", "mweb")
	h.Call(t, nil, "sendtoaddress", hidden, 25) // into MWEB
	mustScan(t, h.net, chain.Cursor{}, watch)
	mine(2)
	mustScan(t, h.net, chain.Cursor{}, watch)

	pay("0.25")
	mustScan(t, h.net, chain.Cursor{}, watch, "0.25")
	mine(1)
	mustScan(t, h.net, chain.Cursor{}, watch, "0.25")

	type coin struct {
		TxID string `json:"txid"`
		Vout *int   `json:"vout"` // nil in MWEB
	}
	var coins []coin
	h.Call(t, &coins, "listunspent")
	plain := slices.DeleteFunc(coins, func(c coin) bool { return c.Vout == nil })
	h.Call(t, nil, "lockunspent", false, plain)
	pay("0.5") // out of MWEB: only the block shows the recipient
	mustScan(t, h.net, chain.Cursor{}, watch, "0.25")
	mine(1)
	mustScan(t, h.net, chain.Cursor{}, watch, "0.25", "0.5")
}
