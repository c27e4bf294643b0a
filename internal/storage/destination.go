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

// saveDestinations writes the scripts that an invoice is paid to, one row for
// all methods that share one, and until when they are watched: elsewhere as long
// as the first quote asks for. A script that is another invoice's is an error.
func saveDestinations(ctx context.Context, q querier, inv *invoice.Invoice, position int64) error {
	until := inv.ExpiresAt().Add(invoice.Watch).UnixMilli()
	places := slices.Clone(inv.Elsewhere)
	for _, m := range inv.Methods {
		places = append(places, invoice.Elsewhere{Network: m.Asset.Network, Script: m.Destination.Script, Index: m.Index})
	}
	for i, p := range places {
		if slices.Contains(places[:i], p) {
			continue
		}
		ours, err := exec(ctx, q, `
			INSERT INTO destinations (network, script, invoice_id, merchant_id, address_index, position, watch_until)
			VALUES ($1, $2, $3, $4, $5, $6, $7)
			ON CONFLICT (network, script) DO UPDATE SET position = excluded.position, watch_until = excluded.watch_until
			WHERE destinations.invoice_id = excluded.invoice_id`,
			string(p.Network), p.Script, inv.ID, inv.MerchantID, int64(p.Index), position, until)
		if err != nil {
			return fmt.Errorf("write destination on %s: %w", p.Network, err)
		}
		if ours == 0 {
			return fmt.Errorf("write destination: script %s on %s belongs to another invoice", p.Script, p.Network)
		}
	}
	return nil
}

// Destinations implements watcher.Storage. The marks are read first: whatever
// has a position up to them is committed by then, since positions are handed out
// in the order of commits. What comes in between is told now and once more.
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
		if err := row.Scan(&d.Script, &d.InvoiceID, &until); err != nil {
			return err
		}
		d.Until = utc(until)
		add(d)
		return nil
	}, `
		SELECT script, invoice_id, watch_until FROM destinations
		WHERE network = $1 AND merchant_id = $2 AND position > $3 AND watch_until >= $4
		ORDER BY position`, string(network), merchantID, above, scanned.UnixMilli())
}

// UnusedInARow counts a merchant's newest destinations on a network that nothing
// was ever seen on. Wallets stop looking after 20 of them. See BIP 44, "Address
// gap limit".
func (s *Storage) UnusedInARow(ctx context.Context, merchantID string, network chain.ID) (int64, error) {
	unused, err := answer(ctx, s.read, func(ctx context.Context, q querier) (unused int64, err error) {
		err = q.QueryRowContext(ctx, `
			SELECT COALESCE(MAX(d.address_index), -1) - COALESCE(MAX(
				CASE WHEN EXISTS (SELECT 1 FROM transfers t WHERE t.invoice_id = d.invoice_id AND t.network = d.network AND t.script = d.script)
				THEN d.address_index END), -1)
			FROM destinations d WHERE d.network = $1 AND d.merchant_id = $2`,
			string(network), merchantID).Scan(&unused)
		return unused, err
	})
	if err != nil {
		return 0, fmt.Errorf("count unused destinations: %w", err)
	}
	return unused, nil
}
