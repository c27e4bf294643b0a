package storage

import (
	"context"
	"database/sql"
	"fmt"

	"chequer/internal/chain"
	"chequer/internal/invoice"
)

// SaveProgress implements watcher.Storage.
func (s *Storage) SaveProgress(ctx context.Context, lease invoice.Lease, p invoice.Progress) error {
	defer s.progressCache.invalidate()
	return s.change(ctx, "save progress of "+string(lease.Network), invoice.ErrFenced, `
		UPDATE networks SET
			sequence = $3, cursor_height = $4, cursor_hash = $5, tip_height = $6, tip_hash = $7,
			scanned_at = $8, gaps = $9, balances = $10
		WHERE network = $1 AND epoch = $2 AND sequence < $3`,
		string(lease.Network), lease.Epoch, lease.Sequence, p.Cursor.Height, p.Cursor.Hash, p.Tip.Height, p.Tip.Hash,
		millis(p.Scanned), gapsToText(p.Gaps), balancesText(p))
}

// Progress implements invoice.Storage and watcher.Storage. It does not contain networks that were
// never scanned.
func (s *Storage) Progress(ctx context.Context) (map[chain.ID]invoice.Progress, error) {
	progress, err := answer(ctx, s.read, readProgress)
	if err != nil {
		return nil, fmt.Errorf("read progress: %w", err)
	}
	return progress, nil
}

func readProgress(ctx context.Context, q querier) (map[chain.ID]invoice.Progress, error) {
	progress := map[chain.ID]invoice.Progress{}
	err := visitRows(ctx, q, func(row scanner) error {
		var network string
		var p invoice.Progress
		var scanned sql.Null[int64]
		var gaps, balances string
		err := row.Scan(&network, &p.Sequence, &p.Cursor.Height, &p.Cursor.Hash, &p.Tip.Height, &p.Tip.Hash, &scanned, &gaps, &balances)
		if err != nil {
			return err
		}
		p.Scanned = fromMillis(scanned)
		if p.Gaps, err = parseGaps(gaps); err != nil {
			return fmt.Errorf("network %s: %w", network, err)
		}
		if err := parseBalances(balances, &p); err != nil {
			return fmt.Errorf("network %s: %w", network, err)
		}
		progress[chain.ID(network)] = p
		return nil
	}, `
		SELECT network, sequence, cursor_height, cursor_hash, tip_height, tip_hash, scanned_at, gaps, balances
		FROM networks WHERE sequence > 0`)
	return progress, err
}
