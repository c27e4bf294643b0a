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

// How often it is looked for the network's own coin where it is not expected, and of
// how many addresses: of the newest each time, and of the others in turn. So it costs
// as much for many addresses as for some.
const (
	astrayEvery = time.Minute
	astrayNew   = 100
	astrayOld   = 400
	// astrayFound bounds how many of them are looked into at once for when it came, and
	// astrayReadings in how many blocks.
	astrayFound    = 20
	astrayReadings = 60
)

// astray is what is known of addresses where the network's own coin is not expected.
// Nothing waits for it, and none of it is kept: what came is told a little later.
type astray struct {
	at   time.Time // of the last look
	next int       // of those that take turns, the oldest first
	// read is where an address held no more than is recorded, by its script, and silent
	// are those that hold more of which nothing follows: they spent.
	read   map[string]chain.Block
	silent map[string]bool
}

func newAstray() astray { return astray{read: map[string]chain.Block{}, silent: map[string]bool{}} }

// lookAstray adds to a snapshot what came to addresses where it is not expected, of
// which some are known for what is recorded of them. A fault leaves it to the next look.
func (b *balances) lookAstray(ctx context.Context, s *chain.Snapshot, tip Header, known []*account, watched chain.Accounts) error {
	since := b.now().Sub(b.astray.at)
	if s.Behind || since >= 0 && since < astrayEvery {
		return nil
	}
	accounts, err := b.turn(known, watched)
	if err != nil || len(accounts) == 0 {
		return err
	}
	b.astray.at = b.now()
	if err := b.readAt(ctx, tip, accounts); err != nil {
		return ctx.Err() // endpoints tell themselves what is wrong with them
	}
	risen, before := b.sift(tip, accounts), len(s.Transfers)
	if b.show(ctx, s, tip, risen, astrayReadings) != nil {
		return ctx.Err()
	}
	for _, a := range risen {
		b.astray.silent[a.Script] = !slices.ContainsFunc(s.Transfers[before:], func(t chain.Transfer) bool { return t.Script == a.Script })
	}
	return nil
}

// sift takes note of the accounts that hold no more than is recorded, and gives some of
// those that do.
func (b *balances) sift(tip Header, accounts []*account) (risen []*account) {
	for _, a := range accounts {
		switch {
		case !a.risen():
			b.astray.read[a.Script] = tip.Block
		case len(risen) < astrayFound && !b.astray.silent[a.Script]:
			risen = append(risen, a)
		}
	}
	return risen
}

// turn are the accounts of the next look.
func (b *balances) turn(known []*account, watched chain.Accounts) ([]*account, error) {
	maps.DeleteFunc(b.astray.read, func(script string, _ chain.Block) bool { return !watched.Destination(script) })
	maps.DeleteFunc(b.astray.silent, func(script string, silent bool) bool { return !silent || !watched.Destination(script) })
	byScript := map[string]*account{}
	scripts := slices.Collect(watched.Strays())
	for _, a := range known {
		byScript[a.Script] = a
		scripts = append(scripts, a.Script)
	}
	newest := min(len(scripts), astrayNew)
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

// inTurn are some of those that take turns, the newest first.
func (b *balances) inTurn(scripts []string) []string {
	if len(scripts) <= astrayOld {
		return scripts
	}
	if b.astray.next >= len(scripts) {
		b.astray.next = 0
	}
	end := len(scripts) - b.astray.next
	begin := max(end-astrayOld, 0)
	b.astray.next += end - begin
	return scripts[begin:end]
}
