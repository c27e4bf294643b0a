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
	remainders := map[holding]*big.Int{} // of the rise; nil if unknown
	for _, l := range confirmed {
		block := headers[l.Height].Block
		t := v.transfer(l, &block)
		if !v.claimed[l.Contract] {
			transfers = append(transfers, t)
			continue
		}
		if known, ok := v.recorded[t.ID]; ok && known.Block.Hash == block.Hash {
			t.Amount, t.Unsure = known.Amount, known.Unsure
			transfers = append(transfers, t)
			continue
		}
		h := holding{l.Contract, l.To, l.Height}
		remaining, read := remainders[h]
		if !read {
			var err error
			if remaining, err = v.uncredited(ctx, r, h, headers[l.Height]); err != nil {
				return nil, err
			}
			remainders[h] = remaining
		}
		switch {
		case remaining == nil:
			t.Unsure = true
		case remaining.Sign() <= 0:
			continue
		case remaining.Cmp(t.Amount.Minor()) < 0:
			t.Amount = money.FromMinor(new(big.Int).Set(remaining), t.Amount.Currency())
		}
		if remaining != nil {
			remaining.Sub(remaining, t.Amount.Minor())
		}
		transfers = append(transfers, t)
	}
	return transfers, nil
}

// uncredited returns the rise of an account's balance in a block, less the amounts that are already
// credited; nil if the state of the block or of its parent is pruned.
func (v *view) uncredited(ctx context.Context, r *record, h holding, header Header) (*big.Int, error) {
	source, ok := v.source.(BalanceSource)
	if !ok {
		return nil, fmt.Errorf("balances of token %s cannot be read", h.contract)
	}
	parent := Header{Block: chain.Block{Height: header.Height - 1, Hash: header.Parent}}
	var held [2]*big.Int
	for i, block := range []Header{parent, header} {
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
	for _, t := range v.credited(r, h, header) {
		rest.Sub(rest, t.Amount.Minor())
	}
	return rest, nil
}

// credited returns the transfers that are already credited from a rise, by ID.
func (v *view) credited(r *record, h holding, header Header) map[string]chain.Transfer {
	asset, script := v.tokens[h.contract].Code, Log{To: h.account}.script()
	found := map[string]chain.Transfer{}
	add := func(t chain.Transfer) {
		if t.Asset == asset && t.Script == script && t.Block.Hash == header.Hash {
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
