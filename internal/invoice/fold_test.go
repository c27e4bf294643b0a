package invoice_test

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/chain"
	"chequer/internal/invoice"
	"chequer/internal/money"
)

// smallTransfer returns a transfer of a number of smallest units of a token in a block. The hash of the
// block begins with the letter of the fork, so that two forks have different hashes.
func smallTransfer(id string, units int64, height int64, fork string) chain.Transfer {
	return chain.Transfer{
		ID: id, Tx: "tx" + id, Asset: "EURC", Script: "0x1", Amount: money.FromMinor(big.NewInt(units), eurc),
		Block: &chain.Block{Height: height, Hash: fork + fmt.Sprint(height), Time: noon.Add(time.Duration(height-100) * time.Minute)},
	}
}

// baseScan returns a snapshot of base between two heights, with the transfers that it covers.
func baseScan(from, tip int64, fork string, transfers ...chain.Transfer) invoice.Observation {
	s := chain.Snapshot{
		Unconfirmed: chain.None, Started: noon.Add(time.Duration(tip-100)*time.Minute + time.Second), Blocks: map[int64]string{},
		From: chain.Cursor{Height: from, Hash: fork + fmt.Sprint(from)}, Tip: chain.Block{Height: tip, Hash: fork + fmt.Sprint(tip)},
	}
	for h := from; h <= tip; h++ {
		s.Blocks[h] = fork + fmt.Sprint(h)
	}
	required := map[string]int{}
	for _, t := range transfers {
		if t.Block.Height > from && t.Block.Height <= tip && t.Block.Hash == fork+fmt.Sprint(t.Block.Height) {
			s.Transfers = append(s.Transfers, t)
			required[t.ID] = 2
		}
	}
	return invoice.Observation{Network: "base", Snapshot: s, Transfers: s.Transfers, Required: required}
}

// unfoldedTransfers returns small transfers in block 101, as many as are recorded individually.
func unfoldedTransfers() []chain.Transfer {
	var list []chain.Transfer
	for i := range invoice.FoldThreshold {
		list = append(list, smallTransfer(fmt.Sprint("first", i), 1, 101, "a"))
	}
	return list
}

// represented returns the number and the sum of the present transfers that the rows of an invoice represent.
func represented(inv *invoice.Invoice) (count int, sum *big.Int) {
	sum = new(big.Int)
	for _, t := range inv.Transfers {
		if t.Presence == invoice.Present {
			count += max(t.Folded, 1)
			sum.Add(sum, t.Amount.Minor())
		}
	}
	return count, sum
}

func TestFold_bounds_the_rows_and_keeps_the_sums(t *testing.T) {
	t.Parallel()
	inv := newInvoice(t, noon)
	transfers := unfoldedTransfers()
	want := big.NewInt(int64(len(transfers)))
	for height := int64(102); height < 132; height++ {
		for i := range 100 {
			transfers = append(transfers, smallTransfer(fmt.Sprint(height, ".", i), int64(1+i), height, "a"))
			want.Add(want, big.NewInt(int64(1+i)))
		}
		inv.Observe(baseScan(max(100, height-10), height, "a", transfers...))
		inv.Observe(baseScan(max(100, height-10), height, "a", transfers...)) // again
	}
	if rows := len(inv.Transfers); rows > invoice.FoldThreshold+20 {
		t.Errorf("%d rows for %d transfers", rows, len(transfers))
	}
	inv.Observe(baseScan(110, 131, "a", transfers...)) // from an older cursor
	if count, sum := represented(inv); count != len(transfers) || sum.Cmp(want) != 0 {
		t.Errorf("rows represent %d transfers of %s, want %d of %s", count, sum, len(transfers), want)
	}
	large := smallTransfer("large", 100_000_000, 131, "a")
	inv.Observe(baseScan(121, 131, "a", append(transfers, large)...))
	if !slices.ContainsFunc(inv.Transfers, func(t invoice.Transfer) bool { return t.ID == "large" && t.Folded == 0 }) {
		t.Error("a large transfer is folded")
	}
	observed := slices.Clone(inv.Transfers)
	inv.Observe(baseScan(121, 131, "a", append(transfers, large)...))
	if diff := cmp.Diff(observed, inv.Transfers); diff != "" {
		t.Errorf("a rescan changes rows (-before +after):\n%s", diff)
	}
}

