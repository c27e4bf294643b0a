package node

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/btcsuite/btcd/chaincfg/chainhash"

	"chequer/internal/chain"
	"chequer/internal/chain/utxo"
)

// txsAtOnce is the number of transactions that are requested in one batch. An answer in JSON with this number of
// transactions of the largest size that nodes relay fits in maxAnswer.
const txsAtOnce = 25

// readNew reads the transactions that have not been read yet.
func (n *Node) readNew(ctx context.Context, watched chain.Watched) error {
	var ids []chainhash.Hash
	for id, e := range n.mempool.entries {
		if e.outputHashes == nil {
			ids = append(ids, id)
		}
	}
	return n.readTxs(ctx, ids, watched)
}

// addScripts reads transactions again that may pay destinations added since the last call.
func (n *Node) addScripts(ctx context.Context, watched chain.Watched) error {
	m := &n.mempool
	scripts, next := watched.Since(m.mark)
	if next < m.mark { // the marks restarted
		scripts, next = watched.Since(0)
	}
	var ids []chainhash.Hash
	if len(m.entries) > 0 {
		added := map[uint64]bool{}
		for s := range scripts {
			added[hashScript(s)] = true
		}
		for id, e := range m.entries {
			if e.tx == nil && slices.ContainsFunc(e.outputHashes, func(h uint64) bool { return added[h] }) {
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

// readTxs reads transactions of the mempool. It ignores those that left it.
func (n *Node) readTxs(ctx context.Context, ids []chainhash.Hash, watched chain.Watched) error {
	for batch := range slices.Chunk(ids, txsAtOnce) {
		requests := make([]*request, len(batch))
		for i, id := range batch {
			requests[i] = newRequest(new(json.RawMessage), "getrawtransaction", id.String(), n.config.BlocksAsJSON)
			if !n.config.BlocksAsJSON { // btcd refuses the boolean parameter: it expects a number
				requests[i].params = requests[i].params[:1]
			}
		}
		if err := n.rpc.sendBatch(ctx, requests...); err != nil {
			return err
		}
		for i, id := range batch {
			tx, err := n.readTx(ctx, id.String(), requests[i])
			if hasCode(err, codeNotFound) {
				n.mempool.leave(id, n.mempool.entries[id], n.config.Now())
				continue
			}
			if err != nil {
				return err
			}
			n.mempool.entries[id].setTx(tx, watched)
		}
	}
	return nil
}

// readTx parses the answer to a getrawtransaction.
func (n *Node) readTx(ctx context.Context, id string, r *request) (utxo.Tx, error) {
	if r.err != nil {
		return utxo.Tx{}, r.err
	}
	answer := *r.result.(*json.RawMessage)
	if n.config.BlocksAsJSON {
		return txFromJSON(id, answer)
	}
	var text string
	if err := json.Unmarshal(answer, &text); err != nil {
		return utxo.Tx{}, fmt.Errorf("transaction %s: unexpected result: %w", id, err)
	}
	tx, err := parseTx(text)
	if err != nil {
		// The library may be unable to parse a transaction that is valid on the network.
		if err := n.rpc.call(ctx, &answer, "getrawtransaction", id, true); err != nil {
			return utxo.Tx{}, err
		}
		return txFromJSON(id, answer)
	}
	return tx, checkRequested(id, tx)
}

// txFromJSON parses a transaction in the node's JSON form.
func txFromJSON(id string, text json.RawMessage) (utxo.Tx, error) {
	var answer tx
	if err := json.Unmarshal(text, &answer); err != nil {
		return utxo.Tx{}, fmt.Errorf("transaction %s: unexpected result: %w", id, err)
	}
	tx, _, err := answer.convert()
	if err != nil {
		return utxo.Tx{}, err
	}
	return tx, checkRequested(id, tx)
}

// checkRequested returns an error if a transaction is not the requested one, or is not sane.
func checkRequested(id string, tx utxo.Tx) error {
	if tx.ID != id {
		return fmt.Errorf("asked for transaction %s, got %q", id, tx.ID)
	}
	return checkAmounts(tx)
}
