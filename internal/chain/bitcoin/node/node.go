// Package node reads Bitcoin and Litecoin through a node of the merchant's own,
// over the RPC of Bitcoin Core that bitcoind, litecoind and btcd speak.
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
)

// Config is what a Node is made of.
type Config struct {
	// URL of the node's RPC, without user and password: "http://127.0.0.1:8332".
	URL string
	// User and Password, or CookieFile, which the node writes anew when it starts.
	User, Password, CookieFile string
	// CertFile holds the certificate that an https node made for itself.
	CertFile string
	// Setting is the name of the setting that all this is from, for error words.
	Setting string
	// Chain is Bitcoin Core's name of the network: "main", "test", "testnet4",
	// "signet" or "regtest".
	Chain string
	// Genesis is the hash of the network's first block.
	Genesis string
	// Checkpoint is a block that the network must have once its chain is that high;
	// zero is none.
	Checkpoint bitcoin.Checkpoint
	// BlocksAsJSON reads blocks and transactions in the node's own words: those of
	// Litecoin can hold MWEB data, which the wire format of Bitcoin knows nothing of.
	BlocksAsJSON bool
	// Patience is how long an answer may take; zero is half a minute.
	Patience time.Duration
	Now      func() time.Time
	Log      *slog.Logger
}

// Node is a node of the merchant's own, which is believed alone. It implements
// bitcoin.Source. Its mempool is complete once it has run for a while: what is
// absent is gone. Every block is read, so that a double spend in one is found
// without our telling what to look for.
type Node struct {
	config  Config
	host    string
	rpc     *client
	headers map[string]bitcoin.Header // of the newest blocks asked for, by hash
	highest int64                     // the highest block that was ever the best
	passed  bool                      // it has the checkpoint
	read    blocks
	mempool mempool
	began   time.Time // when the node started, as far as it says; by our clock
	lists   int       // how often it listed a loaded mempool since it started
	looking time.Time // since when it is asked for what waits without a gap
	looked  time.Time // when it was asked last; zero when it was not, or had no view

	mu     sync.Mutex
	health chain.Health
	faults map[task]string
}

var _ bitcoin.Source = (*Node)(nil)

// task is what is asked of a node.
type task string

// The tasks, in the order in which their faults are told.
const (
	findBest    task = "find the best block"
	findHeader  task = "find a block"
	readBlock   task = "read a block"
	readMempool task = "read the mempool"
)

var tasks = []task{findBest, findHeader, readBlock, readMempool}

// New makes a Node. It is not asked for anything yet.
func New(c Config) (*Node, error) {
	u, err := url.Parse(c.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("%s: no http or https URL of a node", c.Setting)
	}
	if c.Patience == 0 {
		c.Patience = 30 * time.Second
	}
	return &Node{
		config: c, host: u.Host,
		rpc:     newClient(c),
		headers: map[string]bitcoin.Header{},
		read:    newBlocks(),
		mempool: newMempool(),
		health:  chain.Health{Source: "node at " + u.Host},
		faults:  map[task]string{},
	}, nil
}

// Wake implements bitcoin.Source: a node is asked now and then, and never rings.
func (n *Node) Wake() <-chan struct{} { return nil }

// Inputs implements bitcoin.Source: there are none.
func (n *Node) Inputs(mark uint64) (iter.Seq[string], uint64) {
	return func(func(string) bool) {}, mark
}

// Pending implements bitcoin.Source: a mempool holds nothing that a block of the
// best chain conflicts with.
func (n *Node) Pending(string) bool { return false }

// Health implements bitcoin.Source.
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

// tell changes what Health says.
func (n *Node) tell(change func(*chain.Health)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	change(&n.health)
}

// done keeps how a task went for Health, and says in an error which node's it is.
func (n *Node) done(ctx context.Context, t task, err error) error {
	if errors.Is(err, bitcoin.ErrNoBlock) {
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
