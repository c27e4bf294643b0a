package invoice_test

import (
	"testing"
	"time"

	"chequer/internal/chain"
	"chequer/internal/invoice"
)

// Of two outputs with one one-time key only one can be spent. Both can be in blocks, and anyone who mines a block can add one
// with a small amount. The wallet of the merchant spends the larger one.
func TestOf_two_confirmed_outputs_with_one_key_the_larger_counts(t *testing.T) {
	t.Parallel()
	key := chain.OneTimeOutpoint("aa")
	payment := spending(pay("b", full, time.Minute), "image:b", key)
	smaller := spending(pay("c", 1, 10*time.Minute), key)
	earlier := spending(pay("a", 2, 0), "image:a", key)
	for name, copies := range map[string][]chain.Transfer{
		"a later one":       {inBlock(smaller, 102, 10*time.Minute)},
		"an earlier one":    {inBlock(earlier, 101, 0)},
		"one of each":       {inBlock(earlier, 101, 0), inBlock(smaller, 102, 10*time.Minute)},
		"in the same block": {inBlock(smaller, 101, 5*time.Minute)},
	} {
		inv := newInvoice(t, noon.Add(time.Hour))
		observe(inv, 101, inBlock(payment, 101, 5*time.Minute))
		if got := outcomeOf(inv); got.Status != invoice.Paid {
			t.Fatalf("%s: outcome %+v before, want paid", name, got)
		}
		before := outcomeOf(inv)
		observe(inv, 110, append(copies, inBlock(payment, 101, 5*time.Minute))...)
		if got := outcomeOf(inv); got != before {
			t.Errorf("%s: outcome %+v, want %+v", name, got, before)
		}
		other := newInvoice(t, noon.Add(time.Hour))
		observe(other, 110, append(copies, inBlock(payment, 101, 5*time.Minute))...)
		if got := outcomeOf(other); got != before {
			t.Errorf("%s, seen at once: outcome %+v, want %+v", name, got, before)
		}
	}
}
