package sweep

import (
	"errors"
	"fmt"
	"math/big"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/shopspring/decimal"

	"chequer/internal/chain/ethereum/ethereumtest"
	"chequer/internal/evm"
	"chequer/internal/storage/storagetest"
	"chequer/internal/sweep/plan"
	"chequer/internal/sweep/plan/plantest"
	"chequer/internal/sweep/recorded"
)

// usdbcBase is the contract of a token on Base, which has the code of Plain in these tests: it has no authorizations.
const usdbcBase = "0xd9aAEc86B65D86f6A7B5B1b0c42FFA531710b6CA"

// newPlainShop is newShop with the token of usdbcBase.
func newPlainShop(t *testing.T, issued uint32) *shop {
	t.Helper()
	s := newShop(t, issued)
	var code string
	s.Call(t, &code, "eth_getCode", s.Deploy(t, ethereumtest.Code("plain")), "latest")
	s.Call(t, nil, "anvil_setCode", usdbcBase, code)
	return s
}

// fundRequest returns a request that includes tokens without authorizations.
func fundRequest() Request {
	r := request()
	r.Fund, r.Payer = true, &payer
	return r
}

func TestPlan_funds_tokens_without_authorizations(t *testing.T) {
	t.Parallel()
	s := newPlainShop(t, 6)
	a := s.addresses
	for i, units := range []int64{50_000_000, 40_000_000, 30_000_000, 20_000_000, 10_000_000} {
		s.hold(t, usdbcBase, a[i], units)
	}
	s.fund(t, a[0], 100) // more than its fee
	s.Call(t, nil, "anvil_setBalance", a[1].String(), "0x64")
	s.block(t, usdbcBase, a[2], 1)
	s.storage.watched = []string{script(a[3])}
	s.hold(t, eurcBase, a[4], 60_000_000)
	s.fund(t, a[5], 200)
	s.fund(t, payer, 1000)
	s.deepen(t)

	r := fundRequest()
	r.AlsoWatched = true // a payment would be seen at a funded address
	p := s.mustDraft(t, r).Plan
	var rows []string
	for _, r := range p.Rows {
		funded := ""
		if r.IsFunded() {
			funded = " funded"
		}
		rows = append(rows, fmt.Sprintf("%d %s %s%s", r.Steps[1], r.Asset, r.Way, funded))
	}
	if diff := cmp.Diff([]string{"0 USDBC fund", "1 USDBC fund funded", "4 EURC-BASE authorization", "4 USDBC fund funded", "5 ETH-BASE own"}, rows); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"ETH-BASE 100 later", "ETH-BASE 100000000000000000 later", "USDBC 20000000 watched", "USDBC 30000000 blocked"}, skipped(p)); diff != "" {
		t.Errorf("skipped (-want +got):\n%s", diff)
	}
	const data = 2 * 1_000 // twice what the oracle says
	first, other := p.Rows[1], p.Rows[3]
	if want := new(big.Int).Add(p.Transaction(other).MaxFee(), big.NewInt(data)); other.Funding.Cmp(want) != 0 {
		t.Errorf("an address without the coin is funded with %s, want %s", other.Funding, want)
	}
	if got := new(big.Int).Sub(other.Funding, first.Funding); got.Int64() != 100 {
		t.Errorf("an address with 100 of the coin is funded with %s less, want 100", got)
	}
	if !strings.Contains(p.Text(), "The payer first sends "+p.CoinText(p.FundingSum())+" for fees to 2 of them.") {
		t.Errorf("the summary is %q", p.Text())
	}
	if p.FeeMax.Amount.Cmp(p.FeeCap()) < 0 {
		t.Errorf("the highest fee is %s, and the transactions may cost %s", p.FeeMax.Amount, p.FeeCap())
	}

	without := fundRequest()
	without.Fund, without.Assets = false, []string{"USDBC"}
	if _, err := s.draft(t, without); err == nil || !strings.HasPrefix(err.Error(), "there is nothing to sweep: 5 of a token without authorizations") {
		t.Errorf("without --fund: error %v", err)
	}
	unpaid := fundRequest()
	unpaid.Payer = nil
	if _, err := s.draft(t, unpaid); err == nil || !strings.Contains(err.Error(), "--fund needs --payer") {
		t.Errorf("without a payer: error %v", err)
	}
	s.Call(t, nil, "anvil_setBalance", payer.String(), "0x"+p.FundingSum().Text(16)) // the fees are missing
	s.MineBlock(t)
	if _, err := s.draft(t, fundRequest()); err == nil || !strings.Contains(err.Error(), "its transactions may take") {
		t.Errorf("with a payer that holds too little: error %v", err)
	}
}

