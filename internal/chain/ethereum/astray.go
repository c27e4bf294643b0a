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

// Accounts where the network's own coin is not expected are read at intervals: the newest
// of them each time, the others in turn. So the cost does not grow with their number.
const (
	strayInterval = time.Minute
	newestStrays  = 100
	otherStrays   = 400
	// maxStraysSearched and maxStrayReadings limit how many of the accounts whose balance
	// rose are searched at once, and in how many blocks.
	maxStraysSearched = 20
	maxStrayReadings  = 60
)

// astray is the state of the accounts where the network's own coin is not expected. It is not
// stored, and neither the cursor nor the scanned time depends on it: a transfer there is shown
// with a delay.
type astray struct {
	at   time.Time // of the last reading
	next int       // index of the next account read in turn, oldest first
	// read is the block at which an account last held no more than is recorded, by script.
	// silent are the accounts that hold more although no transfer is found: they spent.
	read   map[string]chain.Block
	silent map[string]bool
}

func newAstray() astray { return astray{read: map[string]chain.Block{}, silent: map[string]bool{}} }

// readStrays adds to a snapshot the transfers to accounts where the coin is not expected. known
// are those of them with recorded transfers. After an error they are read again later.
func (b *balances) readStrays(ctx context.Context, s *chain.Snapshot, tip Header, known []*account, watched chain.Accounts) error {
	since := b.now().Sub(b.astray.at)
	if s.Behind || since >= 0 && since < strayInterval {
		return nil
	}
	accounts, err := b.turn(known, watched)
	if err != nil || len(accounts) == 0 {
		return err
	}
	b.astray.at = b.now()
	if err := b.readAt(ctx, tip, accounts); err != nil {
		return ctx.Err() // each endpoint reports its own fault
	}
	risen, before := b.sift(tip, accounts), len(s.Transfers)
	if b.show(ctx, s, tip, risen, maxStrayReadings) != nil {
		return ctx.Err()
	}
	for _, a := range risen {
		b.astray.silent[a.Script] = !slices.ContainsFunc(s.Transfers[before:], func(t chain.Transfer) bool { return t.Script == a.Script })
	}
	return nil
}

// sift notes the accounts that hold no more than is recorded, and returns up to
// maxStraysSearched of the others.
func (b *balances) sift(tip Header, accounts []*account) (risen []*account) {
	for _, a := range accounts {
		switch {
		case !a.risen():
			b.astray.read[a.Script] = tip.Block
		case len(risen) < maxStraysSearched && !b.astray.silent[a.Script]:
			risen = append(risen, a)
		}
	}
	return risen
}

// turn returns the accounts to read now.
func (b *balances) turn(known []*account, watched chain.Accounts) ([]*account, error) {
	maps.DeleteFunc(b.astray.read, func(script string, _ chain.Block) bool { return !watched.Destination(script) })
	maps.DeleteFunc(b.astray.silent, func(script string, silent bool) bool { return !silent || !watched.Destination(script) })
	byScript := map[string]*account{}
	scripts := slices.Collect(watched.Strays())
	for _, a := range known {
		byScript[a.Script] = a
		scripts = append(scripts, a.Script)
	}
	newest := min(len(scripts), newestStrays)
	var accounts []*account
	for _, script := range slices.Concat(scripts[:newest], b.inTurn(scripts[newest:])) {
		a := byScript[script]
		if a == nil {
			address, err := keys.ParseEthereumAddress(script)
			if err != nil {
				return nil, fmt.Errorf("account: %w", err)
			}
			a = &account{Account: chain.Account{Script: script, Stray: true}, address: address, highest: new(big.Int)}
		}
		var read bool
		a.read, read = b.astray.read[script]
		a.Known = a.Known || read
		accounts = append(accounts, a)
	}
	return accounts, nil
}

// inTurn returns the next of the accounts that are read in turn, newest first.
func (b *balances) inTurn(scripts []string) []string {
	if len(scripts) <= otherStrays {
		return scripts
	}
	if b.astray.next >= len(scripts) {
		b.astray.next = 0
	}
	end := len(scripts) - b.astray.next
	begin := max(end-otherStrays, 0)
	b.astray.next += end - begin
	return scripts[begin:end]
}
