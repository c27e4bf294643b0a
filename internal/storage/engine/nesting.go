package engine

import (
	"context"
	"time"
)

// Work that waits for a second transaction of its own engine may wait for ever: on SQLite for the
// writer that runs it, on PostgreSQL for rows that it has locked itself. Therefore work gets a
// context of its own, and the engine refuses calls with that context or one derived from it.

// inside is the key of the value that marks the context of work of an engine.
type inside struct{ engine *Engine }

// slowWork is the time after which running work is logged. It finds a call that the mark cannot
// find, because it is made with another context.
const slowWork = 10 * time.Second

// run runs work with do. It returns ErrNested inside other work of this engine.
func (e *Engine) run(ctx context.Context, w Work, do func(context.Context, Work) error) error {
	if ctx.Value(inside{e}) != nil {
		return ErrNested
	}
	return e.availability(ctx, do(ctx, func(ctx context.Context, q Querier) error {
		defer time.AfterFunc(slowWork, func() {
			e.log.Warn("transaction is slow: it waits for other transactions, or for one that it began itself", "after", slowWork)
		}).Stop()
		return w(context.WithValue(ctx, inside{e}, true), q)
	}))
}
