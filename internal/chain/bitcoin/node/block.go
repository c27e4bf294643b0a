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
	"chequer/internal/chain/utxo"
)

const (
	// keptBlocks is the number of blocks whose paid scripts are kept. It covers the blocks above the
	// scanner's cursor and some blocks that left the chain.
	keptBlocks = 160
	// manyScripts is the number of scripts above which reading a block again is faster
	// than searching its scripts.
	manyScripts = 100_000
)

// blocks stores the scripts that the last read blocks pay, so that a block is not read again for
// a destination that it does not pay.
type blocks struct {
	paid  map[string][]uint64 // by hash of the block: hashes of scripts, sorted
	order []string            // in the order of reading, oldest first
}

func newBlocks() blocks { return blocks{paid: map[string][]uint64{}} }

// seed is the random seed of the hashes of scripts, so that a peer cannot cause collisions.
var seed = maphash.MakeSeed()

func hashScript(script string) uint64 { return maphash.String(seed, script) }

// store stores the scripts that a block pays.
func (b *blocks) store(block utxo.Block) {
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

// mayPay reports whether a block may pay one of the scripts.
func (b *blocks) mayPay(hash string, scripts iter.Seq[string]) bool {
	paid, known := b.paid[hash]
	if !known {
		return true
	}
	remaining := manyScripts
	for s := range scripts {
		if _, pays := slices.BinarySearch(paid, hashScript(s)); pays || remaining == 0 {
			return true
		}
		remaining--
	}
	return false
}

// MayPay implements utxo.Source. It does not report spends in a block that was already
// read, because its conflicts were found then.
func (n *Node) MayPay(_ context.Context, hash string, scripts iter.Seq[string]) (bool, error) {
	return n.read.mayPay(hash, scripts), nil
}

// Buried implements utxo.Source.
func (n *Node) Buried(txs []string) {
	for _, tx := range txs {
		n.mempool.forget(tx)
	}
}

// Block implements utxo.Source.
func (n *Node) Block(ctx context.Context, hash string) (utxo.Block, error) {
	block, err := n.block(ctx, hash)
	if err == nil {
		n.read.store(block)
	}
	return block, n.noteResult(ctx, readBlock, err)
}

func (n *Node) block(ctx context.Context, hash string) (utxo.Block, error) {
	height, err := n.heightOf(ctx, hash)
	if err != nil {
		return utxo.Block{}, err
	}
	if n.config.BlocksAsJSON {
		return n.blockFromJSON(ctx, height, hash)
	}
	var text string
	if err := n.rpc.call(ctx, &text, "getblock", hash, 0); err != nil {
		return utxo.Block{}, readError(height, err)
	}
	var message wire.MsgBlock
	if err := message.Deserialize(hex.NewDecoder(bytes.NewReader([]byte(text)))); err != nil {
		// The block may contain transactions that the library cannot parse.
		return n.blockFromJSON(ctx, height, hash)
	}
	block, err := bitcoin.NewBlock(height, &message)
	if err != nil {
		return utxo.Block{}, err
	}
	if block.Hash != hash {
		return utxo.Block{}, fmt.Errorf("asked for block %s, got %s", hash, block.Hash)
	}
	return block, checkAmounts(block.Txs...)
}

// heightOf returns the height of a block.
func (n *Node) heightOf(ctx context.Context, hash string) (int64, error) {
	if h, known := n.headers[hash]; known {
		return h.Height, nil
	}
	var answer struct{ Height int64 }
	err := n.rpc.call(ctx, &answer, "getblockheader", hash, true)
	if hasCode(err, codeNotFound) {
		return 0, fmt.Errorf("%w: %s", utxo.ErrNoBlock, hash)
	}
	return answer.Height, err
}

// readError returns the error for a block that cannot be read.
func readError(height int64, err error) error {
	if hasCode(err, codeMisc) {
		return fmt.Errorf("node must keep the blocks from %d on: set a larger prune, or none: %w", height, err)
	}
	return err
}

// blockFromJSON reads a block in the node's JSON form.
func (n *Node) blockFromJSON(ctx context.Context, height int64, hash string) (utxo.Block, error) {
	header, err := n.rawHeader(ctx, hash)
	if err != nil {
		return utxo.Block{}, err
	}
	var answer struct{ Tx []tx }
	if err := n.rpc.call(ctx, &answer, "getblock", hash, 2); err != nil {
		return utxo.Block{}, readError(height, err)
	}
	block := utxo.Block{Header: bitcoin.NewHeader(height, header), Txs: make([]utxo.Tx, len(answer.Tx))}
	ids := make([]chainhash.Hash, len(answer.Tx))
	for i, t := range answer.Tx {
		if block.Txs[i], ids[i], err = t.convert(); err != nil {
			return utxo.Block{}, err
		}
	}
	if len(ids) == 0 || merkleRoot(ids) != header.MerkleRoot {
		return utxo.Block{}, fmt.Errorf("block %s: transactions do not match the Merkle root", hash)
	}
	return block, checkAmounts(block.Txs...)
}

// merkleRoot returns the Merkle root of a block's transactions. ids must not be empty.
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

// checkAmounts returns an error if a transaction has an impossible amount.
func checkAmounts(txs ...utxo.Tx) error {
	for _, tx := range txs {
		for i, out := range tx.Outputs {
			if out.Units < 0 || out.Units > maxUnits {
				return fmt.Errorf("transaction %s pays %d units in output %d", tx.ID, out.Units, i)
			}
		}
	}
	return nil
}

// maxUnits is an amount that no coin of this family will ever reach, in the smallest unit.
const maxUnits = 1000 * 21e6 * btcutil.SatoshiPerBitcoin
