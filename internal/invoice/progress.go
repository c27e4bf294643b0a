package invoice

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
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

// maxGaps is the largest number of gaps. The oldest gaps are merged, which favours the shopper.
const maxGaps = 64

// After returns the progress once a snapshot is recorded.
func (p Progress) After(s chain.Snapshot, sequence int64) Progress {
	next := Progress{Cursor: s.Next, Tip: s.Tip.Cursor(), Scanned: p.Scanned, Gaps: p.Gaps, Sequence: sequence, Read: p.Read, Loaded: p.Loaded, Recent: p.Recent, Forks: p.Forks}
	next.recordBlocks(s)
	if s.Behind {
		if next.Tip.Height < p.Tip.Height {
			next.Tip = p.Tip
		}
		return next
	}
	next.Scanned = s.Started
	from := p.Scanned
	if from.After(s.Started) { // the clock was set back
		from = s.Started
	}
	switch {
	case s.ViewSince.IsZero():
		next.Gaps = addGap(p.Gaps, Gap{From: from, Until: s.Started})
	case s.ViewSince.After(from):
		next.Gaps = addGap(p.Gaps, Gap{From: from, Until: s.ViewSince})
	}
	return next
}

// addGap returns gaps with a gap added that does not begin before the last gap. It joins the two if they
// touch.
func addGap(gaps []Gap, g Gap) []Gap {
	gaps = slices.Clone(gaps)
	if n := len(gaps); n > 0 && !g.From.After(gaps[n-1].Until) {
		if g.Until.After(gaps[n-1].Until) {
			gaps[n-1].Until = g.Until
		}
		return gaps
	}
	gaps = append(gaps, g)
	if len(gaps) > maxGaps {
		gaps[1].From = gaps[0].From
		gaps = gaps[1:]
	}
	return gaps
}

// Fork is a fork point of a chain: the block Left is no longer on the chain, and At is the highest
// block below Left that is still on the chain.
type Fork struct{ Left, At chain.Cursor }

// maxRecent is the number of the newest blocks whose hashes are stored, more than the depth of any
// plausible reorganisation. maxForks is the largest number of stored blocks that left the chain.
const maxRecent, maxForks = 32, 64

// recordBlocks records the blocks that a snapshot shows, and those that left the chain since the previous
// snapshot.
func (p *Progress) recordBlocks(s chain.Snapshot) {
	var kept, departed []chain.Cursor
	var at chain.Cursor // the highest known block that is on the chain
	for _, b := range p.Recent {
		hash, shown := s.Blocks[b.Height]
		switch {
		case shown && hash != b.Hash, !shown && b.Height > s.Tip.Height && !s.Behind, len(departed) > 0:
			departed = append(departed, b) // together with all blocks above it, shown or not
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
	p.Recent = slices.Clone(kept[max(len(kept)-maxRecent, 0):])

	// A fork below the covered range no longer matters, and a block that the snapshot shows is on the
	// chain again.
	forks := slices.DeleteFunc(slices.Clone(p.Forks), func(f Fork) bool {
		return f.Left.Height <= s.From.Height || s.Blocks[f.Left.Height] == f.Left.Hash
	})
	for _, b := range departed {
		if !at.IsZero() {
			forks = append(forks, Fork{Left: b, At: at})
		}
	}
	p.Forks = forks[max(len(forks)-maxForks, 0):]
}

// forkBelow returns the fork point below a block. known is false if the block is on the chain, or if
// the fork point is not known.
func forkBelow(block chain.Cursor, forks []Fork) (at chain.Cursor, known bool) {
	at = block
	for {
		i := slices.IndexFunc(forks, func(f Fork) bool { return f.Left == at })
		if i < 0 {
			return at, known
		}
		at, known = forks[i].At, true // this block may have left the chain later
	}
}

// Reached reports whether a network was scanned recently enough for its methods to be offered. It is
// always true for networks of test invoices and for networks without a scanner.
func (s *Service) Reached(network chain.ID, progress map[chain.ID]Progress) bool {
	if s.maxScanAge == 0 || !s.isLive(network) {
		return true
	}
	now, scanned := s.now(), progress[network].Scanned
	// A clock that was set back does not make a network unreached.
	if s.requireScanSinceStart && scanned.Before(s.startedAt.Add(-maxAgeAtStart)) && !now.Before(s.startedAt) {
		return false
	}
	return now.Sub(scanned) <= s.maxScanAge
}

// maxAgeAtStart is the largest age that a scan by another process may have when this process starts,
// so that the network counts as reached.
const maxAgeAtStart = 30 * time.Second

// scanDelay is the largest age of a scan before the page says that a payment may show later than
// usual.
const scanDelay = 30 * time.Second

// startupTime is the time that a process may take after its start for its first scan.
const startupTime = 20 * time.Second

// Behind returns the networks of an open invoice that are watched but were not scanned recently, in
// the order of its methods. It returns none during startupTime.
func (s *Service) Behind(ctx context.Context, inv *Invoice) ([]chain.ID, error) {
	if inv.State.Status != Created && inv.State.Status != Pending {
		return nil, nil
	}
	progress, err := s.storage.RecentProgress(ctx)
	if err != nil {
		return nil, err
	}
	var behind []chain.ID
	for _, m := range inv.Methods {
		network := m.Asset.Network
		if s.isScanned(network) && s.isBehind(network, progress) && !slices.Contains(behind, network) {
			behind = append(behind, network)
		}
	}
	return behind, nil
}

// isBehind reports whether a network was not scanned recently.
func (s *Service) isBehind(network chain.ID, progress map[chain.ID]Progress) bool {
	return s.now().Sub(progress[network].Scanned) > scanDelay && s.now().Sub(s.startedAt) > startupTime
}

// Expirer expires overdue invoices.
type Expirer struct {
	service  *Service
	interval time.Duration
	log      *slog.Logger
}

// NewExpirer returns a new Expirer that checks at the given interval.
func NewExpirer(s *Service, interval time.Duration, log *slog.Logger) *Expirer {
	return &Expirer{service: s, interval: interval, log: log}
}

// Run checks for overdue invoices until the context ends, and returns nil then.
func (e *Expirer) Run(ctx context.Context) error {
	tick := time.NewTicker(e.interval)
	defer tick.Stop()
	for {
		if _, err := e.service.Expire(ctx, expireBatch); err != nil && ctx.Err() == nil {
			e.log.Error("expirer failed", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// expireBatch is the largest number of invoices in one check.
const expireBatch = 200

// Expire evaluates at most limit invoices whose state may have changed with time alone, and returns
// their number.
func (s *Service) Expire(ctx context.Context, limit int) (int, error) {
	ids, err := s.storage.DueInvoices(ctx, s.now(), limit)
	if err != nil {
		return 0, fmt.Errorf("expire: %w", err)
	}
	var faults []error
	for _, id := range ids {
		_, err := s.update(ctx, id, Lease{}, func(*Invoice) error { return nil })
		if _, err = SkipUnreadable(ctx, s.storage, err, s.now()); err != nil {
			faults = append(faults, fmt.Errorf("expire invoice %s: %w", id, err))
		}
	}
	return len(ids), errors.Join(faults...)
}
