package sweep

import (
	"context"
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
	"chequer/internal/sweep/plan"
	"chequer/internal/sweep/plan/plantest"
	"chequer/internal/sweep/recorded"
)

// deal is a recorded and signed plan on a node.
type deal struct {
	*shop
	database string
	plan     plan.Plan
	signed   []byte
}

// hold sets the balance of an address in a token.
func (s *shop) hold(t *testing.T, contract string, account evm.Address, units int64) {
	t.Helper()
	owner, slot, value := evm.AddressWord(account), evm.NumberWord(1), evm.NumberWord(uint64(units)) // the slot of Authorized.balanceOf
	s.Call(t, nil, "anvil_setStorageAt", contract, evm.Keccak256(owner[:], slot[:]).String(), evm.Hash(value).String())
}

// newDeal drafts, records and signs a plan of all holdings of a shop. change may change the plan before.
func newDeal(t *testing.T, s *shop, r Request, change func(*plan.Plan)) *deal {
	t.Helper()
	s.fund(t, payer, 1000)
	r.Payer = &payer
	return recordDeal(t, s, r, change)
}

// recordDeal is newDeal with the payer of the request, or without one.
func recordDeal(t *testing.T, s *shop, r Request, change func(*plan.Plan)) *deal {
	t.Helper()
	s.deepen(t)
	d := &deal{shop: s, database: storagetest.File(t)}
	d.plan = s.mustDraft(t, r).Plan
	if change != nil {
		change(&d.plan)
		var err error
		if d.plan, err = plan.Encode(d.plan); err != nil {
			t.Fatal(err)
		}
	}
	store := storagetest.Open(t, d.database)
	storagetest.AddMerchants(t, store)
	if err := store.AddSweep(t.Context(), recorded.New("shop", d.plan)); err != nil {
		t.Fatal(err)
	}
	var err error
	if d.signed, err = signPlan(t, d.plan).Encode(); err != nil {
		t.Fatal(err)
	}
	return d
}

// open opens the database as a new process.
func (d *deal) open(t *testing.T) *storage.Storage {
	t.Helper()
	return storagetest.Open(t, d.database)
}

// sender returns a new sender, as a new process has it.
func (d *deal) sender(t *testing.T, store SendStorage) *Sender {
	t.Helper()
	return d.senderThrough(t, store, d.RPC)
}

