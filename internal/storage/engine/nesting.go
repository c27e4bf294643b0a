package engine

import (
	"context"
	"time"
)

// Work that waits for a second transaction of the engine that runs it may wait for ever: on SQLite for the
// writer that runs the work, on PostgreSQL for rows that the work has locked. Therefore work gets a marked
// context, and the engine refuses calls with that context or a context derived from it.

// activeWork is the key of the value that marks the context of work of an engine.
type activeWork struct{ engine *Engine }

// slowWork is the time after which running work is logged. The log shows a nested call that is made with
// another context, which the engine cannot refuse.
const slowWork = 10 * time.Second

// run runs work with do, or returns ErrNested inside other work of this engine.
func (e *Engine) run(ctx context.Context, w Work, do func(context.Context, Work) error) error {
	if ctx.Value(activeWork{e}) != nil {
		return ErrNested
	}
	return e.wrapUnavailable(ctx, do(ctx, func(ctx context.Context, q Querier) error {
		defer time.AfterFunc(slowWork, func() {
			e.log.Warn("transaction is slow: it waits for other transactions, or for one that it began itself", "after", slowWork)
		}).Stop()
		return w(context.WithValue(ctx, activeWork{e}, true), q)
	}))
}
