package invoice_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/chain"
	"chequer/internal/invoice"
)

// blocks are the hashes of a test chain by height.
type blocks []string

// snapshot returns the result of a scan above a height, without transfers.
func (b blocks) snapshot(from int64) chain.Snapshot {
	s := chain.Snapshot{
		Started: noon, Blocks: map[int64]string{}, Unconfirmed: chain.None,
		From: chain.Cursor{Height: from, Hash: b[from]}, Tip: chain.Block{Height: int64(len(b) - 1), Hash: b[len(b)-1]},
	}
	s.Next = s.From
	for height := from; height < int64(len(b)); height++ {
		s.Blocks[height] = b[height]
	}
	return s
}

// mine appends blocks. Their hashes begin with a name.
func (b *blocks) mine(name string, count int) {
	for range count {
		*b = append(*b, fmt.Sprint(name, len(*b)))
	}
}

// A transfer at or below the fork point is older than the invoice, and a transfer above it is not.
func TestFork_point_takes_the_place_of_the_birth_block(t *testing.T) {
	t.Parallel()
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 7))
		var b blocks
		b.mine("a", 100)
		progress := invoice.Progress{}.After(b.snapshot(60), 1)
		inv := newInvoice(t, noon)
		inv.Methods[0].Birth = progress.Tip
		fork := progress.Tip
		for n := range 1 + random.IntN(4) { // the invoice does not observe these snapshots
			keep := len(b) - random.IntN(5)
			if fork.Height >= int64(keep) {
				fork = chain.Cursor{Height: int64(keep - 1), Hash: b[keep-1]}
			}
			b = b[:keep:keep]
			b.mine(fmt.Sprint("f", n), 1+random.IntN(6))
			s := b.snapshot(60)
			s.Behind = random.IntN(5) == 0 && len(b) > 101
			progress = progress.After(s, int64(n)+2)
		}
		before := inBlock(pay("before", full/2, 0), fork.Height, -time.Minute)
		after := inBlock(pay("after", full/4, 0), fork.Height+1, time.Minute)
		before.FirstSeen, after.FirstSeen = time.Time{}, time.Time{}
		b.mine("g", 2)
		s := b.snapshot(60)
		s.Transfers = []chain.Transfer{before, after}
		progress = progress.After(s, 10)
		inv.Observe(invoice.Observation{
			Network: "bitcoin", Snapshot: s, Transfers: s.Transfers, Forks: progress.Forks, Required: map[string]int{before.ID: 1, after.ID: 1},
		})
		got := map[string]bool{}
		for _, transfer := range inv.Transfers {
			got[transfer.Tx] = transfer.Old
		}
		if diff := cmp.Diff(got, map[string]bool{"before": true, "after": false}); diff != "" {
			t.Fatalf("seed %d, fork at %d, birth at %d: old (-got +want):\n%s", seed, fork.Height, inv.Methods[0].Birth.Height, diff)
		}
	}
}

// The number of stored blocks and forks is bounded even if the chain is often reorganised.
func TestForks_are_bounded(t *testing.T) {
	t.Parallel()
	var b blocks
	b.mine("a", 100)
	progress := invoice.Progress{}.After(b.snapshot(60), 1)
	for n := range 200 {
		b = b[: len(b)-3 : len(b)-3]
		b.mine(fmt.Sprint("f", n), 3)
		progress = progress.After(b.snapshot(60), int64(n)+2)
	}
	if len(progress.Forks) != 64 || len(progress.Recent) != 32 {
		t.Errorf("%d forks and %d blocks are stored, want 64 and 32", len(progress.Forks), len(progress.Recent))
	}
	for i := range 200 {
		b.mine("g", 1)
		progress = progress.After(b.snapshot(60+int64(i)), int64(i)+300)
	}
	if len(progress.Forks) != 0 {
		t.Errorf("%d forks are stored after 200 snapshots without a reorganisation, want none", len(progress.Forks))
	}
	if last := progress.Recent[31]; last.Height != int64(len(b)-1) || last.Hash != b[last.Height] {
		t.Errorf("the newest block is %+v, want %d %s", last, len(b)-1, b[len(b)-1])
	}
}

