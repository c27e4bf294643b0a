package invoice

import (
	"cmp"
	"slices"

	"chequer/internal/chain"
)

// Fork is a fork point of a chain: the block Left is no longer on the chain, and At is the highest
// block below it that still is.
type Fork struct{ Left, At chain.Cursor }

// keptBlocks is the number of the newest blocks whose hashes are remembered, more than the depth of
// any plausible reorganisation. keptForks bounds the number of blocks that left the chain.
const keptBlocks, keptForks = 32, 64

// follow records the blocks that a snapshot shows, and those that left the chain since the previous
// snapshot.
func (p *Progress) follow(s chain.Snapshot) {
	var kept, left []chain.Cursor
	var at chain.Cursor // the highest known block that is on the chain
	for _, b := range p.Recent {
		hash, shown := s.Blocks[b.Height]
		switch {
		case shown && hash != b.Hash, !shown && b.Height > s.Tip.Height && !s.Behind, len(left) > 0:
			left = append(left, b) // together with all blocks above it, shown or not
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

	// Blocks that left below the covered range do not matter any more, and a block that is shown is
	// on the chain again.
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

// forkBelow returns the fork point below a block that left the chain. known is false if the block
// is still on the chain, or the fork point is not known.
func forkBelow(block chain.Cursor, forks []Fork) (at chain.Cursor, known bool) {
	at = block
	for {
		i := slices.IndexFunc(forks, func(f Fork) bool { return f.Left == at })
		if i < 0 {
			return at, known
		}
		at, known = forks[i].At, true // lower, and possibly left the chain later
	}
}
