// Package simnet is a simulated network for the demo, test keys and tests: one chain for all
// assets. Its blocks and mempool are rows in storage.
package simnet

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"math/big"
	"sync"
	"time"

	"github.com/btcsuite/btcd/btcec/v2"

	"chequer/internal/chain"
	"chequer/internal/keys"
	"chequer/internal/money"
)

// ID is the name of the network.
const ID chain.ID = "simnet"

// depth is the number of blocks that the cursor stays behind the tip: more than any reorganisation of
// simnet and than the largest confirmation count.
const depth = 24

var (
	// ErrUnknownTx means that a transaction does not exist or is not in the required
	// place: the mempool, or a block.
	ErrUnknownTx = errors.New("simnet has no such transaction")
	// ErrSpent means that an input was spent in a block.
	ErrSpent = errors.New("input is already spent")
	// ErrFinal means that a transaction is a payment by Lightning, which nothing can undo.
	ErrFinal = errors.New("a payment by Lightning is final")
	// ErrUnpayable means that a payment request cannot be paid.
	ErrUnpayable = errors.New("the payment request cannot be paid")
	// ErrUnknownRequest means that a payment request is not in storage. It is an ErrUnpayable.
	ErrUnknownRequest = fmt.Errorf("%w: simnet does not know it", ErrUnpayable)
)

// Network is the simnet. It is safe for concurrent use.
type Network struct {
	storage Storage
	now     func() time.Time
	wake    chan struct{}
	keys    keys.Cache

	mu     sync.Mutex
	signer *btcec.PrivateKey // of payment requests; nil before the first one; protected by mu
}

var _ interface {
	chain.Requester
	chain.Waker
	chain.AddressReader
} = (*Network)(nil)

// New returns the simnet in a storage.
func New(storage Storage, now func() time.Time) *Network {
	return &Network{storage: storage, now: now, wake: make(chan struct{}, 1)}
}

// ID implements chain.Network.
func (n *Network) ID() chain.ID { return ID }

// Wake implements chain.Waker: the channel gets a value when this process changes the chain.
func (n *Network) Wake() <-chan struct{} { return n.wake }

// NewDestination implements chain.Network with test-network addresses. It is an error for Lightning, whose destinations
// are payment requests.
func (n *Network) NewDestination(r chain.Request) (chain.Destination, error) {
	if r.Asset.Requested() {
		return chain.Destination{}, errors.New("the destinations of Lightning are payment requests")
	}
	key, err := n.keys.Load(r.Key)
	if err != nil {
		return chain.Destination{}, err
	}
	address, script, err := key.Address(r.Index)
	if err != nil {
		return chain.Destination{}, err
	}
	return chain.Destination{Address: address, Script: script}, nil
}

// Scan implements chain.Scanner. The mempool is complete and remembers first sightings, like
// that of the merchant's node.
func (n *Network) Scan(ctx context.Context, from chain.Cursor, watched chain.Watched) (chain.Snapshot, error) {
	started := n.now()
	c, err := n.read(ctx, &from)
	if err != nil {
		return chain.Snapshot{}, fmt.Errorf("scan from %d: %w", from.Height, err)
	}
	tip := c.Blocks[len(c.Blocks)-1]
	s := chain.Snapshot{
		Started: started, From: from, Tip: tip.chain(), Next: tip.chain().Cursor(),
		Blocks: map[int64]string{}, Unconfirmed: chain.Complete, ViewSince: time.UnixMilli(0), // no sighting is forgotten
	}
	byHeight := map[int64]Block{}
	for _, b := range c.Blocks {
		s.Blocks[b.Height] = b.Hash
		byHeight[b.Height] = b
		if b.Height == max(tip.Height-depth, from.Height) {
			s.Next = b.chain().Cursor()
		}
	}
	for _, tx := range c.Txs {
		b, confirmed := byHeight[tx.Height]
		if tx.ReplacedBy != "" || (tx.Height >= 0 && !confirmed) || (confirmed && tx.Height <= from.Height && from.Height >= 0) {
			continue
		}
		for i, out := range tx.Outputs {
			if !watched.Destination(out.Script) {
				continue
			}
			t, err := transfer(tx, i, out)
			if err != nil {
				return chain.Snapshot{}, err
			}
			if confirmed {
				block := b.chain()
				t.Block = &block
			}
			t.Firm = !confirmed
			s.Transfers = append(s.Transfers, t)
		}
	}
	for _, t := range s.Unshown(watched) { // storage has the whole chain
		if t.Block.Height > s.Tip.Height { // the chain never gets shorter
			return chain.Snapshot{}, chain.AboveTip(t, s.Tip.Height)
		}
		if s.Blocks[t.Block.Height] == t.Block.Hash {
			s.Refuted = append(s.Refuted, t.ID)
		}
	}
	return s, nil
}

// read loads the chain from the cursor's block on. If that block left the chain, the cursor
// becomes a block below the fork point. The old hashes are not kept, so that block is depth
// blocks lower, and the scan covers more than necessary.
func (n *Network) read(ctx context.Context, from *chain.Cursor) (Chain, error) {
	tip, err := n.storage.SimnetTip(ctx)
	if err != nil {
		return Chain{}, err
	}
	if tip < 0 {
		if err := n.update(ctx, func(*Chain) error { return nil }); err != nil {
			return Chain{}, err
		}
		tip = 0
	}
	if from.IsZero() {
		from.Height = max(tip-depth, 0)
	}
	for {
		c, err := n.storage.SimnetChain(ctx, from.Height-1)
		if err != nil {
			return Chain{}, err
		}
		if len(c.Blocks) > 0 && c.Blocks[0].Height == from.Height && (from.Hash == "" || c.Blocks[0].Hash == from.Hash) {
			from.Hash = c.Blocks[0].Hash
			return c, nil
		}
		*from = chain.Cursor{Height: max(min(from.Height, tip)-depth, 0)}
	}
}

// transfer returns the transfer of an output.
func transfer(tx Tx, i int, out Output) (chain.Transfer, error) {
	asset, ok := assetByCode(out.Asset)
	units, whole := new(big.Int).SetString(out.Units, 10)
	if !ok || !whole || units.Sign() < 0 {
		return chain.Transfer{}, fmt.Errorf("transaction %s pays %q of %q", tx.ID, out.Units, out.Asset)
	}
	if asset.Requested() { // only its block shows it
		return chain.Transfer{ID: tx.ID, Tx: tx.ID, Asset: out.Asset, Script: out.Script, Amount: money.FromMinor(units, asset.Currency)}, nil
	}
	return chain.Transfer{
		ID: fmt.Sprintf("%s:%d", tx.ID, i), Tx: tx.ID, Asset: out.Asset, Script: out.Script,
		Amount: money.FromMinor(units, asset.Currency), Spends: tx.Spends, FirstSeen: tx.Seen,
	}, nil
}

func (b Block) chain() chain.Block { return chain.Block{Height: b.Height, Hash: b.Hash, Time: b.Time} }

// randomHash returns an identifier of a block or transaction.
func randomHash() string {
	var b [32]byte
	rand.Read(b[:]) // never fails, see crypto/rand
	return hex.EncodeToString(b[:])
}
