package watcher_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/chain"
	"chequer/internal/clocktest"
	"chequer/internal/invoice"
)

// C76: a payment that could not be saved is found again, as the cursor stays below its block.
func TestStep_keeps_the_cursor_when_a_payment_is_not_saved(t *testing.T) {
	onEachEngine(t, func(t *testing.T, first, _ *process, clock *clocktest.Clock) {
		first.step()
		inv := first.create()
		first.confirm(first.pay(inv))
		for range 30 { // so that the cursor can advance
			first.confirm()
		}
		before := first.progress()
		locked := errors.New("database is locked")
		first.watcher.Observer = refusing{locked}
		clock.Advance(time.Second)
		if _, err := first.watcher.Step(t.Context()); !errors.Is(err, locked) {
			t.Errorf("got error %v, want %v", err, locked)
		}
		if diff := cmp.Diff(first.progress(), before); diff != "" {
			t.Errorf("progress (-got +want):\n%s", diff)
		}
		first.watcher.Observer = first.service
		first.step()
		if got := first.progress(); got.Cursor.Height <= before.Cursor.Height {
			t.Errorf("cursor changed from %v to %v, want it to advance", before.Cursor, got.Cursor)
		}
		if got := first.reload(inv).State.Status; got != invoice.Paid {
			t.Errorf("invoice is %s, want %s", got, invoice.Paid)
		}
	})
}

// refusing is an observer that saves nothing.
type refusing struct{ err error }

func (r refusing) Observe(context.Context, invoice.Lease, chain.Snapshot, invoice.Progress, invoice.Owners) error {
	return r.err
}

func (r refusing) ObserveRefunds(context.Context, invoice.Lease, invoice.RefundSnapshot, invoice.RefundOwners) error {
	return r.err
}
