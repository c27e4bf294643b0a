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
	chaintest.Run(t, func(t *testing.T) chaintest.Harness { return newHarness(t, bitcointest.Btcd(t)) })
}

var _ chaintest.UTXOHarness = (*harness)(nil)

// harness is a real node that a light client watches.
type harness struct {
	*bitcointest.Node
	client *light.Client
	net    *bitcoin.Scanner
}

func (h *harness) Network() chain.Scanner { return h.net }

// newHarness starts a client that is connected to a node.
func newHarness(t *testing.T, n *bitcointest.Node) *harness {
	t.Helper()
	client := startClient(t, light.Regtest, t.TempDir(), n.P2P)
	h := &harness{Node: n, client: client, net: bitcoin.Watch(bitcoin.New(bitcoin.Mainnet), client, time.Now)}
	h.catchUp(t)
	return h
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

func (h *harness) Send(t testing.TB, outputs ...chaintest.Output) string {
	return h.waitAnnounced(t, h.Node.Send(t, outputs...))
}

func (h *harness) Replace(t testing.TB, tx string, outputs ...chaintest.Output) string {
	return h.waitAnnounced(t, h.Node.Replace(t, tx, outputs...))
}

func (h *harness) Spend(t testing.TB, outpoint string, outputs ...chaintest.Output) string {
	return h.waitAnnounced(t, h.Node.Spend(t, outpoint, outputs...))
}

func (h *harness) Mine(t testing.TB, txs ...string) {
	h.Node.Mine(t, txs...)
	h.catchUp(t)
}

func (h *harness) Reorganise(t testing.TB, txs ...string) {
	h.Node.Reorganise(t, txs...)
	h.catchUp(t)
}

// waitAnnounced waits until the client has a transaction that enough peers announced.
func (h *harness) waitAnnounced(t testing.TB, tx string) string {
	t.Helper()
	until(t, func() string {
		if !light.HasTransaction(h.client, tx) {
			return "client does not have transaction " + tx
		}
		return ""
	})
	return tx
}

// catchUp waits until the client trusts the node's tip.
func (h *harness) catchUp(t testing.TB) {
	t.Helper()
	tip := h.Tip(t)
	until(t, func() string {
		best, err := h.client.Best(t.Context())
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
func until(t testing.TB, missing func() string) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for {
		missingNow := missing()
		if missingNow == "" {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal(missingNow)
		}
		time.Sleep(20 * time.Millisecond)
	}
}
