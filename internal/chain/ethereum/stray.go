package ethereum

import (
	"context"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"time"

	"chequer/internal/chain"
	"chequer/internal/keys"
)

// Accounts where the network's native coin is not expected are read at intervals: the newest
// of them each time, the others in turn, so that the cost does not grow with their number.
const (
	strayInterval = time.Minute
	newestStrays  = 100
	otherStrays   = 400
	// maxStraysSearched and maxStrayReadings limit how many of the accounts whose balance
	// rose are searched at once, and in how many blocks.
	maxStraysSearched = 20
	maxStrayReadings  = 60
)

// strayState is the state of the accounts where the network's native coin is not expected. It is not
// stored, and neither the cursor nor the scanned time depends on it, so a transfer to such an account
// may be shown with a delay.
type strayState struct {
	readAtTime time.Time // of the last reading
	next       int       // index of the next account read in turn, oldest first
	// read is the block at which an account last held no more than is recorded, by script.
	// spent are the accounts whose balance rose although no transfer was found: they have spent.
	read  map[string]chain.Block
	spent map[string]bool
}

func newStrayState() strayState {
	return strayState{read: map[string]chain.Block{}, spent: map[string]bool{}}
}

// readStrays adds to a snapshot the transfers to accounts where the coin is not expected. known
// are the strays with recorded transfers. After an error the strays are read again later.
func (b *balances) readStrays(ctx context.Context, s *chain.Snapshot, tip Header, known []*account, watched chain.Accounts) error {
	since := b.now().Sub(b.strays.readAtTime)
	if s.Behind || since >= 0 && since < strayInterval {
		return nil
	}
	accounts, err := b.nextStrays(known, watched)
	if err != nil || len(accounts) == 0 {
		return err
	}
	b.strays.readAtTime = b.now()
	if err := b.readAt(ctx, tip, accounts); err != nil {
		return ctx.Err() // each endpoint reports its own fault
	}
	risen, before := b.selectRisen(tip, accounts), len(s.Transfers)
	if b.addRises(ctx, s, tip, risen, maxStrayReadings) != nil {
		return ctx.Err()
	}
	for _, a := range risen {
		b.strays.spent[a.Script] = !slices.ContainsFunc(s.Transfers[before:], func(t chain.Transfer) bool { return t.Script == a.Script })
	}
	return nil
}

// selectRisen records the accounts that hold no more than is recorded as read at the tip, and returns
// at most maxStraysSearched of the others.
func (b *balances) selectRisen(tip Header, accounts []*account) (risen []*account) {
	for _, a := range accounts {
		switch {
		case !a.hasRisen():
			b.strays.read[a.Script] = tip.Block
		case len(risen) < maxStraysSearched && !b.strays.spent[a.Script]:
			risen = append(risen, a)
		}
	}
	return risen
}

// nextStrays returns the accounts to read now.
func (b *balances) nextStrays(known []*account, watched chain.Accounts) ([]*account, error) {
	maps.DeleteFunc(b.strays.read, func(script string, _ chain.Block) bool { return !watched.Destination(script) })
	maps.DeleteFunc(b.strays.spent, func(script string, spent bool) bool { return !spent || !watched.Destination(script) })
	byScript := map[string]*account{}
	scripts := slices.Collect(watched.Strays())
	for _, a := range known {
		byScript[a.Script] = a
		scripts = append(scripts, a.Script)
	}
	newest := min(len(scripts), newestStrays)
	var accounts []*account
	for _, script := range slices.Concat(scripts[:newest], b.nextInTurn(scripts[newest:])) {
		a := byScript[script]
		if a == nil {
			address, err := keys.ParseEthereumAddress(script)
			if err != nil {
				return nil, fmt.Errorf("account: %w", err)
			}
			a = &account{Account: chain.Account{Script: script, Stray: true}, address: address, highest: new(big.Int)}
		}
		var read bool
		a.read, read = b.strays.read[script]
		a.Known = a.Known || read
		accounts = append(accounts, a)
	}
	return accounts, nil
}

// nextInTurn returns the next of the accounts that are read in turn, newest first.
func (b *balances) nextInTurn(scripts []string) []string {
	if len(scripts) <= otherStrays {
		return scripts
	}
	if b.strays.next >= len(scripts) {
		b.strays.next = 0
	}
	end := len(scripts) - b.strays.next
	begin := max(end-otherStrays, 0)
	b.strays.next += end - begin
	return scripts[begin:end]
}
