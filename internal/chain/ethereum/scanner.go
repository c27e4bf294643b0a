package ethereum

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"chequer/internal/chain"
)

// stale is how old the newest block may be while the network still counts as
// looked at: where it stands still, money that waits cannot be seen.
const stale = 5 * time.Minute

// lag is how much older than now a newest block may be that shows how things stand
// now. Of an older one it is said how they stood then.
const lag = time.Minute

// errMoved means that the chain changed while it was read.
var errMoved = errors.New("the chain moved while it was read")

// Scanner is an EVM network that is watched through a source. It implements
// chain.Scanner and chain.Reporter. It offers tokens, and the network's own coin only
// where a source may be asked for the balances of addresses: nothing else shows all
// of it.
type Scanner struct {
	*Network
	assets   []chain.Asset
	source   Source
	now      func() time.Time
	view     view
	balances *balances // nil where the network's own coin is not offered

	scanning sync.Mutex // one scan at a time

	mu    sync.Mutex
	fault string // of the last scan
}

var _ interface {
	chain.Scanner
	chain.Reporter
} = (*Scanner)(nil)

// Watch watches a network through a source.
func Watch(network *Network, source Source, now func() time.Time) *Scanner {
	s := &Scanner{Network: network, source: source, now: now}
	accounts, ok := source.(BalanceSource)
	for _, a := range network.Assets() {
		if a.Policy.Balance {
			if !ok || !accounts.MayAsk() {
				continue
			}
			s.balances = &balances{source: accounts, coin: a, now: now, view: &s.view, spent: map[string]bool{}}
		}
		s.assets = append(s.assets, a)
	}
	s.view = newView(source, s.assets, network.params.BlockTime)
	return s
}

// Assets are those that are looked for.
func (s *Scanner) Assets() []chain.Asset { return New(Params{Assets: s.assets}).Assets() }

// Health implements chain.Reporter.
func (s *Scanner) Health() chain.Health {
	h := s.source.Health()
	s.mu.Lock()
	defer s.mu.Unlock()
	if h.Fault == "" {
		h.Fault = s.fault
	}
	return h
}

// Scan implements chain.Scanner.
func (s *Scanner) Scan(ctx context.Context, from chain.Cursor, watched chain.Watched) (chain.Snapshot, error) {
	s.scanning.Lock()
	defer s.scanning.Unlock()
	for tries := 0; ; tries++ {
		snapshot, err := s.scan(ctx, from, watched)
		if errors.Is(err, errMoved) && tries < 2 {
			continue
		}
		s.tell(err)
		if err != nil {
			return chain.Snapshot{}, fmt.Errorf("scan from %d: %w", from.Height, err)
		}
		return snapshot, nil
	}
}

// tell notes how a scan went, for Health.
func (s *Scanner) tell(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = ""
	if err != nil {
		s.fault = err.Error()
	}
}

func (s *Scanner) scan(ctx context.Context, from chain.Cursor, watched chain.Watched) (chain.Snapshot, error) {
	best, err := s.source.Best(ctx)
	if err != nil {
		return chain.Snapshot{}, err
	}
	if age := s.now().Sub(best.Time); age > stale {
		return chain.Snapshot{}, fmt.Errorf("block %d, the newest, is %s old", best.Height, age.Round(time.Second))
	}
	if err := s.view.begin(ctx, from, best); err != nil {
		return chain.Snapshot{}, err
	}
	reached, behind, err := s.view.follow(ctx, best, watched)
	if err != nil {
		return chain.Snapshot{}, err
	}
	shown := s.view.shown
	snapshot := s.view.snapshot(reached, watched)
	snapshot.Started, snapshot.Behind, snapshot.Unconfirmed = s.view.seen, behind, chain.None
	if behind {
		snapshot.Started = best.At
	}
	if known := snapshot.Tip.Time.Add(lag); known.Before(snapshot.Started) {
		snapshot.Started = known
	}
	accounts, ok := watched.(chain.Accounts)
	if s.balances == nil || !ok {
		return snapshot, nil
	}
	tip := s.view.base
	if reached > 0 {
		tip = s.view.records[reached-1].Header
	}
	err = s.balances.add(ctx, &snapshot, tip, shown, accounts)
	return snapshot, err
}