// newFundedDeal returns a deal of five rows of a token without authorizations. The address of row 2 holds enough for its fee.
func newFundedDeal(t *testing.T) *deal {
	t.Helper()
	return newFundedDealOf(t, 5)
}

// newFundedDealOf is newFundedDeal with another number of rows, from 2.
func newFundedDealOf(t *testing.T, count uint32) *deal {
	t.Helper()
	s := newPlainShop(t, count)
	for i, a := range s.addresses {
		s.hold(t, usdbcBase, a, int64(50_000_000+i))
	}
	s.fund(t, s.addresses[1], 100)
	return newDeal(t, s, fundRequest(), nil)
}

// fundedSum is the sum of the rows of newFundedDeal.
const fundedSum = 5*50_000_000 + 10

// The issuer blocks row 3 and row 4 spends a part before the plan is sent. The address of row 5 spends after it is funded.
func TestSend_funds_addresses_and_moves_their_tokens(t *testing.T) {
	t.Parallel()
	d := newFundedDeal(t)
	a := d.addresses
	d.block(t, usdbcBase, a[2], 1)
	d.hold(t, usdbcBase, a[3], 1)
	d.MineBlock(t)
	o := d.mustSend(t)
	// The payer's transactions for rows 3 and 4 are sent, because that for row 5 has a later nonce.
	if !slices.Equal(o.Moves, []int{1, 2, 5}) || o.Transactions != 7 || o.Fault != "" {
		t.Errorf("moves %v, %d transactions, fault %q, want 1 2 5 and 7", o.Moves, o.Transactions, o.Fault)
	}
	d.Call(t, nil, "anvil_setNonce", a[4].String(), "0x1")
	d.MineBlock(t)
	if o := d.mustSend(t); !slices.Equal(o.Moves, []int{1}) || o.Transactions != 1 {
		t.Errorf("when the addresses are funded, the moves are %v in %d transactions, want 1 and 1", o.Moves, o.Transactions)
	}
	d.deepen(t)
	r := d.settle(t)
	if diff := cmp.Diff([]string{"1 moved", "2 moved", "3 blocked", "4 nothing_there", "5 nothing_there"}, states(r)); diff != "" {
		t.Errorf("states (-want +got):\n%s", diff)
	}
	if got := d.held(t, usdbcBase); got != 50_000_000+50_000_001 {
		t.Errorf("the destination holds %d", got)
	}
	for i, row := range r.Rows {
		if isFunded := i != 1; (row.FundingFee != nil) != isFunded {
			t.Errorf("row %d: the fee of its funding is %s", i+1, row.FundingFee)
		}
	}
	if first := r.Rows[0]; first.Fee == nil || first.TotalFee().Cmp(new(big.Int).Add(first.Fee, first.FundingFee)) != 0 {
		t.Errorf("row 1 has the fee %s and in total %s", first.Fee, first.TotalFee())
	}
	if used := d.gasUsed(t, r.Rows[0].Tx) + transferGas; used > maxFundedGas {
		t.Errorf("row 1 took %d gas with its funding, want at most %d", used, maxFundedGas)
	}
	euro := new(big.Rat).SetFrac(new(big.Int).Mul(r.Rows[0].TotalFee(), big.NewInt(20)), big.NewInt(1e18)) // a coin costs 20 EUR
	if first := r.Rows[0]; !first.FeeEUR.Valid || first.FeeEUR.Decimal.String() != decimal.RequireFromString(euro.FloatString(feeDecimals)).String() || first.FeeEUR.Decimal.IsZero() {
		t.Errorf("the fee of row 1 is worth %v EUR, want %s", first.FeeEUR, euro.FloatString(feeDecimals))
	}
	if o := d.mustSend(t); o.Transactions != 0 {
		t.Errorf("%d transactions are sent again", o.Transactions)
	}
}

