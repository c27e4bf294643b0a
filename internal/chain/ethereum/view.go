package ethereum

import (
	"context"
	"fmt"
	"slices"
	"time"

	"chequer/internal/chain"
	"chequer/internal/keys"
)

const (
	// catchUpTimeout is the time after which a scan that reads missed blocks returns a
	// snapshot of the blocks read so far.
	catchUpTimeout = 5 * time.Second
	// maxRange is the number of blocks that are read at once if all of them are final.
	maxRange = 100
	// maxHeaders is the number of blocks that are read at once if the hash of each is needed.
	maxHeaders = 50
)

// view is the covered part of the best chain. It is kept between scans so that a block is not
// read again for each scan.
type view struct {
	source    Source
	tokens    map[keys.EthereumAddress]chain.Asset
	contracts []keys.EthereumAddress
	// claimed are the tokens whose logs do not prove their amounts; see credit.
	claimed       map[keys.EthereumAddress]bool
	recorded      map[string]chain.Transfer // by ID; see setRecorded
	cursorLag     int64                     // number of blocks that the cursor stays behind the tip
	secondReadLag int64                     // number of blocks behind the tip at which a block is read for the second time

	base    Header
	records []record // each on top of the previous one
	// scripts is the mark of the destinations that the records were searched for.
	scripts uint64
	// shown is the height of the last snapshot's tip. seen is when the tip was last
	// known to be the newest block.
	shown    int64
	seen     time.Time
	departed chain.Departed
}

// newView returns a view of the assets. claimed are the codes of the tokens among them
// that a setting describes.
func newView(source Source, assets []chain.Asset, claimed []string, blockTime time.Duration) view {
	v := view{source: source, tokens: map[keys.EthereumAddress]chain.Asset{}, claimed: map[keys.EthereumAddress]bool{}, secondReadLag: max(2, int64(secondReadAge/blockTime))}
	for _, a := range assets {
		for _, d := range a.Policy.Depth {
			v.cursorLag = max(v.cursorLag, int64(d.Confirmations))
		}
		if a.Policy.Balance {
			continue
		}
		contract, err := keys.ParseEthereumAddress(a.Contract)
		if err != nil {
			panic("ethereum: contract of " + a.Code + ": " + err.Error())
		}
		v.tokens[contract] = a
		if slices.Contains(claimed, a.Code) {
			v.claimed[contract] = true
		}
		v.contracts = append(v.contracts, contract)
	}
	return v
}

// begin sets the start of the view to the cursor's block, or below the fork if that block
// left the best chain.
func (v *view) begin(ctx context.Context, from chain.Cursor, best Best) error {
	if from.IsZero() {
		lowest := max(best.Height-v.cursorLag, 0)
		if v.base.Hash != "" && v.base.Height <= lowest {
			return nil
		}
		return v.restart(ctx, lowest)
	}
	if from == v.base.Cursor() {
		return nil
	}
	i := slices.IndexFunc(v.records, func(r record) bool { return r.Cursor() == from })
	if i >= 0 {
		v.base, v.records = v.records[i].Header, slices.Clone(v.records[i+1:])
		return nil
	}
	if best.Height < from.Height {
		return errBelow(best, from.Height)
	}
	if err := v.restart(ctx, from.Height); err != nil || v.base.Hash == from.Hash {
		return err
	}
	// The fork point is unknown: begin lower.
	return v.restart(ctx, max(from.Height-v.cursorLag, 0))
}

// errBelow returns the error for a source that is below a block that it had before.
func errBelow(best Best, height int64) error {
	return fmt.Errorf("the endpoints are only at block %d, although block %d was already read", best.Height, height)
}

// restart drops all records and begins above a height.
func (v *view) restart(ctx context.Context, height int64) error {
	v.base, v.records, v.scripts, v.shown = Header{}, nil, 0, height
	base, err := v.header(ctx, height)
	if err != nil {
		return err
	}
	v.base = base
	return nil
}

// header returns the header of the block at a height.
func (v *view) header(ctx context.Context, height int64) (Header, error) {
	headers, err := v.source.Headers(ctx, height, height)
	if err != nil {
		return Header{}, err
	}
	return headers[0], nil
}

// last returns the newest block of the view.
func (v *view) last() Header {
	if n := len(v.records); n > 0 {
		return v.records[n-1].Header
	}
	return v.base
}

// follow extends the view to the best block. reached is the number of records, from the first
// on, that were read; behind is true if there are blocks above them.
func (v *view) follow(ctx context.Context, best Best, watched chain.Watched) (reached int, behind bool, err error) {
	if err := v.dropDeparted(ctx, best); err != nil {
		return 0, false, err
	}
	if err := v.addScripts(ctx, watched); err != nil {
		return 0, false, err
	}
	start := time.Now()
	for {
		err := v.read(ctx, v.final(best), watched)
		if err == nil && v.last().Height < best.Height {
			if v.last().Height-v.base.Height > v.cursorLag && time.Since(start) > catchUpTimeout {
				return len(v.records), true, nil
			}
			if err = v.extend(ctx, best); err == nil {
				continue
			}
		}
		if err == nil {
			if v.last().Hash == best.Hash {
				v.seen = best.At
			}
			if v.seen.IsZero() {
				return 0, false, errBelow(best, v.last().Height)
			}
			return len(v.records), false, nil
		}
		reached = v.readUpTo()
		if n := reached - 1; n >= 0 && v.records[n].Height > v.shown && ctx.Err() == nil {
			return reached, true, nil // a lasting fault fails the next scan
		}
		return 0, false, err
	}
}

