package ethereum_test

import (
	"math/big"
	"testing"

	"chequer/internal/chain"
	"chequer/internal/chain/ethereum"

	"github.com/google/go-cmp/cmp"
)

// A recorded transfer whose block is on the chain is shown, although no endpoint returns its log,
// unless the source denies it. It is absent if its block left the chain.
func TestScan_shows_recorded_transfers(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		change    func(c *fakeChain)
		shown     bool
		refuted   bool
		wantError bool
	}{
		"without its log":        {func(c *fakeChain) { c.blocks[8].logs = nil }, true, false, false},
		"denied by the source":   {func(c *fakeChain) { c.blocks[8].logs, c.forged[id("x", 0)] = nil, true }, false, true, false},
		"its block left":         {func(c *fakeChain) { c.reorganise(4) }, false, false, false},
		"its block is not found": {func(c *fakeChain) { c.blocks = c.blocks[:8] }, false, false, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newChain(8)
			c.queryable = false
			c.addTransfer(t, usdcBase, payee, big.NewInt(1_000_000), "x")
			c.mineEmpty(2, "a")
			watched := &fakeWatched{scripts: []string{payee}}
			from := c.blocks[5].Cursor()
			watched.recorded = scan(t, watch(shallow(ethereum.Base), c), from, watched).Transfers
			if len(watched.recorded) != 1 {
				t.Fatalf("recorded %v, want one transfer", watched.recorded)
			}
			test.change(c)
			got, err := watch(shallow(ethereum.Base), c).Scan(t.Context(), from, watched) // after a restart
			if (err != nil) != test.wantError {
				t.Fatalf("Scan() = %v, want an error: %t", err, test.wantError)
			}
			if shown, refuted := len(got.Transfers) == 1, len(got.Refuted) == 1; shown != test.shown || refuted != test.refuted {
				t.Errorf("shown %v, refuted %v", rows(got), got.Refuted)
			}
		})
	}
}

func TestScan_finds_transfers_to_a_destination_added_later(t *testing.T) {
	t.Parallel()
	for name, byAddress := range map[string]bool{"read by address": true, "read to all addresses": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newChain(10)
			c.queryable, c.byAddress = false, byAddress
			c.addTransfer(t, usdcBase, payee, big.NewInt(1_000_000), "x")
			s, watched := watch(shallow(ethereum.Base), c), &fakeWatched{scripts: []string{other}}
			if first := scan(t, s, chain.Cursor{}, watched); len(first.Transfers) != 0 {
				t.Fatalf("%v is shown before its destination is watched", rows(first))
			}
			watched.scripts = append(watched.scripts, payee)
			want := []row{{id("x", 0), "USDC-BASE", "1", 10}}
			if diff := cmp.Diff(rows(scan(t, s, chain.Cursor{}, watched)), want); diff != "" {
				t.Errorf("transfers (-got +want):\n%s", diff)
			}
		})
	}
}

// The network's native coin is found where it is not expected, unless the account spent.
func TestScan_finds_strays(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		nonce uint64
		want  []row
	}{
		"an account that never spent": {0, []row{{"balance:8453:" + payee + ":5", "ETH-BASE", "0.000000000000000005", 20}}},
		"an account that spent":       {1, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newChain(20)
			c.last().balances[payee], c.last().nonces[payee] = 5, test.nonce
			c.mineEmpty(2, "a")
			watched := &fakeWatched{scripts: []string{payee}, strays: []string{payee}}
			got := scan(t, watch(shallow(ethereum.Base), c), c.blocks[10].Cursor(), watched)
			if diff := cmp.Diff(rows(got), test.want); diff != "" {
				t.Errorf("transfers (-got +want):\n%s", diff)
			}
			if got.Tip.Height != 22 {
				t.Errorf("the tip is %d, want 22: strays do not delay a scan", got.Tip.Height)
			}
		})
	}
}
