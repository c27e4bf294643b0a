package ethereum_test

import (
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"chequer/internal/chain"
	"chequer/internal/chain/ethereum"
	"chequer/internal/keys"
	"chequer/internal/money"

	"github.com/google/go-cmp/cmp"
)

const (
	payee    = "0x9858effd232b4033e47d90003d41ec34ecaeda94"
	other    = "0x6fac4d18c912343bf86fa7049364dd4e424ab9c0"
	usdcBase = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"
	eurcBase = "0x60a3E35Cc302bFA44Cb288Bc5a4F316Fdb1adb42"
	bridged  = "0xd9aAEc86B65D86f6A7B5B1b0c42FFA531710b6CA"
	unlisted = "0x0f7479EC9cB833971eE60A4B09d7E048f689029B"
)

func scan(t *testing.T, s *ethereum.Scanner, from chain.Cursor, watched chain.Watched) chain.Snapshot {
	t.Helper()
	snapshot, err := s.Scan(t.Context(), from, watched)
	if err != nil {
		t.Fatal(err)
	}
	return snapshot
}

func id(tx string, index int) string { return fmt.Sprintf("%s:%d", hashOf(tx), index) }

func TestScan_makes_transfers_of_logs(t *testing.T) {
	t.Parallel()
	huge := new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 256), big.NewInt(1))
	tests := map[string]struct {
		add  func(t *testing.T, c *fakeChain)
		want []row
	}{
		"nothing": {func(*testing.T, *fakeChain) {}, nil},
		"one transfer": {func(t *testing.T, c *fakeChain) { c.addTransfer(t, usdcBase, payee, big.NewInt(12_345_678), "x") },
			[]row{{id("x", 0), "USDC-BASE", "12.345678", 10}}},
		"the smallest unit": {func(t *testing.T, c *fakeChain) { c.addTransfer(t, eurcBase, payee, big.NewInt(1), "x") },
			[]row{{id("x", 0), "EURC-BASE", "0.000001", 10}}},
		"the largest amount of a contract": {func(t *testing.T, c *fakeChain) { c.addTransfer(t, eurcBase, payee, huge, "x") },
			[]row{{id("x", 0), "EURC-BASE", money.FromMinor(huge, money.Currency{Code: "EURC", Decimals: 6}).String(), 10}}},
		"two logs of one transaction": {func(t *testing.T, c *fakeChain) {
			c.addTransfer(t, usdcBase, payee, big.NewInt(1_000_000), "x")
			c.addTransfer(t, usdcBase, payee, big.NewInt(2_000_000), "x")
		}, []row{{id("x", 0), "USDC-BASE", "1", 10}, {id("x", 1), "USDC-BASE", "2", 10}}},
		"a log shown twice": {func(t *testing.T, c *fakeChain) {
			l := *c.addTransfer(t, usdcBase, payee, big.NewInt(1_000_000), "x")
			l.Operators = 2
			c.last().logs = append(c.last().logs, l)
		}, []row{{id("x", 0), "USDC-BASE", "1", 10}}},
		"a bridged token":   {func(t *testing.T, c *fakeChain) { c.addTransfer(t, bridged, payee, big.NewInt(1_000_000), "x") }, []row{{id("x", 0), "USDBC", "1", 10}}},
		"an empty transfer": {func(t *testing.T, c *fakeChain) { c.addTransfer(t, usdcBase, payee, new(big.Int), "x") }, nil},
		"another address":   {func(t *testing.T, c *fakeChain) { c.addTransfer(t, usdcBase, other, big.NewInt(1_000_000), "x") }, nil},
		"an unlisted token": {func(t *testing.T, c *fakeChain) { c.addTransfer(t, unlisted, payee, big.NewInt(1_000_000), "x") }, nil},
		"a log of no block": {func(t *testing.T, c *fakeChain) {
			c.addTransfer(t, usdcBase, payee, big.NewInt(1_000_000), "x").Block = hashOf("other")
		}, nil},
		"a log that is not confirmed": {func(t *testing.T, c *fakeChain) {
			c.addTransfer(t, usdcBase, payee, big.NewInt(1_000_000), "x")
			c.forged[id("x", 0)] = true
		}, nil},
	}
	for name, test := range tests {
		for _, byAddress := range []bool{true, false} {
			t.Run(fmt.Sprint(name, ", by address ", byAddress), func(t *testing.T) {
				t.Parallel()
				c := newChain(10)
				c.byAddress, c.queryable = byAddress, false
				test.add(t, c)
				got := scan(t, watch(shallow(ethereum.Base), c), chain.Cursor{}, &fakeWatched{scripts: []string{payee}})
				if diff := cmp.Diff(rows(got), test.want); diff != "" {
					t.Errorf("transfers (-got +want):\n%s", diff)
				}
				if got.Behind || got.Unconfirmed != chain.None || got.Tip.Height != 10 || got.From.Height != 7 || got.Next.Height > 7 {
					t.Errorf("the snapshot covers %d to %d and continues at %d, behind %t, unconfirmed %s", got.From.Height, got.Tip.Height, got.Next.Height, got.Behind, got.Unconfirmed)
				}
			})
		}
	}
}

