package storage

import (
	"context"
	"database/sql"
	"fmt"

	"chequer/internal/chain"
	"chequer/internal/money"
)

// blocksAbove selects the transfers on network $1 in blocks above height $2. It leaves out
// aggregates, which networks do not know.
const blocksAbove = `
	FROM transfers
	WHERE network = $1 AND presence = 'present' AND block_height > $2 AND folded = 0`

// TransfersAbove implements watcher.Storage.
func (s *Storage) TransfersAbove(ctx context.Context, network chain.ID, height int64) ([]chain.Transfer, error) {
	transfers, err := answer(ctx, s.snapshot, func(ctx context.Context, q querier) ([]chain.Transfer, error) {
		const selectColumns = "SELECT id, tx, asset, script, amount, currency, decimals, coinbase, unsure, block_height, block_hash, block_time"
		transfers, err := list(ctx, q, readChainTransfer, selectColumns+blocksAbove+" AND confirmations >= required UNION ALL "+
			selectColumns+blocksAbove+" AND confirmations < required", string(network), height)
		if err != nil {
			return nil, err
		}
		spends, err := readSpends(ctx, q, `SELECT network, tx, outpoints FROM spends
			WHERE network = $1 AND tx IN (SELECT tx `+blocksAbove+` AND confirmations >= required UNION SELECT tx `+blocksAbove+` AND confirmations < required)`,
			string(network), height)
		for i, t := range transfers {
			transfers[i].Spends = spends[spender{string(network), t.Tx}]
		}
		return transfers, err
	})
	if err != nil {
		return nil, fmt.Errorf("transfers on %s above block %d: %w", network, height, err)
	}
	return transfers, nil
}

// readChainTransfer reads a transfer in a block, in the form in which its network shows it but
// without its spends.
func readChainTransfer(row scanner) (t chain.Transfer, err error) {
	var amount string
	var currency money.Currency
	var blockTime sql.Null[int64]
	block := &chain.Block{}
	if err := row.Scan(&t.ID, &t.Tx, &t.Asset, &t.Script, &amount, &currency.Code, &currency.Decimals, &t.Coinbase,
		&t.Unsure, &block.Height, &block.Hash, &blockTime); err != nil {
		return t, err
	}
	if t.Amount, err = parseAmount(amount, currency); err != nil {
		return t, fmt.Errorf("transfer %s: %w", t.ID, err)
	}
	block.Time = fromMillis(blockTime)
	t.Block = block
	return t, nil
}
