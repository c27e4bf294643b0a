package storage

import (
	"context"
	"database/sql"
	"fmt"

	"chequer/internal/chain"
	"chequer/internal/invoice"
	"chequer/internal/money"
)

// transferRow is a transfer as columns keep it. Two rows that are equal need not
// be written.
type transferRow struct {
	network, id, invoiceID  string
	number                  int64 // within the invoice
	tx, asset, script       string
	amount, currency        string
	decimals                int64
	spends                  string
	coinbase                bool
	presence                string
	firstSeen               int64
	sighted                 bool
	blockHeight             sql.Null[int64]
	blockHash               string
	blockTime, confirmedAt  sql.Null[int64]
	confirmations, required int64
	old, unsure             bool
	market                  string
}

// transfersToRows are the rows of an invoice's transfers, in its order.
func transfersToRows(inv *invoice.Invoice) []transferRow {
	rows := make([]transferRow, len(inv.Transfers))
	for i, t := range inv.Transfers {
		rows[i] = transferRow{
			network: string(t.Network), id: t.ID, invoiceID: inv.ID, number: int64(i),
			tx: t.Tx, asset: t.Asset, script: t.Script, amount: t.Amount.String(),
			currency: t.Amount.Currency().Code, decimals: int64(t.Amount.Currency().Decimals),
			spends: listText(t.Spends), coinbase: t.Coinbase, presence: string(t.Presence),
			firstSeen: t.FirstSeen.UnixMilli(), sighted: t.Sighted, confirmedAt: millis(t.ConfirmedAt),
			confirmations: int64(t.Confirmations), required: int64(t.Required), old: t.Old,
			unsure: t.Unsure,
		}
		if b := t.Block; b != nil {
			rows[i].blockHeight = sql.Null[int64]{V: b.Height, Valid: true}
			rows[i].blockHash, rows[i].blockTime = b.Hash, millis(b.Time)
		}
		if t.Market != nil {
			rows[i].market = t.Market.String()
		}
	}
	return rows
}

// transfer reads a row; fiat is the invoice's currency.
func (r transferRow) transfer(fiat money.Currency) (invoice.Transfer, error) {
	amount, err := parseAmount(r.amount, money.Currency{Code: r.currency, Decimals: int32(r.decimals)})
	if err != nil {
		return invoice.Transfer{}, err
	}
	spends, err := parseList[string](r.spends)
	if err != nil {
		return invoice.Transfer{}, fmt.Errorf("spends: %w", err)
	}
	t := invoice.Transfer{
		ID: r.id, Network: chain.ID(r.network), Tx: r.tx, Asset: r.asset, Script: r.script,
		Amount: amount, Spends: spends, Coinbase: r.coinbase, Presence: invoice.Presence(r.presence),
		FirstSeen: utc(r.firstSeen), Sighted: r.sighted, ConfirmedAt: fromMillis(r.confirmedAt),
		Confirmations: int(r.confirmations), Required: int(r.required), Old: r.old, Unsure: r.unsure,
	}
	if r.blockHeight.Valid {
		t.Block = &chain.Block{Height: r.blockHeight.V, Hash: r.blockHash, Time: fromMillis(r.blockTime)}
	}
	if r.market != "" {
		market, err := parseAmount(r.market, fiat)
		if err != nil {
			return invoice.Transfer{}, fmt.Errorf("market value: %w", err)
		}
		t.Market = &market
	}
	return t, nil
}

// transferColumns are those that readTransferColumns reads.
const transferColumns = `network, id, invoice_id, number, tx, asset, script, amount, currency,
	decimals, spends, coinbase, presence, first_seen, sighted, block_height, block_hash,
	block_time, confirmed_at, confirmations, required, old, unsure, market`

// readTransferRows reads an invoice's transfers, in its order.
func readTransferRows(ctx context.Context, q querier, invoiceID string) ([]transferRow, error) {
	return list(ctx, q, readTransferColumns, "SELECT "+transferColumns+" FROM transfers WHERE invoice_id = $1 ORDER BY number", invoiceID)
}