// A confirmed log is not confirmed again in later scans.
func TestScan_confirms_a_log_once(t *testing.T) {
	t.Parallel()
	c := newChain(10)
	c.addTransfer(t, usdcBase, payee, big.NewInt(1_000_000), "x")
	s, watched := watch(shallow(ethereum.Base), c), &fakeWatched{scripts: []string{payee}}
	for range 3 {
		if got := rows(scan(t, s, chain.Cursor{}, watched)); len(got) != 1 {
			t.Fatalf("%v, want one transfer", got)
		}
	}
	if c.confirmed != 1 {
		t.Errorf("%d logs were confirmed, want 1", c.confirmed)
	}
}

func TestScan_follows_a_reorganisation(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		depth   int
		remined bool // the transfer is in the new chain, too
		want    []row
	}{
		"above the transfer":            {2, false, []row{{id("x", 0), "USDC-BASE", "1", 98}}},
		"of its block":                  {3, false, nil},
		"of its block, mined again":     {3, true, []row{{id("x", 0), "USDC-BASE", "1", 101}}},
		"below the cursor":              {6, false, nil},
		"below the cursor, mined again": {6, true, []row{{id("x", 0), "USDC-BASE", "1", 101}}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newChain(98)
			c.addTransfer(t, usdcBase, payee, big.NewInt(1_000_000), "x")
			c.mineEmpty(2, "a")
			s, watched := watch(shallow(ethereum.Base), c), &fakeWatched{scripts: []string{payee}}
			first := scan(t, s, chain.Cursor{Height: 96, Hash: c.blocks[96].Hash}, watched)
			if len(first.Transfers) != 1 {
				t.Fatalf("before: %v", rows(first))
			}
			c.reorganise(test.depth)
			if test.remined {
				c.addTransfer(t, usdcBase, payee, big.NewInt(1_000_000), "x")
			}
			var got chain.Snapshot
			for range 3 { // a scan fails with chain.ErrChanged once if the chain changed below the cursor
				var err error
				if got, err = s.Scan(t.Context(), first.From, watched); err == nil {
					break
				}
			}
			if diff := cmp.Diff(rows(got), test.want); diff != "" {
				t.Errorf("transfers (-got +want):\n%s", diff)
			}
			if got.Tip.Hash != c.last().Hash || c.blocks[got.From.Height].Hash != got.From.Hash || got.From.Height > int64(len(c.blocks)-test.depth-2) && test.depth > 4 {
				t.Errorf("the snapshot begins at %v and ends at %v, want blocks of the new chain from below the fork", got.From, got.Tip)
			}
		})
	}
}

