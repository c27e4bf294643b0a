// Package bitcointest starts real nodes for tests, each on its own regression test network. It
// sends transactions, mines and reorganises.
package bitcointest

import (
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"chequer/internal/chain"
	"chequer/internal/programtest"
)

// Node is a running node. With a Network method it is a chaintest.Harness. Its methods fail the
// test on errors and return when the node shows their effect. They must be called from one goroutine.
type Node struct {
	// RPC is the URL of its RPC server, which accepts User and Password.
	RPC, User, Password string
	// Cert is the file of the RPC server's certificate; empty without TLS.
	Cert string
	// Cookie is the file with a second user and password; empty for btcd.
	Cookie string
	// P2P is the address on which it listens for other nodes: "127.0.0.1:18444".
	P2P string
	// Dir is its data directory.
	Dir string

	software  software
	listenIP  string
	arguments []string
	peers     []*Node
	rpc       *http.Client
	process   *programtest.Process
	wallet    *wallet
}

// Option changes how a node is started.
type Option func(*Node)

// Listen makes a node listen for other nodes on the given loopback address instead of 127.0.0.1. 127.1.0.1 is in
// another network group. With "" the node does not listen.
func Listen(ip string) Option { return func(n *Node) { n.listenIP = ip } }

// Peer connects a node to another node, whose chain and wallet it shares.
func Peer(other *Node) Option { return func(n *Node) { n.peers = append(n.peers, other) } }

// TLS makes btcd's RPC server use TLS.
func TLS() Option { return func(n *Node) { n.Cert = filepath.Join(n.Dir, "rpc.cert") } }

// Arguments adds arguments to the node's command line; the last value of an option counts.
func Arguments(arguments ...string) Option {
	return func(n *Node) { n.arguments = append(n.arguments, arguments...) }
}

// Btcd starts btcd with a transaction index. If fetch.sh could not build it, the test is
// skipped, except in CI, where it fails.
func Btcd(t testing.TB, options ...Option) *Node {
	t.Helper()
	return open(t, btcd, options)
}

// Litecoind starts litecoind, which has the interfaces of Bitcoin Core 0.21, with
// a transaction index. If it is not installed, the test is skipped, except in CI, where it
// fails. It can mine only up to height 431, above which blocks have an extension of Litecoin (MWEB).
func Litecoind(t testing.TB, options ...Option) *Node {
	t.Helper()
	return open(t, litecoind, options)
}

// initialHeight is the height of a new node's chain, at which the coins of the oldest blocks can
// be spent.
const initialHeight = 110

func open(t testing.TB, s software, options []Option) *Node {
	t.Helper()
	programtest.RequireProgram(t, s.path())
	n := &Node{User: "test", Password: "only-for-tests", Dir: t.TempDir(), software: s, listenIP: "127.0.0.1"}
	for _, option := range options {
		option(n)
	}
	n.RPC = "http://" + programtest.FreeAddress(t, "127.0.0.1")
	if n.Cert != "" {
		n.RPC = "https://" + n.RPC[len("http://"):]
	}
	if n.listenIP != "" {
		n.P2P = programtest.FreeAddress(t, n.listenIP)
	}
	if s.cookie != "" {
		n.Cookie = filepath.Join(n.Dir, s.cookie)
	}
	t.Cleanup(n.kill)
	n.Start(t)
	if len(n.peers) > 0 {
		n.wallet = n.peers[0].wallet
		n.Sync(t, n.peers[0])
		return n
	}
	n.wallet = newWallet()
	n.mineUntil(t, time.Now(), initialHeight)
	return n
}

// Asset returns the coin of the node's network.
func (n *Node) Asset() chain.Asset { return n.software.asset }
