package light_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"chequer/internal/chain"
	"chequer/internal/chain/bitcoin"
	"chequer/internal/chain/bitcoin/bitcointest"
	"chequer/internal/chain/bitcoin/light"
	"chequer/internal/chain/chaintest"
)

func TestClient_passes_the_suite_of_networks(t *testing.T) {
	t.Parallel()
	chaintest.Run(t, func(t *testing.T) chaintest.Lab { return newLab(t, bitcointest.Btcd(t)) })
}

var _ chaintest.Coins = (*lab)(nil)

// lab is a real node that a light client watches.
type lab struct {
	*bitcointest.Node
	client *light.Client
	net    *bitcoin.Scanner
}

func (l *lab) Network() chain.Scanner { return l.net }

// newLab starts a client that is connected to a node.
func newLab(t *testing.T, n *bitcointest.Node) *lab {
	t.Helper()
	client := startClient(t, light.Regtest, t.TempDir(), n.P2P)
	l := &lab{Node: n, client: client, net: bitcoin.Watch(bitcoin.New(bitcoin.Mainnet), client, time.Now)}
	l.catchUp(t)
	return l
}

// startClient runs a client until the test ends.
func startClient(t *testing.T, network light.Network, dir string, peers ...string) *light.Client {
	t.Helper()
	client := light.New(light.Config{Network: network, Dir: dir, Peers: peers, Log: slog.New(slog.DiscardHandler), Now: time.Now})
	runClient(t, client)
	return client
}

// runClient runs a client until the test ends, or stop is called.
func runClient(t *testing.T, client *light.Client) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- client.Run(ctx) }()
	stopped := false
	stop = func() {
		cancel()
		if stopped {
			return
		}
		stopped = true
		if err := <-done; err != nil {
			t.Errorf("run: %v", err)
		}
	}
	t.Cleanup(stop)
	return stop
}

func (l *lab) Send(t *testing.T, outputs ...chaintest.Output) string {
	return l.waitAnnounced(t, l.Node.Send(t, outputs...))
}

func (l *lab) Replace(t *testing.T, tx string, outputs ...chaintest.Output) string {
	return l.waitAnnounced(t, l.Node.Replace(t, tx, outputs...))
}

func (l *lab) Spend(t *testing.T, outpoint string, outputs ...chaintest.Output) string {
	return l.waitAnnounced(t, l.Node.Spend(t, outpoint, outputs...))
}

func (l *lab) Mine(t *testing.T, txs ...string) {
	l.Node.Mine(t, txs...)
	l.catchUp(t)
}

func (l *lab) Reorganise(t *testing.T, txs ...string) {
	l.Node.Reorganise(t, txs...)
	l.catchUp(t)
}

// waitAnnounced waits until the client has a transaction that enough peers announced.
func (l *lab) waitAnnounced(t *testing.T, tx string) string {
	t.Helper()
	until(t, func() string {
		if !light.Heard(l.client, tx) {
			return "client does not have transaction " + tx
		}
		return ""
	})
	return tx
}

// catchUp waits until the client trusts the node's tip.
func (l *lab) catchUp(t *testing.T) {
	t.Helper()
	tip := l.Tip(t)
	until(t, func() string {
		best, err := l.client.Best(t.Context())
		if err != nil {
			return err.Error()
		}
		if best.Cursor() != tip {
			return "client is at another block than the node"
		}
		return ""
	})
}

// until waits until missing returns "".
func until(t *testing.T, missing func() string) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for {
		what := missing()
		if what == "" {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal(what)
		}
		time.Sleep(20 * time.Millisecond)
	}
}