// maxFundedGas is the highest gas of a row with the transaction that funds it: 59,300 were measured with a token of the same kind, and live
// tokens may take a tenth more.
const maxFundedGas = 65_000

// gasUsed returns the gas that a transaction used.
func (s *shop) gasUsed(t *testing.T, tx string) int64 {
	t.Helper()
	var receipt struct {
		GasUsed string `json:"gasUsed"`
	}
	s.Call(t, &receipt, "eth_getTransactionReceipt", tx)
	used, err := strconv.ParseInt(receipt.GasUsed, 0, 64)
	if err != nil {
		t.Fatal(err)
	}
	return used
}

func TestWait_sends_what_is_funded(t *testing.T) {
	t.Parallel()
	d := newFundedDeal(t)
	s := d.sender(t, d.open(t))
	if err := s.Acquire(t.Context()); err != nil {
		t.Fatal(err)
	}
	o, err := s.Outlook(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Submit(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	waited := make(chan error)
	go func() { waited <- s.Wait(t.Context(), 5*time.Minute, func(int) {}) }()
	d.Call(t, nil, "evm_setIntervalMining", 1)
	for range 600 {
		if d.held(t, usdbcBase) == fundedSum {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	d.deepen(t)
	if err := <-waited; err != nil {
		t.Fatal(err)
	}
	if r := s.Sweep(); r.Count(recorded.Moved) != len(r.Rows) {
		t.Errorf("states are %v", states(r))
	}
}

// A plan that is stopped after the addresses were funded sends nothing.
func TestWait_sends_nothing_of_a_stopped_plan(t *testing.T) {
	t.Parallel()
	d := newFundedDeal(t)
	d.mustSend(t)
	store := d.open(t)
	if err := store.StopSweep(t.Context(), "shop", d.plan.ID, time.Now()); err != nil {
		t.Fatal(err)
	}
	s := d.sender(t, store)
	v, err := s.settle(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.submitFunded(t.Context(), v); err != nil {
		t.Fatal(err)
	}
	d.MineBlock(t)
	if got := d.held(t, usdbcBase); got != 50_000_001 { // row 2 needed no funding
		t.Errorf("the destination holds %d, want 50000001", got)
	}
}

// The payer sends another transaction, so that no address can be funded any more.
func TestSend_names_rows_that_cannot_be_funded(t *testing.T) {
	t.Parallel()
	d := newFundedDeal(t)
	d.Call(t, nil, "anvil_setNonce", payer.String(), "0x9")
	d.MineBlock(t)
	o := d.mustSend(t)
	if !slices.Equal(o.Moves, []int{2}) || len(o.Failing) != 4 || o.Failing[0].State != recorded.Refused || o.Failing[0].Why != reasonFunding {
		t.Errorf("moves %v, failing %+v", o.Moves, o.Failing)
	}
}

// A reorganisation removes the transactions that funded the addresses after those of the addresses were sent.
func TestRepeat_funds_again_after_a_reorganisation(t *testing.T) {
	t.Parallel()
	d := newFundedDeal(t)
	d.mustSend(t)
	d.mustSend(t)
	if d.held(t, usdbcBase) != fundedSum {
		t.Fatal("the rows are not moved before the reorganisation")
	}
	d.Call(t, nil, "anvil_reorg", 2, []any{}) // the blocks of the two runs
	d.Call(t, nil, "anvil_dropAllTransactions")
	d.MineBlock(t)
	for range 2 {
		s := d.sender(t, d.open(t)) // a new one, because one caches the newest block
		v, err := s.settle(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := s.repeat(t.Context(), v); err != nil {
			t.Fatal(err)
		}
		d.MineBlock(t)
	}
	d.deepen(t)
	if r := d.settle(t); r.Count(recorded.Moved) != len(r.Rows) || d.held(t, usdbcBase) != fundedSum {
		t.Errorf("states are %v, the destination holds %d", states(r), d.held(t, usdbcBase))
	}
}

// The process dies before and after each change of the storage, with the blocks mined or not. The next ones continue. Without
// E2E_NIGHTLY it dies before or after each change in turn.
func TestSend_funds_each_row_once_when_processes_die(t *testing.T) {
	t.Parallel()
	d := newFundedDealOf(t, 2)
	var snapshot string
	d.Call(t, &snapshot, "evm_snapshot")
	for step, finished := 1, false; !finished; step++ {
		for _, after := range []bool{false, true} {
			if os.Getenv("E2E_NIGHTLY") == "" && after != (step%4 < 2) {
				continue
			}
			name := fmt.Sprintf("step %d, after %t", step, after)
			store := &mortal{d.open(t), step, after}
			_, err := d.send(t, store)
			if err == nil {
				d.MineBlock(t)
				_, err = d.send(t, store)
			}
			if err != nil && !errors.Is(err, errDied) {
				t.Fatalf("%s: %v", name, err)
			}
			finished = finished || err == nil
			if step%2 == 0 {
				d.MineBlock(t)
			}
			d.mustSend(t)
			d.mustSend(t)
			d.deepen(t)
			if r := d.settle(t); r.Count(recorded.Moved) != len(r.Rows) || d.held(t, usdbcBase) != 2*50_000_000+1 {
				t.Errorf("%s: states are %v, the destination holds %d", name, states(r), d.held(t, usdbcBase))
			}
			var nonce string
			d.Call(t, &nonce, "eth_getTransactionCount", payer.String(), "latest")
			if nonce != "0x1" {
				t.Errorf("%s: the payer has sent %s transactions, want 0x1", name, nonce)
			}
			d.Call(t, nil, "evm_revert", snapshot)
			d.Call(t, &snapshot, "evm_snapshot")
			storagetest.Exec(t, d.database, "UPDATE sweep_rows SET state = 'planned', tx = '', funding_fee = ''")
		}
	}
}

// What the payer sent and the fees did not use stays at the addresses.
func TestReconcile_counts_what_was_funded(t *testing.T) {
	t.Parallel()
	d := newFundedDeal(t)
	d.mustSend(t)
	d.mustSend(t)
	d.deepen(t)
	swept := d.settle(t)
	const ether = 100_000_000_000_000_000
	got := d.reconcile(t, 0, ether, swept)["ETH-BASE"]
	if got.Funded == "0" || got.Difference != "0" || got.Expected != got.Held {
		t.Errorf("ether: %+v", got)
	}
	funding := plan.Plan{Network: swept.Plan.Network}.CoinText(swept.Plan.FundingSum())
	if got.Funded+" ETH" != funding {
		t.Errorf("funded %s, want %s", got.Funded, funding)
	}
}

// The signer refuses to sign a plan that funds addresses without the transactions of its payer.
func TestSigned_file_of_a_funded_plan_needs_the_payer(t *testing.T) {
	t.Parallel()
	d := newFundedDeal(t)
	signed, err := plan.ReadSigned(d.signed)
	if err != nil {
		t.Fatal(err)
	}
	for i, raw := range signed.Payer {
		tx, _, err := evm.ParseTransaction(raw)
		if err != nil || tx.To != d.plan.Rows[d.plan.Funded()[i]-1].From || tx.Value.Cmp(d.plan.Rows[d.plan.Funded()[i]-1].Funding) != 0 {
			t.Errorf("transaction %d of the payer pays %s to %s, error %v", i+1, tx.Value, tx.To, err)
		}
	}
	for i, r := range signed.Rows {
		tx, _, err := evm.ParseTransaction(r.Transaction)
		to := evm.AddressWord(plantest.Address(plantest.To))
		if err != nil || tx.To.String() != usdbcBase || tx.Value.Sign() != 0 || !slices.Equal(tx.Data[4:36], to[:]) {
			t.Errorf("row %d: the transaction calls %s, error %v", i+1, tx.To, err)
		}
	}
}
