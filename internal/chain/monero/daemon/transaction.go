package daemon

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
)

const (
	// maxBatch is the number of transactions of one call. A restricted RPC refuses more.
	maxBatch = 100
	// maxTransactions is the maximum size of an answer with maxBatch transactions, in bytes. A transaction is about 30 times
	// larger in the answer, because monerod writes its JSON twice.
	maxTransactions = 64 << 20
	// maxPool is the maximum size of the answer with the pool, in bytes. It is enough for about 3,000 usual transactions.
	maxPool = 64 << 20
	// maxPoolHashes is the maximum size of the answer with the hashes of the pool, in bytes: 240,000 hashes.
	maxPoolHashes = 16 << 20
)

// Tx is a transaction, as a daemon shows it.
type Tx struct {
	Hash string
	// JSON is the transaction in monerod's JSON form, an object.
	JSON json.RawMessage
	// InPool is true if the transaction is not in a block.
	InPool bool
	// Height is the height of the block of the transaction, zero in the pool.
	Height int64
	// ReceivedAt is the time at which the daemon received the transaction in the pool, or at which its block was removed from
	// the chain. It is zero in a block, and if the RPC is restricted.
	ReceivedAt time.Time
	// DoubleSpendSeen is true if the daemon received another transaction that spends an input of this one, while this one
	// is in the pool. It starts as false again if the block of the transaction is removed from the chain.
	DoubleSpendSeen bool
	// Relayed is true if the daemon sent the transaction in the pool to its peers, or received it from one. A daemon without
	// restrictions also shows transactions before it relays them.
	Relayed bool
}

// Transactions returns the transactions with some hashes, in their order, from blocks and the pool. The JSON does not have
// the parts that pruned daemons delete, the proofs and signatures. If the daemon does not have some of the transactions,
// it returns the others with a *MissedError.
func (c *Client) Transactions(ctx context.Context, hashes []string) ([]Tx, error) {
	found := make([]Tx, 0, len(hashes))
	var missed []string
	for batch := range slices.Chunk(hashes, maxBatch) {
		part, err := c.transactions(ctx, batch)
		if m, ok := errors.AsType[*MissedError](err); ok {
			missed = append(missed, m.Hashes...)
		} else if err != nil {
			return nil, err
		}
		found = append(found, part...)
	}
	if len(missed) > 0 {
		return found, c.wrap(pathTransactions, &MissedError{missed})
	}
	return found, nil
}

const (
	pathTransactions = "/get_transactions"
	pathPool         = "/get_transaction_pool"
	pathPoolHashes   = "/get_transaction_pool_hashes"
)

// transactions is Transactions for one call.
func (c *Client) transactions(ctx context.Context, hashes []string) ([]Tx, error) {
	var answer struct {
		Txs []struct {
			Hash            string `json:"tx_hash"`
			JSON            string `json:"as_json"`
			InPool          bool   `json:"in_pool"`
			DoubleSpendSeen bool   `json:"double_spend_seen"`
			BlockHeight     uint64 `json:"block_height"`
			ReceivedTime    uint64 `json:"received_timestamp"`
			Relayed         bool
		}
		Missed []string `json:"missed_tx"`
	}
	params := map[string]any{"txs_hashes": hashes, "decode_as_json": true, "prune": true}
	if err := c.get(ctx, pathTransactions, params, maxTransactions, &answer); err != nil {
		return nil, err
	}
	asked := make(map[string]bool, len(hashes))
	for _, hash := range hashes {
		asked[hash] = true
	}
	byHash := make(map[string]Tx, len(hashes))
	for _, t := range answer.Txs {
		if !asked[t.Hash] {
			return nil, c.wrap(pathTransactions, fmt.Errorf("%w: with a transaction that was not asked for", ErrAnswer))
		}
		tx := Tx{Hash: t.Hash, InPool: t.InPool}
		var err error
		if t.InPool {
			tx.DoubleSpendSeen, tx.Relayed = t.DoubleSpendSeen, t.Relayed
			tx.ReceivedAt, err = checkTime(t.ReceivedTime)
		} else {
			tx.Height, err = checkHeight(t.BlockHeight)
		}
		if err == nil {
			tx.JSON, err = transactionJSON(t.JSON)
		}
		if err != nil {
			return nil, c.wrap(pathTransactions, fmt.Errorf("transaction %s: %w", t.Hash, err))
		}
		byHash[t.Hash] = tx
	}
	return c.inOrder(hashes, byHash, answer.Missed)
}

// inOrder returns the found transactions in the order of the hashes. Each hash must be found or missed.
func (c *Client) inOrder(hashes []string, found map[string]Tx, missed []string) ([]Tx, error) {
	txs := make([]Tx, 0, len(hashes))
	var none []string
	for _, hash := range hashes {
		tx, known := found[hash]
		switch {
		case known:
			txs = append(txs, tx)
		case slices.Contains(missed, hash):
			none = append(none, hash)
		default:
			return nil, c.wrap(pathTransactions, fmt.Errorf("%w: nothing about transaction %s", ErrAnswer, hash))
		}
	}
	if len(none) > 0 {
		return txs, &MissedError{none}
	}
	return txs, nil
}

// transactionJSON returns the JSON form of a transaction, which monerod writes as a string.
func transactionJSON(text string) (json.RawMessage, error) {
	raw := bytes.TrimSpace([]byte(text))
	if err := checkObject(raw); err != nil {
		return nil, err
	}
	return raw, nil
}

// Pool returns all transactions in the pool, with their proofs and signatures. It returns ErrRestricted if the RPC is
// restricted, since monerod 0.18.5 (July 2026), and ErrTooLarge for a pool of thousands of transactions. PoolHashes and
// Transactions read the same from every daemon.
func (c *Client) Pool(ctx context.Context) ([]Tx, error) {
	var answer struct {
		Transactions []struct {
			Hash            string `json:"id_hash"`
			JSON            string `json:"tx_json"`
			ReceiveTime     uint64 `json:"receive_time"`
			DoubleSpendSeen bool   `json:"double_spend_seen"`
			Relayed         bool
		}
	}
	if err := c.get(ctx, pathPool, map[string]any{}, maxPool, &answer); err != nil {
		return nil, err
	}
	txs := make([]Tx, len(answer.Transactions))
	for i, t := range answer.Transactions {
		txs[i] = Tx{Hash: t.Hash, InPool: true, DoubleSpendSeen: t.DoubleSpendSeen, Relayed: t.Relayed}
		err := checkHash(t.Hash)
		if err == nil {
			txs[i].JSON, err = transactionJSON(t.JSON)
		}
		if err == nil {
			txs[i].ReceivedAt, err = checkTime(t.ReceiveTime)
		}
		if err != nil {
			return nil, c.wrap(pathPool, err)
		}
	}
	return txs, nil
}

// PoolHashes returns the hashes of the transactions in the pool. It is cheap, and a restricted RPC allows it.
func (c *Client) PoolHashes(ctx context.Context) ([]string, error) {
	var answer struct {
		Hashes []string `json:"tx_hashes"`
	}
	if err := c.get(ctx, pathPoolHashes, map[string]any{}, maxPoolHashes, &answer); err != nil {
		return nil, err
	}
	for _, hash := range answer.Hashes {
		if err := checkHash(hash); err != nil {
			return nil, c.wrap(pathPoolHashes, err)
		}
	}
	return answer.Hashes, nil
}
