package sweep

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/sweep/plan"
	"chequer/internal/sweep/recorded"
)

// newChangingEndpoint returns the URL of an endpoint in front of a node. change returns the result that it gives instead of one of the node; nil
// if the call fails.
func newChangingEndpoint(t *testing.T, node string, change func(method string, params []any, result json.RawMessage) json.RawMessage) string {
	t.Helper()
	type message struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Method  string          `json:"method,omitempty"`
		Params  []any           `json:"params,omitempty"`
		Result  json.RawMessage `json:"result,omitempty"`
		Error   json.RawMessage `json:"error,omitempty"`
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		answer, err := http.Post(node, "application/json", bytes.NewReader(body))
		if err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		defer answer.Body.Close()
		content, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Error(err)
		}
		isBatch := bytes.HasPrefix(body, []byte("["))
		if !isBatch {
			body, content = slices.Concat([]byte("["), body, []byte("]")), slices.Concat([]byte("["), content, []byte("]"))
		}
		var requests, results []message
		if err := errors.Join(json.Unmarshal(body, &requests), json.Unmarshal(content, &results)); err != nil {
			t.Errorf("%s: %s: %v", body, content, err)
			return
		}
		for i := range results {
			for _, request := range requests {
				if string(request.ID) == string(results[i].ID) && results[i].Error == nil {
					if results[i].Result = change(request.Method, request.Params, results[i].Result); results[i].Result == nil {
						results[i].Error = json.RawMessage(`{"code":3,"message":"execution reverted"}`)
					}
				}
			}
		}
		var changed any = results
		if !isBatch {
			changed = results[0]
		}
		if err := json.NewEncoder(w).Encode(changed); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// withoutReceipts returns the URL of an endpoint of a deal that shows no receipts of some transactions.
func (d *deal) withoutReceipts(t *testing.T, isHidden func(tx string) bool) string {
	t.Helper()
	return newChangingEndpoint(t, d.RPC, func(method string, params []any, result json.RawMessage) json.RawMessage {
		if method == "eth_getTransactionReceipt" && isHidden(params[0].(string)) {
			return json.RawMessage("null")
		}
		return result
	})
}

// settleThrough is settle with another URL of the second operator.
func (d *deal) settleThrough(t *testing.T, second string) recorded.Sweep {
	t.Helper()
	s := d.senderThrough(t, d.open(t), second)
	if _, err := s.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s.Sweep()
}

// moveAll sends a funded plan, and mines until the transactions are final.
func (d *deal) moveAll(t *testing.T) {
	t.Helper()
	d.mustSend(t)
	d.mustSend(t)
	d.deepen(t)
}

// Two plans of the same holdings are made at the same fees. The transactions of the first one are not those of the second one, so only one of
// them has the transfers in its records.
func TestSend_counts_a_transfer_in_one_of_two_equal_plans(t *testing.T) {
	t.Parallel()
	s := newPlainShop(t, 4)
	for _, a := range s.addresses[:2] {
		s.hold(t, usdbcBase, a, 50_000_000)
	}
	s.fund(t, s.addresses[1], 100) // more than its fee
	s.fund(t, s.addresses[2], 100)
	s.hold(t, eurcBase, s.addresses[3], 50_000_000)
	first := newDeal(t, s, fundRequest(), nil)
	second := newDeal(t, s, fundRequest(), nil)
	first.moveAll(t)
	if r := first.settle(t); r.Count(recorded.Moved) != len(r.Rows) {
		t.Fatalf("states of the first plan are %v", states(r))
	}
	r := second.settle(t)
	for i, row := range r.Rows {
		if row.State == recorded.Moved || row.Fee != nil || row.FundingFee != nil {
			t.Errorf("row %d, %s, of the second plan is %s, with the fees %s and %s", i+1, r.Plan.Rows[i].Asset, row.State, row.Fee, row.FundingFee)
		}
	}
}

// One of two operators shows no receipts yet, although the nonces are used.
func TestSettle_waits_for_receipts_that_an_operator_shows_late(t *testing.T) {
	t.Parallel()
	d := newFundedDealOf(t, 2)
	d.mustSend(t)
	late := d.withoutReceipts(t, func(string) bool { return true })
	if got := states(d.settleThrough(t, late)); !slices.Equal(got, []string{"1 sent", "2 sent"}) {
		t.Errorf("after the addresses are funded the states are %v", got)
	}
	d.mustSend(t)
	d.deepen(t)
	if got := states(d.settleThrough(t, late)); !slices.Equal(got, []string{"1 sent", "2 sent"}) {
		t.Errorf("after the transfers the states are %v", got)
	}
	var fundings []string
	for _, one := range d.sender(t, d.open(t)).steps {
		if one.kind == funding {
			fundings = append(fundings, one.hash.String())
		}
	}
	late = d.withoutReceipts(t, func(tx string) bool { return slices.Contains(fundings, tx) })
	if got := states(d.settleThrough(t, late)); !slices.Equal(got, []string{"1 sent", "2 moved"}) {
		t.Errorf("without the receipts of the payer the states are %v", got)
	}
	if r := d.settle(t); r.Count(recorded.Moved) != 2 || r.Rows[0].FundingFee == nil {
		t.Errorf("states are %v, the fee of the funding is %s", states(r), r.Rows[0].FundingFee)
	}
}

