package engine_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"chequer/internal/logtest"
	"chequer/internal/storage/engine"
	"chequer/internal/storage/storagetest"
)

// calls returns the methods that run work.
func calls(e *engine.Engine) map[string]func(context.Context, engine.Work) error {
	return map[string]func(context.Context, engine.Work) error{
		"write": e.Write, "read": e.Read, "snapshot": e.Snapshot,
		"share": func(ctx context.Context, w engine.Work) error { return e.Share(ctx, "group", w) },
	}
}

func TestEngine_refuses_calls_from_its_own_work(t *testing.T) {
	t.Parallel()
	for name, newURL := range engines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := open(t, newURL(t), engine.Options{})
			for outer, run := range calls(e) {
				for inner, nested := range calls(e) {
					never := func(context.Context, engine.Querier) error {
						t.Errorf("%s in %s: the inner work ran", inner, outer)
						return nil
					}
					err := run(t.Context(), func(ctx context.Context, _ engine.Querier) error {
						ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute) // derived
						defer cancel()
						return nested(ctx, never)
					})
					if !errors.Is(err, engine.ErrNested) {
						t.Errorf("%s in %s: got error %v, want %v", inner, outer, err, engine.ErrNested)
					}
				}
				if err := run(t.Context(), func(context.Context, engine.Querier) error { return nil }); err != nil {
					t.Errorf("%s afterwards: %v", outer, err)
				}
			}
		})
	}
}

// Work may use another database.
func TestEngine_allows_work_of_another_engine(t *testing.T) {
	t.Parallel()
	one, two := open(t, storagetest.File(t), engine.Options{}), open(t, storagetest.File(t), engine.Options{})
	err := one.Write(t.Context(), func(ctx context.Context, _ engine.Querier) error {
		return two.Write(ctx, func(context.Context, engine.Querier) error { return nil })
	})
	if err != nil {
		t.Error(err)
	}
}

// A call with a context from outside of the work is not refused: it waits for its own transaction.
func TestEngine_logs_work_that_waits_for_itself(t *testing.T) {
	t.Parallel()
	url := storagetest.File(t)
	synctest.Test(t, func(t *testing.T) {
		log := &logtest.Journal{}
		e := open(t, url, engine.Options{Log: slog.New(slog.NewTextHandler(log, nil))})
		outside, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		err := e.Write(t.Context(), func(context.Context, engine.Querier) error {
			return e.Write(outside, func(context.Context, engine.Querier) error { return nil })
		})
		if !errors.Is(err, context.DeadlineExceeded) || !log.Contains("transaction is slow") {
			t.Errorf("got error %v and the log\n%s, want the end of the context and a line about the slow transaction", err, log)
		}
	})
}
