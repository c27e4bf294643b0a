package storage

import (
	"context"
	"errors"
	"fmt"

	"chequer/internal/storage/engine"
)

// lastIndex is the largest index of an unhardened child key. See BIP 32,
// "Extended keys".
const lastIndex = 1<<31 - 1

// indexes holds the next unused destination index of every key.
var indexes = &engine.Counter{
	AddSQL: `
		INSERT INTO counters (name, next) VALUES ($1, $2)
		ON CONFLICT (name) DO UPDATE SET next = counters.next + excluded.next
		RETURNING next`,
	SetSQL: "UPDATE counters SET next = $2 WHERE name = $1",
}

// NextIndex returns the next index of a wallet's key: all lower indexes may have been allocated.
func (s *Storage) NextIndex(ctx context.Context, counter string) (uint32, error) {
	next, err := readOne(ctx, s, column[uint32], "SELECT COALESCE(MAX(next), 0) FROM counters WHERE name = $1", counter)
	if err != nil {
		return 0, fmt.Errorf("next index of %s: %w", counter, err)
	}
	return next, nil
}

// raiseNextIndex raises the next index of a wallet's key to lowest, if it is lower.
func (s *Storage) raiseNextIndex(ctx context.Context, q querier, counter string, lowest uint32) error {
	if lowest == 0 {
		return nil
	}
	next, err := indexes.Add(ctx, q, counter, 0)
	if err == nil && next < int64(lowest) {
		err = errors.Join(indexes.Set(ctx, q, counter, int64(lowest)), s.indexMarks.Raise(counter, int64(lowest)))
	}
	if err != nil {
		return fmt.Errorf("raise the next index of %s: %w", counter, err)
	}
	return nil
}

// nextIndex allocates the next unused index of a wallet's key. If the transaction fails, the index
// stays unused.
func (s *Storage) nextIndex(ctx context.Context, q querier, counter string) (uint32, error) {
	index, err := s.indexMarks.Next(ctx, q, counter)
	if err != nil {
		return 0, fmt.Errorf("next index of %s: %w", counter, err)
	}
	if index > lastIndex {
		return 0, fmt.Errorf("next index of %s: all indexes are used", counter)
	}
	return uint32(index), nil
}
