package storage

import (
	"context"
	"maps"
)

// tally is the statements of a transaction that several jobs share, and the
// numbers that they have moved on. Their rows are locked from the first job on
// that takes one, so the next jobs need not ask the database: what the numbers
// came to is written once, before the commit.
type tally struct {
	querier
	numbers map[number]standing
}

// number is a row that counts on: of a key's destination indexes, or of a
// merchant's feed.
type number struct {
	kind *kind
	name string
}

// standing is where a number stands in the transaction and in its row.
type standing struct{ now, row int64 }

// kind is the statements of one table of numbers.
type kind struct {
	add string // to the number $1 the value $2, and tell where it stands
	set string // the number $1 to the value $2
}

func newTally(q querier) *tally { return &tally{querier: q, numbers: map[number]standing{}} }

// add moves a number on and tells where it stands then. Its row is locked to the
// end of the transaction.
func add(ctx context.Context, q querier, n number, by int64) (now int64, err error) {
	t, shared := q.(*tally)
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

// set moves a number that was added to further on.
func set(ctx context.Context, q querier, n number, to int64) error {
	if t, shared := q.(*tally); shared {
		t.numbers[n] = standing{now: to, row: t.numbers[n].row}
		return nil
	}
	_, err := q.ExecContext(ctx, n.kind.set, n.name, to)
	return err
}

// mark is what undo goes back to when a job is undone.
func (t *tally) mark() map[number]standing { return maps.Clone(t.numbers) }

// undo forgets what a job did, as the database does.
func (t *tally) undo(mark map[number]standing) { t.numbers = mark }

// flush writes what the numbers came to.
func (t *tally) flush(ctx context.Context) error {
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
