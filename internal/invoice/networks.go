package invoice

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"chequer/internal/chain"
	"chequer/internal/keys"
)

// Connections are the Lightning networks of live invoices, one for each connection of a merchant. They change while the
// program runs. They are safe for concurrent use.
type Connections interface {
	// Requester returns the network with an ID, which chain.LightningID returns.
	Requester(id chain.ID) (chain.Requester, bool)
	// Networks returns the IDs of all networks.
	Networks() []chain.ID
	// Asset returns the asset of all connections. Its network is not set.
	Asset() chain.Asset
	// AddressReader parses addresses of the asset of all connections, also of former ones.
	chain.AddressReader
}

// noConnections is a Connections without networks.
type noConnections struct{}

func (noConnections) Requester(chain.ID) (chain.Requester, bool) { return nil, false }
func (noConnections) Networks() []chain.ID                       { return nil }
func (noConnections) Asset() chain.Asset                         { return chain.Asset{} }
func (noConnections) ReadAddress(string, string) (chain.Destination, error) {
	return chain.Destination{}, keys.ErrKind
}

// networkAs returns the network with an ID, of invoices of any mode, that implements an interface.
func networkAs[T any](s *Service, id chain.ID) (T, bool) {
	for _, networks := range s.networks {
		for _, n := range networks {
			if found, ok := n.(T); ok && n.ID() == id {
				return found, true
			}
		}
	}
	if n, ok := s.connections.Requester(id); ok {
		found, ok := n.(T)
		return found, ok
	}
	var none T
	return none, false
}

// addressReader returns the parser of a network's addresses. It returns false if the network has none.
func (s *Service) addressReader(network chain.ID) (chain.AddressReader, bool) {
	if reader, ok := networkAs[chain.AddressReader](s, network); ok {
		return reader, true
	}
	return s.connections, network.IsLightning() // also of a former connection
}

// networksFor returns the networks of a mode on which some wallets have destinations, among others.
func (s *Service) networksFor(mode Mode, wallets []Wallet) []chain.Network {
	all := s.networks[mode]
	if mode != Live {
		return all
	}
	for _, w := range wallets {
		if w.Asset != chain.CodeLightning {
			continue
		}
		if n, ok := s.connections.Requester(chain.LightningID(w.Counter)); ok {
			all = append(slices.Clip(all), n)
		}
	}
	return all
}

// isScanned reports whether a network has a scanner.
func (s *Service) isScanned(network chain.ID) bool {
	if s.scanned[network] {
		return true
	}
	_, ok := s.connections.Requester(network)
	return ok
}

// isLive reports whether a network has a scanner and carries live invoices.
func (s *Service) isLive(network chain.ID) bool {
	if live, known := s.live[network]; known {
		return live
	}
	_, ok := s.connections.Requester(network)
	return ok
}

// Asset returns the asset of a network with the given code, whether or not an invoice offers it.
func (s *Service) Asset(network chain.ID, code string) (chain.Asset, bool) {
	for _, networks := range s.networks {
		for _, n := range networks {
			if n.ID() != network {
				continue
			}
			for _, a := range n.Assets() {
				if a.Code == code {
					return a, true
				}
			}
		}
	}
	if a := s.connections.Asset(); network.IsLightning() && a.Code == code { // also of a former connection
		a.Network = network
		return a, true
	}
	return chain.Asset{}, false
}

// BlockTime returns the usual time between two blocks of a network; 0 if it has none.
func (s *Service) BlockTime(network chain.ID) time.Duration {
	if n, ok := networkAs[chain.Timed](s, network); ok {
		return n.BlockTime()
	}
	return 0
}

// SeesMempool reports whether the source of a network is a node, whose mempool shows every unconfirmed transaction.
func (s *Service) SeesMempool(network chain.ID) bool {
	n, ok := networkAs[chain.Reporter](s, network)
	return ok && n.Health().Mempool
}

// KnownAsset returns the asset of a network with a code. It may be a bridged token, which is never
// offered as a payment method.
func (s *Service) KnownAsset(network chain.ID, code string) (chain.Asset, bool) {
	if a, offered := s.Asset(network, code); offered {
		return a, true
	}
	for _, a := range s.bridged[network] {
		if a.Code == code {
			return a, true
		}
	}
	return chain.Asset{}, false
}

