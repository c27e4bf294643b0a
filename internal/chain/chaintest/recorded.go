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
func (f *fixture) payInBlock(t *testing.T) chain.Transfer {
	t.Helper()
	f.script(t) // an unpaid script, so that blocks are read
	before := f.scan(t).Tip.Cursor()
	script := f.script(t)
	tx := f.Send(t, Output{script, f.amount("0.5")})
	f.Mine(t, tx)
	f.Mine(t)
	f.from = before
	s := f.want(t, shown{tx, script, "0.5", true})
	f.from = s.Tip.Cursor()
	f.want(t)
	f.from = before
	return s.Transfers[0]
}

// scanWith scans from the cursor with another Watched than the fixture's.
func (f *fixture) scanWith(t *testing.T, watched chain.Watched) chain.Snapshot {
	t.Helper()
	s, err := f.Network().Scan(t.Context(), f.from, watched)
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

func recordedMissed(t *testing.T, f *fixture) {
	recorded := f.payInBlock(t)
	delete(f.watch, recorded.Script)
	f.scanWith(t, f.watch) // reads the block, and does not see the transfer
	f.watch[recorded.Script] = true
	watched := partial{Recording{f.watch, []chain.Transfer{recorded}}}
	for range 2 {
		s := f.scanWith(t, watched)
		if got := inBlocks(s); !slices.Equal(got, []string{recorded.ID}) || len(s.Refuted) > 0 {
			t.Fatalf("scan shows %q and refutes %q, want %q shown", got, s.Refuted, recorded.ID)
		}
		if got := s.Transfers[0]; !got.Amount.Equal(recorded.Amount) || got.Block.Hash != recorded.Block.Hash {
			t.Errorf("scan shows %+v, recorded is %+v", got, recorded)
		}
	}
}

func recordedRefuted(t *testing.T, f *fixture) {
	recorded := f.payInBlock(t)
	wrong := recorded
	wrong.ID = recorded.Tx + ":77"
	s := f.scanWith(t, Recording{f.watch, []chain.Transfer{recorded, wrong}})
	if got := inBlocks(s); !slices.Equal(got, []string{recorded.ID}) || !slices.Equal(s.Refuted, []string{wrong.ID}) {
		t.Errorf("scan shows %q and refutes %q, want %q and %q", got, s.Refuted, recorded.ID, wrong.ID)
	}
}

func recordedLeaves(t *testing.T, f *fixture) {
	recorded := f.payInBlock(t)
	watched := Recording{f.watch, []chain.Transfer{recorded}}
	f.scanWith(t, watched)
	f.Reorganise(t, recorded.Tx)
	s := f.scanWith(t, watched)
	if got := inBlocks(s); len(got) > 0 || len(s.Refuted) > 0 {
		t.Errorf("scan shows %q and refutes %q, want neither: the block left the chain", got, s.Refuted)
	}
}

func recordedAbove(t *testing.T, f *fixture) {
	recorded := f.payInBlock(t)
	block := *recorded.Block
	recorded.ID = recorded.Tx + ":77"
	block.Height, block.Hash = block.Height+50, block.Hash[:len(block.Hash)-4]+"0000"
	recorded.Block = &block
	watched := Recording{f.watch, []chain.Transfer{recorded}}
	if s, err := f.Network().Scan(t.Context(), f.from, watched); err == nil {
		t.Errorf("scan to block %d succeeds with a transfer recorded in block %d: %+v", s.Tip.Height, block.Height, s)
	}
}
