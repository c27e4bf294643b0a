package utxo

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"chequer/internal/chain"
)

// view is the covered part of the best chain. It is kept between scans so that a block is read
// once.
type view struct {
	asset   chain.Asset
	depth   int64 // see New
	source  Source
	now     func() time.Time
	records []record // each on top of the previous one
	// scripts and inputs are the marks of the watched destinations and of the inputs of
	// waiting transactions that the records were searched for.
	scripts, inputs uint64
	departed        chain.Departed
}

// record is a covered block with its relevant transactions.
type record struct {
	Header
	transfers []chain.Transfer
	conflicts []chain.Conflict
	// isRead is true if the block was read for its recorded transfers.
	isRead bool
}

// follow extends the view to the blocks above base up to best. behind is true if it stopped
// after catchUpTimeout.
func (v *view) follow(ctx context.Context, base, best Header, watched chain.Watched) (behind bool, err error) {
	if err := v.dropDeparted(ctx, base); err != nil {
		return false, err
	}
	if err := v.addScripts(ctx, watched); err != nil {
		return false, err
	}
	if behind, err = v.extend(ctx, base, best, watched); err != nil {
		return false, err
	}
	return behind, v.readRecorded(ctx, base, watched)
}

// readRecorded reads the blocks of recorded transfers that the records do not show. Only the
// block itself can refute a recorded transfer, because its hash proves its content; a filter
// or an earlier reading cannot.
func (v *view) readRecorded(ctx context.Context, base Header, watched chain.Watched) error {
	tip := base.Height
	if n := len(v.records); n > 0 {
		tip = v.records[n-1].Height
	}
	for t := range watched.Recorded() {
		if t.Block == nil || t.Block.Height <= base.Height || t.Block.Height > tip || !watched.Destination(t.Script) {
			continue
		}
		r := &v.records[t.Block.Height-base.Height-1]
		if r.Hash != t.Block.Hash || r.isRead || slices.ContainsFunc(r.transfers, func(shown chain.Transfer) bool { return shown.ID == t.ID }) {
			continue
		}
		reread, err := v.readBlock(ctx, r.Header, watched)
		if err != nil {
			return err
		}
		reread.isRead = true
		*r = *reread
	}
	return nil
}

// dropDeparted drops records that are not above base on the best chain.
func (v *view) dropDeparted(ctx context.Context, base Header) error {
	var buried []string
	for len(v.records) > 0 && v.records[0].Height <= base.Height {
		for _, t := range v.records[0].transfers {
			buried = append(buried, t.Tx)
		}
		for _, c := range v.records[0].conflicts {
			buried = append(buried, c.Tx)
		}
		v.records = v.records[1:]
	}
	v.source.Buried(buried)
	v.departed.Forget(base.Height)
	for len(v.records) > 0 {
		last := v.records[len(v.records)-1]
		header, err := v.source.AtHeight(ctx, last.Height)
		if err != nil && !errors.Is(err, ErrNoBlock) {
			return err
		}
		if err == nil && header.Hash == last.Hash {
			break
		}
		v.departed.Add(last.Cursor())
		v.records = v.records[:len(v.records)-1]
	}
	if len(v.records) > 0 && v.records[0].Parent != base.Hash {
		v.records = nil
	}
	return nil
}

// addScripts searches the records for scripts that were added since the last call.
func (v *view) addScripts(ctx context.Context, watched chain.Watched) error {
	scripts, nextScripts := watched.Since(v.scripts)
	if nextScripts < v.scripts { // the marks restarted
		scripts, nextScripts = watched.Since(0)
	}
	inputs, nextInputs := v.source.Inputs(v.inputs)
	added := concat(scripts, inputs)
	if nonEmpty(added) {
		for i, r := range v.records {
			reread, err := v.readIfPaying(ctx, r.Header, added, watched)
			if err != nil {
				return err
			}
			if reread != nil {
				v.records[i] = *reread
			}
		}
	}
	v.scripts, v.inputs = nextScripts, nextInputs
	return nil
}

// extend adds the blocks up to best, until catchUpTimeout.
func (v *view) extend(ctx context.Context, base, best Header, watched chain.Watched) (behind bool, err error) {
	last := base
	if n := len(v.records); n > 0 {
		last = v.records[n-1].Header
	}
	start := v.now()
	scripts, _ := watched.Since(0)
	inputs, _ := v.source.Inputs(0)
	for last.Height < best.Height {
		if last.Height-base.Height > v.depth && v.now().Sub(start) > catchUpTimeout {
			return true, nil
		}
		header, err := v.source.AtHeight(ctx, last.Height+1)
		if errors.Is(err, ErrNoBlock) || err == nil && header.Parent != last.Hash {
			return false, chain.ErrChanged
		}
		if err != nil {
			return false, err
		}
		found, err := v.readIfPaying(ctx, header, concat(scripts, inputs), watched)
		if err != nil {
			return false, err
		}
		if found == nil {
			found = &record{Header: header}
		}
		v.departed.Remove(header.Cursor())
		v.records, last = append(v.records, *found), header
	}
	if last.Hash != best.Hash {
		return false, chain.ErrChanged
	}
	return false, nil
}

// readIfPaying reads a block if it concerns one of the scripts; otherwise it returns nil.
func (v *view) readIfPaying(ctx context.Context, header Header, scripts iter.Seq[string], watched chain.Watched) (*record, error) {
	concerns, err := v.source.MayPay(ctx, header.Hash, scripts)
	if err != nil || !concerns {
		return nil, err
	}
	return v.readBlock(ctx, header, watched)
}

// readBlock reads the relevant transactions of a block.
func (v *view) readBlock(ctx context.Context, header Header, watched chain.Watched) (*record, error) {
	block, err := v.source.Block(ctx, header.Hash)
	if err != nil {
		return nil, fmt.Errorf("block %d: %w", header.Height, err)
	}
	r := record{Header: header}
	for _, tx := range block.Txs {
		r.transfers = append(r.transfers, transfers(v.asset, tx, &r.Block, watched)...)
		for _, o := range tx.Spends {
			// Transactions with one one-time key can all be in blocks, although only the output of one can be spent.
			if !chain.IsOneTimeOutpoint(o) && (watched.Outpoint(o) || v.source.Pending(o)) {
				r.conflicts = append(r.conflicts, chain.Conflict{Outpoint: o, Tx: tx.ID, Block: &r.Block})
			}
		}
	}
	return &r, nil
}

// concat returns the concatenation of two sequences.
func concat(a, b iter.Seq[string]) iter.Seq[string] {
	return func(yield func(string) bool) {
		for s := range a {
			if !yield(s) {
				return
			}
		}
		b(yield)
	}
}

// nonEmpty reports whether a sequence has an entry.
func nonEmpty(s iter.Seq[string]) bool {
	for range s {
		return true
	}
	return false
}
