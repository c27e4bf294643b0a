package storage

import (
	"context"
	"fmt"
)

// lastIndex is the largest index of an unhardened child key. See BIP 32,
// "Extended keys".
const lastIndex = 1<<31 - 1

// nextIndex takes the next unused index of a wallet's key. A transaction that
// fails gives it back.
func nextIndex(ctx context.Context, q querier, counter string) (uint32, error) {
	var index int64
	err := q.QueryRowContext(ctx, `
		INSERT INTO counters (name, next) VALUES ($1, 1)
		ON CONFLICT (name) DO UPDATE SET next = counters.next + 1
		RETURNING next - 1`, counter).Scan(&index)
	if err != nil {
		return 0, fmt.Errorf("next index of %s: %w", counter, err)
	}
	if index > lastIndex {
		return 0, fmt.Errorf("next index of %s: all are used up", counter)
	}
	return uint32(index), nil
}
