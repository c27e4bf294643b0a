package storage

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"time"

	"chequer/internal/audit"
	"chequer/internal/chain"
	"chequer/internal/sweep/recorded"
)

// SaveSweepRows saves new states of rows of a plan. A row that is moved keeps its state, and gets the fees that it does not have yet.
func (s *Storage) SaveSweepRows(ctx context.Context, id string, changes []recorded.Change) error {
	err := s.write(ctx, func(ctx context.Context, q querier) error {
		for _, c := range changes {
			n, err := exec(ctx, q, "UPDATE sweep_rows SET state = $3, tx = $4, changed_at = $5, fee = $7, funding_fee = $8, fee_eur = $9 WHERE sweep_id = $1 AND number = $2 AND state <> $6",
				id, c.Number, string(c.Row.State), c.Row.Tx, c.Row.ChangedAt.UnixMilli(), string(recorded.Moved), feeText(c.Row.Fee), feeText(c.Row.FundingFee), euroText(c.Row.FeeEUR))
			if err == nil && n == 0 && c.Row.State == recorded.Moved {
				err = addSweepFees(ctx, q, id, c)
			}
			if err != nil {
				return fmt.Errorf("row %d: %w", c.Number, err)
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("save rows of sweep %s: %w", id, err)
	}
	return nil
}

// addSweepFees adds fees of a row that is moved. Those that it has are kept.
func addSweepFees(ctx context.Context, q querier, id string, c recorded.Change) error {
	_, err := q.ExecContext(ctx, `UPDATE sweep_rows SET fee_eur = $6,
		fee = CASE WHEN fee = '' THEN $4 ELSE fee END, funding_fee = CASE WHEN funding_fee = '' THEN $5 ELSE funding_fee END
		WHERE sweep_id = $1 AND number = $2 AND tx = $3 AND (fee = '' AND $4 <> '' OR funding_fee = '' AND $5 <> '')`,
		id, c.Number, c.Row.Tx, feeText(c.Row.Fee), feeText(c.Row.FundingFee), euroText(c.Row.FeeEUR))
	return err
}

// RecordSweepSent records in the audit log that transactions of a plan are being sent. It returns recorded.ErrNotFound if the merchant has
// no such plan, and recorded.ErrStopped if it was stopped.
func (s *Storage) RecordSweepSent(ctx context.Context, merchantID, id string, transactions int) error {
	return s.changeSweep(ctx, merchantID, id, audit.Change{
		MerchantID: merchantID, Action: "sweep.sent", Subject: id, After: audit.Fields{"transactions": strconv.Itoa(transactions)},
	}, "UPDATE sweeps SET stopped_at = 0 WHERE merchant_id = $1 AND id = $2 AND stopped_at = 0")
}

// RecordSweepCarried records that a browser wallet sent a transaction which carries rows of a plan, also of one that was stopped since. Rows
// that are sent or moved keep their states and their transactions. It returns the number of the rows whose transaction it is now, or
// recorded.ErrNotFound.
func (s *Storage) RecordSweepCarried(ctx context.Context, merchantID, id, tx string, numbers []int, now time.Time) (carried int, err error) {
	err = s.write(ctx, func(ctx context.Context, q querier) error {
		carried = 0
		var exists bool
		if err := q.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM sweeps WHERE merchant_id = $1 AND id = $2)", merchantID, id).Scan(&exists); err != nil {
			return err
		}
		if !exists {
			return recorded.ErrNotFound
		}
		added := 0
		for _, number := range numbers {
			n, err := exec(ctx, q, "UPDATE sweep_rows SET state = $3, tx = $4, changed_at = $5, fee = '', fee_eur = '' WHERE sweep_id = $1 AND number = $2 AND state <> $3 AND state <> $6",
				id, number, string(recorded.Sent), tx, now.UnixMilli(), string(recorded.Moved))
			if err != nil {
				return fmt.Errorf("row %d: %w", number, err)
			}
			added += int(n)
			var isCarried bool
			if err := q.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM sweep_rows WHERE sweep_id = $1 AND number = $2 AND tx = $3)", id, number, tx).Scan(&isCarried); err != nil {
				return fmt.Errorf("row %d: %w", number, err)
			}
			if isCarried {
				carried++
			}
		}
		if added == 0 {
			return nil
		}
		return s.record(ctx, q, audit.Change{
			MerchantID: merchantID, Action: "sweep.sent", Subject: id, After: audit.Fields{"transactions": "1", "tx": tx, "rows": strconv.Itoa(added)},
		})
	})
	if err != nil {
		return 0, fmt.Errorf("record a transaction of sweep %s: %w", id, err)
	}
	return carried, nil
}

