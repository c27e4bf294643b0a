package utxo

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"time"

	"chequer/internal/chain"
	"chequer/internal/money"
)

// catchUpTimeout is the time after which a scan that reads missed blocks returns a snapshot of the
// blocks read so far.
const catchUpTimeout = 5 * time.Second

// Scanner scans a network through a source. With a chain.Network it is a chain.Scanner, a chain.Waker and a chain.Reporter.
type Scanner struct {
	asset    chain.Asset
	depth    int64
	source   Source
	now      func() time.Time
	view     view
	attempts chain.Attempts
}

// New returns a Scanner of the network of an asset. depth is the number of blocks that the cursor stays behind the tip: more than any plausible
// reorganisation and than every confirmation count, including that of a coinbase.
func New(asset chain.Asset, depth int64, source Source, now func() time.Time) *Scanner {
	return &Scanner{asset: asset, depth: depth, source: source, now: now, view: view{asset: asset, depth: depth, source: source, now: now}}
}

// Wake implements chain.Waker.
func (s *Scanner) Wake() <-chan struct{} { return s.source.Wake() }

// Health implements chain.Reporter.
func (s *Scanner) Health() chain.Health { return s.attempts.Health(s.source.Health()) }

// Scan implements chain.Scanner.
func (s *Scanner) Scan(ctx context.Context, from chain.Cursor, watched chain.Watched) (chain.Snapshot, error) {
	return s.attempts.Scan(from, func() (chain.Snapshot, error) { return s.scan(ctx, from, watched) })
}

func (s *Scanner) scan(ctx context.Context, from chain.Cursor, watched chain.Watched) (chain.Snapshot, error) {
	started := s.now()
	best, err := s.source.Best(ctx)
	if err != nil {
		return chain.Snapshot{}, err
	}
	base, err := s.base(ctx, from, best)
	if err != nil {
		return chain.Snapshot{}, err
	}
	behind, err := s.view.follow(ctx, base, best, watched)
	if err != nil {
		return chain.Snapshot{}, err
	}
	snapshot := s.blocks(base, watched)
	snapshot.Started, snapshot.Behind = started, behind
	for _, t := range snapshot.Unshown(watched) {
		if t.Block.Height > snapshot.Tip.Height && !s.view.departed.Has(t.Block.Cursor()) {
			return chain.Snapshot{}, chain.AboveTip(t, snapshot.Tip.Height)
		}
		if snapshot.Blocks[t.Block.Height] == t.Block.Hash { // the block was read and does not contain it
			snapshot.Refuted = append(snapshot.Refuted, t.ID)
		}
	}
	if behind {
		snapshot.Unconfirmed = chain.None
		return snapshot, nil
	}
	if err := s.addWaiting(ctx, &snapshot, watched); err != nil {
		return chain.Snapshot{}, err
	}
	// A transaction mined after the mempool was read would be in neither.
	if current, err := s.source.Best(ctx); err != nil {
		return chain.Snapshot{}, err
	} else if current.Hash != best.Hash {
		return chain.Snapshot{}, chain.ErrChanged
	}
	return snapshot, nil
}

// base returns the block after which a scan begins: the cursor's block or, if that block left the
// best chain, a block below the fork.
func (s *Scanner) base(ctx context.Context, from chain.Cursor, best Header) (Header, error) {
	if from.IsZero() {
		return s.source.AtHeight(ctx, max(best.Height-s.depth, 0))
	}
	if best.Height < from.Height {
		return Header{}, fmt.Errorf("the source is only at block %d, although block %d was already read", best.Height, from.Height)
	}
	if from.Height == best.Height && from.Hash == best.Hash {
		return best, nil
	}
	base, err := s.source.AtHeight(ctx, from.Height)
	if err == nil && base.Hash != from.Hash {
		// The fork point is unknown: begin lower.
		base, err = s.source.AtHeight(ctx, max(from.Height-s.depth, 0))
	}
	if errors.Is(err, ErrNoBlock) { // its height is below the best block, so the chain changed
		return Header{}, chain.ErrChanged
	}
	return base, err
}

