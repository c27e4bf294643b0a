package storage

import (
	"context"
	"fmt"
	"slices"
	"time"

	"chequer/internal/chain"
	"chequer/internal/invoice"
	"chequer/internal/watcher"
)

// saveDestinations writes the scripts of an invoice's destinations, one row for all methods with
// the same script, and the time until which they are watched. The scripts in Elsewhere are watched
// until the same time after the first quote. A script of another invoice is an error.
func saveDestinations(ctx context.Context, q querier, inv *invoice.Invoice, position int64) error {
	rows := make([]destinationRow, 0, len(inv.Methods)+len(inv.OtherNetworks))
	add := func(network chain.ID, script string, index uint32) {
		if r := (destinationRow{string(network), script, int64(index)}); !slices.Contains(rows, r) {
			rows = append(rows, r)
		}
	}
	for _, m := range inv.Methods {
		add(m.Asset.Network, m.Destination.Script, m.Index)
	}
	for _, e := range inv.OtherNetworks {
		add(e.Network, e.Script, e.Index)
	}
	until := inv.ExpiresAt().Add(invoice.WatchPeriod).UnixMilli()
	if err := saveAccounts(ctx, q, inv, position); err != nil {
		return err
	}
	for ; len(rows) >= 4; rows = rows[4:] {
		ours, err := saveFour(ctx, q, inv, position, until, [4]destinationRow(rows))
		if err != nil {
			return fmt.Errorf("write destinations: %w", err)
		}
		if ours < 4 {
			break // write them one by one to find the script of another invoice
		}
	}
	for _, r := range rows {
		if err := r.save(ctx, q, inv, position, until); err != nil {
			return err
		}
	}
	return nil
}

// destinationRow has the columns in which an invoice's rows of destinations differ.
type destinationRow struct {
	network, script string
	index           int64
}

// save writes a row; it fails if the script belongs to another invoice.
func (r destinationRow) save(ctx context.Context, q querier, inv *invoice.Invoice, position, until int64) error {
	ours, err := exec(ctx, q, `
		INSERT INTO destinations (network, script, address_index, invoice_id, merchant_id, position, watch_until)
		VALUES ($1, $2, $3, $4, $5, $6, $7)
		ON CONFLICT (network, script) DO UPDATE SET position = excluded.position, watch_until = excluded.watch_until
		WHERE destinations.invoice_id = excluded.invoice_id`,
		r.network, r.script, r.index, inv.ID, inv.MerchantID, position, until)
	if err != nil {
		return fmt.Errorf("write destination on %s: %w", r.network, err)
	}
	if ours == 0 {
		return fmt.Errorf("write destination: script %s on %s belongs to another invoice", r.script, r.network)
	}
	return nil
}

// saveFour writes four rows with one statement, since most invoices have four, and returns the
// number of rows that belong to the invoice.
func saveFour(ctx context.Context, q querier, inv *invoice.Invoice, position, until int64, r [4]destinationRow) (ours int64, err error) {
	return exec(ctx, q, `
		INSERT INTO destinations (network, script, address_index, invoice_id, merchant_id, position, watch_until)
		VALUES ($5, $6, $7, $1, $2, $3, $4), ($8, $9, $10, $1, $2, $3, $4),
			($11, $12, $13, $1, $2, $3, $4), ($14, $15, $16, $1, $2, $3, $4)
		ON CONFLICT (network, script) DO UPDATE SET position = excluded.position, watch_until = excluded.watch_until
		WHERE destinations.invoice_id = excluded.invoice_id`,
		inv.ID, inv.MerchantID, position, until, r[0].network, r[0].script, r[0].index, r[1].network, r[1].script, r[1].index,
		r[2].network, r[2].script, r[2].index, r[3].network, r[3].script, r[3].index)
}

// Destinations implements watcher.Storage. The marks are read first: every destination with a
// position up to its mark is committed by then, since positions are assigned in the order of
// commits. A destination that is committed between the two reads is returned now and once more.
func (s *Storage) Destinations(ctx context.Context, network chain.ID, since watcher.Marks, scanned time.Time, add func(watcher.Destination)) (watcher.Marks, error) {
	marks, err := answer(ctx, s.read, func(ctx context.Context, q querier) (watcher.Marks, error) {
		marks, err := readMarks(ctx, q)
		if err != nil {
			return nil, err
		}
		for merchantID, position := range marks {
			if position <= since[merchantID] {
				continue
			}
			if err := readDestinations(ctx, q, network, merchantID, since[merchantID], scanned, add); err != nil {
				return nil, err
			}
		}
		return marks, nil
	})
	if err != nil {
		return nil, fmt.Errorf("destinations on %s: %w", network, err)
	}
	return marks, nil
}

func readMarks(ctx context.Context, q querier) (watcher.Marks, error) {
	marks := watcher.Marks{}
	err := each(ctx, q, func(row scanner) error {
		var merchantID string
		var position int64
		err := row.Scan(&merchantID, &position)
		marks[merchantID] = position
		return err
	}, "SELECT merchant_id, position FROM feeds")
	return marks, err
}

func readDestinations(ctx context.Context, q querier, network chain.ID, merchantID string, above int64, scanned time.Time, add func(watcher.Destination)) error {
	return each(ctx, q, func(row scanner) error {
		d := watcher.Destination{Owner: invoice.Owner{MerchantID: merchantID}}
		var until int64
		var account accountRow
		if err := row.Scan(&d.Script, &d.InvoiceID, &until, &account.born, &account.height, &account.hash); err != nil {
			return err
		}
		d.Until, d.Account = utc(until), account.account()
		add(d)
		return nil
	}, `
		SELECT d.script, d.invoice_id, d.watch_until, a.born, a.birth_height, a.birth_hash
		FROM destinations d LEFT JOIN accounts a ON a.network = d.network AND a.script = d.script
		WHERE d.network = $1 AND d.merchant_id = $2 AND d.position > $3 AND d.watch_until >= $4
		ORDER BY d.position`, string(network), merchantID, above, scanned.UnixMilli())
}

// gapWindow is the number of the newest destinations that UnusedInARow examines.
const gapWindow = 1000

// UnusedInARow returns the number of a merchant's newest destinations on a network without any
// transfer, at most gapWindow. Wallets stop looking for payments after 20 unused addresses. See
// BIP 44, "Address gap limit".
func (s *Storage) UnusedInARow(ctx context.Context, merchantID string, network chain.ID) (int64, error) {
	type row struct {
		index int64
		used  bool
	}
	newest, err := readAll(ctx, s, "count unused destinations", func(r scanner) (d row, err error) {
		err = r.Scan(&d.index, &d.used)
		return d, err
	}, newestDestinations, string(network), merchantID, gapWindow)
	if err != nil || len(newest) == 0 {
		return 0, err
	}
	// The order of the indexes differs from that of the positions after a requote.
	last, first, used := int64(-1), newest[0].index, int64(-1)
	for _, d := range newest {
		last, first = max(last, d.index), min(first, d.index)
		if d.used {
			used = max(used, d.index)
		}
	}
	return last - max(used, first-1), nil
}

const newestDestinations = `
	SELECT d.address_index, EXISTS (
		SELECT 1 FROM transfers t WHERE t.invoice_id = d.invoice_id AND t.network = d.network AND t.script = d.script
	)
	FROM destinations d WHERE d.network = $1 AND d.merchant_id = $2 ORDER BY d.position DESC LIMIT $3`
