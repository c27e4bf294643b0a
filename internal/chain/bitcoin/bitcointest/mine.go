package bitcointest

import (
	"slices"
	"testing"
	"time"

	"github.com/btcsuite/btcd/wire"

	"chequer/internal/chain"
)

// Tip is the newest block of the best chain.
func (n *Node) Tip(t *testing.T) chain.Cursor {
	t.Helper()
	var info struct {
		Blocks        int64
		BestBlockHash string
	}
	n.Call(t, &info, "getblockchaininfo")
	return chain.Cursor{Height: info.Blocks, Hash: info.BestBlockHash}
}

// Mine makes a block with these transactions only, in their order: those that
// wait, and those of the lab that never did.
func (n *Node) Mine(t *testing.T, txs ...string) {
	t.Helper()
	n.extend(t, n.header(t, n.Tip(t).Hash), time.Now(), n.transactions(t, txs))
	n.until(t, "the mempool without what was mined", func() bool { return !overlap(n.Waiting(t), txs) })
}

// MineBlocks makes empty blocks.
func (n *Node) MineBlocks(t *testing.T, count int) {
	t.Helper()
	for range count {
		n.Mine(t)
	}
}

// mineUntil makes empty blocks up to a height, a minute apart and the last one
// at a time, so that later ones can be of their own time.
func (n *Node) mineUntil(t *testing.T, last time.Time, height int64) {
	t.Helper()
	parent := n.header(t, n.Tip(t).Hash)
	for parent.Height < height {
		parent = n.extend(t, parent, last.Add(-time.Duration(height-parent.Height)*time.Minute), nil)
	}
}

// Reorganise takes the newest blocks off the chain, down to the one that holds
// the deepest of these transactions, for one more: what they held waits again.
// Without transactions it is the newest block.
func (n *Node) Reorganise(t *testing.T, txs ...string) {
	t.Helper()
	depth := 0
	for hash, left := n.Tip(t).Hash, slices.Clone(txs); len(left) > 0; depth++ {
		h := n.header(t, hash)
		if h.Height == 0 {
			t.Fatalf("in no block: %q", left)
		}
		held := ids(n.block(t, hash).Transactions)
		left = slices.DeleteFunc(left, func(tx string) bool { return slices.Contains(held, tx) })
		hash = h.PreviousBlockHash
	}
	n.Fork(t, max(1, depth))
}

// Fork takes as many of the newest blocks off the chain for one more, of which
// the first holds these transactions. What the old blocks held waits again, but
// not what conflicts with the new ones.
func (n *Node) Fork(t *testing.T, depth int, txs ...string) {
	t.Helper()
	parent := n.header(t, n.Tip(t).Hash)
	var old []*wire.MsgTx
	for range depth {
		old = append(n.block(t, parent.Hash).Transactions[1:], old...)
		parent = n.header(t, parent.PreviousBlockHash)
	}
	held := n.transactions(t, txs)
	for i := range depth + 1 {
		if i > 0 {
			parent = n.extend(t, parent, time.Now(), nil)
		} else {
			parent = n.extend(t, parent, time.Now(), held)
		}
	}
	again := waitAgain(old, held)
	n.until(t, "what the old blocks held", func() bool {
		waiting := n.Waiting(t)
		return !slices.ContainsFunc(again, func(tx string) bool { return !slices.Contains(waiting, tx) })
	})
}

// waitAgain are the transactions of old blocks that wait again after new blocks
// that hold others: not those, what conflicts with them, and what spends that.
func waitAgain(old, held []*wire.MsgTx) (again []string) {
	done, spent, gone := ids(held), map[wire.OutPoint]bool{}, map[string]bool{}
	for _, tx := range held {
		for _, in := range tx.TxIn {
			spent[in.PreviousOutPoint] = true
		}
	}
	for _, tx := range old {
		id := tx.TxHash().String()
		switch {
		case slices.Contains(done, id):
		case slices.ContainsFunc(tx.TxIn, func(in *wire.TxIn) bool {
			return spent[in.PreviousOutPoint] || gone[in.PreviousOutPoint.Hash.String()]
		}):
			gone[id] = true
		default:
			again = append(again, id)
		}
	}
	return again
}

// Sync returns when the node has the tip of another, and what waits there.
func (n *Node) Sync(t *testing.T, other *Node) {
	t.Helper()
	n.until(t, "the blocks and transactions of the other", func() bool {
		if n.Tip(t) != other.Tip(t) {
			return false
		}
		waiting := n.Waiting(t)
		return !slices.ContainsFunc(other.Waiting(t), func(tx string) bool { return !slices.Contains(waiting, tx) })
	})
}

func (n *Node) transactions(t *testing.T, ids []string) (txs []*wire.MsgTx) {
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
