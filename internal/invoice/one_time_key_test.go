package invoice_test

import (
	"testing"
	"time"

	"chequer/internal/chain"
	"chequer/internal/invoice"
)

// The shopper can send a second output with the key of the first, also years later. The first one stays spendable.
func TestA_final_payment_counts_until_a_larger_output_with_its_key_is_final(t *testing.T) {
	t.Parallel()
	key := chain.OneTimeOutpoint("aa")
	payment := inBlock(spending(pay("b", full, time.Minute), "image:b", key), 101, 5*time.Minute)
	larger := inBlock(spending(pay("c", 2*full, 10*time.Minute), "image:c", key), 110, 10*time.Minute)
	inv := newInvoice(t, noon.Add(time.Hour))
	observe(inv, 105, payment)
	want := outcomeOf(inv)
	want.Exceptions = "[replaced]" // a part of what was sent does not count
	see := func(tip int64) outcome {
		inv.Observe(invoice.Observation{
			Network: "bitcoin", Required: map[string]int{payment.ID: 1, larger.ID: 10}, Transfers: []chain.Transfer{payment, larger},
			Snapshot: chain.Snapshot{Unconfirmed: chain.Complete, From: chain.Cursor{Height: 90, Hash: "b90"}, Tip: chain.Block{Height: tip}},
		})
		inv.State = inv.Evaluate()
		return outcomeOf(inv)
	}
	if got := see(110); got != want || got.Status != invoice.Paid {
		t.Errorf("outcome %+v with a second output, want %+v", got, want)
	}
	if got := see(119); got.Status != invoice.Paid || got.Over != "100" {
		t.Errorf("outcome %+v with a final second output, want paid and 100 more", got)
	}
}

// Of two outputs with one one-time key only one can be spent. Both can be in blocks, and anyone who mines a block can add one
// with a small amount. The wallet of the merchant spends the larger one.
func TestOf_two_confirmed_outputs_with_one_key_the_larger_counts(t *testing.T) {
	t.Parallel()
	key := chain.OneTimeOutpoint("aa")
	payment := spending(pay("b", full, time.Minute), "image:b", key)
	smaller := spending(pay("c", 1, 10*time.Minute), key)
	earlier := spending(pay("a", 2, 0), "image:a", key)
	locked := spending(pay("d", 2*full, 10*time.Minute), "image:d", key)
	locked.Unsure = true
	const larger = "a larger one with a time lock"
	for name, copies := range map[string][]chain.Transfer{
		"a later one":       {inBlock(smaller, 102, 10*time.Minute)},
		"an earlier one":    {inBlock(earlier, 101, 0)},
		"one of each":       {inBlock(earlier, 101, 0), inBlock(smaller, 102, 10*time.Minute)},
		"in the same block": {inBlock(smaller, 101, 5*time.Minute)},
		larger:              {inBlock(locked, 102, 10*time.Minute)},
	} {
		inv := newInvoice(t, noon.Add(time.Hour))
		observe(inv, 101, inBlock(payment, 101, 5*time.Minute))
		if got := outcomeOf(inv); got.Status != invoice.Paid {
			t.Fatalf("%s: outcome %+v before, want paid", name, got)
		}
		want := outcomeOf(inv)
		if name == larger {
			want.Exceptions = "[replaced]" // a part of what was sent does not count
		}
		observe(inv, 110, append(copies, inBlock(payment, 101, 5*time.Minute))...)
		if got := outcomeOf(inv); got != want {
			t.Errorf("%s: outcome %+v, want %+v", name, got, want)
		}
		other := newInvoice(t, noon.Add(time.Hour))
		observe(other, 110, append(copies, inBlock(payment, 101, 5*time.Minute))...)
		if got := outcomeOf(other); got != want {
			t.Errorf("%s, seen at once: outcome %+v, want %+v", name, got, want)
		}
	}
}

// Acceptance ends only if a payment leaves the network. The payer of a time-locked payment, or a miner, can add an output with its key.
func TestAn_accepted_payment_outlives_an_output_with_its_key(t *testing.T) {
	t.Parallel()
	for name, amount := range map[string]int64{"dust": 1, "a larger one": 2 * full} {
		key := chain.OneTimeOutpoint("aa")
		locked := inBlock(spending(pay("a", full, time.Minute), "image:a", key), 101, 5*time.Minute)
		locked.Unsure = true
		inv := newInvoice(t, noon.Add(time.Hour))
		observe(inv, 101, locked)
		inv.Accepted = []string{locked.ID}
		observe(inv, 102, locked)
		if got := outcomeOf(inv); got.Status != invoice.Paid {
			t.Fatalf("%s: outcome %+v before, want paid", name, got)
		}
		observe(inv, 110, locked, inBlock(spending(pay("b", amount, 10*time.Minute), "image:b", key), 102, 12*time.Minute))
		if got := outcomeOf(inv); got.Status != invoice.Paid {
			t.Errorf("%s: outcome %+v, want paid", name, got)
		}
	}
}
