package storage

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"chequer/internal/chain"
	"chequer/internal/invoice"
)

// AcquireLease implements watcher.Storage. A lease that runs for longer than two of
// them is one of a clock that was put back, and holds nobody up.
func (s *Storage) AcquireLease(ctx context.Context, network chain.ID, holder string, now time.Time, ttl time.Duration) (int64, error) {
	epoch, err := answer(ctx, s.write, func(ctx context.Context, q querier) (epoch int64, err error) {
		err = q.QueryRowContext(ctx, `
			INSERT INTO networks (network, epoch, holder, lease_until, sequence, cursor_height, cursor_hash, tip_height, tip_hash)
			VALUES ($1, 1, $2, $3, 0, 0, '', 0, '')
			ON CONFLICT (network) DO UPDATE SET
				epoch = CASE WHEN networks.holder = excluded.holder THEN networks.epoch ELSE networks.epoch + 1 END,
				holder = excluded.holder, lease_until = excluded.lease_until
			WHERE networks.holder = excluded.holder OR networks.lease_until <= $4
				OR networks.lease_until > excluded.lease_until + excluded.lease_until - $4
			RETURNING epoch`,
			string(network), holder, now.Add(ttl).UnixMilli(), now.UnixMilli()).Scan(&epoch)
		return epoch, err
	})
	if errors.Is(err, sql.ErrNoRows) {
		return 0, invoice.ErrFenced
	}
	if err != nil {
		return 0, fmt.Errorf("acquire lease of %s: %w", network, err)
	}
	return epoch, nil
}

// ReleaseLease implements watcher.Storage. Nobody holds the lease afterwards, so
// that whoever takes it gets a new epoch, the same holder too.
func (s *Storage) ReleaseLease(ctx context.Context, network chain.ID, epoch int64) error {
	err := s.write(ctx, func(ctx context.Context, q querier) error {
		_, err := q.ExecContext(ctx, "UPDATE networks SET holder = '', lease_until = 0 WHERE network = $1 AND epoch = $2",
			string(network), epoch)
		return err
	})
	if err != nil {
		return fmt.Errorf("release lease of %s: %w", network, err)
	}
	return nil
}

// SaveProgress implements watcher.Storage.
func (s *Storage) SaveProgress(ctx context.Context, lease invoice.Lease, p invoice.Progress) error {
	saved, err := answer(ctx, s.write, func(ctx context.Context, q querier) (int64, error) {
		return exec(ctx, q, `
			UPDATE networks SET
				sequence = $3, cursor_height = $4, cursor_hash = $5, tip_height = $6, tip_hash = $7,
				scanned_at = $8, gaps = $9, balances = $10
			WHERE network = $1 AND epoch = $2 AND sequence < $3`,
			string(lease.Network), lease.Epoch, lease.Sequence, p.Cursor.Height, p.Cursor.Hash, p.Tip.Height, p.Tip.Hash,
			millis(p.Scanned), gapsToText(p.Gaps), balancesText(p))
	})
	s.recent.forget()
	if err != nil {
		return fmt.Errorf("save progress of %s: %w", lease.Network, err)
	}
	if saved == 0 {
		return invoice.ErrFenced
	}
	return nil
}

// Progress implements invoice.Storage and watcher.Storage. A network that was
// never scanned is not in it.
func (s *Storage) Progress(ctx context.Context) (map[chain.ID]invoice.Progress, error) {
	progress, err := answer(ctx, s.read, readProgress)
	if err != nil {
		return nil, fmt.Errorf("read progress: %w", err)
	}
	return progress, nil
}

func readProgress(ctx context.Context, q querier) (map[chain.ID]invoice.Progress, error) {
	progress := map[chain.ID]invoice.Progress{}
	err := each(ctx, q, func(row scanner) error {
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

// checkLease keeps everybody else from taking over or saving the cursor until
// the transaction ends; ErrFenced when the lease holds no more or its snapshot is
// not newer than the saved one.
func (s *Storage) checkLease(ctx context.Context, q querier, lease invoice.Lease) error {
	if lease.IsZero() {
		return nil
	}
	var epoch int64
	err := q.QueryRowContext(ctx, "SELECT epoch FROM networks WHERE network = $1 AND epoch = $2 AND sequence < $3"+s.dialect.forShare,
		string(lease.Network), lease.Epoch, lease.Sequence).Scan(&epoch)
	if errors.Is(err, sql.ErrNoRows) {
		return invoice.ErrFenced
	}
	if err != nil {
		return fmt.Errorf("check lease of %s: %w", lease.Network, err)
	}
	return nil
}
