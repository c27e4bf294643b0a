package engine

import (
	"context"
	"sync"
	"sync/atomic"
)

// groups lets the transactions of one group on PostgreSQL share a commit. Separate transactions of a group
// would wait for each other's row locks, and then each for the disk. Therefore the work that waits at the
// same time runs in one transaction. Groups do not wait for each other.
type groups struct {
	commit func(batch []*job) // answers all jobs of the batch

	mu      sync.Mutex
	waiting map[string][]*job // by group; a group with running transactions has an entry
	closed  bool
	running sync.WaitGroup // the goroutines of the groups
}

// add adds a job to a group, and starts the group's goroutine if it does not run.
func (g *groups) add(group string, j *job) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return ErrClosed
	}
	waiting, isRunning := g.waiting[group]
	g.waiting[group] = append(waiting, j)
	if !isRunning {
		g.running.Go(func() { g.runGroup(group) })
	}
	return nil
}

// runGroup commits batches of a group until no job waits. The jobs added during a commit are the next
// batch.
func (g *groups) runGroup(group string) {
	for batch := g.next(group); len(batch) > 0; batch = g.next(group) {
		g.commit(batch)
	}
}

// next returns the next batch of a group. An empty batch ends the group's goroutine.
func (g *groups) next(group string) []*job {
	g.mu.Lock()
	defer g.mu.Unlock()
	waiting := g.waiting[group]
	if len(waiting) == 0 {
		delete(g.waiting, group)
		return nil
	}
	n := min(len(waiting), MaxBatch)
	g.waiting[group] = waiting[n:]
	return waiting[:n:n]
}

// count returns the number of waiting jobs and the number of groups with running transactions.
func (g *groups) count() (jobs, running int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, waiting := range g.waiting {
		jobs += len(waiting)
	}
	return jobs, len(g.waiting)
}

// close refuses new jobs, and returns when all waiting jobs are answered.
func (g *groups) close() {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	g.running.Wait()
}

// share implements database.
func (p *postgres) share(ctx context.Context, group string, w Work) error {
	j := newJob(ctx, w)
	if err := p.groups.add(group, j); err != nil {
		return err
	}
	return j.wait(ctx)
}

// commit runs a batch in one transaction and answers its jobs. The transaction is cancelled when no
// caller waits for the batch any more.
func (p *postgres) commit(batch []*job) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var waiting atomic.Int64
	waiting.Store(int64(len(batch)))
	for _, j := range batch {
		stop := j.watch(func() {
			if waiting.Add(-1) == 0 {
				cancel()
			}
		})
		defer stop()
	}
	err := p.write(ctx, func(ctx context.Context, q Querier) error { return doAll(ctx, q, batch) })
	for _, j := range batch {
		j.answer(err)
	}
}
