package node_test

import (
	"log/slog"
	"testing"
	"time"

	"github.com/btcsuite/btcd/chaincfg"

	"chequer/internal/chain"
	"chequer/internal/chain/bitcoin"
	"chequer/internal/chain/bitcoin/bitcointest"
	"chequer/internal/chain/bitcoin/node"
	"chequer/internal/chain/chaintest"
)

func TestBtcd(t *testing.T) {
	t.Parallel()
	chaintest.Run(t, func(t *testing.T) chaintest.Lab { return btcd(t) })
}

func TestLitecoind(t *testing.T) {
	t.Parallel()
	chaintest.Run(t, func(t *testing.T) chaintest.Lab { return litecoind(t) })
}

var _ chaintest.Coins = (*lab)(nil)

// lab is a real node that is scanned through its RPC.
type lab struct {
	*bitcointest.Node
	source *node.Node
	net    *bitcoin.Scanner
}

func (l *lab) Network() chain.Scanner { return l.net }

func btcd(t *testing.T, options ...bitcointest.Option) *lab {
	n := bitcointest.Btcd(t, options...)
	return open(t, n, bitcoin.Mainnet, node.Config{
		User: n.User, Password: n.Password, CertFile: n.Cert, Genesis: chaincfg.RegressionNetParams.GenesisHash.String(),
	})
}

// litecoinGenesis is the first block of Litecoin's regression tests.
const litecoinGenesis = "530827f38f93b43ed12af0b3ad25a288dc02ed74d6d7857862df51fc56c416f9"

func litecoind(t *testing.T, options ...bitcointest.Option) *lab {
	n := bitcointest.Litecoind(t, options...)
	return open(t, n, bitcoin.Litecoin, node.Config{CookieFile: n.Cookie, Genesis: litecoinGenesis, BlocksAsJSON: true})
}

func open(t *testing.T, n *bitcointest.Node, params bitcoin.Params, c node.Config) *lab {
	t.Helper()
	c.URL, c.Setting, c.Chain, c.Now, c.Log = n.RPC, "CHEQUER_BITCOIN_NODE", "regtest", time.Now, slog.New(slog.DiscardHandler)
	source, err := node.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return &lab{Node: n, source: source, net: bitcoin.Watch(bitcoin.New(params), source, time.Now)}
}
