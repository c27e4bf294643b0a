package storage

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"chequer/internal/chain"
	"chequer/internal/invoice"
	"chequer/internal/merchant"
	"chequer/internal/watcher"
)

// destinationRow holds the columns in which the rows of an invoice's destinations differ.
type destinationRow struct {
	network, script string
	index           int64
	watchUntil      int64
	account         accountRow
	request         sql.Null[string] // see requestColumn
}

// destinationsOf returns a row for each script of an invoice on each network, for all methods with
// that script, and for each payment request. The scripts on other networks are watched like those of the methods.
func destinationsOf(inv *invoice.Invoice, position int64) []destinationRow {
	rows := make([]destinationRow, 0, len(inv.Methods)+len(inv.OtherNetworks))
	watchUntil := inv.ExpiresAt().Add(invoice.WatchPeriod).UnixMilli()
	add := func(network chain.ID, script string, index uint32) *destinationRow {
		r := destinationRow{network: string(network), script: script, index: int64(index), watchUntil: watchUntil}
		i := slices.IndexFunc(rows, func(known destinationRow) bool { return known.network == r.network && known.script == r.script })
		if i < 0 {
			i = len(rows)
			rows = append(rows, r)
		}
		return &rows[i]
	}
	for _, m := range inv.Methods {
		if m.Asset.Requested() {
			rows = append(rows, requestRows(inv, m)...)
			continue
		}
		r := add(m.Asset.Network, m.Destination.Script, m.Index)
		if m.Watched && m.Asset.Policy.Balance {
			r.account = newAccount(position, m.Birth)
		}
	}
	for _, n := range inv.OtherNetworks {
		add(n.Network, n.Script, n.Index)
	}
	return rows
}

// saveDestinations writes an invoice's destinations and the time until which they are watched. An
// account that exists already stays unchanged. A script of another invoice is an error.
func saveDestinations(ctx context.Context, q querier, inv *invoice.Invoice, position int64) error {
	for rows := range slices.Chunk(destinationsOf(inv, position), rowsPerInsert) {
		written, err := insertDestinations(ctx, q, inv, position, rows)
		if err != nil {
			return fmt.Errorf("write destinations: %w", err)
		}
		if written < int64(len(rows)) {
			return foreignScript(ctx, q, inv.ID, rows)
		}
	}
	return nil
}

// rowsPerInsert is the largest number of destinations in one statement. Most invoices have fewer.
const rowsPerInsert = 8

// insertDestinations writes rows with one statement, and returns the number of rows that belong to
// the invoice.
func insertDestinations(ctx context.Context, q querier, inv *invoice.Invoice, position int64, rows []destinationRow) (written int64, err error) {
	args := make([]any, 0, 3+8*len(rows))
	args = append(args, inv.ID, inv.MerchantID, position)
	for _, r := range rows {
		args = append(args, r.watchUntil, r.network, r.script, r.index, r.account.birthHeight, r.account.height, r.account.hash, r.request)
	}
	return exec(ctx, q, destinationInserts[len(rows)-1], args...)
}

// destinationInserts are the statements that write one row, two rows and so on.
var destinationInserts = func() (statements [rowsPerInsert]string) {
	values := ""
	for i := range statements {
		if i > 0 {
			values += ", "
		}
		p := 4 + 8*i
		values += fmt.Sprintf("($1, $2, $3, $%d, $%d, $%d, $%d, $%d, $%d, $%d, $%d)", p, p+1, p+2, p+3, p+4, p+5, p+6, p+7)
		statements[i] = `
			INSERT INTO destinations (invoice_id, merchant_id, position, watch_until, network, script, address_index, born, birth_height, birth_hash, request)
			VALUES ` + values + `
			ON CONFLICT (script, network) DO UPDATE SET position = excluded.position, watch_until = excluded.watch_until
			WHERE destinations.invoice_id = excluded.invoice_id`
	}
	return statements
}()

// foreignScript returns an error that names the script of a row that belongs to another invoice.
func foreignScript(ctx context.Context, q querier, invoiceID string, rows []destinationRow) error {
	for _, r := range rows {
		var owner string
		err := q.QueryRowContext(ctx, "SELECT invoice_id FROM destinations WHERE script = $1 AND network = $2", r.script, r.network).Scan(&owner)
		if err != nil {
			return fmt.Errorf("write destination on %s: %w", r.network, err)
		}
		if owner != invoiceID {
			return fmt.Errorf("write destination: script %s on %s belongs to another invoice", r.script, r.network)
		}
	}
	return errors.New("write destinations: a row was not written")
}

