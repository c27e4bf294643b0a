package highwater

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"chequer/internal/storage/engine"
)

// CatchUp moves every counter that is below its mark to the mark, or at least Leap further if the mark is
// more than maxAhead above the counter. Only the first process that uses the marks does so. The skipped
// indexes may have been used, either before a crash or after this copy of the database was made.
func (m *Marks) CatchUp(ctx context.Context, e *engine.Engine) error {
	if m.path == "" {
		return nil
	}
	isLocked, err := m.tryLockExclusive()
	if err != nil {
		return err
	}
	if isLocked {
		if err := m.locked(m.read); err != nil {
			return err
		}
		if err := m.raiseCounters(ctx, e); err != nil {
			return fmt.Errorf("compare counters with index marks: %w", err)
		}
	}
	return m.lockShared(ctx)
}

// raiseCounters moves the counters that are below their marks, and logs each move.
func (m *Marks) raiseCounters(ctx context.Context, e *engine.Engine) error {
	type move struct{ from, to int64 }
	moves, err := engine.Answer(ctx, e.Write, func(ctx context.Context, q engine.Querier) (map[string]move, error) {
		moves := map[string]move{}
		for _, counter := range slices.Sorted(maps.Keys(m.marks)) {
			next, err := m.counter.Add(ctx, q, counter, 0)
			if err != nil {
				return nil, err
			}
			if next >= m.marks[counter] {
				continue
			}
			moves[counter] = move{next, indexAboveMark(m.marks[counter], next)}
			if err := m.counter.Set(ctx, q, counter, moves[counter].to); err != nil {
				return nil, err
			}
		}
		return moves, nil
	})
	for _, moved := range moves {
		m.log.Warn("destination indexes skipped: the server was not stopped cleanly, or this is an older copy of the database", "from", moved.from, "to", moved.to)
	}
	return err
}

// settleTimeout limits the time to write the marks at a stop.
const settleTimeout = 2 * time.Second

// Settle replaces the marks with the exact counters at a clean stop of the last process that uses
// the marks, and refuses further indexes. If it fails, the next start skips the indexes up to the
// marks.
func (m *Marks) Settle(e *engine.Engine) {
	counters := m.stop()
	if len(counters) == 0 || m.path == "" {
		return
	}
	isLocked, err := m.tryLockExclusive()
	if err == nil && !isLocked {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), settleTimeout)
	defer cancel()
	if err == nil {
		err = m.writeExact(ctx, e, counters)
	}
	if err != nil {
		m.log.Warn("index marks not settled: the next start skips indexes", "error", err)
	}
}

// writeExact waits for the transactions that have allocated an index, and writes the counters as
// marks.
func (m *Marks) writeExact(ctx context.Context, e *engine.Engine, counters []string) error {
	exact, err := engine.Answer(ctx, e.Write, func(ctx context.Context, q engine.Querier) (map[string]int64, error) {
		exact := map[string]int64{}
		for _, counter := range counters {
			next, err := m.counter.Add(ctx, q, counter, 0) // locks the counter
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
	return m.settle(exact)
}
