package invoice

import (
	"slices"
	"time"

	"chequer/internal/chain"
)

// Progress is the state of scanning a network.
type Progress struct {
	Cursor chain.Cursor // start of the next scan
	Tip    chain.Cursor // the newest block known
	// Scanned is the start of the last scan that reached the tip.
	Scanned time.Time
	// Gaps are the times when unconfirmed transfers were not watched, oldest first. The first gap
	// is the time before watching began.
	Gaps     []Gap
	Sequence int64 // of the last saved snapshot
	// Read is the last block at which all balances were read, zero if no balances are read. Loaded
	// is the position in each merchant's feed up to which destinations were loaded at that time.
	Read   chain.Block
	Loaded map[string]int64
	// Recent are the newest known blocks, the lowest first. Forks are the blocks that recently left
	// the chain.
	Recent []chain.Cursor
	Forks  []Fork
}

// Gap is a time when unconfirmed transfers were not watched.
type Gap struct{ From, Until time.Time }

// keptGaps is the largest number of gaps. Older gaps are merged, in the shopper's favour.
const keptGaps = 64

// After returns the progress once a snapshot is recorded.
func (p Progress) After(s chain.Snapshot, sequence int64) Progress {
	next := Progress{Cursor: s.Next, Tip: s.Tip.Cursor(), Scanned: p.Scanned, Gaps: p.Gaps, Sequence: sequence, Read: p.Read, Loaded: p.Loaded, Recent: p.Recent, Forks: p.Forks}
	next.follow(s)
	if s.Behind {
		if next.Tip.Height < p.Tip.Height {
			next.Tip = p.Tip
		}
		return next
	}
	next.Scanned = s.Started
	from := p.Scanned
	if from.After(s.Started) { // the clock was put back
		from = s.Started
	}
	switch {
	case s.ViewSince.IsZero():
		next.Gaps = widen(p.Gaps, Gap{From: from, Until: s.Started})
	case s.ViewSince.After(from):
		next.Gaps = widen(p.Gaps, Gap{From: from, Until: s.ViewSince})
	}
	return next
}

// widen adds a gap that begins after all the others, or where the last one ends.
func widen(gaps []Gap, g Gap) []Gap {
	gaps = slices.Clone(gaps)
	if n := len(gaps); n > 0 && !g.From.After(gaps[n-1].Until) {
		if g.Until.After(gaps[n-1].Until) {
			gaps[n-1].Until = g.Until
		}
		return gaps
	}
	gaps = append(gaps, g)
	if len(gaps) > keptGaps {
		gaps[1].From = gaps[0].From
		gaps = gaps[1:]
	}
	return gaps
}