// blocks returns the part of a snapshot that the blocks show.
func (s *Scanner) blocks(base Header, watched chain.Watched) chain.Snapshot {
	snapshot := chain.Snapshot{From: base.Cursor(), Tip: base.Block, Next: base.Cursor(), Blocks: map[int64]string{base.Height: base.Hash}}
	if n := len(s.view.records); n > 0 {
		snapshot.Tip = s.view.records[n-1].Block
	}
	for _, r := range s.view.records {
		snapshot.Blocks[r.Height] = r.Hash
		if r.Height <= snapshot.Tip.Height-s.depth {
			snapshot.Next = r.Cursor()
		}
		for _, t := range r.transfers {
			if watched.Destination(t.Script) {
				t.FirstSeen = s.source.Seen(t.Tx)
				snapshot.Transfers = append(snapshot.Transfers, t)
			}
		}
		for _, c := range r.conflicts {
			if watched.Outpoint(c.Outpoint) || s.source.Pending(c.Outpoint) {
				snapshot.Conflicts = append(snapshot.Conflicts, c)
			}
		}
	}
	return snapshot
}

// addWaiting adds the unconfirmed transfers and conflicts to a snapshot. A transaction that is in a block, or that
// spends an output that a block spends, is left out.
func (s *Scanner) addWaiting(ctx context.Context, snapshot *chain.Snapshot, watched chain.Watched) error {
	waiting, err := s.source.Waiting(ctx, watched)
	if err != nil {
		return err
	}
	snapshot.Unconfirmed, snapshot.ViewSince = waiting.Coverage, waiting.Since
	mined := map[string]bool{}
	for _, t := range snapshot.Transfers {
		mined[t.Tx] = true
	}
	spentInBlocks := map[string]bool{}
	for _, c := range snapshot.Conflicts {
		spentInBlocks[c.Outpoint] = true
	}
	snapshot.Conflicts = append(snapshot.Conflicts, waiting.Conflicts...)
	for _, tx := range waiting.Txs {
		if !mined[tx.ID] && !spendsAny(tx, spentInBlocks) {
			snapshot.Transfers = append(snapshot.Transfers, s.transfers(tx, waiting, watched)...)
		}
	}
	return nil
}

func spendsAny(tx Tx, outpoints map[string]bool) bool {
	for _, o := range tx.Spends {
		if outpoints[o] {
			return true
		}
	}
	return false
}

// transfers returns the transfers of a waiting transaction to watched destinations.
func (s *Scanner) transfers(tx Tx, waiting Waiting, watched chain.Watched) []chain.Transfer {
	found := transfers(s.asset, tx, nil, watched)
	for i := range found {
		found[i].FirstSeen = s.source.Seen(tx.ID)
		found[i].Firm = waiting.Coverage == chain.Complete && waiting.Firm[tx.ID]
		found[i].Contested = waiting.Contested[tx.ID]
	}
	return found
}

// transfers returns the transfers of a transaction to watched destinations, except those of
// zero or less.
func transfers(asset chain.Asset, tx Tx, block *chain.Block, watched chain.Watched) []chain.Transfer {
	var found []chain.Transfer
	for i, out := range tx.Outputs {
		script := out.paid(watched)
		if out.Units <= 0 || script == "" {
			continue
		}
		found = append(found, chain.Transfer{
			ID: fmt.Sprintf("%s:%d", tx.ID, i), Tx: tx.ID, Asset: asset.Code, Script: script,
			Amount: money.FromMinor(big.NewInt(out.Units), asset.Currency), Spends: tx.Spends,
			Block: block, Coinbase: tx.Coinbase, Unsure: out.Unsure,
		})
	}
	return found
}
