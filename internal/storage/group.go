package storage

import (
	"context"
	"sync"
	"sync/atomic"
)

// groups lets the transactions of one group on PostgreSQL share a commit. They
// would wait for each other's row locks and then each for the disk; so those that
// wait together are done one after the other in one transaction. Groups do not
// wait for each other.
type groups struct {
	commit func(batch []*job) // answers all

	mu      sync.Mutex
	waiting map[string][]*job // by group, of those that are at work
	closed  bool
	leaders sync.WaitGroup
}

// add gives a job to a group, which begins to work when it is not at it.
func (g *groups) add(group string, j *job) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return ErrClosed
	}
	waiting, atWork := g.waiting[group]
	g.waiting[group] = append(waiting, j)
	if !atWork {
		g.leaders.Go(func() { g.lead(group) })
	}
	return nil
}

// lead commits a group's batches until nobody waits. It waits for nobody: what
// has come meanwhile is the next batch.
func (g *groups) lead(group string) {
	for batch := g.next(group); len(batch) > 0; batch = g.next(group) {
		g.commit(batch)
	}
}

// next takes the next batch of a group; none ends its work.
func (g *groups) next(group string) []*job {
	g.mu.Lock()
	defer g.mu.Unlock()
	waiting := g.waiting[group]
	if len(waiting) == 0 {
		delete(g.waiting, group)
		return nil
	}
	n := min(len(waiting), maxBatch)
	g.waiting[group] = waiting[n:]
	return waiting[:n:n]
}

// close refuses new jobs and returns when all that wait are answered.
func (g *groups) close() {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	g.leaders.Wait()
}

// share implements engine.
func (p *postgres) share(ctx context.Context, group string, w work) error {
	j := newJob(ctx, w)
	if err := p.groups.add(group, j); err != nil {
		return err
	}
	return j.wait(ctx)
}

// commit does a batch in one transaction, and answers. It is cut off when nobody
// waits for it any more.
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
	err := p.write(ctx, func(ctx context.Context, q querier) error { return doAll(ctx, q, batch) })
	for _, j := range batch {
		j.answer(err)
	}
}
