// Package node reads Bitcoin and Litecoin through the merchant's node, over the RPC of Bitcoin
// Core that bitcoind, litecoind and btcd serve.
package node

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"net/url"
	"sync"
	"time"

	"chequer/internal/chain"
	"chequer/internal/chain/bitcoin"
	"chequer/internal/chain/utxo"
)

// Config is the configuration of a Node.
type Config struct {
	// URL is the URL of the node's RPC, without user and password: "http://127.0.0.1:8332".
	URL string
	// User and Password are the credentials. If CookieFile is set, they are read from that
	// file, which the node writes at each start.
	User, Password, CookieFile string
	// CertFile is the file of the node's self-signed certificate, for https.
	CertFile string
	// Setting is the name of the setting with these values, for error messages.
	Setting string
	// Chain is Bitcoin Core's name of the network: "main", "test", "testnet4",
	// "signet" or "regtest".
	Chain string
	// Genesis is the hash of the network's first block.
	Genesis string
	// Checkpoint is a block that the network must have once its chain is that high;
	// zero if there is none.
	Checkpoint bitcoin.Checkpoint
	// BlocksAsJSON is true to read blocks and transactions in the node's JSON form. Those
	// of Litecoin can contain MWEB data, which is not in the wire format of Bitcoin.
	BlocksAsJSON bool
	// Timeout is the timeout of a request; zero means 30 seconds.
	Timeout time.Duration
	Now     func() time.Time
	Log     *slog.Logger
}

// Node reads the merchant's node and trusts its answers. It implements utxo.Source. The
// node's mempool is complete once the node has run for a while: an absent transaction is gone.
// Every block is read, so a double spend in a block is found without a list of inputs.
type Node struct {
	config           Config
	host             string
	rpc              *client
	headers          map[string]utxo.Header // of the newest requested blocks, by hash
	highest          int64                  // height of the highest best block so far
	checkpointPassed bool                   // the chain was found to have the checkpoint
	read             blocks
	mempool          mempool
	startedAt        time.Time // start of the node, by this machine's clock; see startTime
	listings         int       // number of times that the mempool was listed since the node loaded it
	viewSince        time.Time // start of the mempool view without a gap
	viewed           time.Time // start of the newest listing; zero if the next listing begins a new view

	mu     sync.Mutex
	health chain.Health
	faults map[task]string
}

var _ utxo.Source = (*Node)(nil)

// task is a kind of request, for Health.
type task string

// The tasks, in the order in which Health reports their faults.
const (
	findBest    task = "find the best block"
	findHeader  task = "find a block"
	readBlock   task = "read a block"
	readMempool task = "read the mempool"
)

var tasks = []task{findBest, findHeader, readBlock, readMempool}

// New returns a new Node. It makes no request.
func New(c Config) (*Node, error) {
	u, err := url.Parse(c.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("%s is not an http or https URL of a node", c.Setting)
	}
	if c.Timeout == 0 {
		c.Timeout = 30 * time.Second
	}
	return &Node{
		config: c, host: u.Host,
		rpc:     newClient(c),
		headers: map[string]utxo.Header{},
		read:    newBlocks(),
		mempool: newMempool(),
		health:  chain.Health{Source: "node at " + u.Host, Mempool: true},
		faults:  map[task]string{},
	}, nil
}

// Wake implements utxo.Source: a node is polled and sends no wake-ups.
func (n *Node) Wake() <-chan struct{} { return nil }

// Inputs implements utxo.Source: it returns none, because every block is read.
func (n *Node) Inputs(mark uint64) (iter.Seq[string], uint64) {
	return func(func(string) bool) {}, mark
}

// Pending implements utxo.Source: a node's mempool contains no transaction that conflicts
// with a block of the best chain.
func (n *Node) Pending(string) bool { return false }

// Health implements utxo.Source.
func (n *Node) Health() chain.Health {
	n.mu.Lock()
	defer n.mu.Unlock()
	h := n.health
	for _, t := range tasks {
		if fault := n.faults[t]; fault != "" {
			h.Fault = fault
			break
		}
	}
	return h
}

// setHealth changes the result of Health.
func (n *Node) setHealth(change func(*chain.Health)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	change(&n.health)
}

// noteResult records the error of a task for Health, and adds the node to the error.
func (n *Node) noteResult(ctx context.Context, t task, err error) error {
	if errors.Is(err, utxo.ErrNoBlock) {
		return err
	}
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("%s: %w", t, ctx.Err())
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if err == nil {
		delete(n.faults, t)
		return nil
	}
	n.faults[t] = err.Error()
	return fmt.Errorf("node at %s: %s: %w", n.host, t, err)
}
