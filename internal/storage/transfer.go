package storage

import (
	"context"
	"database/sql"
	"fmt"

	"chequer/internal/chain"
	"chequer/internal/invoice"
	"chequer/internal/money"
)

// transferRow is a transfer as stored in columns. If two rows are equal, nothing needs to be written.
type transferRow struct {
	network, id, invoiceID  string
	tx, asset, script       string
	amount, currency        string
	decimals                int64
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
	folded                  int64
	toldReceived            bool
	toldConfirmed           bool
	firm, instant           bool
	contested               bool
	rate                    marketRateRow
}

// transfersToRows returns the rows of an invoice's transfers, in order.
func transfersToRows(inv *invoice.Invoice) []transferRow {
	rows := make([]transferRow, len(inv.Transfers))
	for i, t := range inv.Transfers {
		rows[i] = transferRow{
			network: string(t.Network), id: t.ID, invoiceID: inv.ID,
			tx: t.Tx, asset: t.Asset, script: t.Script, amount: t.Amount.String(),
			currency: t.Amount.Currency().Code, decimals: int64(t.Amount.Currency().Decimals),
			coinbase: t.Coinbase, presence: string(t.Presence),
			firstSeen: t.FirstSeen.UnixMilli(), sighted: t.Sighted, confirmedAt: millis(t.ConfirmedAt),
			confirmations: int64(t.Confirmations), required: int64(t.Required), old: t.Old,
			unsure: t.Unsure, folded: int64(t.Folded), toldReceived: t.ToldReceived, toldConfirmed: t.ToldConfirmed, firm: t.Firm, instant: t.Instant, contested: t.Contested,
		}
		if b := t.Block; b != nil {
			rows[i].blockHeight = sql.Null[int64]{V: b.Height, Valid: true}
			rows[i].blockHash, rows[i].blockTime = b.Hash, millis(b.Time)
		}
		if t.Market != nil {
			rows[i].market = t.Market.String()
		}
		rows[i].rate = newMarketRateRow(t.Rate)
	}
	return rows
}

