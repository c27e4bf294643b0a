// Package bitcointest starts real nodes for tests, each on a regression test
// network of its own, with a lab's hands on it: it pays, mines and reorganises.
package bitcointest

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"chequer/internal/chain"
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
	process   *process
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
	need(t, s.path())
	n := &Node{User: "lab", Password: "only-for-tests", Dir: t.TempDir(), software: s, listenIP: "127.0.0.1"}
	for _, option := range options {
		option(n)
	}
	n.RPC = "http://" + freeAddress(t, "127.0.0.1")
	if n.Cert != "" {
		n.RPC = "https://" + n.RPC[len("http://"):]
	}
	if n.listenIP != "" {
		n.P2P = freeAddress(t, n.listenIP)
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

// need skips a test whose program is not on this machine; in CI that fails.
func need(t *testing.T, program string) {
	t.Helper()
	if _, err := exec.LookPath(program); err == nil {
		return
	}
	if os.Getenv("CI") == "true" {
		t.Fatalf("%s is not installed", program)
	}
	t.Skipf("%s is not installed", program)
}

// built is where fetch.sh puts a program that it builds.
func built(program string) string {
	cache := cmp.Or(os.Getenv("XDG_CACHE_HOME"), filepath.Join(os.Getenv("HOME"), ".cache"))
	return filepath.Join(cache, "chequer", "bin", program)
}

// freeAddress finds a port that nobody listens on, below those that systems give
// to outgoing connections, so that it stays free until the node takes it.
func freeAddress(t *testing.T, ip string) string {
	t.Helper()
	for range 100 {
		address := fmt.Sprintf("%s:%d", ip, 10_000+rand.IntN(20_000))
		if l, err := net.Listen("tcp", address); err == nil {
			l.Close()
			return address
		}
	}
	t.Fatalf("no free port on %s", ip)
	return ""
}
