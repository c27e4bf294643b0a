package ethereum

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"chequer/internal/chain"
	"chequer/internal/keys"
)

// showRecorded adds to a snapshot the recorded transfers that it covers and does not show, if their
// block is on the chain. A transfer of a watched token is added if its receipt confirms it, and to
// Refuted otherwise. The rise of a balance was read at the hash of its block, and is valid with it.
func (v *view) showRecorded(ctx context.Context, s *chain.Snapshot, watched chain.Watched) error {
	v.departed.Forget(s.From.Height)
	var claims []Log
	claimed := map[string]chain.Transfer{}
	for _, t := range s.Unshown(watched) {
		if t.Block.Height > s.Tip.Height {
			if !v.departed.Has(t.Block.Cursor()) {
				return chain.AboveTip(t, s.Tip.Height)
			}
			continue
		}
		onChain, err := v.onChain(ctx, t.Block.Cursor())
		if err != nil {
			return err
		}
		if !onChain {
			continue
		}
		s.Blocks[t.Block.Height] = t.Block.Hash
		log, token, err := v.claim(t)
		if err != nil {
			return err
		}
		if !token { // a balance, or a token that is no longer watched
			s.Transfers = append(s.Transfers, t)
			continue
		}
		claims = append(claims, log)
		claimed[t.ID] = t
	}
	if len(claims) == 0 {
		return nil
	}
	confirmed, err := v.source.Confirm(ctx, claims)
	if err != nil {
		return err
	}
	for _, l := range confirmed {
		t := claimed[transferID(l)]
		v.keepTransfer(t)
		s.Transfers = append(s.Transfers, t)
		delete(claimed, t.ID)
	}
	for id := range claimed {
		s.Refuted = append(s.Refuted, id)
	}
	slices.Sort(s.Refuted)
	return nil
}

// keepTransfer adds a confirmed transfer to the record that covers its block, so that later scans do
// not confirm it again.
func (v *view) keepTransfer(t chain.Transfer) {
	for i := range v.records {
		if r := &v.records[i]; r.first <= t.Block.Height && t.Block.Height <= r.Height {
			r.transfers = append(r.transfers, t)
		}
	}
}

// claim returns the log that a recorded transfer was read from. token is false if it is not a
// transfer of a watched token. A malformed ID, script or hash is an error.
func (v *view) claim(t chain.Transfer) (log Log, token bool, err error) {
	for contract, asset := range v.tokens {
		if asset.Code != t.Asset || t.IsRise() {
			continue
		}
		to, err := keys.ParseEthereumAddress(t.Script)
		tx, isTx := ParseHash(t.Tx)
		block, isBlock := ParseHash(t.Block.Hash)
		index, indexErr := strconv.ParseUint(strings.TrimPrefix(t.ID, t.Tx+":"), 10, 32)
		if err != nil || !isTx || !isBlock || indexErr != nil {
			return Log{}, false, fmt.Errorf("recorded transfer %s in block %s is not the transfer of a token", t.ID, t.Block.Hash)
		}
		log = Log{Contract: contract, To: to, Tx: tx, Index: uint32(index), Block: block, Height: t.Block.Height}
		if !v.claimed[contract] { // the recorded amount of a claimed token may differ from the log's
			t.Amount.Minor().FillBytes(log.Amount[:])
		}
		return log, true, nil
	}
	return Log{}, false, nil
}