// BridgedSymbols returns the symbols of the bridged tokens that shoppers may confuse with an asset.
func (s *Service) BridgedSymbols(asset chain.Asset) []string {
	symbols := []string{}
	for _, b := range s.bridged[asset.Network] {
		if b.BridgeOf == asset.Symbol {
			symbols = append(symbols, b.Symbol)
		}
	}
	return symbols
}

// Progress is the state of scanning a network.
type Progress struct {
	Cursor chain.Cursor // start of the next scan
	Tip    chain.Cursor // the newest block known
	// Scanned is the start of the last scan that reached the tip.
	Scanned time.Time
	// Gaps are the times when unconfirmed transfers were not watched, oldest first. The first gap
	// is the time before watching began.
	Gaps     []Gap
	Sequence int64 // of the last saved snapshot
	// Read is the last block at which all balances were read, zero if no balances are read. Loaded
	// is the position in each merchant's feed up to which destinations were loaded at that time.
	Read   chain.Block
	Loaded map[string]int64
	// Recent are the newest known blocks, the lowest first. Forks are the blocks that recently left
	// the chain.
	Recent []chain.Cursor
	Forks  []Fork
}

// Gap is a time when unconfirmed transfers were not watched.
type Gap struct{ From, Until time.Time }

// maxGaps is the largest number of gaps. The oldest gaps are merged, which favours the shopper.
const maxGaps = 64

// After returns the progress once a snapshot is recorded.
func (p Progress) After(s chain.Snapshot, sequence int64) Progress {
	next := Progress{Cursor: s.Next, Tip: s.Tip.Cursor(), Scanned: p.Scanned, Gaps: p.Gaps, Sequence: sequence, Read: p.Read, Loaded: p.Loaded, Recent: p.Recent, Forks: p.Forks}
	next.recordBlocks(s)
	if s.Behind {
		if next.Tip.Height < p.Tip.Height {
			next.Tip = p.Tip
		}
		return next
	}
	next.Scanned = s.Started
	from := p.Scanned
	if from.After(s.Started) { // the clock was set back
		from = s.Started
	}
	switch {
	case s.ViewSince.IsZero():
		next.Gaps = addGap(p.Gaps, Gap{From: from, Until: s.Started})
	case s.ViewSince.After(from):
		next.Gaps = addGap(p.Gaps, Gap{From: from, Until: s.ViewSince})
	}
	return next
}

// addGap returns gaps with a gap added that does not begin before the last gap. It joins the two if they
// touch.
func addGap(gaps []Gap, g Gap) []Gap {
	gaps = slices.Clone(gaps)
	if n := len(gaps); n > 0 && !g.From.After(gaps[n-1].Until) {
		if g.Until.After(gaps[n-1].Until) {
			gaps[n-1].Until = g.Until
		}
		return gaps
	}
	gaps = append(gaps, g)
	if len(gaps) > maxGaps {
		gaps[1].From = gaps[0].From
		gaps = gaps[1:]
	}
	return gaps
}

// Fork is a fork point of a chain: the block Left is no longer on the chain, and At is the highest
// block below Left that is still on the chain.
type Fork struct{ Left, At chain.Cursor }

// maxRecent is the number of the newest blocks whose hashes are stored, more than the depth of any
// plausible reorganisation. maxForks is the largest number of stored blocks that left the chain.
const maxRecent, maxForks = 32, 64

// recordBlocks records the blocks that a snapshot shows, and those that left the chain since the previous
// snapshot.
func (p *Progress) recordBlocks(s chain.Snapshot) {
	var kept, departed []chain.Cursor
	var at chain.Cursor // the highest known block that is on the chain
	for _, b := range p.Recent {
		hash, shown := s.Blocks[b.Height]
		switch {
		case shown && hash != b.Hash, !shown && b.Height > s.Tip.Height && !s.Behind, len(departed) > 0:
			departed = append(departed, b) // together with all blocks above it, shown or not
		case shown:
			at = b
		default:
			kept = append(kept, b)
			if b.Height < s.From.Height {
				at = b
			}
		}
	}
	for height, hash := range s.Blocks {
		kept = append(kept, chain.Cursor{Height: height, Hash: hash})
	}
	slices.SortFunc(kept, func(a, b chain.Cursor) int { return cmp.Compare(a.Height, b.Height) })
	p.Recent = slices.Clone(kept[max(len(kept)-maxRecent, 0):])

	// A fork below the covered range no longer matters, and a block that the snapshot shows is on the
	// chain again.
	forks := slices.DeleteFunc(slices.Clone(p.Forks), func(f Fork) bool {
		return f.Left.Height <= s.From.Height || s.Blocks[f.Left.Height] == f.Left.Hash
	})
	for _, b := range departed {
		if !at.IsZero() {
			forks = append(forks, Fork{Left: b, At: at})
		}
	}
	p.Forks = forks[max(len(forks)-maxForks, 0):]
}

