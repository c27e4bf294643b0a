package ethereum

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"time"

	"chequer/internal/chain"
	"chequer/internal/keys"
	"chequer/internal/money"
)

const (
	// At most maxEveryBlock balances are read at every block. If there are more, they are
	// read every readInterval.
	maxEveryBlock = 50
	readInterval  = 15 * time.Second
	// maxReadings limits the number of blocks searched for the rises of balances.
	maxReadings = 500
)

// balances finds transfers of the network's native coin.
type balances struct {
	source BalanceSource
	coin   chain.Asset
	now    func() time.Time
	view   *view

	// readAtTime is the time of the last reading of balances, and block its block. started is the
	// scanned time of the network if the result was recorded.
	readAtTime, started time.Time
	block               chain.Block
	// spent are the accounts whose nonce was above zero at the birth of their invoice.
	spent  map[string]bool
	strays strayState
}

// account is a watched account whose balance is read.
type account struct {
	chain.Account
	address keys.EthereumAddress
	highest *big.Int // recorded so far
	unsure  bool     // the merchant must decide about its rises
	// forked is true if the birth block left the chain before the balance at it was known.
	// The merchant must decide about rises up to its height.
	forked  bool
	balance *big.Int // at the block of the last readAt
	// read is the last block at which the balance was read and recorded.
	read chain.Block
	// from is the last block that is known to have a balance of at most highest.
	from Header
}

// add adds to a snapshot the recorded rises, and new ones up to its tip. The cursor does not
// pass a block before balances were read at that block or above. lastTip is the height of the tip of the
// previous snapshot: if the balances at a newer tip cannot be read, the snapshot is behind.
func (b *balances) add(ctx context.Context, s *chain.Snapshot, tip Header, lastTip int64, watched chain.Accounts) error {
	accounts, strays, err := b.loadAccounts(ctx, s, watched)
	if err != nil {
		return err
	}
	last := watched.Read()
	switch {
	case s.Behind:
	case len(accounts) == 0:
		s.Read = tip.Block
	case last.Hash == tip.Hash && slices.IndexFunc(accounts, func(a *account) bool { return !a.Known }) < 0: // all balances at the tip are recorded
	case len(accounts) > maxEveryBlock && last.Hash == b.block.Hash && last.Hash != "" && b.now().Sub(b.readAtTime) < readInterval:
		s.Started = b.started
	default:
		err = b.read(ctx, s, tip, last, accounts)
		if err != nil && (tip.Height <= lastTip || ctx.Err() != nil) {
			return err
		}
		s.Behind = err != nil // a lasting fault fails the next scan
	}
	if s.Read.Hash != "" {
		last, b.block, b.readAtTime, b.started = s.Read, s.Read, b.now(), s.Started
	}
	if len(accounts) > 0 {
		b.limitCursor(s, last)
	}
	return b.readStrays(ctx, s, tip, strays, watched)
}

// limitCursor keeps the cursor at or below the block at which balances were last read.
func (b *balances) limitCursor(s *chain.Snapshot, read chain.Block) {
	if s.Next.Height <= read.Height {
		return
	}
	s.Next = s.From
	for _, r := range b.view.records {
		if r.Height <= read.Height {
			s.Next = r.Cursor()
		}
	}
}

