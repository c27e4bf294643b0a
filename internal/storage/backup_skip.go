package storage

import (
	"context"
	"fmt"
	"maps"
)

// skipIndexes advances every counter past the indexes that may have been allocated after the
// backup, including the counters of wallets that had none in the backup. Marks that survived the
// loss of the database bound those indexes. The new marks are on disk before the counters are, so
// that the next start does not skip indexes again.
func skipIndexes(ctx context.Context, q querier, marks *reserve) error {
	stands := map[string]int64{}
	for counter := range marks.marks {
		stands[counter] = 0
	}
	err := each(ctx, q, func(row scanner) error {
		var counter string
		var next int64
		err := row.Scan(&counter, &next)
		stands[counter] = next
		return err
	}, `
		SELECT name, next FROM counters
		UNION ALL SELECT DISTINCT counter, 0 FROM wallets WHERE counter NOT IN (SELECT name FROM counters)`)
	if err != nil {
		return fmt.Errorf("read counters: %w", err)
	}
	for counter, next := range stands {
		next, err := marks.skip(counter, next)
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

// skip returns the next index of a counter whose next index in a backup was next. The counter's
// mark is on disk when skip returns.
func (r *reserve) skip(counter string, next int64) (int64, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	next = max(next+leap, r.marks[counter])
	if r.path == "" {
		return next, nil
	}
	marks := maps.Clone(r.marks)
	marks[counter] = next
	return next, r.locked(func() error { return r.write(marks) })
}
