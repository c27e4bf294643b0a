package chain_test

import (
	"testing"

	"chequer/internal/chain"
	"chequer/internal/money"
)

// A value needs the confirmations of a higher range, and never more than the highest range does.
func TestPolicy_Deeper_never_exceeds_the_highest_range(t *testing.T) {
	t.Parallel()
	p := chain.Policy{Coinbase: 100, Gas: money.MustParse("0.1", money.ETH), Depth: []chain.Depth{{BelowCents: 10, Confirmations: 1}, {BelowCents: 20, Confirmations: 2}, {Confirmations: 6}}}
	for ranges, want := range map[int][3]int{0: {1, 2, 6}, 1: {2, 6, 6}, 2: {6, 6, 6}, 100: {6, 6, 6}} {
		d := p.Deeper(ranges)
		if got := [3]int{d.Confirmations(9), d.Confirmations(10), d.Confirmations(20)}; got != want || d.Coinbase != 100 || d.Gas != p.Gas {
			t.Errorf("%d ranges deeper: got %v, want %v", ranges, got, want)
		}
	}
	if got := p.Confirmations(9); got != 1 {
		t.Errorf("the policy itself was changed: %d", got)
	}
}