// forkBelow returns the fork point below a block. known is false if the block is on the chain, or if
// the fork point is not known.
func forkBelow(block chain.Cursor, forks []Fork) (at chain.Cursor, known bool) {
	at = block
	for {
		i := slices.IndexFunc(forks, func(f Fork) bool { return f.Left == at })
		if i < 0 {
			return at, known
		}
		at, known = forks[i].At, true // this block may have left the chain later
	}
}

// Reached reports whether a network was scanned recently enough for its methods to be offered. It is
// always true for networks of test invoices and for networks without a scanner.
func (s *Service) Reached(network chain.ID, progress map[chain.ID]Progress) bool {
	if s.maxScanAge == 0 || !s.isLive(network) {
		return true
	}
	now, scanned := s.now(), progress[network].Scanned
	// A clock that was set back does not make a network unreached.
	if s.requireScanSinceStart && scanned.Before(s.startedAt.Add(-maxAgeAtStart)) && !now.Before(s.startedAt) {
		return false
	}
	return now.Sub(scanned) <= s.maxScanAge
}

// maxAgeAtStart is the largest age that a scan by another process may have when this process starts,
// so that the network counts as reached.
const maxAgeAtStart = 30 * time.Second

// scanDelay is the largest age of a scan before the page says that a payment may show later than
// usual.
const scanDelay = 30 * time.Second

// startupTime is the time that a process may take after its start for its first scan.
const startupTime = 20 * time.Second

// Behind returns the networks of an open invoice that are watched but were not scanned recently, in
// the order of its methods. It returns none during startupTime.
func (s *Service) Behind(ctx context.Context, inv *Invoice) ([]chain.ID, error) {
	if inv.State.Status != Created && inv.State.Status != Pending {
		return nil, nil
	}
	progress, err := s.storage.RecentProgress(ctx)
	if err != nil {
		return nil, err
	}
	var behind []chain.ID
	for _, m := range inv.Methods {
		network := m.Asset.Network
		if s.isScanned(network) && s.isBehind(network, progress) && !slices.Contains(behind, network) {
			behind = append(behind, network)
		}
	}
	return behind, nil
}

// isBehind reports whether a network was not scanned recently.
func (s *Service) isBehind(network chain.ID, progress map[chain.ID]Progress) bool {
	return s.now().Sub(progress[network].Scanned) > scanDelay && s.now().Sub(s.startedAt) > startupTime
}

// Expirer expires overdue invoices.
type Expirer struct {
	service  *Service
	interval time.Duration
	log      *slog.Logger
}

// NewExpirer returns a new Expirer that checks at the given interval.
func NewExpirer(s *Service, interval time.Duration, log *slog.Logger) *Expirer {
	return &Expirer{service: s, interval: interval, log: log}
}

// Run checks for overdue invoices until the context ends, and returns nil then.
func (e *Expirer) Run(ctx context.Context) error {
	tick := time.NewTicker(e.interval)
	defer tick.Stop()
	for {
		if _, err := e.service.Expire(ctx, expireBatch); err != nil && ctx.Err() == nil {
			e.log.Error("expirer failed", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// expireBatch is the largest number of invoices in one check.
const expireBatch = 200

// Expire evaluates at most limit invoices whose state may have changed with time alone, and returns
// their number.
func (s *Service) Expire(ctx context.Context, limit int) (int, error) {
	ids, err := s.storage.DueInvoices(ctx, s.now(), limit)
	if err != nil {
		return 0, fmt.Errorf("expire: %w", err)
	}
	var faults []error
	for _, id := range ids {
		_, err := s.update(ctx, id, Lease{}, func(*Invoice) error { return nil })
		if _, err = SkipUnreadable(ctx, s.storage, err, s.now()); err != nil {
			faults = append(faults, fmt.Errorf("expire invoice %s: %w", id, err))
		}
	}
	return len(ids), errors.Join(faults...)
}
