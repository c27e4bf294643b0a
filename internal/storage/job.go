package storage

import (
	"context"
	"errors"
	"fmt"
)

// maxBatch is how many transactions one commit holds at most: enough to share the
// wait for the disk, and so much less than index marks may be ahead that these
// are seldom raised.
const maxBatch = 32

// job is the work of one caller that may share a commit with others, and what
// came of it. No statement runs under a caller's context: an interrupt would hit
// the others too. A caller whose context ends stops waiting, and does not learn
// whether its work was committed.
type job struct {
	work     work
	gone     func() error                    // an error when the caller stopped waiting
	watch    func(func()) (stop func() bool) // has a function called then
	done     chan struct{}                   // closed when it is committed or has failed
	err      error
	panicked any
}

func newJob(ctx context.Context, do work) *job {
	return &job{
		work: do, gone: ctx.Err, done: make(chan struct{}),
		watch: func(f func()) func() bool { return context.AfterFunc(ctx, f) },
	}
}

// wait returns when j is done. A panic of the work is one here.
func (j *job) wait(ctx context.Context) error {
	select {
	case <-j.done:
	case <-ctx.Done():
		return ctx.Err()
	}
	if j.panicked != nil {
		panic(j.panicked)
	}
	return j.err
}

// answer tells the caller what came of j, or that the commit failed.
func (j *job) answer(fault error) {
	if fault != nil {
		j.err = fault
	}
	close(j.done)
}

// doAll does jobs one after the other in a transaction. An error spoils it.
func doAll(ctx context.Context, q querier, batch []*job) error {
	if len(batch) == 1 {
		return batch[0].alone(ctx, q)
	}
	t := newTally(q)
	for _, j := range batch {
		if err := j.share(ctx, t); err != nil {
			return err
		}
	}
	if err := t.flush(ctx); err != nil {
		return fmt.Errorf("write what was counted: %w", err)
	}
	return nil
}

// errPanicked undoes the transaction of work that panicked.
var errPanicked = errors.New("work panicked")

// alone does j in a transaction of its own, which needs no savepoint.
func (j *job) alone(ctx context.Context, q querier) error {
	if err := j.gone(); err != nil {
		return err
	}
	if j.attempt(ctx, q); j.panicked != nil {
		return errPanicked
	}
	return j.err
}

// share does j within a savepoint, so that an error or a panic undoes it alone:
// they are noted in it. The error here is one that spoils the whole transaction.
func (j *job) share(ctx context.Context, q *tally) error {
	if j.err = j.gone(); j.err != nil {
		return nil
	}
	if _, err := q.ExecContext(ctx, "SAVEPOINT job"); err != nil {
		return fmt.Errorf("savepoint: %w", err)
	}
	before := q.mark()
	j.attempt(ctx, q)
	if j.err != nil && (again(j.err) || lost(j.err)) {
		return j.err
	}
	if j.err != nil || j.panicked != nil {
		q.undo(before)
		if _, err := q.ExecContext(ctx, "ROLLBACK TO job"); err != nil {
			return fmt.Errorf("undo: %w", err)
		}
	}
	if _, err := q.ExecContext(ctx, "RELEASE job"); err != nil {
		return fmt.Errorf("release savepoint: %w", err)
	}
	return nil
}

// attempt does the work and notes what came of it.
func (j *job) attempt(ctx context.Context, q querier) {
	defer func() { j.panicked = recover() }()
	j.err = j.work(ctx, q)
}