// The fork point of a reorganisation below all stored blocks is not known.
func TestFork_below_the_stored_blocks_is_not_known(t *testing.T) {
	t.Parallel()
	var b blocks
	b.mine("a", 100)
	progress := invoice.Progress{}.After(b.snapshot(40), 1)
	b = b[:60:60]
	b.mine("f", 50)
	if progress = progress.After(b.snapshot(40), 2); len(progress.Forks) != 0 {
		t.Errorf("forks %+v, want none", progress.Forks)
	}
}

// A block above the scanned range left the chain together with the blocks below it, and has the
// same fork point.
func TestBlocks_above_a_block_that_left_have_the_same_fork_point(t *testing.T) {
	t.Parallel()
	var b blocks
	b.mine("a", 104)
	progress := invoice.Progress{}.After(b.snapshot(60), 1)
	birth := progress.Tip
	b = b[:100:100]
	b.mine("f", 2)
	s := b.snapshot(60)
	s.Behind = true // the blocks above are not shown yet
	progress = progress.After(s, 2)
	b.mine("f", 4)
	progress = progress.After(b.snapshot(101), 3)
	inv := newInvoice(t, noon)
	inv.Methods[0].Birth = birth
	paid := inBlock(pay("paid", full, 0), 100, time.Minute)
	paid.FirstSeen = time.Time{}
	s = b.snapshot(60)
	s.Transfers = []chain.Transfer{paid}
	inv.Observe(invoice.Observation{Network: "bitcoin", Snapshot: s, Transfers: s.Transfers, Forks: progress.Forks, Required: map[string]int{paid.ID: 1}})
	if got := inv.Methods[0].Birth; got.Height != 99 || inv.Transfers[0].Old {
		t.Errorf("birth block %+v, old: %t", got, inv.Transfers[0].Old)
	}
}

// A chain may return to an earlier branch: the blocks on it have not left the chain, so the birth
// block of an invoice made there does not move.
func TestFork_ends_when_its_block_returns(t *testing.T) {
	t.Parallel()
	var b blocks
	b.mine("a", 101)
	progress := invoice.Progress{}.After(b.snapshot(60), 1)
	other := b[:100:100]
	other.mine("f", 1)
	progress = progress.After(other.snapshot(60), 2).After(b.snapshot(60), 3)
	inv := newInvoice(t, noon)
	inv.Methods[0].Birth = progress.Tip
	before := inBlock(pay("before", full, 0), 100, -time.Minute)
	before.FirstSeen = time.Time{}
	s := b.snapshot(60)
	s.Transfers = []chain.Transfer{before}
	inv.Observe(invoice.Observation{Network: "bitcoin", Snapshot: s, Transfers: s.Transfers, Forks: progress.Forks, Required: map[string]int{before.ID: 1}})
	if got := inv.Methods[0].Birth; got != progress.Tip || !inv.Transfers[0].Old {
		t.Errorf("birth block %+v, want %+v; old: %t", got, progress.Tip, inv.Transfers[0].Old)
	}
}

// Endpoints may report chains that contradict each other. They must not cause an endless loop, so each
// fork point is lower than the block that left.
func TestFork_point_is_below_its_block_if_endpoints_contradict_each_other(t *testing.T) {
	t.Parallel()
	progress := invoice.Progress{}
	for n := range 20 { // each of the two blocks is shown only while the other block is replaced
		hashes := []string{"g", "a", "m", "b"}
		hashes[1+n%2*2] = "x"
		progress = progress.After(blocks(hashes).snapshot(0), int64(n)+1)
	}
	for _, f := range progress.Forks {
		if f.At.Height >= f.Left.Height {
			t.Errorf("fork point of %+v is %+v, which is not lower", f.Left, f.At)
		}
	}
}
