package storage

import (
	"context"
	"runtime"
	"slices"
)

// checkNesting is ErrNested when storage is used from inside one of its own
// transactions, which would wait for itself for ever. The functions given to
// storage get no context that could tell, so the stack is what tells: whatever
// runs inside a transaction was called by inside.
func checkNesting() error {
	var calls [64]uintptr
	for skip := 2; ; skip += len(calls) {
		n := runtime.Callers(skip, calls[:])
		if slices.Contains(calls[:n], insideCall) {
			return ErrNested
		}
		if n < len(calls) {
			return nil
		}
	}
}

// noted makes work one that checkNesting finds.
func noted(w work) work {
	return func(ctx context.Context, q querier) error { return inside(ctx, q, w) }
}

// inside does the work of a transaction. It is a function of its own, so that
// its call of the work is one place in the program.
//
//go:noinline
func inside(ctx context.Context, q querier, w work) error { return w(ctx, q) }

// insideCall is that place, as stacks show it.
var insideCall = func() uintptr {
	var call [1]uintptr
	_ = inside(context.Background(), nil, func(context.Context, querier) error {
		runtime.Callers(2, call[:])
		return nil
	})
	return call[0]
}()
