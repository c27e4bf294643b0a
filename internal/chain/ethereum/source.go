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

// Source reads an EVM network: from endpoints that agree, or from one that is trusted. Its
// methods are called one at a time, except Health, which may be called at any time. An
// error gives no information about the network.
type Source interface {
	// Best returns the newest block that is trusted.
	Best(ctx context.Context) (Best, error)
	// Headers returns the blocks of the best chain at a range of heights, none above Best.
	// It may return fewer than the range has, but at least one.
	Headers(ctx context.Context, from, to int64) ([]Header, error)
	// ByAddress reports whether the source may be queried by the addresses of
	// destinations. If false, Logs returns the transfers to all addresses.
	ByAddress() bool
	// Logs returns the transfers in a range of blocks that any endpoint shows: they are
	// not confirmed yet. The absence of others is confirmed.
	Logs(ctx context.Context, span Span, query Query) ([]Log, error)
	// Confirm returns those of the given logs that are in their blocks; the blocks are on
	// the best chain. It returns an error if this is unknown for one of the logs. A log
	// without Operators was confirmed by an earlier process: it counts as absent only if
	// enough endpoints deny it and none confirms it. The amount of a log without an amount
	// is not compared: the index in the block identifies the log.
	Confirm(ctx context.Context, logs []Log) ([]Log, error)
	// Health returns the state of the source, from memory.
	Health() chain.Health
}

// BalanceSource is a Source that returns the balances of accounts. Its lists are in the order
// of the accounts.
type BalanceSource interface {
	Source
	// QueryableByAddress reports whether any endpoint may be queried by the addresses of destinations.
	// If false, the other methods return an error.
	QueryableByAddress() bool
	// Balances and Nonces return the values in the state after a block. ErrNoState means that
	// the block exists and its state is pruned.
	Balances(ctx context.Context, at Header, accounts []keys.EthereumAddress) ([]*big.Int, error)
	Nonces(ctx context.Context, at Header, accounts []keys.EthereumAddress) ([]uint64, error)
	// Tokens returns the balances of a token in the state after a block. Its errors are
	// those of Balances. See EIP-20, "balanceOf".
	Tokens(ctx context.Context, at Header, contract keys.EthereumAddress, accounts []keys.EthereumAddress) ([]*big.Int, error)
	// Payments returns the transactions of a block that send the network's native coin to
	// accounts, except those of contracts.
	Payments(ctx context.Context, at Header, to []keys.EthereumAddress) ([]Payment, error)
}

// TokenSource is a Source that returns properties of token contracts.
type TokenSource interface {
	Source
	// Decimals returns the decimals of a contract, in the state after a block. known is
	// false if the contract does not return them, or does not exist.
	Decimals(ctx context.Context, at Header, contract keys.EthereumAddress) (decimals int, known bool, err error)
}

// ErrNoState means that the state of a block is pruned.
var ErrNoState = errors.New("the state of the block is pruned")

// Payment is a transaction that sends the network's native coin.
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

// Best is the newest block that is trusted.
type Best struct {
	Header
	// Final is the height up to which the network calls blocks final; 0 if unknown.
	Final int64
	// At is the time of the request that returned it. The source may return the same Best for some time.
	At time.Time
}

// Span is a range of blocks of the best chain.
type Span struct {
	From int64  // height of the first block
	To   Header // the last block
}

// Query selects the transfers that are returned.
type Query struct {
	Contracts []keys.EthereumAddress
	// To are the destinations, as scripts; nil for all addresses.
	To []string
}

// Hash is the hash of a block or a transaction.
type Hash [32]byte

// String implements fmt.Stringer.
func (h Hash) String() string { return "0x" + hex.EncodeToString(h[:]) }

// ParseHash parses a hash in the spelling of JSON-RPC: 0x and 64 hex digits.
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
	// Operators are the operators whose endpoints showed it, as bits that the source assigns.
	Operators uint64
}

// script returns the destination of the transfer.
func (l Log) script() string { return "0x" + hex.EncodeToString(l.To[:]) }

// Event returns the log without Operators: two logs of one event are equal.
func (l Log) Event() Log {
	l.Operators = 0
	return l
}