// senderThrough is sender with another URL of the second operator.
func (d *deal) senderThrough(t *testing.T, store SendStorage, second string) *Sender {
	t.Helper()
	c, err := config.Load([]string{"CHEQUER_BASE_RPC=one=" + d.RPC + ",two=" + second, "CHEQUER_EVM_ADDRESS_QUERIES=on"})
	if err != nil {
		t.Fatal(err)
	}
	s, err := NewSender(t.Context(), c, store, fixedRates(t), "shop", d.signed, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// send sends the plan as a new process.
func (d *deal) send(t *testing.T, store SendStorage) (Outlook, error) {
	t.Helper()
	s := d.sender(t, store)
	s.ttl = 0 // the process before this one ended
	if err := s.Acquire(t.Context()); err != nil {
		return Outlook{}, err
	}
	o, err := s.Outlook(t.Context())
	if err != nil {
		return o, err
	}
	return o, s.Submit(t.Context(), o)
}

// mustSend sends the plan as a new process, and mines the transactions.
func (d *deal) mustSend(t *testing.T) Outlook {
	t.Helper()
	o, err := d.send(t, d.open(t))
	if err != nil {
		t.Fatal(err)
	}
	d.MineBlock(t)
	return o
}

// settle settles the plan as a new process, and returns it.
func (d *deal) settle(t *testing.T) recorded.Sweep {
	t.Helper()
	s := d.sender(t, d.open(t))
	if _, err := s.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s.Sweep()
}

// states returns the states of the rows with their numbers of transactions, such as "1 moved".
func states(r recorded.Sweep) (texts []string) {
	for i, row := range r.Rows {
		texts = append(texts, fmt.Sprintf("%d %s", i+1, row.State))
	}
	return texts
}

// held returns the balance of the destination in a token.
func (d *deal) held(t *testing.T, contract string) int64 {
	t.Helper()
	return d.Read(t, contract, ethereumtest.Data("balanceOf(address)", plantest.To)).Int64()
}

// submitAsStranger submits the authorization of a row from another account.
func (d *deal) submitAsStranger(t *testing.T, n int) {
	t.Helper()
	signed, err := plan.ReadSigned(d.signed)
	if err != nil {
		t.Fatal(err)
	}
	call := d.plan.Call(n, signed.Rows[n-1].Signature)
	tx := d.Transact(t, call.To.String(), fmt.Sprintf("0x%x", call.Data))
	d.MineBlock(t, tx)
	if _, succeeded := d.Outcome(t, tx); !succeeded {
		t.Fatalf("the authorization of row %d failed", n)
	}
}

// block blocks an account at a token, or releases it.
func (s *shop) block(t *testing.T, contract string, account evm.Address, blocked int64) {
	t.Helper()
	s.MineBlock(t, s.Transact(t, contract, ethereumtest.Data("setBlocked(address,uint256)", account.String(), big.NewInt(blocked))))
}

// Rows 1 to 5 are EURC, row 6 is USDC, and rows 7 and 8 are the coin.
func newMixedDeal(t *testing.T) *deal {
	t.Helper()
	return newDeal(t, newMixedShop(t), request(), nil)
}

// newMixedShop returns a shop with the holdings of newMixedDeal.
func newMixedShop(t *testing.T) *shop {
	t.Helper()
	s := newShop(t, 8)
	for i, a := range s.addresses[:5] {
		s.hold(t, eurcBase, a, int64(50_000_000+i))
	}
	s.hold(t, usdcBase, s.addresses[5], 30_000_000)
	s.fund(t, s.addresses[6], 100)
	s.fund(t, s.addresses[7], 200)
	return s
}

func TestSend_names_each_row_that_it_does_not_move(t *testing.T) {
	t.Parallel()
	d := newMixedDeal(t)
	a := d.addresses
	d.block(t, eurcBase, a[1], 1)
	d.hold(t, eurcBase, a[2], 49_000_000) // spent a part
	d.submitAsStranger(t, 4)
	d.MineBlock(t, d.Transact(t, usdcBase, ethereumtest.Data("setDollar(uint256)", big.NewInt(0)))) // another domain
	d.fund(t, a[7], 1)
	d.MineBlock(t)

	o := d.mustSend(t)
	var failing []string
	for _, f := range o.Failing {
		failing = append(failing, strings.TrimSpace(fmt.Sprintf("%d %s %s", f.Number, f.State, f.Why)))
	}
	want := []string{"2 blocked", "3 nothing_there", "6 refused the token has another EIP-712 domain than the plan", "8 nothing_there"}
	if diff := cmp.Diff(want, failing); diff != "" {
		t.Errorf("failing rows (-want +got):\n%s", diff)
	}
	if !slices.Equal(o.Moves, []int{1, 5, 7}) || !slices.Equal(o.Waiting, []int{4}) || o.Transactions != 2 || o.Fault != "" {
		t.Errorf("moves %v, waiting %v, %d transactions, fault %q, want 1 5 7, 4 and 2", o.Moves, o.Waiting, o.Transactions, o.Fault)
	}
	if got := states(d.settle(t)); !slices.Equal(got, []string{"1 sent", "2 sent", "3 sent", "4 sent", "5 sent", "6 sent", "7 sent", "8 nothing_there"}) {
		t.Errorf("before the blocks are final the states are %v", got)
	}
	d.deepen(t)
	r := d.settle(t)
	if diff := cmp.Diff([]string{"1 moved", "2 blocked", "3 nothing_there", "4 moved", "5 moved", "6 refused", "7 moved", "8 nothing_there"}, states(r)); diff != "" {
		t.Errorf("states (-want +got):\n%s", diff)
	}
	if r.Rows[0].Tx == "" || r.Rows[3].Tx == "" || r.Rows[0].Tx == r.Rows[3].Tx {
		t.Errorf("rows 1 and 4 are moved by %q and %q, want two transactions", r.Rows[0].Tx, r.Rows[3].Tx)
	}
	if got := d.held(t, eurcBase); got != 3*50_000_000+3+4 {
		t.Errorf("the destination holds %d", got)
	}

	// The issuer releases row 2, and a stranger submits it: it is moved after all. Nothing is sent again.
	d.block(t, eurcBase, a[1], 0)
	d.submitAsStranger(t, 2)
	d.deepen(t)
	if o := d.mustSend(t); o.Transactions != 0 {
		t.Errorf("%d transactions are sent again", o.Transactions)
	}
	if got := d.settle(t).Rows[1].State; got != recorded.Moved {
		t.Errorf("row 2 is %s, want moved", got)
	}
}

func TestSend_moves_nothing_when_the_plan_is_over(t *testing.T) {
	t.Parallel()
	d := newMixedDeal(t)
	d.Call(t, nil, "evm_setNextBlockTimestamp", d.plan.ValidUntil.Unix())
	d.MineBlock(t)
	s := d.sender(t, d.open(t))
	o, err := s.Outlook(t.Context())
	if err != nil || !strings.Contains(o.Fault, "nothing is sent in its last two minutes or after its end") {
		t.Errorf("fault %q, error %v, want that it is over", o.Fault, err)
	}
	if err := s.Submit(t.Context(), o); err == nil {
		t.Error("it is sent")
	}
	d.deepen(t)
	if r := d.settle(t); r.Count(recorded.Expired) != len(r.Rows) || r.Phase() != recorded.PhaseDone {
		t.Errorf("states are %v, want all expired", states(r))
	}
}

func TestSend_refuses(t *testing.T) {
	t.Parallel()
	d := newMixedDeal(t)
	ctx, store := t.Context(), d.open(t)
	fault := func(t *testing.T) string {
		t.Helper()
		o, err := d.sender(t, store).Outlook(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return o.Fault
	}
	c, err := config.Load([]string{"CHEQUER_BASE_RPC=one=" + d.RPC + ",two=" + d.RPC, "CHEQUER_EVM_ADDRESS_QUERIES=on"})
	if err != nil {
		t.Fatal(err)
	}
	other := d.plan
	other.ID, other.To = "swp_other", payer
	if other, err = plan.Encode(other); err != nil {
		t.Fatal(err)
	}
	stranger, err := signPlan(t, other).Encode()
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		content  string
		merchant string
		want     string
	}{
		"a_changed_destination":          {strings.Replace(string(d.signed), plantest.To, payer.String(), 1), "shop", "the signed file pays"},
		"a_changed_signature":            {swapSignatures(t, d.signed), "shop", "row 1: signed by"},
		"an_unknown_field":               {strings.Replace(string(d.signed), `"plan":`, `"x":1,"plan":`, 1), "shop", "the signed file is not valid"},
		"a_plan_that_is_not_recorded":    {string(stranger), "shop", "has not made the plan swp_other"},
		"the_plan_of_another_shop":       {string(d.signed), "bakery", "has not made the plan"},
		"other_bytes_under_the_same_id":  {strings.ReplaceAll(string(stranger), "swp_other", d.plan.ID), "shop", "was changed after it was signed"},
		"a_file_that_is_not_a_signature": {"{}", "shop", "the signed file is not valid"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := NewSender(ctx, c, store, fixedRates(t), tt.merchant, []byte(tt.content), time.Now); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %s", err, tt.want)
			}
		})
	}
	t.Run("a_payer_that_cannot_pay", func(t *testing.T) {
		d.Call(t, nil, "anvil_setBalance", payer.String(), "0x1")
		d.MineBlock(t)
		if got := fault(t); !strings.Contains(got, "and its transactions may take") {
			t.Errorf("fault %q", got)
		}
		d.fund(t, payer, 1000)
		d.MineBlock(t)
	})
	t.Run("a_base_fee_above_that_of_the_plan", func(t *testing.T) {
		d.Call(t, nil, "anvil_setNextBlockBaseFeePerGas", "0xe8d4a51000")
		d.MineBlock(t)
		if got := fault(t); !strings.Contains(got, "per million gas") {
			t.Errorf("fault %q", got)
		}
		d.Call(t, nil, "anvil_setNextBlockBaseFeePerGas", "0x0")
		d.MineBlock(t)
	})
	for name, account := range map[string]evm.Address{"destination": d.plan.To, "payer": payer} {
		t.Run("a_"+name+"_that_an_invoice_has_since", func(t *testing.T) {
			s := d.sender(t, issuedSince{store, script(account)})
			o, err := s.Outlook(ctx)
			if want := "the " + name + " " + account.String() + " is an address for an invoice since"; err != nil || !strings.Contains(o.Fault, want) {
				t.Errorf("fault %q, error %v, want %s", o.Fault, err, want)
			}
		})
	}
	t.Run("a_plan_that_is_stopped", func(t *testing.T) {
		if err := store.StopSweep(ctx, "shop", d.plan.ID, time.Now()); err != nil {
			t.Fatal(err)
		}
		if got := fault(t); !strings.Contains(got, "was stopped") {
			t.Errorf("fault %q", got)
		}
	})
	if d.held(t, eurcBase) != 0 || d.settle(t).Count(recorded.Planned) != len(d.plan.Rows) {
		t.Error("something was sent")
	}
}

