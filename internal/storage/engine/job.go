package engine

import (
	"context"
	"errors"
	"fmt"
)

// MaxBatch is the largest number of transactions in one commit. It is large enough to share the wait for
// the disk. It is far smaller than the distance by which package highwater raises a mark above its counter,
// so that marks are rarely raised.
const MaxBatch = 32

// job is the work of one caller that may share a commit with others, and its result. No statement
// runs under a caller's context, since an interrupt would affect the other jobs too. A caller whose
// context ends stops waiting, and does not learn whether its work was committed.
type job struct {
	work      Work
	abandoned func() error                    // an error if the caller stopped waiting
	watch     func(func()) (stop func() bool) // calls a function when the caller stops waiting
	done      chan struct{}                   // closed when the job is committed or has failed
	err       error
	panicked  any
}

func newJob(ctx context.Context, do Work) *job {
	return &job{
		work: do, abandoned: ctx.Err, done: make(chan struct{}),
		watch: func(f func()) func() bool { return context.AfterFunc(ctx, f) },
	}
}

// wait returns when j is done. It panics if the work panicked.
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

// answer wakes the caller of j; err is the error of the commit, or nil.
func (j *job) answer(err error) {
	if err != nil {
		j.err = err
	}
	close(j.done)
}

// doAll runs jobs one after the other in a transaction. After an error the transaction must be
// rolled back.
func doAll(ctx context.Context, q Querier, batch []*job) error {
	if len(batch) == 1 {
		return batch[0].runAlone(ctx, q)
	}
	t := newCounters(q)
	for _, j := range batch {
		if err := j.share(ctx, t); err != nil {
			return err
		}
	}
	if err := t.flush(ctx); err != nil {
		return fmt.Errorf("write counters: %w", err)
	}
	return nil
}

// errPanicked rolls back the transaction of work that panicked.
var errPanicked = errors.New("work panicked")

// runAlone runs j in its own transaction, which needs no savepoint.
func (j *job) runAlone(ctx context.Context, q Querier) error {
	if err := j.abandoned(); err != nil {
		return err
	}
	if j.attempt(ctx, q); j.panicked != nil {
		return errPanicked
	}
	return j.err
}

// share runs j within a savepoint, so that an error or a panic rolls back only j, which stores it.
// A returned error means that the whole transaction must be rolled back.
func (j *job) share(ctx context.Context, q *counters) error {
	if j.err = j.abandoned(); j.err != nil {
		return nil
	}
	if _, err := q.ExecContext(ctx, "SAVEPOINT job"); err != nil {
		return fmt.Errorf("savepoint: %w", err)
	}
	before := q.snapshot()
	j.attempt(ctx, q)
	if j.err != nil && (isRetryable(j.err) || isLostConnection(j.err)) {
		return j.err
	}
	if j.err != nil || j.panicked != nil {
		q.undo(before)
		if _, err := q.ExecContext(ctx, "ROLLBACK TO job"); err != nil {
			return fmt.Errorf("roll back to savepoint: %w", err)
		}
	}
	if _, err := q.ExecContext(ctx, "RELEASE job"); err != nil {
		return fmt.Errorf("release savepoint: %w", err)
	}
	return nil
}

// attempt runs the work and stores its result.
func (j *job) attempt(ctx context.Context, q Querier) {
	defer func() { j.panicked = recover() }()
	j.err = j.work(ctx, q)
}
