package node

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"hash/maphash"
	"iter"
	"slices"

	"github.com/btcsuite/btcd/blockchain"
	"github.com/btcsuite/btcd/btcutil"
	"github.com/btcsuite/btcd/chaincfg/chainhash"
	"github.com/btcsuite/btcd/wire"

	"chequer/internal/chain/bitcoin"
)

const (
	// keptBlocks is how many blocks are known by what they pay: those above the
	// scanner's cursor, and some that left the chain.
	keptBlocks = 160
	// manyScripts are more than it is worth to look for in a block that was read:
	// reading it again is faster.
	manyScripts = 100_000
)

// blocks know of the newest blocks that were read which scripts they pay, so that
// they need not be read again for a destination that they do not pay.
type blocks struct {
	paid  map[string][]uint64 // by hash of the block: hashes of scripts, sorted
	order []string            // as they were read, the oldest first
}

func newBlocks() blocks { return blocks{paid: map[string][]uint64{}} }

// seed makes the hashes of scripts of this process, which nobody can aim at.
var seed = maphash.MakeSeed()

func hashScript(script string) uint64 { return maphash.String(seed, script) }

// keep remembers what a block pays.
func (b *blocks) keep(block bitcoin.Block) {
	if _, known := b.paid[block.Hash]; known {
		return
	}
	var paid []uint64
	for _, tx := range block.Txs {
		for _, out := range tx.Outputs {
			paid = append(paid, hashScript(out.Script))
		}
	}
	slices.Sort(paid)
	b.paid[block.Hash] = slices.Clip(slices.Compact(paid))
	b.order = append(b.order, block.Hash)
	if len(b.order) > keptBlocks {
		delete(b.paid, b.order[0])
		b.order = b.order[1:]
	}
}

// concerns tells whether a block may pay one of the scripts.
func (b *blocks) concerns(hash string, scripts iter.Seq[string]) bool {
	paid, known := b.paid[hash]
	if !known {
		return true
	}
	left := manyScripts
	for s := range scripts {
		if _, pays := slices.BinarySearch(paid, hashScript(s)); pays || left == 0 {
			return true
		}
		left--
	}
	return false
}

// Concerns implements bitcoin.Source. A block that was read is of no concern for
// what it spends: its conflicts were told then.
func (n *Node) Concerns(_ context.Context, hash string, scripts iter.Seq[string]) (bool, error) {
	return n.read.concerns(hash, scripts), nil
}

// Buried implements bitcoin.Source.
func (n *Node) Buried(txs []string) {
	for _, tx := range txs {
		n.mempool.forget(tx)
	}
}

// Block implements bitcoin.Source.
func (n *Node) Block(ctx context.Context, hash string) (bitcoin.Block, error) {
	block, err := n.block(ctx, hash)
	if err == nil {
		n.read.keep(block)
	}
	return block, n.done(ctx, readBlock, err)
}

func (n *Node) block(ctx context.Context, hash string) (bitcoin.Block, error) {
	height, err := n.heightOf(ctx, hash)
	if err != nil {
		return bitcoin.Block{}, err
	}
	if n.config.BlocksAsJSON {
		return n.blockInWords(ctx, height, hash)
	}
	var text string
	if err := n.rpc.call(ctx, &text, "getblock", hash, 0); err != nil {
		return bitcoin.Block{}, unread(height, err)
	}
	var message wire.MsgBlock
	if err := message.Deserialize(hex.NewDecoder(bytes.NewReader([]byte(text)))); err != nil {
		// The network may know transactions that our library cannot read.
		return n.blockInWords(ctx, height, hash)
	}
	block, err := bitcoin.NewBlock(height, &message)
	if err != nil {
		return bitcoin.Block{}, err
	}
	if block.Hash != hash {
		return bitcoin.Block{}, fmt.Errorf("asked for block %s it gives %s", hash, block.Hash)
	}
	return block, sane(block.Txs...)
}

// heightOf is the height of a block.
func (n *Node) heightOf(ctx context.Context, hash string) (int64, error) {
	if h, known := n.headers[hash]; known {
		return h.Height, nil
	}
	var told struct{ Height int64 }
	err := n.rpc.call(ctx, &told, "getblockheader", hash, true)
	if refused(err, codeNotFound) {
		return 0, fmt.Errorf("%w: %s", bitcoin.ErrNoBlock, hash)
	}
	return told.Height, err
}

// unread says why a block cannot be read.
func unread(height int64, err error) error {
	if refused(err, codeMisc) {
		return fmt.Errorf("it must keep the blocks from %d on: set a larger prune, or none: %w", height, err)
	}
	return err
}

// blockInWords reads a block as the node spells it out.
func (n *Node) blockInWords(ctx context.Context, height int64, hash string) (bitcoin.Block, error) {
	header, err := n.rawHeader(ctx, hash)
	if err != nil {
		return bitcoin.Block{}, err
	}
	var told struct{ Tx []tx }
	if err := n.rpc.call(ctx, &told, "getblock", hash, 2); err != nil {
		return bitcoin.Block{}, unread(height, err)
	}
	block := bitcoin.Block{Header: bitcoin.NewHeader(height, header), Txs: make([]bitcoin.Tx, len(told.Tx))}
	ids := make([]chainhash.Hash, len(told.Tx))
	for i, t := range told.Tx {
		if block.Txs[i], ids[i], err = t.read(); err != nil {
			return bitcoin.Block{}, err
		}
	}
	if len(ids) == 0 || merkleRoot(ids) != header.MerkleRoot {
		return bitcoin.Block{}, fmt.Errorf("block %s: its transactions are not those of its header", hash)
	}
	return block, sane(block.Txs...)
}

// merkleRoot is the root of a block's transactions; there is at least one.
func merkleRoot(ids []chainhash.Hash) chainhash.Hash {
	level := slices.Clone(ids)
	for len(level) > 1 {
		if len(level)%2 == 1 {
			level = append(level, level[len(level)-1])
		}
		for i := range len(level) / 2 {
			level[i] = blockchain.HashMerkleBranches(&level[2*i], &level[2*i+1])
		}
		level = level[:len(level)/2]
	}
	return level[0]
}

// sane fails when a transaction pays what nobody can.
func sane(txs ...bitcoin.Tx) error {
	for _, tx := range txs {
		for i, out := range tx.Outputs {
			if out.Units < 0 || out.Units > most {
				return fmt.Errorf("transaction %s pays %d units in output %d", tx.ID, out.Units, i)
			}
		}
	}
	return nil
}

// most is more than the units of any coin of this family that will ever be.
const most = 1000 * 21e6 * btcutil.SatoshiPerBitcoin
