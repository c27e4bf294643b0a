package ethereum

import (
	"context"
	"fmt"
	"time"

	"chequer/internal/chain"
)

// maxTipAge is the age of the newest block up to which the network counts as scanned: if the
// network stops, waiting transfers cannot be seen.
const maxTipAge = 5 * time.Minute

// maxTipLag is the age of the newest block up to which a snapshot shows the present state of the
// network. With an older block, the scanned time is the block's time plus maxTipLag.
const maxTipLag = time.Minute

// Scanner is an EVM network that is watched through a source. It implements
// chain.Scanner and chain.Reporter. It offers the listed tokens. The network's native coin
// and claimed tokens are offered only if the source may be queried for the balances of
// addresses: only balances prove how much of them arrived. Bridged tokens are watched and
// never offered.
type Scanner struct {
	*Network
	assets      []chain.Asset
	bridged     []chain.Asset
	source      Source
	now         func() time.Time
	view        view
	balances    *balances // nil if the network's native coin is not offered
	attempts    chain.Attempts
	tokenFaults *tokenFaults
	// OnTokenFault is called when the answer of a contract means that its token is not offered.
	// It may be nil, and is set before the first scan.
	OnTokenFault func(TokenFault)
}

var _ interface {
	chain.Scanner
	chain.Reporter
	chain.Bridged
} = (*Scanner)(nil)

// Watch returns a Scanner of a network that reads from a source.
func Watch(network *Network, source Source, now func() time.Time) *Scanner {
	s := &Scanner{Network: network, bridged: network.Bridged(), source: source, now: now}
	accounts, ok := source.(BalanceSource)
	for _, a := range network.Assets() {
		if a.Policy.Balance {
			if !ok || !accounts.QueryableByAddress() {
				continue
			}
			s.balances = &balances{source: accounts, coin: a, now: now, view: &s.view, spent: map[string]bool{}, strays: newStrayState()}
		}
		s.assets = append(s.assets, a)
	}
	s.tokenFaults = newTokenFaults(s.assets, network.params.Claimed, ok && accounts.QueryableByAddress())
	s.view = newView(source, s.watchedAssets(), network.params.Claimed, network.params.BlockTime)
	return s
}

// Assets returns the watched assets. Those that are not offered have Unverified set.
func (s *Scanner) Assets() []chain.Asset {
	assets := clone(s.assets)
	for i := range assets {
		_, assets[i].Unverified = s.tokenFaults.fault(assets[i].Code)
	}
	return assets
}

// Health implements chain.Reporter.
func (s *Scanner) Health() chain.Health { return s.attempts.Health(s.source.Health()) }

// Scan implements chain.Scanner.
func (s *Scanner) Scan(ctx context.Context, from chain.Cursor, watched chain.Watched) (chain.Snapshot, error) {
	return s.attempts.Scan(from, func() (chain.Snapshot, error) { return s.scan(ctx, from, watched) })
}

func (s *Scanner) scan(ctx context.Context, from chain.Cursor, watched chain.Watched) (chain.Snapshot, error) {
	best, err := s.source.Best(ctx)
	if err != nil {
		return chain.Snapshot{}, err
	}
	if age := s.now().Sub(best.Time); age > maxTipAge {
		return chain.Snapshot{}, fmt.Errorf("block %d, the newest, is %s old", best.Height, age.Round(time.Second))
	}
	// After another error the contracts are asked again later. Until then, a claimed token is not offered.
	if err := s.CheckTokens(ctx); err != nil && ctx.Err() != nil {
		return chain.Snapshot{}, err
	}
	if err := s.view.begin(ctx, from, best); err != nil {
		return chain.Snapshot{}, err
	}
	s.view.setRecorded(watched)
	reached, behind, err := s.view.follow(ctx, best, watched)
	if err != nil {
		return chain.Snapshot{}, err
	}
	lastTip := s.view.shown
	snapshot := s.view.snapshot(reached, watched)
	snapshot.Started, snapshot.Behind, snapshot.Unconfirmed = s.view.seen, behind, chain.None
	if behind {
		snapshot.Started = best.At
	}
	if knownUntil := snapshot.Tip.Time.Add(maxTipLag); knownUntil.Before(snapshot.Started) {
		snapshot.Started = knownUntil
	}
	if accounts, ok := watched.(chain.Accounts); ok && s.balances != nil {
		tip := s.view.base
		if reached > 0 {
			tip = s.view.records[reached-1].Header
		}
		if err := s.balances.add(ctx, &snapshot, tip, lastTip, accounts); err != nil {
			return chain.Snapshot{}, err
		}
	}
	err = s.view.showRecorded(ctx, &snapshot, watched)
	return snapshot, err
}