func TestFold_follows_a_reorganisation(t *testing.T) {
	t.Parallel()
	inv := newInvoice(t, noon)
	transfers := unfoldedTransfers()
	for i := range 50 {
		transfers = append(transfers, smallTransfer(fmt.Sprint("b", i), 2, 102, "a"))
	}
	inv.Observe(baseScan(100, 103, "a", transfers...))
	// The same transfers are in other blocks, and the last ten are missing.
	moved := slices.Clone(transfers)
	for i := range moved {
		block := *moved[i].Block
		block.Hash = "n" + block.Hash[1:]
		moved[i].Block = &block
	}
	inv.Observe(baseScan(100, 104, "n", moved[:len(moved)-10]...))
	if _, sum := represented(inv); sum.Int64() != invoice.FoldThreshold+80 {
		t.Errorf("%s smallest units are present, want %d", sum, invoice.FoldThreshold+80)
	}
	if !inv.Evaluate().Has(invoice.WasReorged) {
		t.Error("the removal of a block raises no exception")
	}
	inv.Observe(baseScan(100, 105, "n", moved...))
	if count, sum := represented(inv); count != len(transfers) || sum.Int64() != invoice.FoldThreshold+100 {
		t.Errorf("%d transfers of %s are present, want all %d", count, sum, len(transfers))
	}
}

// A transfer is kept if a source does not show it while its block is still on the chain.
func TestFold_keeps_transfers_of_a_block_on_the_chain(t *testing.T) {
	t.Parallel()
	inv := newInvoice(t, noon)
	transfers := unfoldedTransfers()
	for i := range 50 {
		transfers = append(transfers, smallTransfer(fmt.Sprint("b", i), 2, 102, "a"))
	}
	inv.Observe(baseScan(100, 103, "a", transfers...))
	for _, shown := range []int{40, 0} {
		inv.Observe(baseScan(100, 104, "a", transfers[:len(transfers)-50+shown]...))
		if count, sum := represented(inv); count != len(transfers) || sum.Int64() != invoice.FoldThreshold+100 {
			t.Errorf("%d of 50 shown: %d transfers of %s are present, want all %d", shown, count, sum, len(transfers))
		}
	}
}

// After a reorganisation below the cursor, which is deeper than expected, the settled sum cannot be
// divided. The whole sum is removed, and the merchant decides.
func TestFold_removes_the_settled_sum_with_its_block(t *testing.T) {
	t.Parallel()
	inv := newInvoice(t, noon)
	transfers := unfoldedTransfers()
	for i := range 50 {
		transfers = append(transfers, smallTransfer(fmt.Sprint("b", i), 2, 102, "a"), smallTransfer(fmt.Sprint("c", i), 2, 103, "a"))
	}
	inv.Observe(baseScan(100, 105, "a", transfers...))
	inv.Observe(baseScan(104, 106, "a", append(transfers, smallTransfer("d", 2, 106, "a"))...))
	settled := 0
	for _, t := range inv.Transfers {
		if t.Folded == 100 {
			settled++
		}
	}
	if settled != 1 {
		t.Fatalf("%d settled sums of two blocks, want 1", settled)
	}
	inv.Observe(baseScan(102, 107, "n"))
	if count, _ := represented(inv); count != invoice.FoldThreshold || !inv.Evaluate().Has(invoice.WasReorged) {
		t.Errorf("%d transfers count, want those kept individually; exceptions %v", count, inv.Evaluate().Exceptions)
	}
}

