package storage

import (
	"context"
	"fmt"
	"slices"

	"chequer/internal/invoice"
)

// spender identifies a transaction on a network.
type spender struct{ network, tx string }

// spendsOfInvoice and spendsOfUnfinished select the spends of the transactions of an invoice's
// transfers, and of the transfers that a scan may change.
const (
	spendsOfInvoice = `SELECT s.network, s.tx, s.outpoints
		FROM (SELECT DISTINCT network, tx FROM transfers WHERE invoice_id = $1 AND tx <> '') t
		JOIN spends s ON s.network = t.network AND s.tx = t.tx`
	spendsOfUnfinished = `SELECT network, tx, outpoints FROM spends
		WHERE network = $1 AND tx IN (SELECT tx ` + unfinished + ` UNION SELECT tx ` + finishedAbove + `)`
)

// readSpends returns the outpoints that transactions spend.
func readSpends(ctx context.Context, q querier, query string, args ...any) (map[spender][]string, error) {
	spends := map[spender][]string{}
	err := visitRows(ctx, q, func(row scanner) error {
		var by spender
		var text string
		if err := row.Scan(&by.network, &by.tx, &text); err != nil {
			return err
		}
		outpoints, err := parseList[string](text)
		spends[by] = outpoints
		return err
	}, query, args...)
	if err != nil {
		return nil, fmt.Errorf("read spends: %w", err)
	}
	return spends, nil
}

// saveSpends writes the outpoints that the transactions of an invoice's new transfers spend. They
// never change for a transaction.
func saveSpends(ctx context.Context, q querier, known map[spender][]string, inv *invoice.Invoice) error {
	written := map[spender]bool{}
	for _, t := range inv.Transfers {
		by := spender{string(t.Network), t.Tx}
		if len(t.Spends) == 0 || written[by] || slices.Equal(known[by], t.Spends) {
			continue
		}
		written[by] = true
		_, err := q.ExecContext(ctx, "INSERT INTO spends (network, tx, outpoints) VALUES ($1, $2, $3) ON CONFLICT (network, tx) DO NOTHING",
			by.network, by.tx, listText(t.Spends))
		if err != nil {
			return fmt.Errorf("write spends of %s: %w", by.tx, err)
		}
	}
	return nil
}