// final returns the height up to which blocks can no longer leave the chain.
func (v *view) final(best Best) int64 {
	if best.Final > 0 {
		return best.Final
	}
	return best.Height - v.cursorLag
}

// dropDeparted drops records that left the best chain. If the best block is below the tip of the view
// and in the view, the source lags and nothing is dropped.
func (v *view) dropDeparted(ctx context.Context, best Best) error {
	for len(v.records) > 0 {
		last := v.last()
		var onChain bool
		switch {
		case best.Height > last.Height:
			next, err := v.source.Headers(ctx, last.Height+1, last.Height+1)
			if err != nil {
				return err
			}
			onChain = next[0].Parent == last.Hash
		case best.Height == last.Height:
			onChain = best.Hash == last.Hash
		default:
			i := slices.IndexFunc(v.records, func(r record) bool { return r.first <= best.Height && best.Height <= r.Height })
			onChain = i < 0 || v.records[i].Height != best.Height || v.records[i].Hash == best.Hash
		}
		if onChain {
			return nil
		}
		v.departed.Add(last.Cursor())
		v.records = v.records[:len(v.records)-1]
		v.shown = min(v.shown, v.last().Height)
	}
	if best.Height <= v.base.Height {
		if best.Height == v.base.Height && best.Hash != v.base.Hash {
			return v.restartBelow(ctx)
		}
		return nil
	}
	next, err := v.header(ctx, v.base.Height+1)
	if err != nil {
		return err
	}
	if next.Parent != v.base.Hash {
		return v.restartBelow(ctx)
	}
	return nil
}

// restartBelow restarts below a base that left the chain.
func (v *view) restartBelow(ctx context.Context) error {
	v.departed.Add(v.base.Cursor())
	for _, r := range v.records {
		v.departed.Add(r.Cursor())
	}
	if err := v.restart(ctx, max(v.base.Height-v.cursorLag, 0)); err != nil {
		return err
	}
	return chain.ErrChanged
}

// extend adds the next blocks up to the best one: final blocks as a range in one record,
// others one by one, so that their hashes are known.
func (v *view) extend(ctx context.Context, best Best) error {
	last := v.last()
	if end := min(last.Height+maxRange, v.final(best)); end > last.Height+1 {
		header, err := v.header(ctx, end)
		if err != nil {
			return err
		}
		v.records = append(v.records, record{Header: header, first: last.Height + 1})
		return nil
	}
	headers, err := v.source.Headers(ctx, last.Height+1, min(last.Height+maxHeaders, best.Height))
	if err != nil {
		return err
	}
	for _, h := range headers {
		if h.Parent != last.Hash {
			return chain.ErrChanged
		}
		v.departed.Remove(h.Cursor())
		v.records, last = append(v.records, record{Header: h, first: h.Height}), h
	}
	if last.Height == best.Height && last.Hash != best.Hash {
		return chain.ErrChanged
	}
	return nil
}

// onChain reports whether a block is on the best chain. Blocks below the view always are.
func (v *view) onChain(ctx context.Context, block chain.Cursor) (bool, error) {
	last := v.last()
	switch {
	case block.Height < v.base.Height:
		return true, nil
	case block.Height == v.base.Height:
		return block == v.base.Cursor(), nil
	case block.Height > last.Height:
		return false, nil
	}
	i := slices.IndexFunc(v.records, func(r record) bool { return r.first <= block.Height && block.Height <= r.Height })
	if r := v.records[i]; r.Height == block.Height {
		return r.Hash == block.Hash, nil
	}
	header, err := v.header(ctx, block.Height)
	return header.Hash == block.Hash, err
}

// snapshot returns the snapshot of the first records; reached is their number.
func (v *view) snapshot(reached int, watched chain.Watched) chain.Snapshot {
	s := chain.Snapshot{From: v.base.Cursor(), Tip: v.base.Block, Next: v.base.Cursor(), Blocks: map[int64]string{v.base.Height: v.base.Hash}}
	records := v.records[:reached]
	if reached > 0 {
		s.Tip = records[reached-1].Block
	}
	v.shown = s.Tip.Height
	scripts, _ := watched.Since(0)
	isIdle := !nonEmpty(scripts)
	canPass := true // whether the cursor may pass the records so far
	for _, r := range records {
		s.Blocks[r.Height] = r.Hash
		canPass = canPass && r.Height <= s.Tip.Height-v.cursorLag && (isIdle || r.read == readFinal)
		if canPass {
			s.Next = r.Cursor()
		}
		for _, t := range r.transfers {
			if watched.Destination(t.Script) {
				s.Blocks[t.Block.Height] = t.Block.Hash
				s.Transfers = append(s.Transfers, t)
			}
		}
	}
	return s
}
