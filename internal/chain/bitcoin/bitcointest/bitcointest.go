// Package bitcointest starts real nodes for tests, each on a regression test
// network of its own, with a lab's hands on it: it pays, mines and reorganises.
package bitcointest

import (
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"chequer/internal/chain"
	"chequer/internal/programtest"
)

// Node is a running node. With a Network method beside it, it is a
// chaintest.Lab. Its methods fail the test themselves and return when the node
// itself shows what they did; they are for one goroutine.
type Node struct {
	// RPC is the URL of its RPC server, which takes User and Password.
	RPC, User, Password string
	// Cert is the file that the RPC server's certificate is in; empty without TLS.
	Cert string
	// Cookie is the file that a second user and password are in; empty with btcd.
	Cookie string
	// P2P is where it listens for other nodes: "127.0.0.1:18444".
	P2P string
	// Dir is where its data is.
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

// Listen makes a node listen for others on another loopback address, such as
// 127.1.0.1, which is in a group of its own; "" makes it listen on none.
func Listen(ip string) Option { return func(n *Node) { n.listenIP = ip } }

// Peer connects a node to another, whose chain and wallet it shares.
func Peer(other *Node) Option { return func(n *Node) { n.peers = append(n.peers, other) } }

// TLS makes btcd's RPC server speak TLS.
func TLS() Option { return func(n *Node) { n.Cert = filepath.Join(n.Dir, "rpc.cert") } }

// Arguments are added to the node's command line; the last of a name counts.
func Arguments(arguments ...string) Option {
	return func(n *Node) { n.arguments = append(n.arguments, arguments...) }
}

// Btcd starts btcd with a transaction index. Where fetch.sh could not build it
// the test is skipped, but fails in CI.
func Btcd(t *testing.T, options ...Option) *Node {
	t.Helper()
	return open(t, btcd, options)
}

// Litecoind starts litecoind, which has the interfaces of Bitcoin Core 0.21, with
// a transaction index. Where it is not installed the test is skipped, but fails
// in CI. It stops mining at height 431, where an extension of Litecoin begins.
func Litecoind(t *testing.T, options ...Option) *Node {
	t.Helper()
	return open(t, litecoind, options)
}

// started is how many blocks a node has when it is handed out: the coins of the
// oldest can be spent.
const started = 110

func open(t *testing.T, s software, options []Option) *Node {
	t.Helper()
	programtest.Need(t, s.path())
	n := &Node{User: "lab", Password: "only-for-tests", Dir: t.TempDir(), software: s, listenIP: "127.0.0.1"}
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
	n.mineUntil(t, time.Now(), started)
	return n
}

// Asset is what the node's network is paid with.
func (n *Node) Asset() chain.Asset { return n.software.asset }
