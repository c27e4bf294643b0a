package ethereum

import (
	"context"
	"encoding/hex"
	"errors"
	"math/big"
	"strings"
	"time"

	"chequer/internal/chain"
	"chequer/internal/keys"
)

// Source is who tells what an EVM network shows: endpoints that agree, or one that
// is trusted. Its methods are called one at a time, but for Health, which may be
// called at any time. An error concludes nothing.
type Source interface {
	// Best is the newest block that may be believed.
	Best(ctx context.Context) (Best, error)
	// Headers reads the blocks of the best chain at some heights, none of them above
	// Best. It may read fewer than asked, and at least one.
	Headers(ctx context.Context, from, to int64) ([]Header, error)
	// ByAddress tells whether the source may be told which addresses are ours.
	// Where it may not, Logs reads the transfers to everybody.
	ByAddress() bool
	// Logs reads the transfers in a range of blocks, as anybody shows them: they are
	// not believed yet. That others are not there may be believed.
	Logs(ctx context.Context, span Span, query Query) ([]Log, error)
	// Confirm returns those of some logs, each in a block of the best chain, that are
	// really there. It is an error when that cannot be told of one of them. A log
	// without voices was confirmed by an earlier process: it counts as not there only
	// when enough deny it and none confirms it.
	Confirm(ctx context.Context, logs []Log) ([]Log, error)
	// Health is how the source fares, from memory.
	Health() chain.Health
}

// BalanceSource is a Source that tells what accounts hold. Its lists are in the order
// of the accounts.
type BalanceSource interface {
	Source
	// MayAsk tells whether there is anybody who may be told which addresses are ours.
	// While ByAddress says no, the other methods fail.
	MayAsk() bool
	// Balances and Nonces are those in the state after a block. ErrNoState means that
	// the block is there and its state is not kept any more.
	Balances(ctx context.Context, at Header, accounts []keys.EthereumAddress) ([]*big.Int, error)
	Nonces(ctx context.Context, at Header, accounts []keys.EthereumAddress) ([]uint64, error)
	// Payments are the transactions of a block that send the network's own coin to
	// some accounts, without those of contracts.
	Payments(ctx context.Context, at Header, to []keys.EthereumAddress) ([]Payment, error)
}

// TokenSource is a Source that tells what token contracts say of themselves.
type TokenSource interface {
	Source
	// Decimals is how a contract scales its amounts, in the state after a block; told is
	// false where the contract does not say, or is not there.
	Decimals(ctx context.Context, at Header, contract keys.EthereumAddress) (decimals int, told bool, err error)
}

// ErrNoState means that the state of a block is not kept any more.
var ErrNoState = errors.New("the state of the block is not kept any more")

// Payment is a transaction that sends the network's own coin.
type Payment struct {
	Tx     Hash
	To     keys.EthereumAddress
	Amount [32]byte // smallest units, big endian
}

// Header is a block with its parent.
type Header struct {
	chain.Block
	Parent string // hash
}

// Best is the newest block that may be believed.
type Best struct {
	Header
	// Final is the height up to which the network itself calls blocks final; 0 when
	// that is not known.
	Final int64
	// At is when the source was asked: it need not be asked each time.
	At time.Time
}

// Span is a range of blocks of the best chain.
type Span struct {
	From int64  // height of the first block
	To   Header // the last block
}

// Query says which transfers are read.
type Query struct {
	Contracts []keys.EthereumAddress
	// To are the destinations, as scripts; nil for those to everybody.
	To []string
}

// Hash is that of a block or a transaction.
type Hash [32]byte

// String implements fmt.Stringer.
func (h Hash) String() string { return "0x" + hex.EncodeToString(h[:]) }

// ParseHash reads a hash as endpoints write it.
func ParseHash(text string) (Hash, bool) {
	raw, err := hex.DecodeString(strings.TrimPrefix(text, "0x"))
	if err != nil || len(raw) != len(Hash{}) || !strings.HasPrefix(text, "0x") {
		return Hash{}, false
	}
	return Hash(raw), true
}

// Log is an ERC-20 Transfer event. See EIP-20, "Events".
type Log struct {
	Contract keys.EthereumAddress
	To       keys.EthereumAddress
	Amount   [32]byte // smallest units, big endian
	Tx       Hash
	Index    uint32 // within its block
	Block    Hash
	Height   int64
	// Voices are who showed it, as the source numbers them.
	Voices uint64
}

// script is the destination that the log pays.
func (l Log) script() string { return "0x" + hex.EncodeToString(l.To[:]) }

// Event is the log without those who showed it: two logs of one event are equal.
func (l Log) Event() Log {
	l.Voices = 0
	return l
}
