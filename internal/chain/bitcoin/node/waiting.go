package node

import (
	"context"
	"errors"
	"time"

	"chequer/internal/chain"
	"chequer/internal/chain/bitcoin"
)

const (
	// settling is how long a node that has started may lack transactions that waited
	// before, when it does not report whether its mempool is loaded: btcd forgets
	// them. It is as long as a payment that waits holds its quote.
	settling = 24 * time.Hour
	// enoughLists is how many times a node must list a mempool that it reports as
	// loaded before the absence of a transaction counts. A single answer after a start
	// concludes nothing.
	enoughLists = 2
)

// Waiting implements bitcoin.Source.
func (n *Node) Waiting(ctx context.Context, watched chain.Watched) (bitcoin.Waiting, error) {
	w, err := n.waiting(ctx, watched)
	return w, n.done(ctx, readMempool, err)
}

// state is what a node tells of itself and of what waits.
type state struct {
	begin, end time.Time // when it was asked and when it had answered
	ids        []string
	pool       struct{ Loaded *bool }     // nil in btcd: it keeps no mempool
	network    struct{ LocalRelay *bool } // false when the node takes blocks only; nil in btcd
	peers      int
	uptime     int64 // in seconds; negative when it does not tell
}

// waiting brings the mempool up to date. What was read stays when something
// fails, and is not read again.
func (n *Node) waiting(ctx context.Context, watched chain.Watched) (bitcoin.Waiting, error) {
	s, err := n.state(ctx)
	if err != nil {
		return bitcoin.Waiting{}, err
	}
	n.tell(func(h *chain.Health) { h.Peers = s.peers })
	if s.peers == 0 && n.config.Chain != "regtest" {
		n.looked = time.Time{}
		return bitcoin.Waiting{}, errors.New("it has no peers: it sees neither transactions nor blocks")
	}
	if relay := s.network.LocalRelay; relay != nil && !*relay {
		n.mempool.listed, n.looked = time.Time{}, time.Time{}
		return bitcoin.Waiting{Coverage: chain.None}, nil
	}
	if err := n.lookAgain(ctx, watched); err != nil {
		return bitcoin.Waiting{}, err
	}
	if err := n.mempool.update(s); err != nil {
		return bitcoin.Waiting{}, err
	}
	if err := n.readNew(ctx, watched); err != nil {
		return bitcoin.Waiting{}, err
	}
	if err := n.date(ctx); err != nil {
		return bitcoin.Waiting{}, err
	}
	w := bitcoin.Waiting{
		Coverage: chain.Complete, Since: n.since(s),
		Txs: n.mempool.paying(watched), Conflicts: n.mempool.conflicts(watched, s.end),
	}
	if !n.complete(s) {
		w.Coverage = chain.Partial
	}
	return w, nil
}

// complete reports whether a transaction that the mempool does not list is gone.
func (n *Node) complete(s state) bool {
	switch {
	case s.loading():
		n.lists = 0
	case s.pool.Loaded != nil:
		n.lists++
	}
	return !s.loading() && (n.lists >= enoughLists || s.end.Sub(n.began) >= settling)
}

// state asks for everything at once: what waits comes last, so that the rest was
// true before.
func (n *Node) state(ctx context.Context) (state, error) {
	s := state{begin: n.config.Now()}
	ids, pool := ask(&s.ids, "getrawmempool"), ask(&s.pool, "getmempoolinfo")
	network, uptime := ask(&s.network, "getnetworkinfo"), ask(&s.uptime, "uptime")
	peers := ask(&s.peers, "getconnectioncount")
	if err := n.rpc.do(ctx, pool, network, peers, uptime, ids); err != nil {
		return state{}, err
	}
	s.end = n.config.Now()
	if network.err != nil && unknown(network.err) {
		network.err = nil
	}
	if uptime.err != nil || s.uptime < 0 || s.uptime > int64(100*365*24*time.Hour/time.Second) {
		s.uptime = -1
	}
	return s, firstError(ids, pool, network, peers)
}

// loading tells whether the node still reads the mempool that it saved.
func (s state) loading() bool { return s.pool.Loaded != nil && !*s.pool.Loaded }