// loadAccounts returns the accounts, and separately those where the coin is not expected. It adds
// to the snapshot their recorded rises that are on the chain above the cursor.
func (b *balances) loadAccounts(ctx context.Context, s *chain.Snapshot, watched chain.Accounts) (accounts, strays []*account, err error) {
	for w := range watched.Accounts() {
		address, err := keys.ParseEthereumAddress(w.Script)
		if err != nil {
			return nil, nil, fmt.Errorf("account: %w", err)
		}
		a := &account{Account: w, address: address, highest: new(big.Int)}
		for _, t := range w.Recorded {
			onChain, err := b.view.onChain(ctx, t.Block.Cursor())
			if err != nil {
				return nil, nil, err
			}
			if !onChain {
				a.Known = a.Known && !t.Unsure && t.Block.Height > w.Birth.Height
				continue
			}
			if highest := t.Highest(); highest.Cmp(a.highest) > 0 {
				a.highest = highest
			}
			if t.Unsure && !a.unsure {
				if a.unsure, err = b.staysUnsure(ctx, a, t); err != nil {
					return nil, nil, err
				}
			}
			if t.Block.Height > a.from.Height {
				a.from = Header{Block: *t.Block}
			}
			if t.Block.Height > s.From.Height && t.Block.Height <= s.Tip.Height {
				s.Blocks[t.Block.Height] = t.Block.Hash
				s.Transfers = append(s.Transfers, t)
			}
		}
		if a.Stray {
			strays = append(strays, a)
		} else {
			accounts = append(accounts, a)
		}
	}
	byScript := func(a, b *account) int { return strings.Compare(a.Script, b.Script) }
	slices.SortFunc(accounts, byScript)
	slices.SortFunc(strays, byScript)
	return accounts, strays, nil
}

// read reads all balances at the tip and adds the rises.
func (b *balances) read(ctx context.Context, s *chain.Snapshot, tip Header, last chain.Block, accounts []*account) error {
	if err := b.readAt(ctx, tip, accounts); err != nil {
		return err
	}
	var risen []*account
	for _, a := range accounts {
		if a.read = last; a.hasRisen() {
			risen = append(risen, a)
		}
	}
	if err := b.addRises(ctx, s, tip, risen, maxReadings); err != nil {
		return err
	}
	s.Read = tip.Block
	return nil
}

// hasRisen reports whether an account holds more than is recorded.
func (a *account) hasRisen() bool { return a.balance.Cmp(a.highest) > 0 }

// addRises adds to a snapshot the transfers to accounts that hold more than is recorded.
func (b *balances) addRises(ctx context.Context, s *chain.Snapshot, tip Header, risen []*account, readings int) error {
	if len(risen) == 0 {
		return nil
	}
	found, err := b.rises(ctx, tip, risen, readings)
	if err != nil {
		return fmt.Errorf("balances at block %d: %w", tip.Height, err)
	}
	for _, t := range found {
		s.Blocks[t.Block.Height] = t.Block.Hash
	}
	s.Transfers = append(s.Transfers, found...)
	return nil
}

// readAt reads the balances of accounts at a block.
func (b *balances) readAt(ctx context.Context, block Header, accounts []*account) error {
	values, err := b.source.Balances(ctx, block, addressesOf(accounts))
	if err != nil {
		return fmt.Errorf("balances at block %d: %w", block.Height, err)
	}
	for i, a := range accounts {
		a.balance = values[i]
	}
	return nil
}

func addressesOf(accounts []*account) []keys.EthereumAddress {
	list := make([]keys.EthereumAddress, len(accounts))
	for i, a := range accounts {
		list[i] = a.address
	}
	return list
}

// rises returns the transfers to accounts that hold more than is recorded. It searches at
// most the given number of blocks.
func (b *balances) rises(ctx context.Context, tip Header, risen []*account, readings int) ([]chain.Transfer, error) {
	nonces, err := b.source.Nonces(ctx, tip, addressesOf(risen))
	if err != nil {
		return nil, err
	}
	var found []chain.Transfer
	var searched []*account
	for i, a := range risen {
		if err := b.setStart(ctx, a); err != nil {
			return nil, err
		}
		if !a.Known {
			base, err := b.readBirthBalance(ctx, a)
			if err != nil {
				return nil, err
			}
			found = append(found, base...)
		}
		// If the account has spent since, its balance proves no transfers.
		if (nonces[i] == 0 || a.unsure || b.spent[a.Script]) && a.balance.Cmp(a.highest) > 0 {
			searched = append(searched, a)
		}
	}
	search := search{balances: b, remaining: readings}
	for len(searched) > 0 {
		from := searched[0].from
		hasSameStart := func(a *account) bool { return a.from.Height == from.Height }
		group := slices.DeleteFunc(slices.Clone(searched), func(a *account) bool { return !hasSameStart(a) })
		searched = slices.DeleteFunc(searched, hasSameStart)
		low, high := levels{}, levels{}
		for _, a := range group {
			low[a], high[a] = a.highest, a.balance
		}
		if err := search.searchBetween(ctx, span{from: from, to: tip, since: from.Time}, low, high); err != nil {
			return nil, err
		}
	}
	return append(found, search.found...), nil
}