// Final blocks are read in ranges of at most 100, and the others so that each hash is known.
func TestScan_reads_spans(t *testing.T) {
	t.Parallel()
	c := newChain(350)
	c.queryable, c.final = false, 345
	got := scan(t, watch(shallow(ethereum.Base), c), chain.Cursor{Height: 50, Hash: c.blocks[50].Hash}, &fakeWatched{scripts: []string{payee}})
	next := int64(51)
	for _, span := range c.spans {
		if span.From != next || span.To.Height-span.From >= 101 {
			t.Errorf("span from %d to %d, want one from %d of at most 100 blocks", span.From, span.To.Height, next)
		}
		next = span.To.Height + 1
	}
	if next != 351 {
		t.Errorf("blocks up to %d are read, want 350", next-1)
	}
	for height := int64(346); height <= 350; height++ {
		if got.Blocks[height] != c.blocks[height].Hash {
			t.Errorf("the snapshot lacks the hash of block %d, which is not final", height)
		}
	}
}

func TestScan_fails_while_the_chain_does_not_grow(t *testing.T) {
	t.Parallel()
	c := newChain(10)
	for i := range c.blocks {
		c.blocks[i].Time = c.blocks[i].Time.Add(-6 * time.Minute)
	}
	if _, err := watch(shallow(ethereum.Base), c).Scan(t.Context(), chain.Cursor{}, &fakeWatched{}); err == nil || !strings.Contains(err.Error(), "old") {
		t.Errorf("Scan() = %v, want an error for a newest block of six minutes ago", err)
	}
}

func TestScan_makes_transfers_of_balance_rises(t *testing.T) {
	t.Parallel()
	coin := func(highest, wei string, height int64) row {
		return row{"balance:8453:" + payee + ":" + highest, "ETH-BASE", wei, height}
	}
	pay := func(c *fakeChain, wei int64) { c.last().balances[payee] += wei }
	tests := map[string]struct {
		birth int64
		run   func(c *fakeChain)
		want  []row
		tx    string
	}{
		"no rise": {50, func(c *fakeChain) { c.mineEmpty(50, "a") }, nil, ""},
		"one rise": {50, func(c *fakeChain) {
			c.mineEmpty(27, "a")
			pay(c, 5)
			c.mineEmpty(23, "a")
		}, []row{coin("5", "0.000000000000000005", 77)}, ""},
		"two rises in different blocks": {50, func(c *fakeChain) {
			c.mineEmpty(10, "a")
			pay(c, 5)
			c.mineEmpty(10, "a")
			pay(c, 7)
			c.mineEmpty(30, "a")
		}, []row{coin("5", "0.000000000000000005", 60), coin("12", "0.000000000000000007", 70)}, ""},
		"the transaction of a rise": {50, func(c *fakeChain) {
			c.mineEmpty(10, "a")
			pay(c, 5)
			p := ethereum.Payment{Tx: hashOf("x"), To: keys.EthereumAddress{}}
			p.To, _ = keys.ParseEthereumAddress(payee)
			big.NewInt(5).FillBytes(p.Amount[:])
			c.last().payments = []ethereum.Payment{p}
			c.mineEmpty(40, "a")
		}, []row{coin("5", "0.000000000000000005", 60)}, hashOf("x").String()},
		"a transaction of another amount": {50, func(c *fakeChain) {
			c.mineEmpty(10, "a")
			pay(c, 5)
			p := ethereum.Payment{Tx: hashOf("x")}
			p.To, _ = keys.ParseEthereumAddress(payee)
			big.NewInt(4).FillBytes(p.Amount[:])
			c.last().payments = []ethereum.Payment{p}
			c.mineEmpty(40, "a")
		}, []row{coin("5", "0.000000000000000005", 60)}, ""},
		"an older balance": {50, func(c *fakeChain) {
			pay(c, 9)
			c.mineEmpty(20, "a")
			pay(c, 5)
			c.mineEmpty(30, "a")
		}, []row{coin("9", "0.000000000000000009", 50), coin("14", "0.000000000000000005", 70)}, ""},
		"an account that spent": {50, func(c *fakeChain) {
			c.mineEmpty(20, "a")
			pay(c, 5)
			c.last().nonces[payee] = 1
			c.mineEmpty(30, "a")
		}, nil, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newChain(50)
			test.run(c)
			birth := c.blocks[test.birth]
			watched := &fakeWatched{scripts: []string{payee}, accounts: []chain.Account{{Script: payee, Birth: birth.Cursor()}}}
			got := scan(t, watch(shallow(ethereum.Base), c), birth.Cursor(), watched)
			if diff := cmp.Diff(rows(got), test.want); diff != "" {
				t.Errorf("transfers (-got +want):\n%s", diff)
			}
			if n := len(got.Transfers); n > 0 && got.Transfers[n-1].Tx != test.tx {
				t.Errorf("transaction %q, want %q", got.Transfers[n-1].Tx, test.tx)
			}
			if got.Read != c.last().Block {
				t.Errorf("balances were read at %v, want the tip", got.Read)
			}
			if c.readings > 20 {
				t.Errorf("%d readings of balances find the rises in 50 blocks, want a bisection", c.readings)
			}
		})
	}
}

