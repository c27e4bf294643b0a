package sweep

import (
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/chain/ethereum/ethereumtest"
	"chequer/internal/config"
	"chequer/internal/evm"
	"chequer/internal/storage"
	"chequer/internal/storage/storagetest"
	"chequer/internal/sweep/recorded"
)

// visit is a plan without a payer, with the desk of a new process.
type visit struct {
	*deal
	*Desk
	store *storage.Storage
}

// newVisit returns a plan of all holdings of a shop, without a payer.
func newVisit(t *testing.T, s *shop) *visit {
	t.Helper()
	v := &visit{deal: recordDeal(t, s, request(), nil)}
	v.store = v.open(t)
	v.Desk = v.newDesk(t)
	return v
}

// newDesk returns the desk of a new process.
func (v *visit) newDesk(t *testing.T) *Desk {
	t.Helper()
	c, err := config.Load([]string{"CHEQUER_BASE_RPC=one=" + v.RPC + ",two=" + v.RPC, "CHEQUER_EVM_ADDRESS_QUERIES=on"})
	if err != nil {
		t.Fatal(err)
	}
	return NewDesk(c, v.store, time.Now)
}

func (v *visit) mustPropose(t *testing.T) recorded.Proposal {
	t.Helper()
	p, err := v.Propose(t.Context(), "shop", v.plan.ID, v.signed)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func (v *visit) mustSettle(t *testing.T) recorded.Sweep {
	t.Helper()
	r, err := v.Settle(t.Context(), "shop", v.plan.ID)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// carry sends a carrier from the wallet, which is an account of the node, and returns the hash.
func (v *visit) carry(t *testing.T, c recorded.Carrier, gas uint64) (tx string) {
	t.Helper()
	v.Call(t, &tx, "eth_sendTransaction", map[string]string{
		"from": v.wallet(t), "to": evm.Multicall3.String(), "data": fmt.Sprintf("0x%x", c.Data), "gas": fmt.Sprintf("0x%x", gas), "value": "0x0",
	})
	return tx
}

// wallet returns an account of the node.
func (v *visit) wallet(t *testing.T) string {
	t.Helper()
	var accounts []string
	v.Call(t, &accounts, "eth_accounts")
	return accounts[len(accounts)-1]
}

// record records the hash of a carrier some time ago, and returns the number of its rows.
func (v *visit) record(t *testing.T, c recorded.Carrier, tx string, ago time.Duration) int {
	t.Helper()
	n, err := v.store.RecordSweepCarried(t.Context(), "shop", v.plan.ID, tx, c.Rows, time.Now().Add(-ago))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// failing returns the failing rows of a proposal, such as "2 blocked".
func failing(p recorded.Proposal) (texts []string) {
	for _, f := range p.Failing {
		texts = append(texts, strings.TrimSpace(fmt.Sprintf("%d %s %s", f.Number, f.State, f.Why)))
	}
	return texts
}

func TestDesk_moves_the_rows_that_the_network_accepts(t *testing.T) {
	t.Parallel()
	v := newVisit(t, newMixedShop(t))
	a := v.addresses
	v.block(t, eurcBase, a[1], 1)
	v.hold(t, eurcBase, a[2], 49_000_000) // spent a part
	v.submitAsStranger(t, 4)
	v.MineBlock(t, v.Transact(t, usdcBase, ethereumtest.Data("setDollar(uint256)", big.NewInt(0)))) // another domain

	p := v.mustPropose(t)
	if diff := cmp.Diff([]string{"2 blocked", "3 nothing_there", "6 refused the token has another EIP-712 domain than the plan"}, failing(p)); diff != "" {
		t.Errorf("failing rows (-want +got):\n%s", diff)
	}
	if len(p.Carriers) != 1 || !slices.Equal(p.Carriers[0].Rows, []int{1, 5}) || p.Fault != "" {
		t.Fatalf("carriers %+v, fault %q, want one with 1 and 5", p.Carriers, p.Fault)
	}
	c := p.Carriers[0]
	if c.Estimate == 0 || c.Gas != withMargin(c.Estimate) || c.Gas > carriedGas || c.Fee.Sign() <= 0 {
		t.Errorf("gas %d, limit %d, fee %s", c.Estimate, c.Gas, c.Fee)
	}
	tx := v.carry(t, c, c.Gas)
	if n := v.record(t, c, tx, 0); n != 2 {
		t.Errorf("%d rows are recorded, want 2", n)
	}
	if again := v.mustPropose(t); len(again.Carriers) > 0 {
		t.Errorf("rows that are sent are offered again: %+v", again.Carriers)
	}
	v.MineBlock(t)
	want := []string{"1 sent", "2 blocked", "3 nothing_there", "4 sent", "5 sent", "6 refused", "7 planned", "8 planned"}
	if diff := cmp.Diff(want, states(v.mustSettle(t))); diff != "" {
		t.Errorf("before the block is final (-want +got):\n%s", diff)
	}
	v.deepen(t)
	want = []string{"1 moved", "2 blocked", "3 nothing_there", "4 moved", "5 moved", "6 refused", "7 planned", "8 planned"}
	if diff := cmp.Diff(want, states(v.mustSettle(t))); diff != "" {
		t.Errorf("when the block is final (-want +got):\n%s", diff)
	}
	if got := v.held(t, eurcBase); got != 3*50_000_000+3+4 {
		t.Errorf("the destination holds %d", got)
	}

	// The issuer releases row 2: it is offered again.
	v.block(t, eurcBase, a[1], 0)
	p = v.mustPropose(t)
	if len(p.Carriers) != 1 || !slices.Equal(p.Carriers[0].Rows, []int{2}) {
		t.Fatalf("carriers %+v, want one with 2", p.Carriers)
	}
	tx = v.carry(t, p.Carriers[0], p.Carriers[0].Gas)
	v.record(t, p.Carriers[0], tx, 0)
	v.MineBlock(t)
	v.deepen(t)
	if got := v.mustSettle(t).Rows[1].State; got != recorded.Moved {
		t.Errorf("row 2 is %s, want moved", got)
	}
}

// The desk and the command share a plan with coins: each settles its own rows.
func TestDesk_leaves_coins_to_the_command(t *testing.T) {
	t.Parallel()
	v := newVisit(t, newMixedShop(t))
	c := v.mustPropose(t).Carriers[0]
	if !slices.Equal(c.Rows, []int{1, 2, 3, 4, 5, 6}) {
		t.Fatalf("the carrier has %v", c.Rows)
	}
	tx := v.carry(t, c, c.Gas)
	v.record(t, c, tx, 0)
	command := v.sender(t, v.store)
	if err := command.Acquire(t.Context()); err != nil {
		t.Fatal(err)
	}
	o, err := command.Outlook(t.Context())
	if err != nil || !slices.Equal(o.Moves, []int{7, 8}) || len(o.Waiting) != 6 {
		t.Errorf("the command moves %v, error %v, want 7 and 8", o.Moves, err)
	}
	if err := errors.Join(command.Submit(t.Context(), o), command.Release(t.Context())); err != nil {
		t.Fatal(err)
	}
	v.MineBlock(t)
	v.deepen(t)
	r := v.mustSettle(t)
	if r.Count(recorded.Moved) != 6 || r.Rows[6].State != recorded.Sent {
		t.Errorf("after the desk looked: %v", states(r))
	}
	if r := v.settle(t); r.Count(recorded.Moved) != 8 {
		t.Errorf("after the command looked: %v", states(r))
	}
}

// The fees of a payer are recorded with their rows, by the command, which has the signed file.
func TestDesk_leaves_a_plan_with_a_payer_to_the_command(t *testing.T) {
	t.Parallel()
	d := newMixedDeal(t)
	v := &visit{deal: d, store: d.open(t)}
	v.Desk = v.newDesk(t)
	command := d.sender(t, v.store)
	if err := command.Acquire(t.Context()); err != nil {
		t.Fatal(err)
	}
	o, err := command.Outlook(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(command.Submit(t.Context(), o), command.Release(t.Context())); err != nil {
		t.Fatal(err)
	}
	d.MineBlock(t)
	d.deepen(t)
	if r := v.mustSettle(t); r.Count(recorded.Sent) != len(r.Rows) {
		t.Errorf("after the desk looked: %v", states(r))
	}
	if _, err := v.Propose(t.Context(), "shop", d.plan.ID, d.signed); err == nil || !strings.Contains(err.Error(), "has a payer") {
		t.Errorf("error %v", err)
	}
	for i, row := range d.settle(t).Rows {
		if row.State != recorded.Moved || row.Fee == nil {
			t.Errorf("row %d is %s, with the fee %v", i+1, row.State, row.Fee)
		}
	}
}

func TestDesk_divides_rows_by_their_number_and_their_gas(t *testing.T) {
	t.Parallel()
	const count = 130
	s := newShop(t, count)
	var sum int64
	for i, a := range s.addresses {
		s.hold(t, eurcBase, a, int64(5_000_000+i))
		sum += int64(5_000_000 + i)
	}
	v := newVisit(t, s)
	sizes := func(list []recorded.Carrier) (all []int) {
		next := 1
		for _, c := range list {
			all = append(all, len(c.Rows))
			for _, n := range c.Rows {
				if n != next {
					t.Fatalf("row %d follows row %d", n, next-1)
				}
				next++
			}
		}
		return all
	}
	list := v.mustPropose(t).Carriers
	if diff := cmp.Diff([]int{100, 30}, sizes(list)); diff != "" {
		t.Errorf("rows of the carriers (-want +got):\n%s", diff)
	}
	low := v.sender(t, v.store)
	low.maxGas = list[0].Gas * 2 / 5
	p, err := low.propose(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]int{25, 25, 25, 25, 30}, sizes(p.Carriers)); diff != "" {
		t.Errorf("rows of the carriers with little gas (-want +got):\n%s", diff)
	}
	for _, c := range p.Carriers {
		v.record(t, c, v.carry(t, c, c.Gas), 0)
	}
	v.MineBlock(t)
	v.deepen(t)
	if r := v.mustSettle(t); r.Count(recorded.Moved) != count || v.held(t, eurcBase) != sum {
		t.Errorf("%d rows are moved, the destination holds %d, want %d and %d", r.Count(recorded.Moved), v.held(t, eurcBase), count, sum)
	}
}

// A transaction of a wallet that fails, that is lost or that is another one leaves its rows where they are. They are offered again once the
// network shows it.
func TestDesk_offers_rows_again_after_a_transaction_that_did_not_move_them(t *testing.T) {
	t.Parallel()
	s := newShop(t, 2)
	for _, a := range s.addresses {
		s.hold(t, eurcBase, a, 50_000_000)
	}
	v := newVisit(t, s)
	c := v.mustPropose(t).Carriers[0]
	check := func(t *testing.T, want recorded.State, offered int) {
		t.Helper()
		r := v.mustSettle(t)
		if r.Count(want) != 2 {
			t.Errorf("states are %v, want %s", states(r), want)
		}
		if p := v.mustPropose(t); len(p.Carriers) != offered {
			t.Errorf("%d carriers are offered, want %d", len(p.Carriers), offered)
		}
	}
	t.Run("lost", func(t *testing.T) {
		tx := v.carry(t, c, c.Gas)
		v.record(t, c, tx, 2*lostAfter)
		check(t, recorded.Sent, 0) // the endpoints know it
		v.Call(t, nil, "anvil_dropTransaction", tx)
		check(t, recorded.Planned, 1)
	})
	t.Run("unknown_to_the_endpoints", func(t *testing.T) {
		v.record(t, c, evm.Keccak256([]byte("unknown")).String(), lostAfter-time.Minute)
		check(t, recorded.Sent, 0)
		storagetest.Exec(t, v.database, "UPDATE sweep_rows SET changed_at = changed_at - 120000")
		check(t, recorded.Planned, 1)
	})
	t.Run("out_of_gas", func(t *testing.T) {
		tx := v.carry(t, c, 60_000)
		v.record(t, c, tx, 0)
		v.MineBlock(t)
		check(t, recorded.Sent, 0) // not final
		v.deepen(t)
		check(t, recorded.Refused, 1)
	})
	t.Run("another_transaction", func(t *testing.T) {
		tx := v.Transact(t, eurcBase, ethereumtest.Data("setBlocked(address,uint256)", payer.String(), big.NewInt(1)))
		v.record(t, c, tx, 0)
		v.MineBlock(t, tx)
		v.deepen(t)
		check(t, recorded.Refused, 1)
	})
	if v.held(t, eurcBase) != 0 {
		t.Error("something was moved")
	}
}

// Two desks, or one whose server does not learn the hash, move each row once.
func TestDesk_moves_each_row_once(t *testing.T) {
	t.Parallel()
	s := newShop(t, 2)
	for _, a := range s.addresses {
		s.hold(t, eurcBase, a, 50_000_000)
	}
	v := newVisit(t, s)
	one, two := v.mustPropose(t).Carriers[0], v.mustPropose(t).Carriers[0]
	first, second := v.carry(t, one, one.Gas), v.carry(t, two, two.Gas)
	if n := v.record(t, two, second, 0); n != 2 { // the server does not learn the first hash
		t.Errorf("%d rows are recorded", n)
	}
	if n := v.record(t, one, strings.Replace(first, "0x", "0xff", 1)[:66], 0); n != 0 {
		t.Errorf("%d rows are recorded twice", n)
	}
	v.MineBlock(t)
	v.deepen(t)
	r := v.mustSettle(t)
	if r.Count(recorded.Moved) != 2 || r.Rows[0].Tx != first {
		t.Errorf("states are %v by %s, want moved by %s", states(r), r.Rows[0].Tx, first)
	}
	if got := v.held(t, eurcBase); got != 100_000_000 {
		t.Errorf("the destination holds %d", got)
	}
	if p := v.mustPropose(t); len(p.Carriers) > 0 || len(p.Failing) > 0 {
		t.Errorf("a moved plan offers %+v, fails %v", p.Carriers, failing(p))
	}
}

func TestDesk_refuses(t *testing.T) {
	t.Parallel()
	v := newVisit(t, newMixedShop(t))
	ctx := t.Context()
	t.Run("another_shop", func(t *testing.T) {
		if _, err := v.Propose(ctx, "bakery", v.plan.ID, v.signed); !errors.Is(err, recorded.ErrNotFound) {
			t.Errorf("error %v, want %v", err, recorded.ErrNotFound)
		}
	})
	t.Run("swapped_signatures", func(t *testing.T) {
		_, err := v.Propose(ctx, "shop", v.plan.ID, []byte(swapSignatures(t, v.signed)))
		if _, ok := errors.AsType[*recorded.FileError](err); !ok || !strings.Contains(err.Error(), "row 1: signed by") {
			t.Errorf("error %v", err)
		}
	})
	t.Run("while_the_command_sends", func(t *testing.T) {
		command := v.sender(t, v.store)
		if err := command.Acquire(ctx); err != nil {
			t.Fatal(err)
		}
		if _, err := v.Settle(ctx, "shop", v.plan.ID); !errors.Is(err, recorded.ErrHeld) {
			t.Errorf("error %v, want %v", err, recorded.ErrHeld)
		}
		if err := command.Release(ctx); err != nil {
			t.Fatal(err)
		}
		v.mustSettle(t)
		if err := command.Acquire(ctx); err != nil {
			t.Errorf("the desk did not release the lease: %v", err)
		}
		if err := command.Release(ctx); err != nil {
			t.Fatal(err)
		}
	})
	t.Run("while_this_process_reads", func(t *testing.T) {
		name := "base shop"
		if !v.begin(name) {
			t.Fatal("the lease is busy")
		}
		if _, err := v.Propose(ctx, "shop", v.plan.ID, v.signed); !errors.Is(err, recorded.ErrHeld) {
			t.Errorf("error %v, want %v", err, recorded.ErrHeld)
		}
		v.end(name)
		v.mustSettle(t)
	})
	t.Run("endpoints_that_do_not_answer", func(t *testing.T) {
		c, err := config.Load([]string{"CHEQUER_BASE_RPC=one=http://127.0.0.1:1,two=http://127.0.0.1:1", "CHEQUER_EVM_ADDRESS_QUERIES=on"})
		if err != nil {
			t.Fatal(err)
		}
		_, err = NewDesk(c, v.store, time.Now).Settle(ctx, "shop", v.plan.ID)
		if _, ok := errors.AsType[*recorded.NetworkError](err); !ok {
			t.Errorf("error %v", err)
		}
	})
	t.Run("a_plan_that_was_stopped", func(t *testing.T) {
		if err := v.store.StopSweep(ctx, "shop", v.plan.ID, time.Now()); err != nil {
			t.Fatal(err)
		}
		if p := v.mustPropose(t); !strings.Contains(p.Fault, "was stopped") || len(p.Carriers) > 0 {
			t.Errorf("fault %q, carriers %+v", p.Fault, p.Carriers)
		}
	})
	t.Run("a_plan_that_is_over", func(t *testing.T) {
		v := newVisit(t, newMixedShop(t))
		v.Call(t, nil, "evm_setNextBlockTimestamp", v.plan.ValidUntil.Unix())
		v.MineBlock(t)
		if p := v.mustPropose(t); !strings.Contains(p.Fault, "nothing is sent in its last two minutes or after its end") || len(p.Carriers) > 0 {
			t.Errorf("fault %q, carriers %+v", p.Fault, p.Carriers)
		}
		v.deepen(t)
		if r := v.mustSettle(t); r.Count(recorded.Expired) != 6 {
			t.Errorf("states are %v, want six expired", states(r))
		}
	})
}