// setStart sets a.from to the last block whose balance is known to be no more than is recorded.
func (b *balances) setStart(ctx context.Context, a *account) error {
	if a.Known && a.read.Height > a.from.Height {
		onChain, err := b.view.onChain(ctx, a.read.Cursor())
		if err != nil {
			return err
		}
		if onChain {
			a.from = Header{Block: a.read}
		}
	}
	// The cursor does not wait for strays, so a.from may be below the view.
	if a.Stray && a.from.Hash != "" {
		return nil
	}
	a.Known = a.Known && !a.Stray
	if a.from.Height < b.view.base.Height {
		a.from = b.view.base
	}
	return nil
}

// readBirthBalance reads the balance from before the invoice, which does not count for the invoice. It
// reads it at the block of birth. If the balance is not available, the merchant must decide
// about all transfers.
func (b *balances) readBirthBalance(ctx context.Context, a *account) ([]chain.Transfer, error) {
	birth, err := b.birth(ctx, a)
	if err != nil {
		return nil, err
	}
	addresses := []keys.EthereumAddress{a.address}
	balances, err := b.source.Balances(ctx, birth, addresses)
	if errors.Is(err, ErrNoState) {
		a.unsure, a.from = true, birth
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	nonces, err := b.source.Nonces(ctx, birth, addresses)
	if err != nil {
		return nil, err
	}
	if a.from = birth; nonces[0] > 0 {
		a.unsure, b.spent[a.Script] = true, true
	}
	if balances[0].Cmp(a.highest) <= 0 {
		return nil, nil
	}
	a.unsure = a.unsure || birth.Height > a.Birth.Height // the balance may contain payments of the invoice
	t := b.transfer(a, a.highest, balances[0], birth.Block)
	a.highest = balances[0]
	return []chain.Transfer{t}, nil
}

// birth returns the block at which the balance from before the invoice is read: the birth
// block or, if that is unknown or not on the chain, the base of the view.
func (b *balances) birth(ctx context.Context, a *account) (Header, error) {
	if a.Birth.IsZero() {
		return b.view.base, nil
	}
	header, err := b.view.header(ctx, a.Birth.Height)
	if err != nil || header.Cursor() == a.Birth {
		return header, err
	}
	a.forked = true
	return b.view.base, nil
}

// staysUnsure reports whether rises after the unsure rise t are unsure, too. They are not if t is
// unsure only because of a fork.
func (b *balances) staysUnsure(ctx context.Context, a *account, t chain.Transfer) (bool, error) {
	if t.Block.Height > a.Birth.Height {
		return true, nil
	}
	header, err := b.view.header(ctx, a.Birth.Height)
	return header.Cursor() == a.Birth, err
}

// transfer returns the rise of an account's balance between two levels.
func (b *balances) transfer(a *account, low, high *big.Int, block chain.Block) chain.Transfer {
	return chain.Transfer{
		ID: chain.RiseID(b.coin.ChainID, a.Script, high), Asset: b.coin.Code, Script: a.Script,
		Unsure: a.unsure || a.forked && block.Height <= a.Birth.Height && block.Height > b.view.base.Height,
		Amount: money.FromMinor(new(big.Int).Sub(high, low), b.coin.Currency), Block: &block,
	}
}
