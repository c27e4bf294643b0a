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
	numbers map[number]value
}

// number identifies the row of a number.
type number struct {
	counter *Counter
	name    string
}

// value is a number's current value in the transaction, and the value in its row.
type value struct{ now, row int64 }

func newCounters(q Querier) *counters {
	return &counters{Querier: q, numbers: map[number]value{}}
}

// Add adds to a number and returns the sum. The number's row is locked until the end of the
// transaction.
func (c *Counter) Add(ctx context.Context, q Querier, name string, by int64) (now int64, err error) {
	t, shared := q.(*counters)
	if !shared {
		err = q.QueryRowContext(ctx, c.AddSQL, name, by).Scan(&now)
		return now, err
	}
	n := number{c, name}
	s, known := t.numbers[n]
	if known {
		s.now += by
	} else {
		if err := q.QueryRowContext(ctx, c.AddSQL, name, by).Scan(&s.now); err != nil {
			return 0, err
		}
		s.row = s.now
	}
	t.numbers[n] = s
	return s.now, nil
}

// Set sets a number that the transaction has added to before.
func (c *Counter) Set(ctx context.Context, q Querier, name string, to int64) error {
	if t, shared := q.(*counters); shared {
		n := number{c, name}
		t.numbers[n] = value{now: to, row: t.numbers[n].row}
		return nil
	}
	_, err := q.ExecContext(ctx, c.SetSQL, name, to)
	return err
}

// snapshot returns the state to which undo returns after a job failed.
func (c *counters) snapshot() map[number]value { return maps.Clone(c.numbers) }

// undo drops the changes of a job, like the rollback in the database.
func (c *counters) undo(mark map[number]value) { c.numbers = mark }

// flush writes the final values.
func (c *counters) flush(ctx context.Context) error {
	for n, s := range c.numbers {
		if s.now == s.row {
			continue
		}
		if _, err := c.ExecContext(ctx, n.counter.SetSQL, n.name, s.now); err != nil {
			return err
		}
	}
	return nil
}
