package node

import (
	"context"
	"errors"
	"time"

	"chequer/internal/chain"
	"chequer/internal/chain/utxo"
)

const (
	// settlingTime is the time after the start of a node during which its mempool may lack earlier
	// transactions, if the node does not report whether its mempool is loaded. btcd does not save its mempool. An
	// unconfirmed payment keeps its quote for the same time.
	settlingTime = 24 * time.Hour
	// requiredListings is the number of listings of a loaded mempool that are needed before the
	// absence of a transaction counts. The first listing after a start proves nothing.
	requiredListings = 2
)

// Waiting implements utxo.Source.
func (n *Node) Waiting(ctx context.Context, watched chain.Watched) (utxo.Waiting, error) {
	w, err := n.waiting(ctx, watched)
	return w, n.noteResult(ctx, readMempool, err)
}

// state is the state of a node and its mempool.
type state struct {
	start, end time.Time // times of the request and the answer
	ids        []string
	pool       pool
	network    struct{ LocalRelay *bool } // false with blocksonly; nil in btcd
	peers      int
	uptime     int64 // in seconds; negative if the node does not report it
}

// pool is the state of a mempool.
type pool struct {
	Loaded *bool // nil in btcd, which does not save its mempool
	feeRates
}

// waiting updates the mempool. After an error, transactions that were read are kept and not read
// again.
func (n *Node) waiting(ctx context.Context, watched chain.Watched) (utxo.Waiting, error) {
	s, err := n.state(ctx)
	if err != nil {
		return utxo.Waiting{}, err
	}
	n.setHealth(func(h *chain.Health) { h.Peers = s.peers })
	if s.peers == 0 && n.config.Chain != "regtest" {
		n.viewed = time.Time{}
		return utxo.Waiting{}, errors.New("no peers: the node receives neither transactions nor blocks")
	}
	if relay := s.network.LocalRelay; relay != nil && !*relay {
		n.mempool.listedAt, n.viewed = time.Time{}, time.Time{}
		return utxo.Waiting{Coverage: chain.None}, nil
	}
	if err := n.addScripts(ctx, watched); err != nil {
		return utxo.Waiting{}, err
	}
	if err := n.mempool.update(s); err != nil {
		return utxo.Waiting{}, err
	}
	if err := n.readNew(ctx, watched); err != nil {
		return utxo.Waiting{}, err
	}
	if err := n.requestTimes(ctx); err != nil {
		return utxo.Waiting{}, err
	}
	w := utxo.Waiting{
		Coverage: chain.Complete, Since: n.sightingsSince(s),
		Txs: n.mempool.paying(watched), Conflicts: n.mempool.conflicts(watched, s.end),
	}
	if !n.countListing(s) {
		w.Coverage = chain.Partial
		return w, nil
	}
	w.Firm = n.mempool.firm(s.pool.feeRates)
	return w, nil
}

// countListing counts the listing, and reports whether absence from the mempool means that a transaction is gone.
func (n *Node) countListing(s state) (complete bool) {
	switch {
	case s.loading():
		n.listings = 0
	case s.pool.Loaded != nil:
		n.listings++
	}
	return !s.loading() && (n.listings >= requiredListings || s.end.Sub(n.startedAt) >= settlingTime)
}

// state requests all values in one batch. The mempool is last, so that the other values are
// older than it.
func (n *Node) state(ctx context.Context) (state, error) {
	s := state{start: n.config.Now()}
	ids, pool := newRequest(&s.ids, "getrawmempool"), newRequest(&s.pool, "getmempoolinfo")
	network, uptime := newRequest(&s.network, "getnetworkinfo"), newRequest(&s.uptime, "uptime")
	peers := newRequest(&s.peers, "getconnectioncount")
	if err := n.rpc.sendBatch(ctx, pool, network, peers, uptime, ids); err != nil {
		return state{}, err
	}
	s.end = n.config.Now()
	if network.err != nil && isUnknownMethod(network.err) {
		network.err = nil
	}
	const maxUptime = int64(100 * 365 * 24 * time.Hour / time.Second) // a larger number is a fault of the node
	if uptime.err != nil || s.uptime < 0 || s.uptime > maxUptime {
		s.uptime = -1
	}
	return s, firstError(ids, pool, network, peers)
}

// loading reports whether the node is still loading its saved mempool.
func (s state) loading() bool { return s.pool.Loaded != nil && !*s.pool.Loaded }