// StopSweep records that a plan is not sent any more. Its errors are those of RecordSweepSent.
func (s *Storage) StopSweep(ctx context.Context, merchantID, id string, now time.Time) error {
	return s.changeSweep(ctx, merchantID, id, audit.Change{MerchantID: merchantID, Action: "sweep.stopped", Subject: id},
		"UPDATE sweeps SET stopped_at = $3 WHERE merchant_id = $1 AND id = $2 AND stopped_at = 0", now.UnixMilli())
}

// changeSweep changes a plan that was not stopped, by a statement whose first arguments are its merchant and its ID.
func (s *Storage) changeSweep(ctx context.Context, merchantID, id string, c audit.Change, query string, more ...any) error {
	err := s.write(ctx, func(ctx context.Context, q querier) error {
		n, err := exec(ctx, q, query, append([]any{merchantID, id}, more...)...)
		if err != nil {
			return err
		}
		if n > 0 {
			return s.record(ctx, q, c)
		}
		var exists bool
		if err := q.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM sweeps WHERE merchant_id = $1 AND id = $2)", merchantID, id).Scan(&exists); err != nil {
			return err
		}
		if exists {
			return recorded.ErrStopped
		}
		return recorded.ErrNotFound
	})
	if err != nil {
		return fmt.Errorf("change sweep %s: %w", id, err)
	}
	return nil
}

// AcquireSweepLease acquires or renews a lease on sending plans. It returns recorded.ErrHeld if another process holds it. A process that waits
// calls it again: it takes the lease over if its holder has not renewed it for ttl on the clock of this process.
func (s *Storage) AcquireSweepLease(ctx context.Context, name, holder string, now time.Time, ttl time.Duration) error {
	w := waiter{chain.ID("sweep " + name), holder}
	expired := s.leases.expired(w, now, ttl)
	var current renewal
	held := false
	err := s.write(ctx, func(ctx context.Context, q querier) error {
		err := q.QueryRowContext(ctx, `
			INSERT INTO sweep_leases (name, holder, renewals) VALUES ($1, $2, 1)
			ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, renewals = sweep_leases.renewals + 1
			WHERE sweep_leases.holder = excluded.holder OR sweep_leases.holder = '' OR sweep_leases.renewals = $3
			RETURNING renewals`, name, holder, expired.count).Scan(&current.count)
		if held = err == nil; held || !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		return q.QueryRowContext(ctx, "SELECT renewals FROM sweep_leases WHERE name = $1", name).Scan(&current.count)
	})
	if err != nil {
		return fmt.Errorf("acquire the lease on sweeps of %s: %w", name, err)
	}
	if !held {
		s.leases.note(w, current, now)
		return recorded.ErrHeld
	}
	s.leases.forget(w)
	return nil
}

// ReleaseSweepLease releases a lease that the holder has.
func (s *Storage) ReleaseSweepLease(ctx context.Context, name, holder string) error {
	return s.change(ctx, "release the lease on sweeps of "+name, nil, "UPDATE sweep_leases SET holder = '' WHERE name = $1 AND holder = $2", name, holder)
}
