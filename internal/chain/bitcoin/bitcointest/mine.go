package bitcointest

import (
	"slices"
	"testing"
	"time"

	"github.com/btcsuite/btcd/wire"

	"chequer/internal/chain"
)

// Tip returns the newest block of the best chain.
func (n *Node) Tip(t testing.TB) chain.Cursor {
	t.Helper()
	var info struct {
		Blocks        int64
		BestBlockHash string
	}
	n.Call(t, &info, "getblockchaininfo")
	return chain.Cursor{Height: info.Blocks, Hash: info.BestBlockHash}
}

// Mine mines a block with exactly the given transactions, in their order. They are in the mempool or
// were made by Conflict.
func (n *Node) Mine(t testing.TB, txs ...string) {
	t.Helper()
	n.extend(t, n.header(t, n.Tip(t).Hash), time.Now(), n.transactions(t, txs))
	n.until(t, "a mempool without the mined transactions", func() bool { return !overlap(n.Waiting(t), txs) })
}

// MineBlocks mines empty blocks.
func (n *Node) MineBlocks(t testing.TB, count int) {
	t.Helper()
	for range count {
		n.Mine(t)
	}
}

// mineUntil mines empty blocks up to a height. Their times are a minute apart and before
// last, so that later blocks can have their real time.
func (n *Node) mineUntil(t testing.TB, last time.Time, height int64) {
	t.Helper()
	parent := n.header(t, n.Tip(t).Hash)
	for parent.Height < height {
		parent = n.extend(t, parent, last.Add(-time.Duration(height-parent.Height)*time.Minute), nil)
	}
}

// Reorganise replaces the block that contains the deepest of the transactions, and all later blocks, by
// a longer branch of empty blocks. All transactions of the replaced blocks are unconfirmed again. Without
// transactions it replaces the newest block.
func (n *Node) Reorganise(t testing.TB, txs ...string) {
	t.Helper()
	depth := 0
	for hash, remaining := n.Tip(t).Hash, slices.Clone(txs); len(remaining) > 0; depth++ {
		h := n.header(t, hash)
		if h.Height == 0 {
			t.Fatalf("transactions in no block: %q", remaining)
		}
		mined := ids(n.block(t, hash).Transactions)
		remaining = slices.DeleteFunc(remaining, func(tx string) bool { return slices.Contains(mined, tx) })
		hash = h.PreviousBlockHash
	}
	n.Fork(t, max(1, depth))
}

// Fork replaces the newest depth blocks by depth+1 blocks. The first new block contains the given
// transactions. The transactions of the old blocks are unconfirmed again, except those that are in the
// new blocks or conflict with them.
func (n *Node) Fork(t testing.TB, depth int, txs ...string) {
	t.Helper()
	parent := n.header(t, n.Tip(t).Hash)
	var old []*wire.MsgTx
	for range depth {
		old = append(n.block(t, parent.Hash).Transactions[1:], old...)
		parent = n.header(t, parent.PreviousBlockHash)
	}
	mined := n.transactions(t, txs)
	for i := range depth + 1 {
		if i > 0 {
			parent = n.extend(t, parent, time.Now(), nil)
		} else {
			parent = n.extend(t, parent, time.Now(), mined)
		}
	}
	returned := unconfirmed(old, mined)
	n.until(t, "the transactions of the old blocks", func() bool {
		waiting := n.Waiting(t)
		return !slices.ContainsFunc(returned, func(tx string) bool { return !slices.Contains(waiting, tx) })
	})
}

// unconfirmed returns the transactions of replaced blocks that are valid and not in the new blocks: all
// except those in mined, those that conflict with mined, and the descendants of the conflicting ones.
func unconfirmed(replaced, mined []*wire.MsgTx) (list []string) {
	minedIDs, spent, conflicting := ids(mined), map[wire.OutPoint]bool{}, map[string]bool{}
	for _, tx := range mined {
		for _, in := range tx.TxIn {
			spent[in.PreviousOutPoint] = true
		}
	}
	for _, tx := range replaced {
		id := tx.TxHash().String()
		switch {
		case slices.Contains(minedIDs, id):
		case slices.ContainsFunc(tx.TxIn, func(in *wire.TxIn) bool {
			return spent[in.PreviousOutPoint] || conflicting[in.PreviousOutPoint.Hash.String()]
		}):
			conflicting[id] = true
		default:
			list = append(list, id)
		}
	}
	return list
}

// Sync returns when the node has the tip and the waiting transactions of another.
func (n *Node) Sync(t testing.TB, other *Node) {
	t.Helper()
	n.until(t, "the blocks and transactions of the other node", func() bool {
		if n.Tip(t) != other.Tip(t) {
			return false
		}
		waiting := n.Waiting(t)
		return !slices.ContainsFunc(other.Waiting(t), func(tx string) bool { return !slices.Contains(waiting, tx) })
	})
}

func (n *Node) transactions(t testing.TB, ids []string) (txs []*wire.MsgTx) {
	t.Helper()
	for _, id := range ids {
		txs = append(txs, n.transaction(t, id))
	}
	return txs
}

func ids(txs []*wire.MsgTx) (ids []string) {
	for _, tx := range txs {
		ids = append(ids, tx.TxHash().String())
	}
	return ids
}

func overlap(a, b []string) bool {
	return slices.ContainsFunc(a, func(s string) bool { return slices.Contains(b, s) })
}