// The operators first state different fees. The fees are recorded when they agree, also of rows that are moved.
func TestSettle_records_fees_on_which_the_operators_agree_later(t *testing.T) {
	t.Parallel()
	d := newFundedDealOf(t, 2)
	d.moveAll(t)
	other := newChangingEndpoint(t, d.RPC, func(method string, _ []any, result json.RawMessage) json.RawMessage {
		if method != "eth_getTransactionReceipt" {
			return result
		}
		return json.RawMessage(strings.Replace(string(result), `"gasUsed":"0x`, `"gasUsed":"0x1`, 1))
	})
	before := d.settleThrough(t, other)
	if before.Count(recorded.Moved) != 2 || before.Rows[0].Fee != nil || before.Rows[0].FundingFee != nil {
		t.Fatalf("states are %v, the fees %s and %s", states(before), before.Rows[0].Fee, before.Rows[0].FundingFee)
	}
	after := d.settle(t)
	for i, row := range after.Rows {
		if row.Fee == nil || !row.FeeEUR.Valid || (row.FundingFee != nil) != d.plan.Rows[i].IsFunded() {
			t.Errorf("row %d: the fees are %s and %s, worth %v EUR", i+1, row.Fee, row.FundingFee, row.FeeEUR)
		}
		if was := before.Rows[i]; row.State != was.State || row.Tx != was.Tx || !row.ChangedAt.Equal(was.ChangedAt) {
			t.Errorf("row %d was %+v and is %+v", i+1, was, row)
		}
	}
	if diff := cmp.Diff(after.Rows, d.settle(t).Rows, cmp.Comparer(func(a, b *big.Int) bool { return a == b || a != nil && b != nil && a.Cmp(b) == 0 })); diff != "" {
		t.Errorf("the next time (-want +got):\n%s", diff)
	}
}

// The operator is asked whether to send, and answers much later.
func TestSubmit_sends_nothing_of_an_old_outlook(t *testing.T) {
	t.Parallel()
	d := newFundedDealOf(t, 2)
	for name, tt := range map[string]struct {
		now  time.Time
		want string
	}{
		"after_ten_minutes":         {time.Now().Add(10 * time.Minute), "say the command again"},
		"when_the_plan_is_over":     {d.plan.ValidUntil, "nothing is sent in its last two minutes or after its end"},
		"with_a_clock_that_is_back": {time.Now().Add(-10 * time.Minute), "say the command again"},
	} {
		t.Run(name, func(t *testing.T) {
			s := d.sender(t, d.open(t))
			o, err := s.Outlook(t.Context())
			if err != nil || o.Transactions != 3 {
				t.Fatalf("%d transactions, error %v", o.Transactions, err)
			}
			s.now = func() time.Time { return tt.now }
			if err := s.Submit(t.Context(), o); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %s", err, tt.want)
			}
		})
	}
	d.MineBlock(t)
	if r := d.settle(t); r.Count(recorded.Planned) != 2 {
		t.Errorf("states are %v", states(r))
	}
}

