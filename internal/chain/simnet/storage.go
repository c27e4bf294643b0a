package simnet

import (
	"context"
	"time"
)

// Storage stores the simulated chain and the payment requests, so that they survive a restart and are the same for all
// processes.
type Storage interface {
	// SimnetChain returns the blocks above a height, in order, and every transaction in
	// them or in the mempool.
	SimnetChain(ctx context.Context, above int64) (Chain, error)
	// UpdateSimnet reads the part of the chain above a height, calls change on it, and
	// writes the result in its place, in one transaction. change is pure and may be called
	// more than once.
	UpdateSimnet(ctx context.Context, above int64, change func(*Chain) error) error
	// SimnetTip returns the newest block's height; −1 if there is none.
	SimnetTip(ctx context.Context) (int64, error)
	// SimnetKey returns the key that signs payment requests. If there is none, it stores fresh.
	SimnetKey(ctx context.Context, fresh []byte) ([]byte, error)
	// AddSimnetRequest stores a payment request. It deletes some of the requests that ended before a time.
	AddSimnetRequest(ctx context.Context, r PaymentRequest, endedBefore time.Time) error
	// UpdateSimnetRequest calls change on the payment request with a hash and on the part of the chain above a
	// height, and writes both, as UpdateSimnet does. The error for an unknown request is ErrUnknownRequest.
	UpdateSimnetRequest(ctx context.Context, hash string, above int64, change func(*Chain, *PaymentRequest) error) error
}

// Chain is the part of the chain above a height, with the mempool.
type Chain struct {
	Blocks []Block
	Txs    []Tx
}

// Block is a simulated block.
type Block struct {
	Height int64
	Hash   string
	Parent string
	Time   time.Time
}

// Tx is a simulated transaction. Spends are outpoints. A replaced transaction is not in the
// mempool any more and is kept as a record.
type Tx struct {
	ID         string
	Seen       time.Time
	Height     int64 // of its block; −1 in the mempool
	ReplacedBy string
	Spends     []string
	Outputs    []Output
}

// Output pays a script in an asset, in the asset's smallest units.
type Output struct {
	Asset  string
	Script string
	Units  string
}
