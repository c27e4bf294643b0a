package bitcoin

import (
	"context"
	"errors"
	"iter"
	"time"

	"chequer/internal/chain"
)

// ErrNoBlock means that the source has no such block.
var ErrNoBlock = errors.New("no such block")

// Source is who tells what a network shows: a node of the merchant's own, or the
// light client. Its methods are called one at a time, but for Wake and Health,
// which may be called at any time. An error concludes nothing.
type Source interface {
	// Best is the tip of the best chain, as far as it may be believed.
	Best(ctx context.Context) (Header, error)
	// AtHeight reads the header at a height of the best chain: ErrNoBlock above
	// its tip.
	AtHeight(ctx context.Context, height int64) (Header, error)
	// Concerns tells whether a block may pay or spend from one of some scripts, in
	// hex. It may say yes in vain, and never says no wrongly.
	Concerns(ctx context.Context, hash string, scripts iter.Seq[string]) (bool, error)
	// Block reads a block.
	Block(ctx context.Context, hash string) (Block, error)
	// Waiting tells what no block holds yet. A transaction that is in a block by
	// now may still be among it.
	Waiting(ctx context.Context, watched chain.Watched) (Waiting, error)
	// Seen is when a transaction was first seen waiting; zero when it was not.
	Seen(tx string) time.Time
	// Inputs lists, from a mark on, the scripts that waiting transactions of
	// interest spend from, so that a block that spends from them is read.
	Inputs(mark uint64) (scripts iter.Seq[string], next uint64)
	// Pending tells whether a waiting transaction of interest spends an outpoint.
	Pending(outpoint string) bool
	// Buried tells of transactions that are too deep in the chain to come back: what
	// they spent is gone for those that wait.
	Buried(txs []string)
	// Health is how the source fares, from memory.
	Health() chain.Health
	// Wake rings when a scan is worth while.
	Wake() <-chan struct{}
}

// Header is a block with its parent.
type Header struct {
	chain.Block
	Parent string // hash
}

// Block is a block with its transactions.
type Block struct {
	Header
	Txs []Tx
}

// Tx is a transaction, as far as we look at it. Hashes and scripts are hex.
type Tx struct {
	ID       string
	Coinbase bool
	Spends   []string // outpoints: "txid:vout"
	Outputs  []Output
}

// Output pays a script.
type Output struct {
	Script string
	Units  int64 // of the smallest unit: satoshi, litoshi
}

// Waiting is what no block holds yet.
type Waiting struct {
	Coverage chain.Coverage
	// Since is since when there is this view without a gap; zero without one.
	Since time.Time
	Txs   []Tx // those that pay watched destinations
	// Conflicts are transactions that took a watched outpoint.
	Conflicts []chain.Conflict
}
