package engine_test

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"chequer/internal/storage/engine"
	"chequer/internal/storage/storagetest"
)

func TestWrite_returns_a_failed_commit_to_every_caller(t *testing.T) {
	t.Parallel()
	e := open(t, storagetest.File(t), engine.Options{})
	release, running := make(chan struct{}), make(chan struct{})
	var group sync.WaitGroup
	group.Go(func() {
		err := e.Write(t.Context(), func(context.Context, engine.Querier) error {
			close(running)
			<-release
			return nil
		})
		if err != nil {
			t.Errorf("the previous batch: %v", err)
		}
	})
	<-running
	var failed atomic.Int64
	for i := range 8 {
		group.Go(func() {
			err := e.Write(t.Context(), func(ctx context.Context, q engine.Querier) error {
				if i > 0 {
					_, err := q.ExecContext(ctx, "INSERT INTO merchants (id, name, created_at) VALUES ($1, '', 0)", i)
					return err
				}
				_, err := q.ExecContext(ctx, "PRAGMA defer_foreign_keys = ON") // the error occurs at the commit
				if err == nil {
					_, err = q.ExecContext(ctx, "INSERT INTO wallets VALUES ('w', 'unknown', '', '', '', '', '', 0, NULL, '')")
				}
				return err
			})
			if err != nil {
				failed.Add(1)
			}
		})
	}
	for waiting := 0; waiting < 8; waiting, _ = e.Waiting() {
		runtime.Gosched()
	}
	close(release)
	group.Wait()
	if merchants := count(t, e, "SELECT COUNT(*) FROM merchants"); failed.Load() != 8 || merchants != 0 {
		t.Errorf("%d of 8 calls failed, and %d merchants were written; want all to fail and none written", failed.Load(), merchants)
	}
	exec(t, e, "INSERT INTO merchants (id, name, created_at) VALUES ('shop', '', 0)") // the next write succeeds
}
