package engine

import (
	"context"
	"maps"
)

// Counter holds the statements for a table of numbers. Each number has a name and only grows.
type Counter struct {
	AddSQL string // adds $2 to the number $1, and returns the sum
	SetSQL string // sets the number $1 to $2
}

// counters is a Querier for a transaction that several jobs share. It caches the numbers that the jobs
// incremented. The first job that uses a number locks its row, so later jobs use the cached value, and the
// final value is written once, before the commit.
type counters struct {
	Querier
	numbers map[number]cachedNumber
}

// number identifies the row of a number.
type number struct {
	counter *Counter
	name    string
}

// cachedNumber is a number's current value in the transaction, and the value in its row.
type cachedNumber struct{ current, stored int64 }

func newCounters(q Querier) *counters {
	return &counters{Querier: q, numbers: map[number]cachedNumber{}}
}

// Add adds to a number and returns the sum. The number's row is locked until the end of the
// transaction.
func (c *Counter) Add(ctx context.Context, q Querier, name string, by int64) (sum int64, err error) {
	cache, isShared := q.(*counters)
	if !isShared {
		err = q.QueryRowContext(ctx, c.AddSQL, name, by).Scan(&sum)
		return sum, err
	}
	n := number{c, name}
	cached, known := cache.numbers[n]
	if known {
		cached.current += by
	} else {
		if err := q.QueryRowContext(ctx, c.AddSQL, name, by).Scan(&cached.current); err != nil {
			return 0, err
		}
		cached.stored = cached.current
	}
	cache.numbers[n] = cached
	return cached.current, nil
}

// Set sets a number that the transaction has added to before.
func (c *Counter) Set(ctx context.Context, q Querier, name string, to int64) error {
	if cache, isShared := q.(*counters); isShared {
		n := number{c, name}
		cache.numbers[n] = cachedNumber{current: to, stored: cache.numbers[n].stored}
		return nil
	}
	_, err := q.ExecContext(ctx, c.SetSQL, name, to)
	return err
}

// snapshot returns the state to which undo returns after a job failed.
func (c *counters) snapshot() map[number]cachedNumber { return maps.Clone(c.numbers) }

// undo restores the state before a failed job, like the rollback to the savepoint in the database.
func (c *counters) undo(before map[number]cachedNumber) { c.numbers = before }

// flush writes the final values.
func (c *counters) flush(ctx context.Context) error {
	for n, cached := range c.numbers {
		if cached.current == cached.stored {
			continue
		}
		if _, err := c.ExecContext(ctx, n.counter.SetSQL, n.name, cached.current); err != nil {
			return err
		}
	}
	return nil
}
