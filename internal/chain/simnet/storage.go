package simnet

import (
	"context"
	"time"
)

// Storage keeps the made-up chain, so that a restart and a second process see
// the same.
type Storage interface {
	// SimnetChain reads blocks above a height, in order, and every transaction in
	// them or in the mempool.
	SimnetChain(ctx context.Context, above int64) (Chain, error)
	// UpdateSimnet reads the part of the chain above a height, lets change make
	// another of it, and writes that in its place, in one transaction. Change is
	// pure and may run more than once.
	UpdateSimnet(ctx context.Context, above int64, change func(*Chain) error) error
	// SimnetTip reads the newest block's height; −1 before there is one.
	SimnetTip(ctx context.Context) (int64, error)
}

// Chain is the part of the chain above a height, with the mempool.
type Chain struct {
	Blocks []Block
	Txs    []Tx
}

// Block is a made-up block.
type Block struct {
	Height int64
	Hash   string
	Parent string
	Time   time.Time
}

// Tx is a made-up transaction. Spends are outpoints; a replaced one is gone from
// the mempool and kept for the record.
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