// issuedSince is a SendStorage in which an invoice has a script.
type issuedSince struct {
	SendStorage
	script string
}

func (s issuedSince) IsDestination(_ context.Context, script string) (bool, error) {
	return script == s.script, nil
}

// swapSignatures returns a signed file in which rows 1 and 2 have the signature of the other one.
func swapSignatures(t *testing.T, content []byte) string {
	t.Helper()
	s, err := plan.ReadSigned(content)
	if err != nil {
		t.Fatal(err)
	}
	s.Rows[0], s.Rows[1] = s.Rows[1], s.Rows[0]
	swapped, err := s.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return string(swapped)
}

// A payer that sends another transaction makes the carrying ones impossible. The coins are sent nevertheless.
func TestSend_without_the_nonce_of_the_payer_sends_the_coins(t *testing.T) {
	t.Parallel()
	d := newMixedDeal(t)
	d.Call(t, nil, "anvil_setNonce", payer.String(), "0x5")
	d.MineBlock(t)
	o := d.mustSend(t)
	if !slices.Equal(o.Moves, []int{7, 8}) || len(o.Unsent) != 6 {
		t.Errorf("moves %v, unsent %v, want 7 8 and six rows", o.Moves, o.Unsent)
	}
	d.deepen(t)
	if r := d.settle(t); r.Count(recorded.Moved) != 2 || r.Count(recorded.Planned) != 6 {
		t.Errorf("states are %v", states(r))
	}
}
