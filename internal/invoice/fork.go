package invoice

import (
	"cmp"
	"slices"

	"chequer/internal/chain"
)

// Fork says where a chain went another way: a block that was on it is no more, and At
// is the highest block below that is.
type Fork struct{ Left, At chain.Cursor }

// keptBlocks is how many of the newest blocks are known by their hashes, more than any
// plausible reorganisation takes off; keptForks bounds the blocks that left.
const keptBlocks, keptForks = 32, 64

// follow takes note of the blocks that a snapshot shows, and of those that left the
// chain since the last one.
func (p *Progress) follow(s chain.Snapshot) {
	var kept, left []chain.Cursor
	var at chain.Cursor // the highest known block that is on the chain
	for _, b := range p.Recent {
		hash, shown := s.Blocks[b.Height]
		switch {
		case shown && hash != b.Hash, !shown && b.Height > s.Tip.Height && !s.Behind, len(left) > 0:
			left = append(left, b) // with all above it, shown or not
		case shown:
			at = b
		default:
			kept = append(kept, b)
			if b.Height < s.From.Height {
				at = b
			}
		}
	}
	for height, hash := range s.Blocks {
		kept = append(kept, chain.Cursor{Height: height, Hash: hash})
	}
	slices.SortFunc(kept, func(a, b chain.Cursor) int { return cmp.Compare(a.Height, b.Height) })
	p.Recent = slices.Clone(kept[max(len(kept)-keptBlocks, 0):])

	// What left below the covered range concerns nobody any more, and a block that is
	// shown has come back.
	forks := slices.DeleteFunc(slices.Clone(p.Forks), func(f Fork) bool {
		return f.Left.Height <= s.From.Height || s.Blocks[f.Left.Height] == f.Left.Hash
	})
	for _, b := range left {
		if !at.IsZero() {
			forks = append(forks, Fork{Left: b, At: at})
		}
	}
	p.Forks = forks[max(len(forks)-keptForks, 0):]
}

// forkBelow is where the chain went another way below a block that left it; false when
// the block did not, or nobody knows.
func forkBelow(block chain.Cursor, forks []Fork) (at chain.Cursor, known bool) {
	at = block
	for {
		i := slices.IndexFunc(forks, func(f Fork) bool { return f.Left == at })
		if i < 0 {
			return at, known
		}
		at, known = forks[i].At, true // which is lower, and may have left later
	}
}