// In the last hour of a plan no address is funded, because its own transaction could be too late. One that is funded is moved.
func TestSend_funds_no_address_in_the_last_hour(t *testing.T) {
	t.Parallel()
	d := newFundedDealOf(t, 3)
	late := func() time.Time { return d.plan.ValidUntil.Add(-plan.FundingMargin) }
	s := d.sender(t, d.open(t))
	s.now = late
	o, err := s.Outlook(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(o.Moves, []int{2}) || o.Transactions != 1 || o.Fault != "" || len(o.Failing) != 2 || o.Failing[0].Why != reasonLate {
		t.Errorf("moves %v in %d transactions, fault %q, failing %+v", o.Moves, o.Transactions, o.Fault, o.Failing)
	}
	var snapshot string
	d.Call(t, &snapshot, "evm_snapshot")
	if _, err := d.send(t, d.open(t)); err != nil { // in time
		t.Fatal(err)
	}
	d.Call(t, nil, "anvil_dropAllTransactions")
	s = d.sender(t, d.open(t))
	s.now = late
	v, err := s.settle(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.repeat(t.Context(), v); err != nil {
		t.Fatal(err)
	}
	d.MineBlock(t)
	var nonce string
	if d.Call(t, &nonce, "eth_getTransactionCount", payer.String(), "latest"); nonce != "0x0" {
		t.Errorf("the payer has sent %s transactions in the last hour", nonce)
	}
	d.mustSend(t)
	s = d.sender(t, d.open(t))
	s.now = late
	o, err = s.Outlook(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(o.Moves, []int{1, 3}) || o.Transactions != 2 || o.Fault != "" {
		t.Errorf("when the addresses are funded, the moves are %v in %d transactions, fault %q", o.Moves, o.Transactions, o.Fault)
	}
}

// Transactions that are in no block are not given to the network again after the end of the plan: an authorization would be over, and the
// carrying transaction would cost its fee.
func TestRepeat_sends_nothing_after_the_end_of_the_plan(t *testing.T) {
	t.Parallel()
	d := newMixedDeal(t)
	if _, err := d.send(t, d.open(t)); err != nil {
		t.Fatal(err)
	}
	d.Call(t, nil, "anvil_dropAllTransactions")
	s := d.sender(t, d.open(t))
	s.now = func() time.Time { return d.plan.ValidUntil }
	v, err := s.settle(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.repeat(t.Context(), v); err != nil {
		t.Fatal(err)
	}
	d.MineBlock(t)
	if got := d.held(t, eurcBase); got != 0 {
		t.Errorf("the destination holds %d", got)
	}
}

// The address of row 1 holds the fee for gas, and not that for data: it is funded before it sends.
func TestSend_funds_the_fee_for_data(t *testing.T) {
	t.Parallel()
	s := newPlainShop(t, 1)
	s.hold(t, usdbcBase, s.addresses[0], 50_000_000)
	d := newDeal(t, s, fundRequest(), nil)
	d.Call(t, nil, "anvil_setBalance", s.addresses[0].String(), "0x"+d.plan.Transaction(d.plan.Rows[0]).MaxFee().Text(16))
	d.MineBlock(t)
	sender := d.sender(t, d.open(t))
	o, err := sender.Outlook(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(o.send) != 1 || o.send[0].kind != funding || len(o.later) != 1 {
		t.Errorf("%d transactions are sent now and %d later, want that of the payer now", len(o.send), len(o.later))
	}

	// The fee for data rises after the address is funded. The endpoints decide whether the coin suffices.
	d.mustSend(t)
	d.Call(t, nil, "anvil_setBalance", s.addresses[0].String(), "0x"+d.plan.Transaction(d.plan.Rows[0]).MaxFee().Text(16))
	d.MineBlock(t)
	if o := d.mustSend(t); !slices.Equal(o.Moves, []int{1}) || len(o.send) != 1 {
		t.Errorf("after it is funded, the moves are %v in %d transactions", o.Moves, len(o.send))
	}
}

// One of two operators answers an amount of gas that has 64 bits, and less than a transfer needs in 64 bits when the margin is added.
func TestPlan_is_refused_if_an_operator_answers_too_much_gas(t *testing.T) {
	t.Parallel()
	s := newPlainShop(t, 1)
	s.hold(t, usdbcBase, s.addresses[0], 50_000_000)
	s.fund(t, payer, 1000)
	s.deepen(t)
	wrong := newChangingEndpoint(t, s.RPC, func(method string, _ []any, result json.RawMessage) json.RawMessage {
		if method == "eth_estimateGas" {
			return json.RawMessage(`"0xcccccccccccd2a2b"`)
		}
		return result
	})
	d, err := s.newPlannerThrough(t, wrong).Draft(t.Context(), fundRequest())
	if err == nil || !strings.Contains(err.Error(), "answer eth_estimateGas") {
		t.Errorf("error %v, and the gas of the plan is %+v", err, d.Plan.Rows)
	}
}

// The address of row 1 has another transaction with the nonce in the pools of the nodes, which refuse that of the plan. The others are sent.
func TestSend_sends_the_rest_if_a_transaction_is_refused(t *testing.T) {
	t.Parallel()
	s := newShop(t, 3)
	for _, a := range s.addresses {
		s.fund(t, a, 100)
	}
	d := newDeal(t, s, request(), nil)
	other := d.addresses[0].String()
	d.Call(t, nil, "anvil_impersonateAccount", other)
	d.Call(t, nil, "eth_sendTransaction", map[string]string{
		"from": other, "to": payer.String(), "value": "0x1", "nonce": "0x0", "gas": "0x5208", "maxFeePerGas": "0x12a05f2000", "maxPriorityFeePerGas": "0x12a05f2000",
	})
	sender := d.sender(t, d.open(t))
	o, err := sender.Outlook(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	refused := (*RefusedError)(nil)
	if err := sender.Submit(t.Context(), o); !errors.As(err, &refused) || refused.Count != 1 {
		t.Errorf("error %v, want that of row 1", err)
	}
	if err := sender.Wait(t.Context(), 0, func(int) {}); !errors.As(err, &refused) {
		t.Errorf("after the wait: error %v, want that of row 1", err)
	}
	d.MineBlock(t)
	d.deepen(t)
	if got := states(d.settle(t)); !slices.Equal(got, []string{"1 nothing_there", "2 moved", "3 moved"}) {
		t.Errorf("states are %v", got)
	}
}

// After a transaction of the payer that is refused, no other one of the payer is sent: its nonce would wait.
func TestEach_leaves_out_the_payer_after_a_refusal(t *testing.T) {
	t.Parallel()
	var done []uint64
	steps := []step{{kind: moving}, {kind: funding}, {kind: carrying}, {kind: moving}}
	for i := range steps {
		steps[i].Nonce = uint64(i)
	}
	do := func(kind stepKind, err error) func(step) error {
		return func(one step) error {
			done = append(done, one.Nonce)
			if one.kind == kind {
				return err
			}
			return nil
		}
	}
	refused := &RefusedError{First: errDied, Count: 1}
	for _, tt := range []struct {
		do   func(step) error
		want []uint64
		err  string
	}{
		{do(funding, nil), []uint64{0, 1, 2, 3}, ""},
		{do(funding, refused), []uint64{0, 1, 3}, errDied.Error()},
		{do(moving, refused), []uint64{0, 1, 2, 3}, errDied.Error() + "; 1 more are refused"},
		{do(funding, errDied), []uint64{0, 1}, errDied.Error()},
	} {
		done = nil
		text := ""
		if err := each(steps, tt.do); err != nil {
			text = err.Error()
		}
		if !slices.Equal(done, tt.want) || text != tt.err {
			t.Errorf("did %v, error %q, want %v and %q", done, text, tt.want, tt.err)
		}
	}
}

// The tokens of row 1 are spent after its transaction was sent, so the transaction fails and costs its fee, which the address has paid.
func TestReconcile_counts_the_fee_of_a_transaction_that_failed(t *testing.T) {
	t.Parallel()
	d := newFundedDealOf(t, 2)
	d.mustSend(t)
	if _, err := d.send(t, d.open(t)); err != nil {
		t.Fatal(err)
	}
	d.hold(t, usdbcBase, d.addresses[0], 1)
	d.MineBlock(t)
	d.deepen(t)
	d.settle(t)
	r := d.settle(t)
	if diff := cmp.Diff([]string{"1 refused", "2 moved"}, states(r)); diff != "" {
		t.Errorf("states (-want +got):\n%s", diff)
	}
	const ether = 100_000_000_000_000_000
	if got := d.reconcile(t, 0, ether, r)["ETH-BASE"]; got.Difference != "0" {
		t.Errorf("ether: %+v", got)
	}
	if first := r.Rows[0]; first.Fee == nil || first.FundingFee == nil || !first.FeeEUR.Valid {
		t.Errorf("the fees of row 1 are %s and %s, worth %v EUR", first.Fee, first.FundingFee, first.FeeEUR)
	}
}

// The transactions of addresses have no end. One that waits for lower fees at the end of the plan may still move its row.
func TestSettle_keeps_rows_open_whose_transactions_outlive_the_plan(t *testing.T) {
	t.Parallel()
	s := newShop(t, 1)
	s.fund(t, s.addresses[0], 100)
	d := newDeal(t, s, request(), nil)
	if _, err := d.send(t, d.open(t)); err != nil {
		t.Fatal(err)
	}
	d.Call(t, nil, "anvil_dropAllTransactions") // anvil keeps none that pays less than the base fee
	d.Call(t, nil, "evm_setNextBlockTimestamp", d.plan.ValidUntil.Unix())
	d.deepen(t)
	keeps := newChangingEndpoint(t, d.RPC, func(method string, params []any, result json.RawMessage) json.RawMessage {
		if method == "eth_getTransactionByHash" {
			return json.RawMessage(fmt.Sprintf(`{"hash":%q}`, params[0]))
		}
		return result
	})
	if got := states(d.settleThrough(t, keeps)); !slices.Equal(got, []string{"1 sent"}) {
		t.Errorf("while a node has the transaction, the states are %v", got)
	}
	if got := states(d.settle(t)); !slices.Equal(got, []string{"1 expired"}) {
		t.Errorf("after the nodes dropped it, the states are %v", got)
	}
}
