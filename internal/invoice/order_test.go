package invoice_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/chain"
)

// TestOrder_does_not_matter checks that the same facts in any order, with any repetition and any split
// into snapshots lead to the same result.
func TestOrder_does_not_matter(t *testing.T) {
	t.Parallel()
	for seed := range rounds(60, 200) {
		random := rand.New(rand.NewPCG(seed, 1))
		facts := randomFacts(random)
		want := replay(t, facts, nil)
		for range 6 {
			if diff := cmp.Diff(want, replay(t, facts, random)); diff != "" {
				t.Fatalf("seed %d: another order (-want +got):\n%s\nfacts: %+v", seed, diff, facts)
			}
		}
	}
}

// randomFacts returns transfers that may conflict, before and after expiry, some of them in blocks.
func randomFacts(random *rand.Rand) []chain.Transfer {
	var facts []chain.Transfer
	used := map[string]bool{}
	for i := range 1 + random.IntN(6) {
		t := pay(fmt.Sprintf("t%d", i), 20_000+random.Int64N(80_000), time.Duration(random.IntN(30))*time.Minute+time.Duration(i)*time.Second)
		t.Spends = []string{fmt.Sprintf("o%d", random.IntN(4)), fmt.Sprintf("o%d", random.IntN(4))}
		free := !used[t.Spends[0]] && !used[t.Spends[1]]
		if free && random.IntN(2) == 0 { // no two blocks hold conflicting transactions
			used[t.Spends[0]], used[t.Spends[1]] = true, true
			t = inBlock(t, 101+random.Int64N(5), t.FirstSeen.Sub(noon)+time.Hour)
		}
		facts = append(facts, t)
	}
	return facts
}

// replay shows facts in a random order, some of them several times, under a listener's coverage,
// with scans in between.
func replay(t *testing.T, facts []chain.Transfer, random *rand.Rand) outcome {
	t.Helper()
	inv := newInvoice(t, noon)
	listener := chain.Snapshot{Unconfirmed: chain.Partial, Tip: chain.Block{Height: 110}}
	order := make([]int, len(facts))
	for i := range order {
		order[i] = i
	}
	if random != nil {
		random.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		order = append(order, order[random.IntN(len(order)):]...)
	}
	shown := []chain.Transfer{}
	for _, i := range order {
		if random != nil && random.IntN(3) == 0 {
			scan(inv, noon.Add(time.Duration(random.IntN(120))*time.Minute))
		}
		shown = append(shown, facts[i])
		observeSnapshot(inv, listener, shown...)
	}
	scan(inv, noon.Add(2*time.Hour))
	return outcomeOf(inv)
}
