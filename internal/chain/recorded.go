package chain

import "fmt"

// Unshown returns the recorded transfers to watched destinations that the snapshot
// covers and shows in no block.
func (s Snapshot) Unshown(watched Watched) []Transfer {
	shown := map[string]bool{}
	for _, t := range s.Transfers {
		if t.Block != nil {
			shown[t.ID] = true
		}
	}
	var missing []Transfer
	for t := range watched.Recorded() {
		if t.Block != nil && !shown[t.ID] && s.Covers(t.Block.Height) && watched.Destination(t.Script) {
			missing = append(missing, t)
		}
	}
	return missing
}

// CheckRecorded returns an error when the snapshot neither shows nor refutes a
// recorded transfer whose block it has: absence from a block that is still on the
// chain proves nothing.
func (s Snapshot) CheckRecorded(watched Watched) error {
	missing := s.Unshown(watched)
	if len(missing) == 0 {
		return nil
	}
	refuted := make(map[string]bool, len(s.Refuted))
	for _, id := range s.Refuted {
		refuted[id] = true
	}
	for _, t := range missing {
		if s.Blocks[t.Block.Height] == t.Block.Hash && !refuted[t.ID] {
			return fmt.Errorf("recorded transfer %s is not shown, and its block %d is still on the chain", t.ID, t.Block.Height)
		}
	}
	return nil
}

// Departed is the set of blocks above the cursor that were seen to leave the best
// chain. The zero value is empty.
type Departed struct{ heights map[string]int64 }

// Add adds a block.
func (d *Departed) Add(block Cursor) {
	if d.heights == nil {
		d.heights = map[string]int64{}
	}
	d.heights[block.Hash] = block.Height
}

// Has reports whether a block was seen to leave the chain.
func (d *Departed) Has(block Cursor) bool {
	_, has := d.heights[block.Hash]
	return has
}

// Remove deletes a block that is on the best chain again.
func (d *Departed) Remove(block Cursor) { delete(d.heights, block.Hash) }

// Forget deletes the blocks up to a height.
func (d *Departed) Forget(height int64) {
	for hash, blockHeight := range d.heights {
		if blockHeight <= height {
			delete(d.heights, hash)
		}
	}
}

// AboveTip returns the error for a recorded transfer whose block is above the tip
// and was not seen to leave the chain: the source may be behind.
func AboveTip(t Transfer, tip int64) error {
	return fmt.Errorf("transfer %s is recorded in block %d, but the source is only at block %d", t.ID, t.Block.Height, tip)
}
