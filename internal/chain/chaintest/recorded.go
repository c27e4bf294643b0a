package chaintest

import (
	"iter"
	"slices"
	"testing"

	"chequer/internal/chain"
)

// partial is a Recording that returns no new destinations, so that a network does not search
// its blocks again.
type partial struct{ Recording }

// Since implements chain.Watched.
func (p partial) Since(mark uint64) (iter.Seq[string], uint64) {
	if mark > 0 {
		return func(func(string) bool) {}, mark
	}
	return p.Recording.Since(mark)
}

// payInBlock pays a new script in a block, and returns the transfer. It sets the cursor to the
// block before. The network does not keep the block in memory.
func (b *bench) payInBlock(t *testing.T) chain.Transfer {
	t.Helper()
	b.script(t) // an unpaid script, so that blocks are read
	before := b.scan(t).Tip.Cursor()
	script := b.script(t)
	tx := b.Send(t, Output{script, b.amount("0.5")})
	b.Mine(t, tx)
	b.Mine(t)
	b.from = before
	s := b.want(t, shown{tx, script, "0.5", true})
	b.from = s.Tip.Cursor()
	b.want(t)
	b.from = before
	return s.Transfers[0]
}

// scanWith scans from the cursor with another Watched than the bench's.
func (b *bench) scanWith(t *testing.T, watched chain.Watched) chain.Snapshot {
	t.Helper()
	s, err := b.Network().Scan(t.Context(), b.from, watched)
	if err != nil {
		t.Fatalf("scan: %v", err)
	}
	if err := s.CheckRecorded(watched); err != nil {
		t.Fatal(err)
	}
	return s
}

// inBlocks returns the IDs of the transfers that a snapshot shows in a block.
func inBlocks(s chain.Snapshot) (ids []string) {
	for _, t := range s.Transfers {
		if t.Block != nil {
			ids = append(ids, t.ID)
		}
	}
	return ids
}

func recordedMissed(t *testing.T, b *bench) {
	recorded := b.payInBlock(t)
	delete(b.watch, recorded.Script)
	b.scanWith(t, b.watch) // reads the block, and does not see the transfer
	b.watch[recorded.Script] = true
	watched := partial{Recording{b.watch, []chain.Transfer{recorded}}}
	for range 2 {
		s := b.scanWith(t, watched)
		if got := inBlocks(s); !slices.Equal(got, []string{recorded.ID}) || len(s.Refuted) > 0 {
			t.Fatalf("scan shows %q and refutes %q, want %q shown", got, s.Refuted, recorded.ID)
		}
		if got := s.Transfers[0]; !got.Amount.Equal(recorded.Amount) || got.Block.Hash != recorded.Block.Hash {
			t.Errorf("scan shows %+v, recorded is %+v", got, recorded)
		}
	}
}

func recordedRefuted(t *testing.T, b *bench) {
	recorded := b.payInBlock(t)
	wrong := recorded
	wrong.ID = recorded.Tx + ":77"
	s := b.scanWith(t, Recording{b.watch, []chain.Transfer{recorded, wrong}})
	if got := inBlocks(s); !slices.Equal(got, []string{recorded.ID}) || !slices.Equal(s.Refuted, []string{wrong.ID}) {
		t.Errorf("scan shows %q and refutes %q, want %q and %q", got, s.Refuted, recorded.ID, wrong.ID)
	}
}

func recordedLeaves(t *testing.T, b *bench) {
	recorded := b.payInBlock(t)
	watched := Recording{b.watch, []chain.Transfer{recorded}}
	b.scanWith(t, watched)
	b.Reorganise(t, recorded.Tx)
	s := b.scanWith(t, watched)
	if got := inBlocks(s); len(got) > 0 || len(s.Refuted) > 0 {
		t.Errorf("scan shows %q and refutes %q, want neither: the block left the chain", got, s.Refuted)
	}
}

func recordedAbove(t *testing.T, b *bench) {
	recorded := b.payInBlock(t)
	block := *recorded.Block
	recorded.ID = recorded.Tx + ":77"
	block.Height, block.Hash = block.Height+50, block.Hash[:len(block.Hash)-4]+"0000"
	recorded.Block = &block
	watched := Recording{b.watch, []chain.Transfer{recorded}}
	if s, err := b.Network().Scan(t.Context(), b.from, watched); err == nil {
		t.Errorf("scan to block %d succeeds with a transfer recorded in block %d: %+v", s.Tip.Height, block.Height, s)
	}
}
