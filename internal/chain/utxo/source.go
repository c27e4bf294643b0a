// Package utxo scans networks whose transactions spend outputs of earlier ones: Bitcoin, Litecoin and Monero. The networks differ in their
// sources, which convert blocks and unconfirmed transactions.
package utxo

import (
	"context"
	"errors"
	"iter"
	"slices"
	"time"

	"chequer/internal/chain"
)

// ErrNoBlock means that the source has no such block.
var ErrNoBlock = errors.New("no such block")

// Source reads a network, such as through the merchant's node or the light client. Its methods are
// called one at a time, except Wake and Health, which may be called at any time. An error gives no
// information about the network.
type Source interface {
	// Best returns the tip of the best chain that is trusted.
	Best(ctx context.Context) (Header, error)
	// AtHeight returns the header at a height of the best chain. The error above the tip is
	// ErrNoBlock.
	AtHeight(ctx context.Context, height int64) (Header, error)
	// MayPay reports whether a block may pay to or spend from one of the scripts. It may return true for a block that does not, but never false for one that does.
	MayPay(ctx context.Context, hash string, scripts iter.Seq[string]) (bool, error)
	// Block returns a block.
	Block(ctx context.Context, hash string) (Block, error)
	// Waiting returns the unconfirmed transactions. A transaction that was mined in the
	// meantime may still be among them.
	Waiting(ctx context.Context, watched chain.Watched) (Waiting, error)
	// Seen returns when a transaction was first seen unconfirmed; zero if it was not.
	Seen(tx string) time.Time
	// Inputs returns, from a mark on, the scripts that relevant waiting transactions spend
	// from, so that a block that spends from them is read. It also returns the next mark.
	Inputs(mark uint64) (scripts iter.Seq[string], next uint64)
	// Pending reports whether a relevant waiting transaction spends an outpoint.
	Pending(outpoint string) bool
	// Buried is called with transactions that are too deep in the chain to be reorganised:
	// waiting transactions that spend the same outpoints cannot be mined any more.
	Buried(txs []string)
	// Health returns the state of the source, from memory.
	Health() chain.Health
	// Wake returns a channel that gets a value when a scan is worthwhile.
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

// Tx is the part of a transaction that scans use. Hashes are hex, and so are scripts.
type Tx struct {
	ID       string
	Coinbase bool
	Spends   []string // outpoints: "txid:vout"; see chain.Transfer
	Outputs  []Output
	// Replaceable is true if the transaction signals that it can be replaced, or if its inputs are not all known.
	Replaceable bool
}

// Pays reports whether the transaction pays a watched destination.
func (tx Tx) Pays(watched chain.Watched) bool {
	return slices.ContainsFunc(tx.Outputs, func(o Output) bool { return o.paid(watched) != "" })
}

// Output pays a script.
type Output struct {
	Script string
	Units  int64 // of the smallest unit, such as satoshi
	// Unsure is true if the output may be worthless to its receiver for a long time, such as one with a time lock; see chain.Transfer.
	Unsure bool
	// Others are scripts of which the output may pay one instead of Script, if the source cannot know which.
	Others []string
}

// paid returns the watched destination that the output pays, "" if there is none.
func (o Output) paid(watched chain.Watched) string {
	if watched.Destination(o.Script) {
		return o.Script
	}
	for _, other := range o.Others {
		if watched.Destination(other) {
			return other
		}
	}
	return ""
}

// Waiting are the unconfirmed transactions of a network.
type Waiting struct {
	Coverage chain.Coverage
	// Since is the time since which the view has no gap; zero if there is no such view.
	Since time.Time
	Txs   []Tx // those that pay watched destinations
	// Firm are the IDs of the transactions of Txs that are firm; see chain.Transfer. None if Coverage is not Complete.
	Firm map[string]bool
	// Contested are the IDs of the transactions of Txs that are contested; see chain.Transfer.
	Contested map[string]bool
	// Conflicts are transactions that spend a watched outpoint.
	Conflicts []chain.Conflict
}