// transfer returns the transfer of a row without its spends, which are stored separately; fiat is
// the invoice's currency.
func (r transferRow) transfer(fiat money.Currency) (invoice.Transfer, error) {
	amount, err := parseAmount(r.amount, money.Currency{Code: r.currency, Decimals: int32(r.decimals)})
	if err != nil {
		return invoice.Transfer{}, err
	}
	t := invoice.Transfer{
		ID: r.id, Network: chain.ID(r.network), Tx: r.tx, Asset: r.asset, Script: r.script,
		Amount: amount, Coinbase: r.coinbase, Presence: invoice.Presence(r.presence),
		FirstSeen: utc(r.firstSeen), Sighted: r.sighted, ConfirmedAt: fromMillis(r.confirmedAt),
		Confirmations: int(r.confirmations), Required: int(r.required), Old: r.old, Unsure: r.unsure,
		Folded: int(r.folded), ToldReceived: r.toldReceived, ToldConfirmed: r.toldConfirmed, Firm: r.firm, Instant: r.instant, Contested: r.contested,
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
	if t.Rate, err = r.rate.marketRate(amount.Currency()); err != nil {
		return invoice.Transfer{}, err
	}
	return t, nil
}

// transferColumns are the columns that readTransferColumns reads.
const transferColumns = `network, id, invoice_id, tx, asset, script, amount, currency,
	decimals, coinbase, presence, first_seen, sighted, block_height, block_hash,
	block_time, confirmed_at, confirmations, required, old, unsure, market, folded, told_received, told_confirmed, firm, instant, contested,
	rate, rate_source, rate_at`

// readTransferRows reads the transfers of an invoice, in order.
func readTransferRows(ctx context.Context, q querier, invoiceID string) ([]transferRow, error) {
	return list(ctx, q, readTransferColumns, "SELECT "+transferColumns+" FROM transfers WHERE invoice_id = $1 ORDER BY number", invoiceID)
}

func readTransferColumns(row scanner) (r transferRow, err error) {
	err = row.Scan(&r.network, &r.id, &r.invoiceID, &r.tx, &r.asset, &r.script, &r.amount, &r.currency,
		&r.decimals, &r.coinbase, &r.presence, &r.firstSeen, &r.sighted, &r.blockHeight, &r.blockHash,
		&r.blockTime, &r.confirmedAt, &r.confirmations, &r.required, &r.old, &r.unsure, &r.market, &r.folded, &r.toldReceived, &r.toldConfirmed, &r.firm, &r.instant, &r.contested,
		&r.rate.price, &r.rate.source, &r.rate.at)
	return r, err
}

// insert writes a new transfer, with its number within the invoice.
func (r transferRow) insert(ctx context.Context, q querier, number int64) error {
	_, err := q.ExecContext(ctx, `
		INSERT INTO transfers (
			network, id, invoice_id, number, tx, asset, script, amount, currency,
			decimals, spends, coinbase, presence, first_seen, sighted, block_height, block_hash,
			block_time, confirmed_at, confirmations, required, old, unsure, market, folded, told_received, told_confirmed, firm, instant, contested,
			rate, rate_source, rate_at
		) VALUES (
			$1, $2, $3, $4, $5, $6, $7, $8, $9, $10, '', $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26, $27, $28, $29, $30, $31, $32
		)`,
		r.network, r.id, r.invoiceID, number, r.tx, r.asset, r.script, r.amount, r.currency,
		r.decimals, r.coinbase, r.presence, r.firstSeen, r.sighted, r.blockHeight, r.blockHash,
		r.blockTime, r.confirmedAt, r.confirmations, r.required, r.old, r.unsure, r.market, r.folded, r.toldReceived, r.toldConfirmed, r.firm, r.instant, r.contested,
		r.rate.price, r.rate.source, r.rate.at)
	return err
}

// update writes the columns of a transfer that may change.
func (r transferRow) update(ctx context.Context, q querier) error {
	_, err := q.ExecContext(ctx, `
		UPDATE transfers SET
			presence = $3, first_seen = $4, sighted = $5, block_height = $6, block_hash = $7, block_time = $8,
			confirmed_at = $9, confirmations = $10, required = $11, old = $12, market = $13, tx = $14, amount = $15, unsure = $16,
			folded = $17, told_received = $18, told_confirmed = $19, firm = $20, instant = $21, contested = $22, rate = $23, rate_source = $24, rate_at = $25
		WHERE network = $1 AND id = $2`,
		r.network, r.id, r.presence, r.firstSeen, r.sighted, r.blockHeight, r.blockHash, r.blockTime,
		r.confirmedAt, r.confirmations, r.required, r.old, r.market, r.tx, r.amount, r.unsure, r.folded, r.toldReceived, r.toldConfirmed, r.firm, r.instant, r.contested,
		r.rate.price, r.rate.source, r.rate.at)
	return err
}

// delete deletes a row whose folded transfers were added to another row.
func (r transferRow) delete(ctx context.Context, q querier) error {
	_, err := q.ExecContext(ctx, "DELETE FROM transfers WHERE network = $1 AND id = $2", r.network, r.id)
	return err
}

// saveTransfers writes the transfers that are new or changed, and deletes those that were added to
// another one. Existing transfers keep their order, and new ones follow.
func saveTransfers(ctx context.Context, q querier, before, after []transferRow) error {
	known := make(map[[2]string]transferRow, len(before))
	for _, row := range before {
		known[[2]string{row.network, row.id}] = row
	}
	var added []transferRow
	for _, row := range after {
		key := [2]string{row.network, row.id}
		stored, isKnown := known[key]
		delete(known, key)
		if !isKnown {
			added = append(added, row)
			continue
		}
		if row != stored {
			if err := row.update(ctx, q); err != nil {
				return fmt.Errorf("write transfer %s: %w", row.id, err)
			}
		}
	}
	for _, row := range known {
		if err := row.delete(ctx, q); err != nil {
			return fmt.Errorf("delete transfer %s: %w", row.id, err)
		}
	}
	return insertTransfers(ctx, q, added, len(before) > 0)
}

// insertTransfers writes rows of one invoice after its existing rows; hasEarlier is true if there are such
// rows.
func insertTransfers(ctx context.Context, q querier, rows []transferRow, hasEarlier bool) error {
	if len(rows) == 0 {
		return nil
	}
	var next int64
	if hasEarlier {
		err := q.QueryRowContext(ctx, "SELECT COALESCE(MAX(number) + 1, 0) FROM transfers WHERE invoice_id = $1", rows[0].invoiceID).Scan(&next)
		if err != nil {
			return fmt.Errorf("number transfers: %w", err)
		}
	}
	for i, row := range rows {
		if err := row.insert(ctx, q, next+int64(i)); err != nil {
			return fmt.Errorf("write transfer %s: %w", row.id, err)
		}
	}
	return nil
}

// unfinished and finishedAbove select the transfers on network $1 that a scan above height $2 may
// change.
const unfinished = `
	FROM transfers
	WHERE network = $1 AND presence = 'present' AND (block_height IS NULL OR confirmations < required)`

const finishedAbove = `
	FROM transfers
	WHERE network = $1 AND presence = 'present' AND block_height > $2 AND confirmations >= required`

// selectRecorded selects the columns that readRecorded reads.
const selectRecorded = "SELECT invoice_id, id, tx, script, asset, amount, currency, decimals, first_seen, block_hash, block_height, confirmations, required, folded, firm, contested"

// RecordedTransfers implements invoice.Storage and watcher.Storage.
func (s *Storage) RecordedTransfers(ctx context.Context, network chain.ID, aboveHeight int64) ([]invoice.Recorded, error) {
	transfers, err := answer(ctx, s.snapshot, func(ctx context.Context, q querier) ([]invoice.Recorded, error) {
		transfers, err := list(ctx, q, readRecorded, selectRecorded+unfinished+" UNION ALL "+selectRecorded+finishedAbove, string(network), aboveHeight)
		if err != nil {
			return nil, err
		}
		spends, err := readSpends(ctx, q, spendsOfUnfinished, string(network), aboveHeight)
		for i, r := range transfers {
			transfers[i].Spends = spends[spender{string(network), r.Tx}]
		}
		return transfers, err
	})
	if err != nil {
		return nil, fmt.Errorf("recorded transfers on %s: %w", network, err)
	}
	return transfers, nil
}

func readRecorded(row scanner) (r invoice.Recorded, err error) {
	var amount string
	var coin money.Currency
	var firstSeen int64
	var height sql.Null[int64]
	err = row.Scan(&r.InvoiceID, &r.ID, &r.Tx, &r.Script, &r.Asset, &amount, &coin.Code, &coin.Decimals, &firstSeen, &r.BlockHash, &height, &r.Confirmations, &r.Required, &r.Folded, &r.Firm, &r.Contested)
	if err != nil {
		return r, err
	}
	r.FirstSeen, r.BlockHeight = utc(firstSeen), height.V
	r.Amount, err = parseAmount(amount, coin)
	return r, err
}

// UnsureWaiting implements doctor.Storage. It reads the transfers that are not sure, by an index.
func (s *Storage) UnsureWaiting(ctx context.Context, merchantID string, network chain.ID) (int, error) {
	count, err := readOne(ctx, s, column[int], unsureWaiting, merchantID, string(invoice.Live), decisionFlag, string(network))
	if err != nil {
		return 0, fmt.Errorf("count transfers that are not sure: %w", err)
	}
	return count, nil
}

const unsureWaiting = `
	SELECT COUNT(*) FROM invoice_flags f JOIN transfers t ON t.invoice_id = f.invoice_id
	WHERE f.merchant_id = $1 AND f.mode = $2 AND f.flag = $3 AND t.network = $4 AND t.unsure AND t.presence = 'present'`
