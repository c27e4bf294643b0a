package storage

import (
	"context"
	"runtime"
	"slices"
)

// checkNesting returns ErrNested if storage is used from inside one of its own transactions, which
// would wait for itself for ever. The functions passed to storage get no context that could carry
// this information, so checkNesting looks at the stack: everything that runs inside a transaction
// was called by inside.
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

// noted wraps work so that checkNesting finds it.
func noted(w work) work {
	return func(ctx context.Context, q querier) error { return inside(ctx, q, w) }
}

// inside runs the work of a transaction. It is a separate function, so that its call of the work
// has a single address in the program.
//
//go:noinline
func inside(ctx context.Context, q querier, w work) error { return w(ctx, q) }

// insideCall is that address, as it appears in stack traces.
var insideCall = func() uintptr {
	var call [1]uintptr
	_ = inside(context.Background(), nil, func(context.Context, querier) error {
		runtime.Callers(2, call[:])
		return nil
	})
	return call[0]
}()
