package storage

import (
	"context"
	"fmt"
	"maps"
)

// skipIndexes lets every counter leap over the indexes that may have been handed
// out after the backup, also those of wallets that had none before it. Marks that
// outlived the database say how far that went; the new ones are on disk before
// the counters are, so that no second leap follows.
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

// skip is where a counter goes on that was at next in a backup. Its mark is there,
// on disk, when skip returns.
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
