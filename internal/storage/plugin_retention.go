package storage

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"chequer/internal/audit"
	"chequer/internal/invoice"
	"chequer/internal/retention"
)

// utcDay is the length of a UTC day.
const utcDay = 24 * time.Hour

// endOfDay returns the end of the UTC day of a time.
func endOfDay(t time.Time) time.Time { return t.UTC().Truncate(utcDay).Add(utcDay) }

// RemovePluginMetadata implements retention.Storage. The metadata that wait are the rows of the index plugin_data_by_age. Each
// examined row leaves the part of the index that is due, because its metadata are removed or its time moves.
func (s *Storage) RemovePluginMetadata(ctx context.Context, days int, now time.Time) (done bool, err error) {
	due := now.AddDate(0, 0, -days)
	done, err = answer(ctx, s.write, func(ctx context.Context, q querier) (bool, error) {
		page := oldPluginMetadata(due)
		ids, err := list(ctx, q, column[string], page.text, page.args...)
		if err != nil {
			return false, fmt.Errorf("find metadata: %w", err)
		}
		removed := map[string]int64{} // by merchant
		for _, id := range ids {
			if err := s.examinePluginMetadata(ctx, q, id, days, now, removed); err != nil {
				return false, fmt.Errorf("invoice %s: %w", id, err)
			}
		}
		for _, merchantID := range slices.Sorted(maps.Keys(removed)) {
			n := strconv.FormatInt(removed[merchantID], 10)
			err := s.record(ctx, q, audit.Change{
				MerchantID: merchantID, Action: "personal_data.removed", Subject: merchantID, After: audit.Fields{"invoices": n, "metadata": n},
			})
			if err != nil {
				return false, err
			}
		}
		return len(ids) < retentionBatch, nil
	})
	if err != nil {
		return false, fmt.Errorf("remove metadata of plug-ins: %w", err)
	}
	return done, nil
}

// oldPluginMetadata returns the statement that reads the next invoices with metadata of a plug-in whose period began before a time.
func oldPluginMetadata(due time.Time) statement {
	return statement{`
		SELECT invoice_id FROM plugin_data WHERE metadata <> '' AND kept_since <= $1
		ORDER BY kept_since, invoice_id LIMIT $2`, []any{due.UnixMilli(), retentionBatch}}
}

// examinePluginMetadata removes the metadata of an invoice if their period has ended, and adds them to the numbers of removed
// metadata. Otherwise it moves the time at which they are examined again.
func (s *Storage) examinePluginMetadata(ctx context.Context, q querier, id string, days int, now time.Time, removed map[string]int64) error {
	before, err := s.lockInvoice(ctx, q, id)
	if err != nil {
		return err
	}
	var has bool
	err = q.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM plugin_data WHERE invoice_id = $1 AND metadata <> '')", id).Scan(&has)
	if err != nil {
		return fmt.Errorf("read metadata: %w", err)
	}
	if !has { // another process has removed them
		return nil
	}
	var since time.Time
	next, err := s.evaluate(before, func(inv *invoice.Invoice) error {
		if since = retention.PluginMetadataSince(inv, days, now); since.IsZero() {
			retention.RemovePluginMetadata(inv, now)
		}
		return nil
	})
	_, broken := errors.AsType[*invoice.UnreadableError](err)
	if broken {
		since = now.AddDate(0, 0, -days)
	} else if err != nil {
		return err
	}
	if !since.IsZero() {
		_, err := q.ExecContext(ctx, "UPDATE plugin_data SET kept_since = $2 WHERE invoice_id = $1", id, endOfDay(since).UnixMilli())
		if err != nil {
			return fmt.Errorf("write metadata: %w", err)
		}
		return nil
	}
	if err := s.writeRows(ctx, q, next); err != nil {
		return err
	}
	if _, err := q.ExecContext(ctx, "UPDATE plugin_data SET metadata = '' WHERE invoice_id = $1", id); err != nil {
		return fmt.Errorf("remove metadata: %w", err)
	}
	removed[next.inv.MerchantID]++
	return nil
}