// Without the state of older blocks the rise has no exact block, and the merchant decides about it if
// even the balance at the birth block is unknown.
func TestScan_of_rises_without_old_state(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		pruned int64
		known  bool
		unsure bool
		since  int64
	}{
		"before the rise":          {61, true, false, 50},
		"balance at birth unknown": {61, false, true, 50},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newChain(60)
			c.last().balances[payee] = 5
			c.mineEmpty(20, "a")
			c.pruned = test.pruned
			watched := &fakeWatched{scripts: []string{payee}, accounts: []chain.Account{{Script: payee, Birth: c.blocks[50].Cursor(), Known: test.known}}, read: c.blocks[50].Block}
			got := scan(t, watch(shallow(ethereum.Base), c), c.blocks[50].Cursor(), watched)
			if len(got.Transfers) != 1 {
				t.Fatalf("transfers %v, want one", rows(got))
			}
			transfer := got.Transfers[0]
			if transfer.Unsure != test.unsure || !transfer.Since.Equal(c.blocks[test.since].Time) || transfer.Block.Height != test.pruned {
				t.Errorf("unsure %t in block %d, since %s; want %t in %d, since %s", transfer.Unsure, transfer.Block.Height, transfer.Since, test.unsure, test.pruned, c.blocks[test.since].Time)
			}
		})
	}
}

// The log of a claimed token counts only as far as the balance rose in its block.
func TestScan_credits_claimed_tokens_by_their_balances(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		logs   []int64
		rise   int64
		pruned bool
		want   []string
		unsure bool
	}{
		"the whole amount":      {[]int64{5_000_000}, 5_000_000, false, []string{"5"}, false},
		"less, after a fee":     {[]int64{5_000_000}, 4_900_000, false, []string{"4.9"}, false},
		"no rise":               {[]int64{5_000_000}, 0, false, nil, false},
		"more than the log":     {[]int64{5_000_000}, 9_000_000, false, []string{"5"}, false},
		"two logs, one rise":    {[]int64{5_000_000, 5_000_000}, 7_000_000, false, []string{"5", "2"}, false},
		"without the old state": {[]int64{5_000_000}, 5_000_000, true, []string{"5"}, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := shallow(ethereum.Base)
			p.Claimed = []string{"USDC-BASE"}
			c := newChain(9)
			c.mineEmpty(1, "a")
			for i, units := range test.logs {
				c.addTransfer(t, usdcBase, payee, big.NewInt(units), fmt.Sprint("x", i))
			}
			c.last().tokens[payee] = test.rise
			if test.pruned {
				c.pruned = 10
			}
			watched := &fakeWatched{scripts: []string{payee}}
			got := scan(t, watch(p, c), chain.Cursor{}, watched)
			var amounts []string
			for _, transfer := range got.Transfers {
				amounts = append(amounts, transfer.Amount.String())
				if transfer.Unsure != test.unsure {
					t.Errorf("unsure %t, want %t", transfer.Unsure, test.unsure)
				}
			}
			if !slices.Equal(amounts, test.want) {
				t.Errorf("amounts %v, want %v", amounts, test.want)
			}
		})
	}
}
