package storage

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"
)

// catchUp moves every counter that is below its mark to the mark. Only the first process that uses the
// marks does so. The skipped indexes may have been used, either before a crash or after this copy of
// the database was made.
func (s *Storage) catchUp(ctx context.Context) error {
	if s.reserve.path == "" {
		return nil
	}
	alone, err := s.reserve.alone()
	if err != nil {
		return err
	}
	if alone {
		if err := s.reserve.locked(s.reserve.read); err != nil {
			return err
		}
		if err := s.raiseCounters(ctx, s.reserve.marks); err != nil {
			return fmt.Errorf("compare counters with index marks: %w", err)
		}
	}
	return s.reserve.shareUse(ctx)
}

// raiseCounters moves the counters that are below their marks, and logs each move.
func (s *Storage) raiseCounters(ctx context.Context, marks map[string]int64) error {
	type move struct{ from, to int64 }
	moves, err := answer(ctx, s.write, func(ctx context.Context, q querier) (map[string]move, error) {
		moves := map[string]move{}
		for _, counter := range slices.Sorted(maps.Keys(marks)) {
			next, err := add(ctx, q, number{indexes, counter}, 0)
			if err != nil {
				return nil, err
			}
			if next >= marks[counter] {
				continue
			}
			moves[counter] = move{next, beyond(marks[counter], next)}
			if err := set(ctx, q, number{indexes, counter}, moves[counter].to); err != nil {
				return nil, err
			}
		}
		return moves, nil
	})
	for _, m := range moves {
		s.log.Warn("destination indexes skipped: the server was not stopped cleanly, or this is an older copy of the database", "from", m.from, "to", m.to)
	}
	return err
}

// settleTimeout limits the time to write the marks at a stop.
const settleTimeout = 2 * time.Second

// settleMarks replaces the marks with the exact counters at a clean stop of the last process that uses
// the marks. If it fails, the next start skips the indexes up to the marks.
func (s *Storage) settleMarks() {
	counters := s.reserve.end()
	if len(counters) == 0 || s.reserve.path == "" {
		return
	}
	alone, err := s.reserve.alone()
	if err == nil && !alone {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), settleTimeout)
	defer cancel()
	if err == nil {
		err = s.writeMarks(ctx, counters)
	}
	if err != nil {
		s.log.Warn("index marks not settled: the next start skips indexes", "error", err)
	}
}

// writeMarks waits for the transactions that have allocated an index, and writes the counters as marks.
func (s *Storage) writeMarks(ctx context.Context, counters []string) error {
	exact, err := answer(ctx, s.write, func(ctx context.Context, q querier) (map[string]int64, error) {
		exact := map[string]int64{}
		for _, counter := range counters {
			next, err := add(ctx, q, number{indexes, counter}, 0) // locks the counter
			if err != nil {
				return nil, err
			}
			exact[counter] = next
		}
		return exact, nil
	})
	if err != nil {
		return fmt.Errorf("read counters: %w", err)
	}
	return s.reserve.settle(exact)
}
