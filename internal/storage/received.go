package storage

import (
	"context"
	"fmt"

	"chequer/internal/money"
	"chequer/internal/received"
)

// EachReceived implements received.Storage. It reads all transfers of the merchant.
func (s *Storage) EachReceived(ctx context.Context, merchantID string, add func(received.Transfer)) error {
	_, err := answer(ctx, s.read, func(ctx context.Context, q querier) (struct{}, error) {
		return struct{}{}, visitRows(ctx, q, func(row scanner) error {
			t, err := readReceived(row)
			if err == nil {
				add(t)
			}
			return err
		}, receivedTransfers, merchantID)
	})
	if err != nil {
		return fmt.Errorf("read received transfers of %s: %w", merchantID, err)
	}
	return nil
}

// receivedTransfers is the statement of EachReceived.
const receivedTransfers = `
	SELECT t.network, t.script, d.address_index, t.asset, t.amount, t.currency, t.decimals
	FROM destinations d
	JOIN transfers t ON t.invoice_id = d.invoice_id AND t.network = d.network AND t.script = d.script
	JOIN invoices i ON i.id = d.invoice_id
	WHERE d.merchant_id = $1 AND i.mode = 'live' AND t.presence = 'present' AND t.block_height IS NOT NULL AND t.required > 0
		AND t.confirmations >= t.required`

func readReceived(row scanner) (t received.Transfer, err error) {
	var amount string
	var currency money.Currency
	if err := row.Scan(&t.Network, &t.Script, &t.Index, &t.Asset, &amount, &currency.Code, &currency.Decimals); err != nil {
		return t, err
	}
	if t.Amount, err = parseAmount(amount, currency); err != nil {
		return t, fmt.Errorf("transfer of %s to %s: %w", t.Asset, t.Script, err)
	}
	return t, nil
}
