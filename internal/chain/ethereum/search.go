package ethereum

import (
	"context"
	"errors"
	"maps"
	"math/big"
	"slices"
	"strings"
	"time"

	"chequer/internal/chain"
	"chequer/internal/keys"
)

// search finds the blocks in which balances rose, by bisection: it reads the balances at the
// block half way between two others.
type search struct {
	*balances
	remaining int // blocks that may still be read
	found     []chain.Transfer
}

// levels are balances of some accounts at a block.
type levels map[*account]*big.Int

// span is the range of blocks in which balances rose: after from, up to to.
type span struct {
	from, to Header
	// noState is true if the blocks before to could not all be searched, because their state is
	// pruned or the limit of blocks is reached. The balances may then have risen at any time after
	// since.
	noState bool
	since   time.Time
}

// searchBetween finds the blocks in which the balances of accounts rose from low to high. An account with a
// nonce of zero has spent nothing, so its balance does not fall within the span. A reading below low or above
// high is treated as low or high.
func (s *search) searchBetween(ctx context.Context, where span, low, high levels) error {
	rose := slices.DeleteFunc(slices.Collect(maps.Keys(high)), func(a *account) bool { return high[a].Cmp(low[a]) <= 0 })
	if len(rose) == 0 {
		return nil
	}
	slices.SortFunc(rose, func(a, b *account) int { return strings.Compare(a.Script, b.Script) })
	if where.to.Height-where.from.Height <= 1 || s.remaining <= 0 {
		where.noState = where.noState || where.to.Height-where.from.Height > 1
		return s.addTransfers(ctx, where, rose, low, high)
	}
	s.remaining--
	middle, err := s.view.header(ctx, (where.from.Height+where.to.Height)/2)
	if err != nil {
		return err
	}
	values, err := s.source.Balances(ctx, middle, addressesOf(rose))
	if errors.Is(err, ErrNoState) {
		return s.searchBetween(ctx, span{from: middle, to: where.to, noState: true, since: where.since}, low, high)
	}
	if err != nil {
		return err
	}
	half := levels{}
	for i, a := range rose {
		half[a] = values[i]
		if values[i].Cmp(low[a]) < 0 {
			half[a] = low[a]
		}
		if values[i].Cmp(high[a]) > 0 {
			half[a] = high[a]
		}
	}
	if err := s.searchBetween(ctx, span{from: where.from, to: middle, noState: where.noState, since: where.since}, low, half); err != nil {
		return err
	}
	return s.searchBetween(ctx, span{from: middle, to: where.to, since: middle.Time}, half, high)
}

// addTransfers adds transfers to accounts whose balances rose in one block, or at an unknown time
// before it. If one transaction sent the whole amount, the transfer names it.
func (s *search) addTransfers(ctx context.Context, where span, rose []*account, low, high levels) error {
	var sent []Payment
	if !where.noState {
		var err error
		if sent, err = s.source.Payments(ctx, where.to, addressesOf(rose)); err != nil && ctx.Err() != nil {
			return err
		} // otherwise the transaction stays unknown
	}
	for _, a := range rose {
		t := s.transfer(a, low[a], high[a], where.to.Block)
		if where.noState {
			t.Since = where.since
		}
		t.Tx = onlyPayment(sent, a.address, t.Amount.Minor())
		s.found = append(s.found, t)
	}
	return nil
}

// onlyPayment returns the transaction that paid an account, if it is the only one and paid this
// amount; otherwise "".
func onlyPayment(sent []Payment, to keys.EthereumAddress, amount *big.Int) string {
	tx := ""
	for _, p := range sent {
		if p.To != to {
			continue
		}
		if tx != "" || new(big.Int).SetBytes(p.Amount[:]).Cmp(amount) != 0 {
			return ""
		}
		tx = p.Tx.String()
	}
	return tx
}
