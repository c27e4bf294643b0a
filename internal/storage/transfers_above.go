package storage

import (
	"context"
	"database/sql"
	"fmt"

	"chequer/internal/chain"
	"chequer/internal/money"
)

// TransfersAbove implements watcher.Storage.
func (s *Storage) TransfersAbove(ctx context.Context, network chain.ID, height int64) ([]chain.Transfer, error) {
	all, err := answer(ctx, s.read, func(ctx context.Context, q querier) ([]chain.Transfer, error) {
		const columns = "id, tx, asset, script, amount, currency, decimals, spends, coinbase, unsure, block_height, block_hash, block_time"
		return list(ctx, q, readChainTransfer, `
			SELECT `+columns+` FROM transfers
			WHERE network = $1 AND presence = 'present' AND block_height > $2 AND confirmations >= required
			UNION ALL
			SELECT `+columns+` FROM transfers
			WHERE network = $1 AND presence = 'present' AND block_height > $2 AND confirmations < required`, string(network), height)
	})
	if err != nil {
		return nil, fmt.Errorf("transfers on %s above block %d: %w", network, height, err)
	}
	return all, nil
}

// readChainTransfer reads a transfer in a block as its network shows it.
func readChainTransfer(row scanner) (t chain.Transfer, err error) {
	var amount, spends string
	var currency money.Currency
	var blockTime sql.Null[int64]
	block := &chain.Block{}
	if err := row.Scan(&t.ID, &t.Tx, &t.Asset, &t.Script, &amount, &currency.Code, &currency.Decimals, &spends, &t.Coinbase,
		&t.Unsure, &block.Height, &block.Hash, &blockTime); err != nil {
		return t, err
	}
	if t.Amount, err = parseAmount(amount, currency); err != nil {
		return t, fmt.Errorf("transfer %s: %w", t.ID, err)
	}
	if t.Spends, err = parseList[string](spends); err != nil {
		return t, fmt.Errorf("transfer %s: spends: %w", t.ID, err)
	}
	block.Time = fromMillis(blockTime)
	t.Block = block
	return t, nil
}