// Destinations implements watcher.Storage. The marks are read first: every destination with a
// position up to its mark is committed by then, since positions are assigned in the order of
// commits. A destination that is committed between the two reads is returned by this call and the next.
func (s *Storage) Destinations(ctx context.Context, network chain.ID, since watcher.Marks, scanned time.Time, visit func(watcher.Destination)) (watcher.Marks, error) {
	marks, err := answer(ctx, s.read, func(ctx context.Context, q querier) (watcher.Marks, error) {
		marks, err := readMarks(ctx, q)
		if err != nil {
			return nil, err
		}
		for merchantID, position := range marks {
			if position <= since[merchantID] {
				continue
			}
			if err := readDestinations(ctx, q, network, merchantID, since[merchantID], scanned, visit); err != nil {
				return nil, err
			}
			above := since[merchantID]
			if _, isLoaded := since[merchantID]; !isLoaded {
				above = -1
			}
			if err := readWatchedRefunds(ctx, q, network, merchantID, above, scanned, visit); err != nil {
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
	err := visitRows(ctx, q, func(row scanner) error {
		var merchantID string
		var position int64
		err := row.Scan(&merchantID, &position)
		marks[merchantID] = position
		return err
	}, "SELECT merchant_id, position FROM feeds")
	return marks, err
}

func readDestinations(ctx context.Context, q querier, network chain.ID, merchantID string, aboveMark int64, scanned time.Time, visit func(watcher.Destination)) error {
	return visitRows(ctx, q, func(row scanner) error {
		d := watcher.Destination{Owner: invoice.Owner{MerchantID: merchantID}}
		var until int64
		var account accountRow
		var request sql.Null[string]
		if err := row.Scan(&d.Script, &d.InvoiceID, &until, &account.birthHeight, &account.height, &account.hash, &request); err != nil {
			return err
		}
		var err error
		if d.Request, err = pendingRequest(d.Script, request); err != nil {
			return err
		}
		if d.Account, err = account.account(); err != nil {
			return err
		}
		d.Until = utc(until)
		visit(d)
		return nil
	}, `
		SELECT script, invoice_id, watch_until, born, birth_height, birth_hash, CASE WHEN request IS NOT NULL AND NOT EXISTS (
			SELECT 1 FROM transfers t WHERE t.invoice_id = destinations.invoice_id AND t.network = destinations.network AND t.script = destinations.script
		) THEN request END
		FROM destinations
		WHERE network = $1 AND merchant_id = $2 AND position > $3 AND watch_until >= $4
		ORDER BY position`, string(network), merchantID, aboveMark, scanned.UnixMilli())
}

// gapWindow is the number of the newest destinations that UnusedInARow examines.
const gapWindow = 1000

// UnusedInARow returns the number of a wallet's newest addresses on a network without any transfer, at most
// gapWindow. Wallets stop looking for payments after 20 unused addresses. See BIP 44, "Address gap limit".
// UnusedInARow counts addresses of invoices that were created since the wallet was added, because older addresses
// may be those of the wallet that it replaced.
func (s *Storage) UnusedInARow(ctx context.Context, w merchant.Wallet, network chain.ID) (int64, error) {
	type row struct {
		index int64
		used  bool
	}
	next, err := s.NextIndex(ctx, w.Counter)
	if err != nil {
		return 0, err
	}
	newest, err := readAll(ctx, s, "count unused destinations", func(r scanner) (d row, err error) {
		err = r.Scan(&d.index, &d.used)
		return d, err
	}, newestDestinations, string(network), w.MerchantID, w.CreatedAt.UnixMilli(), int64(next), gapWindow)
	if err != nil || len(newest) == 0 {
		return 0, err
	}
	// The order of the indexes differs from that of the positions after a requote.
	highest, lowest, highestUsed := int64(-1), newest[0].index, int64(-1)
	for _, d := range newest {
		highest, lowest = max(highest, d.index), min(lowest, d.index)
		if d.used {
			highestUsed = max(highestUsed, d.index)
		}
	}
	return highest - max(highestUsed, lowest-1), nil // from lowest on if none is used
}

// newestDestinations is the statement of UnusedInARow. It omits the indexes from the wallet's next index on: a process
// that has not read the new wallet yet may still use an index of the former wallet, which may be higher.
const newestDestinations = `
	SELECT d.address_index, EXISTS (
		SELECT 1 FROM transfers t WHERE t.invoice_id = d.invoice_id AND t.network = d.network AND t.script = d.script
	)
	FROM destinations d JOIN invoices i ON i.id = d.invoice_id
	WHERE d.network = $1 AND d.merchant_id = $2 AND i.created_at >= $3 AND d.address_index < $4 ORDER BY d.position DESC LIMIT $5`
