package sweep

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"os"
	"testing"
	"time"

	"chequer/internal/clock"
	"chequer/internal/storage/storagetest"
	"chequer/internal/sweep/plan"
	"chequer/internal/sweep/recorded"
)

// errDied is the end of a process in a test.
var errDied = errors.New("the process died")

// mortal is a SendStorage that fails all calls from a given one. That call takes effect if after is true.
type mortal struct {
	SendStorage
	left  int // number of calls until the process dies
	after bool
}

// call counts a call that changes the storage.
func (m *mortal) call(do func() error) error {
	if m.left--; m.left > 0 {
		return do()
	}
	if m.left == 0 && m.after {
		if err := do(); err != nil {
			return err
		}
	}
	return errDied
}

func (m *mortal) SaveSweepRows(ctx context.Context, id string, changes []recorded.Change) error {
	return m.call(func() error { return m.SendStorage.SaveSweepRows(ctx, id, changes) })
}

func (m *mortal) RecordSweepSent(ctx context.Context, merchantID, id string, transactions int) error {
	return m.call(func() error { return m.SendStorage.RecordSweepSent(ctx, merchantID, id, transactions) })
}

func (m *mortal) AcquireSweepLease(ctx context.Context, name, holder string, now time.Time, ttl time.Duration) error {
	return m.call(func() error { return m.SendStorage.AcquireSweepLease(ctx, name, holder, now, ttl) })
}

// divide divides the carrying transaction of a plan into one for two rows each.
func divide(p *plan.Plan) {
	whole := p.Payer.Carriers[0]
	p.Payer.Carriers = nil
	for left := whole.Rows; left > 0; left -= 2 {
		p.Payer.Carriers = append(p.Payer.Carriers, plan.Carrier{Rows: min(left, 2), Gas: whole.Gas})
	}
	p.FeeMax.Amount = new(big.Int).Lsh(p.FeeMax.Amount, 3)
}

// The process dies before and after each change of the storage, with the blocks mined or not. The next one continues. Without
// E2E_NIGHTLY it dies before or after each change in turn.
func TestSend_moves_each_row_once_when_processes_die(t *testing.T) {
	t.Parallel()
	s := newShop(t, 6)
	var sum int64
	for i, a := range s.addresses[:5] {
		s.hold(t, eurcBase, a, int64(50_000_000+i))
		sum += int64(50_000_000 + i)
	}
	s.fund(t, s.addresses[5], 100)
	d := newDeal(t, s, request(), divide)
	var snapshot string
	d.Call(t, &snapshot, "evm_snapshot")
	for step := 1; ; step++ {
		finished := false
		for _, after := range []bool{false, true} {
			if os.Getenv("E2E_NIGHTLY") == "" && after != (step%4 < 2) {
				continue
			}
			name := fmt.Sprintf("step %d, after %t", step, after)
			store := d.open(t)
			_, err := d.send(t, &mortal{store, step, after})
			if err != nil && !errors.Is(err, errDied) {
				t.Fatalf("%s: %v", name, err)
			}
			finished = finished || err == nil
			if step%2 == 0 {
				d.MineBlock(t)
			}
			d.mustSend(t)
			d.deepen(t)
			r := d.settle(t)
			if r.Count(recorded.Moved) != len(r.Rows) {
				t.Errorf("%s: states are %v, want all moved", name, states(r))
			}
			if got := d.held(t, eurcBase); got != sum {
				t.Errorf("%s: the destination holds %d, want %d", name, got, sum)
			}
			var nonce string
			d.Call(t, &nonce, "eth_getTransactionCount", payer.String(), "latest")
			if nonce != "0x3" {
				t.Errorf("%s: the payer has sent %s transactions, want 0x3", name, nonce)
			}
			d.Call(t, nil, "evm_revert", snapshot)
			d.Call(t, &snapshot, "evm_snapshot")
			storagetest.Exec(t, d.database, "UPDATE sweep_rows SET state = 'planned', tx = ''")
		}
		if finished {
			if step < 8 {
				t.Errorf("a process made %d changes, want more", step)
			}
			return
		}
	}
}

func TestSend_is_refused_while_another_process_sends(t *testing.T) {
	t.Parallel()
	d := newMixedDeal(t)
	one, two := d.sender(t, d.open(t)), d.sender(t, d.open(t))
	one.ttl, two.ttl = 2*time.Second, 2*time.Second
	if err := one.Acquire(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	renewed := make(chan error)
	go func() { // as Wait does
		for clock.Sleep(ctx, time.Second/2) {
			if err := one.renew(t.Context()); err != nil {
				renewed <- err
				return
			}
		}
		renewed <- nil
	}()
	if err := two.Acquire(t.Context()); !errors.Is(err, recorded.ErrHeld) {
		t.Errorf("error %v, want %v", err, recorded.ErrHeld)
	}
	stop()
	if err := <-renewed; err != nil {
		t.Fatal(err)
	}
	if err := two.Acquire(t.Context()); err != nil { // the first process is silent
		t.Errorf("the lease of a silent process: %v", err)
	}
	o, err := one.Outlook(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := one.Submit(t.Context(), o); !errors.Is(err, recorded.ErrHeld) {
		t.Errorf("the first process sends without its lease: error %v", err)
	}
}

// Two processes send the same plan without a lease, as two servers with two databases do.
func TestSend_by_two_servers_moves_each_row_once(t *testing.T) {
	t.Parallel()
	d := newMixedDeal(t)
	second := *d
	second.database = storagetest.File(t)
	store := storagetest.Open(t, second.database)
	storagetest.AddMerchants(t, store)
	if err := store.AddSweep(t.Context(), recorded.New("shop", d.plan)); err != nil {
		t.Fatal(err)
	}
	one, two := d.sender(t, d.open(t)), second.sender(t, store)
	var outlooks []Outlook
	for _, s := range []*Sender{one, two} {
		o, err := s.Outlook(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		outlooks = append(outlooks, o)
	}
	for i, s := range []*Sender{one, two} {
		if err := s.Submit(t.Context(), outlooks[i]); err != nil {
			t.Errorf("server %d: %v", i+1, err)
		}
		if i == 0 {
			d.MineBlock(t) // the nonces are used when the second server sends
		}
	}
	d.deepen(t)
	for i, r := range []recorded.Sweep{d.settle(t), second.settle(t)} {
		if r.Count(recorded.Moved) != len(r.Rows) {
			t.Errorf("server %d: states are %v, want all moved", i+1, states(r))
		}
	}
	if got, want := d.held(t, eurcBase), int64(5*50_000_000+10); got != want {
		t.Errorf("the destination holds %d, want %d", got, want)
	}
}

func TestSend_moves_300_rows_in_one_run(t *testing.T) {
	t.Parallel()
	const count = 300
	s := newShop(t, count)
	var want int64
	for i, a := range s.addresses {
		s.hold(t, eurcBase, a, int64(5_000_000+i))
		want += int64(5_000_000 + i)
	}
	d := newDeal(t, s, request(), nil)
	o := d.mustSend(t)
	if len(o.Moves) != count || o.Transactions < 3 || len(o.Failing) > 0 {
		t.Errorf("%d transactions move %d rows, %d fail", o.Transactions, len(o.Moves), len(o.Failing))
	}
	d.deepen(t)
	if r := d.settle(t); r.Count(recorded.Moved) != count {
		t.Errorf("%d rows are moved, want %d", r.Count(recorded.Moved), count)
	}
	if got := d.held(t, eurcBase); got != want {
		t.Errorf("the destination holds %d, want %d", got, want)
	}
}
