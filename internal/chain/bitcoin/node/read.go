package node

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/btcsuite/btcd/chaincfg/chainhash"

	"chequer/internal/chain"
	"chequer/internal/chain/bitcoin"
)

// txsAtOnce is how many transactions are asked for in one batch: the largest that
// nodes hand on, spelled out, must fit in an answer.
const txsAtOnce = 25

// readNew reads the transactions that were not read yet.
func (n *Node) readNew(ctx context.Context, watched chain.Watched) error {
	var ids []chainhash.Hash
	for id, e := range n.mempool.entries {
		if e.paid == nil {
			ids = append(ids, id)
		}
	}
	return n.readTxs(ctx, ids, watched)
}

// lookAgain reads transactions again that may pay destinations which came since.
func (n *Node) lookAgain(ctx context.Context, watched chain.Watched) error {
	m := &n.mempool
	scripts, next := watched.Since(m.mark)
	if next < m.mark { // it begins anew
		scripts, next = watched.Since(0)
	}
	var ids []chainhash.Hash
	if len(m.entries) > 0 {
		fresh := map[uint64]bool{}
		for s := range scripts {
			fresh[hashScript(s)] = true
		}
		for id, e := range m.entries {
			if e.tx == nil && slices.ContainsFunc(e.paid, func(h uint64) bool { return fresh[h] }) {
				ids = append(ids, id)
			}
		}
	}
	if err := n.readTxs(ctx, ids, watched); err != nil {
		return err
	}
	m.mark = next
	return nil
}

// readTxs reads transactions that wait. One that does not wait any more is no error.
func (n *Node) readTxs(ctx context.Context, ids []chainhash.Hash, watched chain.Watched) error {
	for some := range slices.Chunk(ids, txsAtOnce) {
		requests := make([]*request, len(some))
		for i, id := range some {
			requests[i] = ask(new(json.RawMessage), "getrawtransaction", id.String(), n.config.BlocksAsJSON)
			if !n.config.BlocksAsJSON {
				requests[i].params = requests[i].params[:1]
			}
		}
		if err := n.rpc.do(ctx, requests...); err != nil {
			return err
		}
		for i, id := range some {
			tx, err := n.readTx(ctx, id.String(), requests[i])
			if refused(err, codeNotFound) {
				n.mempool.leave(id, n.mempool.entries[id], n.config.Now())
				continue
			}
			if err != nil {
				return err
			}
			n.mempool.entries[id].take(tx, watched)
		}
	}
	return nil
}

// readTx reads the answer to a getrawtransaction.
func (n *Node) readTx(ctx context.Context, id string, r *request) (bitcoin.Tx, error) {
	if r.err != nil {
		return bitcoin.Tx{}, r.err
	}
	answer := *r.result.(*json.RawMessage)
	if n.config.BlocksAsJSON {
		return txInWords(id, answer)
	}
	var text string
	if err := json.Unmarshal(answer, &text); err != nil {
		return bitcoin.Tx{}, fmt.Errorf("transaction %s: it answers something else: %w", id, err)
	}
	tx, err := parseTx(text)
	if err != nil {
		// The network may know transactions that our library cannot read.
		if err := n.rpc.call(ctx, &answer, "getrawtransaction", id, true); err != nil {
			return bitcoin.Tx{}, err
		}
		return txInWords(id, answer)
	}
	return tx, asked(id, tx)
}

// txInWords reads a transaction as the node spells it out.
func txInWords(id string, answer json.RawMessage) (bitcoin.Tx, error) {
	var told tx
	if err := json.Unmarshal(answer, &told); err != nil {
		return bitcoin.Tx{}, fmt.Errorf("transaction %s: it answers something else: %w", id, err)
	}
	tx, _, err := told.read()
	if err != nil {
		return bitcoin.Tx{}, err
	}
	return tx, asked(id, tx)
}

// asked fails when a transaction is not the one that was asked for, or makes no
// sense.
func asked(id string, tx bitcoin.Tx) error {
	if tx.ID != id {
		return fmt.Errorf("asked for transaction %s it gives %q", id, tx.ID)
	}
	return sane(tx)
}
