package storage

import (
	"context"
	"maps"
)

// counters is a querier for a transaction that several jobs share. It caches the numbers that
// the jobs incremented. A number's row is locked by the first job that uses it, so later jobs need
// not ask the database, and the final value is written once, before the commit.
type counters struct {
	querier
	numbers map[number]value
}

// number identifies a row with a number that only grows: the next destination index of a key, or
// the last position of a merchant's feed.
type number struct {
	kind *kind
	name string
}

// value is a number's current value in the transaction, and the value in its row.
type value struct{ now, row int64 }

// kind holds the statements for one table of numbers.
type kind struct {
	add string // adds $2 to the number $1, and returns the sum
	set string // sets the number $1 to $2
}

func newCounters(q querier) *counters {
	return &counters{querier: q, numbers: map[number]value{}}
}

// add adds to a number and returns the sum. The number's row is locked until the end of the
// transaction.
func add(ctx context.Context, q querier, n number, by int64) (now int64, err error) {
	t, shared := q.(*counters)
	if !shared {
		err = q.QueryRowContext(ctx, n.kind.add, n.name, by).Scan(&now)
		return now, err
	}
	s, known := t.numbers[n]
	if known {
		s.now += by
	} else {
		if err := q.QueryRowContext(ctx, n.kind.add, n.name, by).Scan(&s.now); err != nil {
			return 0, err
		}
		s.row = s.now
	}
	t.numbers[n] = s
	return s.now, nil
}

// set sets a number that the transaction has added to before.
func set(ctx context.Context, q querier, n number, to int64) error {
	if t, shared := q.(*counters); shared {
		t.numbers[n] = value{now: to, row: t.numbers[n].row}
		return nil
	}
	_, err := q.ExecContext(ctx, n.kind.set, n.name, to)
	return err
}

// mark returns the state to which undo returns after a job failed.
func (t *counters) mark() map[number]value { return maps.Clone(t.numbers) }

// undo drops the changes of a job, like the rollback in the database.
func (t *counters) undo(mark map[number]value) { t.numbers = mark }

// flush writes the final values.
func (t *counters) flush(ctx context.Context) error {
	for n, s := range t.numbers {
		if s.now == s.row {
			continue
		}
		if _, err := t.ExecContext(ctx, n.kind.set, n.name, s.now); err != nil {
			return err
		}
	}
	return nil
}