func readTransferColumns(row scanner) (r transferRow, err error) {
	err = row.Scan(&r.network, &r.id, &r.invoiceID, &r.number, &r.tx, &r.asset, &r.script, &r.amount, &r.currency,
		&r.decimals, &r.spends, &r.coinbase, &r.presence, &r.firstSeen, &r.sighted, &r.blockHeight, &r.blockHash,
		&r.blockTime, &r.confirmedAt, &r.confirmations, &r.required, &r.old, &r.unsure, &r.market)
	return r, err
}

// insert writes a transfer seen for the first time.
func (r transferRow) insert(ctx context.Context, q querier) error {
	_, err := q.ExecContext(ctx, `
		INSERT INTO transfers (
			network, id, invoice_id, number, tx, asset, script, amount, currency,
			decimals, spends, coinbase, presence, first_seen, sighted, block_height, block_hash,
			block_time, confirmed_at, confirmations, required, old, unsure, market
		) VALUES (
			$1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24
		)`,
		r.network, r.id, r.invoiceID, r.number, r.tx, r.asset, r.script, r.amount, r.currency,
		r.decimals, r.spends, r.coinbase, r.presence, r.firstSeen, r.sighted, r.blockHeight, r.blockHash,
		r.blockTime, r.confirmedAt, r.confirmations, r.required, r.old, r.unsure, r.market)
	return err
}

// update writes what may change of a transfer.
func (r transferRow) update(ctx context.Context, q querier) error {
	_, err := q.ExecContext(ctx, `
		UPDATE transfers SET
			presence = $3, first_seen = $4, sighted = $5, block_height = $6, block_hash = $7, block_time = $8,
			confirmed_at = $9, confirmations = $10, required = $11, old = $12, market = $13, tx = $14, amount = $15, unsure = $16
		WHERE network = $1 AND id = $2`,
		r.network, r.id, r.presence, r.firstSeen, r.sighted, r.blockHeight, r.blockHash, r.blockTime,
		r.confirmedAt, r.confirmations, r.required, r.old, r.market, r.tx, r.amount, r.unsure)
	return err
}

// saveTransfers writes the transfers that changed or are new. None is ever
// forgotten, so that they differ at the same place or stand at the end.
func saveTransfers(ctx context.Context, q querier, before, after []transferRow) error {
	for i, row := range after {
		var err error
		switch {
		case i >= len(before):
			err = row.insert(ctx, q)
		case row != before[i]:
			err = row.update(ctx, q)
		}
		if err != nil {
			return fmt.Errorf("write transfer %s: %w", row.id, err)
		}
	}
	return nil
}

// RecordedTransfers implements invoice.Storage and watcher.Storage.
func (s *Storage) RecordedTransfers(ctx context.Context, network chain.ID, above int64) ([]invoice.Recorded, error) {
	all, err := answer(ctx, s.read, func(ctx context.Context, q querier) ([]invoice.Recorded, error) {
		return list(ctx, q, readRecorded, `
			SELECT invoice_id, id, tx, script, asset, spends, first_seen, block_hash, block_height, confirmations, required
			FROM transfers
			WHERE network = $1 AND presence = 'present' AND (block_height IS NULL OR confirmations < required)
			UNION ALL
			SELECT invoice_id, id, tx, script, asset, spends, first_seen, block_hash, block_height, confirmations, required
			FROM transfers
			WHERE network = $1 AND presence = 'present' AND block_height > $2 AND confirmations >= required`, string(network), above)
	})
	if err != nil {
		return nil, fmt.Errorf("recorded transfers on %s: %w", network, err)
	}
	return all, nil
}

func readRecorded(row scanner) (r invoice.Recorded, err error) {
	var spends string
	var firstSeen int64
	var height sql.Null[int64]
	err = row.Scan(&r.InvoiceID, &r.ID, &r.Tx, &r.Script, &r.Asset, &spends, &firstSeen, &r.BlockHash, &height, &r.Confirmations, &r.Required)
	if err != nil {
		return r, err
	}
	r.FirstSeen, r.BlockHeight = utc(firstSeen), height.V
	r.Spends, err = parseList[string](spends)
	return r, err
}
