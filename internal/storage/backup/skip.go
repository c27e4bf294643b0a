package backup

import (
	"context"
	"fmt"

	"chequer/internal/storage/engine"
	"chequer/internal/storage/highwater"
)

// skipIndexes advances every counter past the indexes that may have been allocated after the backup,
// including the counters of wallets without a counter in the backup. If the marks were not lost with the
// database, they are upper bounds of these indexes. The new marks are written before the counters, so that
// the next start does not skip indexes again.
func skipIndexes(ctx context.Context, q engine.Querier, marks *highwater.Marks) error {
	counters := map[string]int64{}
	for _, counter := range marks.Counters() {
		counters[counter] = 0
	}
	err := engine.Each(ctx, q, func(row engine.Row) error {
		var counter string
		var next int64
		err := row.Scan(&counter, &next)
		counters[counter] = next
		return err
	}, `
		SELECT name, next FROM counters
		UNION ALL SELECT DISTINCT counter, 0 FROM wallets WHERE counter NOT IN (SELECT name FROM counters)`)
	if err != nil {
		return fmt.Errorf("read counters: %w", err)
	}
	for counter, next := range counters {
		next, err := marks.Skip(counter, next)
		if err != nil {
			return fmt.Errorf("skip indexes of %s: %w", counter, err)
		}
		_, err = q.ExecContext(ctx, `
			INSERT INTO counters (name, next) VALUES ($1, $2)
			ON CONFLICT (name) DO UPDATE SET next = excluded.next`, counter, next)
		if err != nil {
			return fmt.Errorf("skip indexes of %s: %w", counter, err)
		}
	}
	return nil
}
