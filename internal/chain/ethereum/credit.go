package ethereum

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/big"
	"slices"

	"chequer/internal/chain"
	"chequer/internal/keys"
	"chequer/internal/money"
)

// holding identifies the balance of a token that an account has after a block.
type holding struct {
	contract, account keys.EthereumAddress
	height            int64
}

// setRecorded sets the recorded transfers of claimed tokens above the cursor. Their amounts are
// not read again, because the state of their blocks may have been pruned since.
func (v *view) setRecorded(watched chain.Watched) {
	v.recorded = map[string]chain.Transfer{}
	if len(v.claimed) == 0 {
		return
	}
	for t := range watched.Recorded() {
		if t.Block != nil {
			v.recorded[t.ID] = t
		}
	}
}

// credit returns the transfers of confirmed logs of a record. headers are the headers of their
// blocks, by height.
//
// The log of a claimed token does not prove its amount: the token may keep a fee or
// change balances. The amount of its transfer is the rise of the balance in the block, at
// most the amount of the log. Several logs to one account in one block share the rise, in
// the order of the logs; a log without a share makes no transfer. If the state of the block
// is pruned, the transfer is unsure.
func (v *view) credit(ctx context.Context, r *record, confirmed []Log, headers map[int64]Header) ([]chain.Transfer, error) {
	slices.SortFunc(confirmed, func(a, b Log) int { return cmp.Or(cmp.Compare(a.Height, b.Height), cmp.Compare(a.Index, b.Index)) })
	var transfers []chain.Transfer
	rests := map[holding]*big.Int{} // of the rise; nil if unknown
	for _, l := range confirmed {
		block := headers[l.Height].Block
		t := v.transfer(l, &block)
		if !v.claimed[l.Contract] {
			transfers = append(transfers, t)
			continue
		}
		if known, is := v.recorded[t.ID]; is && known.Block.Hash == block.Hash {
			t.Amount, t.Unsure = known.Amount, known.Unsure
			transfers = append(transfers, t)
			continue
		}
		h := holding{l.Contract, l.To, l.Height}
		rest, read := rests[h]
		if !read {
			var err error
			if rest, err = v.rest(ctx, r, h, headers[l.Height]); err != nil {
				return nil, err
			}
			rests[h] = rest
		}
		switch {
		case rest == nil:
			t.Unsure = true
		case rest.Sign() <= 0:
			continue
		case rest.Cmp(t.Amount.Minor()) < 0:
			t.Amount = money.FromMinor(new(big.Int).Set(rest), t.Amount.Currency())
		}
		if rest != nil {
			rest.Sub(rest, t.Amount.Minor())
		}
		transfers = append(transfers, t)
	}
	return transfers, nil
}

// rest returns the rise of an account's balance in a block, less the amounts that are already
// credited; nil if the state of the block or of its parent is pruned.
func (v *view) rest(ctx context.Context, r *record, h holding, at Header) (*big.Int, error) {
	source, ok := v.source.(BalanceSource)
	if !ok {
		return nil, fmt.Errorf("balances of token %s cannot be read", h.contract)
	}
	parent := Header{Block: chain.Block{Height: at.Height - 1, Hash: at.Parent}}
	var held [2]*big.Int
	for i, block := range []Header{parent, at} {
		balances, err := source.Tokens(ctx, block, h.contract, []keys.EthereumAddress{h.account})
		if errors.Is(err, ErrNoState) {
			return nil, nil
		}
		if err != nil {
			return nil, fmt.Errorf("balance of token %s: %w", h.contract, err)
		}
		held[i] = balances[0]
	}
	rest := new(big.Int).Sub(held[1], held[0])
	for _, t := range v.credited(r, h, at) {
		rest.Sub(rest, t.Amount.Minor())
	}
	return rest, nil
}

// credited returns the transfers that are already credited from a rise, by ID.
func (v *view) credited(r *record, h holding, at Header) map[string]chain.Transfer {
	asset, script := v.tokens[h.contract].Code, Log{To: h.account}.script()
	found := map[string]chain.Transfer{}
	add := func(t chain.Transfer) {
		if t.Asset == asset && t.Script == script && t.Block.Hash == at.Hash {
			found[t.ID] = t
		}
	}
	for _, t := range r.transfers {
		add(t)
	}
	for _, t := range v.recorded {
		add(t)
	}
	return found
}
