package storage

import (
	"bytes"
	"context"
	"runtime"
	"sync"
)

// nesting finds storage being used from inside one of its own transactions,
// which would wait for itself for ever. The functions given to storage get no
// context that could tell, so the goroutine is what tells: what runs inside a
// transaction runs on the goroutine that is noted here.
type nesting struct {
	inside sync.Map // of goroutines in a transaction
}

// check is ErrNested on a goroutine that is in a transaction.
func (n *nesting) check() error {
	if _, found := n.inside.Load(goroutine()); found {
		return ErrNested
	}
	return nil
}

// note makes work note the goroutine it runs on.
func (n *nesting) note(w work) work {
	return func(ctx context.Context, q querier) error {
		id := goroutine()
		n.inside.Store(id, true)
		defer n.inside.Delete(id)
		return w(ctx, q)
	}
}

// goroutine names the goroutine it is called on. The first line of its stack
// trace, "goroutine 7 [running]:", is the only place where Go says that.
func goroutine() string {
	var trace [40]byte
	name, _, _ := bytes.Cut(trace[:runtime.Stack(trace[:], false)], []byte(" ["))
	return string(name)
}