// Folding does not change the state: it equals the state of the same transfers recorded individually.
func TestFold_keeps_the_state(t *testing.T) {
	t.Parallel()
	for seed := range rounds(6, 15) {
		r := rand.New(rand.NewPCG(seed, 11))
		folded, unfolded := newInvoice(t, noon), newInvoice(t, noon)
		allowed := r.IntN(2) == 0
		for _, inv := range []*invoice.Invoice{folded, unfolded} {
			inv.Terms.AllowPaidExpired, inv.Terms.Rules.LatePercent = allowed, 0
		}
		transfers := []chain.Transfer{}
		height := int64(100)
		for range 20 {
			height += 1 + r.Int64N(3)
			for i := range r.IntN(20) {
				units := 1 + r.Int64N(99_999) // a thousandth of the price is 100,000
				if r.IntN(20) == 0 {
					units = 100_000 + r.Int64N(20_000_000)
				}
				c := smallTransfer(fmt.Sprint(height, ".", i), units, height, "a")
				if r.IntN(10) == 0 {
					c.Asset, c.Amount = "USDC", money.FromMinor(big.NewInt(units%9_999+1), money.Currency{Code: "USDC", Decimals: 6})
				}
				transfers = append(transfers, c)
			}
			if r.IntN(8) == 0 {
				at := noon.Add(time.Duration(height-100) * time.Minute)
				for _, inv := range []*invoice.Invoice{folded, unfolded} {
					inv.Quotes = append(inv.Quotes, quote(t, len(inv.Quotes)+1, at, "100", "80000"))
				}
			}
			from := max(100, height-1-r.Int64N(8))
			snapshot := baseScan(from, height, "a", transfers...)
			invoice.ObserveWithThreshold(folded, snapshot, 10)
			invoice.ObserveWithThreshold(unfolded, snapshot, math.MaxInt)
			for _, inv := range []*invoice.Invoice{folded, unfolded} {
				scan(inv, snapshot.Snapshot.Started)
				inv.State = inv.Evaluate()
			}
			got, want := outcomeIn(folded.State), outcomeIn(unfolded.State)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("seed %d, height %d: folded (-individually +folded):\n%s", seed, height, diff)
			}
			gotCount, gotSum := represented(folded)
			wantCount, wantSum := represented(unfolded)
			if gotCount != wantCount || gotSum.Cmp(wantSum) != 0 {
				t.Fatalf("seed %d, height %d: %d transfers of %s, want %d of %s", seed, height, gotCount, gotSum, wantCount, wantSum)
			}
		}
	}
}

// invoiceWithSmallTransfers returns an invoice with n small transfers in ten blocks.
func invoiceWithSmallTransfers(tb testing.TB, n int) *invoice.Invoice {
	inv := newInvoice(tb, noon)
	var list []chain.Transfer
	for i := range n {
		list = append(list, smallTransfer(fmt.Sprint(i), 1, 101+int64(i)%10, "a"))
	}
	inv.Observe(baseScan(100, 111, "a", list...))
	return inv
}

// BenchmarkEvaluation measures the cost of the results that a page shows of an invoice's transfers. The
// cost does not grow with the number of transfers, because the evaluation is cached.
func BenchmarkEvaluation(b *testing.B) {
	for _, n := range []int{10, 1000, 10_000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			service, inv := invoice.NewService(invoice.Config{Now: func() time.Time { return noon }}), invoiceWithSmallTransfers(b, n)
			service.Evaluation(inv)
			for b.Loop() {
				evaluation := service.Evaluation(inv)
				evaluation.ReportedPayments()
				evaluation.Remaining(inv.Methods[0])
				evaluation.MayRequote(invoice.Shopper, noon)
			}
		})
	}
}

// BenchmarkEvaluateAggregates measures the cost of changing an invoice. The cost does not
// grow with the number of folded transfers.
func BenchmarkEvaluateAggregates(b *testing.B) {
	for _, n := range []int{10, 1000, 10_000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			inv := invoiceWithSmallTransfers(b, n)
			for b.Loop() {
				inv.Evaluate()
			}
		})
	}
}

// The cached evaluation of an invoice is discarded when the invoice has a new revision.
func TestEvaluation_is_cached_for_a_revision(t *testing.T) {
	t.Parallel()
	service, inv := invoice.NewService(invoice.Config{Now: func() time.Time { return noon }}), invoiceWithSmallTransfers(t, 500)
	inv.Revision = 1
	if _, omitted := service.Evaluation(inv).ReportedPayments(); omitted != 400 {
		t.Errorf("%d payments are not reported, want 400", omitted)
	}
	if first, second := service.Evaluation(inv), service.Evaluation(inv); first != second {
		t.Error("the evaluation of an unchanged invoice is computed again")
	}
	inv.Revision, inv.Transfers = 2, inv.Transfers[:300]
	if _, omitted := service.Evaluation(inv).ReportedPayments(); omitted != 200 {
		t.Errorf("%d payments are not reported after a change, want 200", omitted)
	}
}
