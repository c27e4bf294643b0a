package daemon

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"chequer/internal/chain"
	"chequer/internal/chain/utxo"
)

const (
	// sightingTTL is the time that a sighting is kept after its transaction left the pool. It is longer than the time until the block with the
	// transaction is read.
	sightingTTL = 2 * time.Hour
	// maxGap is the longest time between two listings of the pool without a gap: a block may take a transaction that entered the pool after the
	// first one, and a sighting of it is missing then.
	maxGap = time.Minute
)

// pool is the daemon's pool as of its newest listing.
type pool struct {
	restricted bool // the daemon does not tell when it received transactions, and hides those that it has not sent to its peers
	entries    map[string]*entry
	departed   map[string]departure
	listedAt   time.Time // zero if there was no listing since the last gap
	startedAt  time.Time // of the daemon, whose view has a gap before; zero if it does not tell
	since      time.Time // start of the view without a gap
}

// entry is a transaction in the pool.
type entry struct {
	tx     *utxo.Tx // nil until it is scanned
	seenAt time.Time
	// isContested is true if the daemon received another transaction that spends an input of this one.
	isContested bool
	// isRelayed is true if the daemon's peers have the transaction. Another one may never be mined: who can call the daemon can submit it
	// so.
	isRelayed bool
}

// departure is the sighting of a transaction that left the pool.
type departure struct{ seenAt, leftAt time.Time }

func newPool() pool {
	return pool{entries: map[string]*entry{}, departed: map[string]departure{}}
}

// seen returns when a transaction was first seen; zero if it was not.
func (p *pool) seen(tx string) time.Time {
	if e := p.entries[tx]; e != nil {
		return e.seenAt
	}
	return p.departed[tx].seenAt
}

// Waiting implements utxo.Source. With restricted RPC the coverage is chain.Partial, because the daemon hides transactions.
func (s *Source) Waiting(ctx context.Context, watched chain.Watched) (utxo.Waiting, error) {
	if err := s.list(ctx, watched); err != nil {
		return utxo.Waiting{}, s.note(ctx, err)
	}
	w := utxo.Waiting{Coverage: chain.Complete, Since: s.pool.since, Firm: map[string]bool{}, Contested: map[string]bool{}}
	if s.pool.restricted {
		w.Coverage = chain.Partial
	}
	now := s.now()
	for hash, e := range s.pool.entries {
		if e.tx.Pays(watched) {
			w.Txs = append(w.Txs, *e.tx)
			// Rings only have outputs of blocks at least ten deep, and fees are those of the consensus.
			w.Firm[hash] = w.Coverage == chain.Complete && !e.isContested && e.isRelayed
			w.Contested[hash] = e.isContested
		}
		for _, o := range e.tx.Spends {
			if watched.Outpoint(o) && !chain.IsOneTimeOutpoint(o) {
				w.Conflicts = append(w.Conflicts, chain.Conflict{Outpoint: o, Tx: hash, Seen: now})
			}
		}
	}
	slices.SortFunc(w.Txs, func(a, b utxo.Tx) int {
		return cmp.Or(s.pool.seen(a.ID).Compare(s.pool.seen(b.ID)), strings.Compare(a.ID, b.ID))
	})
	slices.SortFunc(w.Conflicts, func(a, b chain.Conflict) int {
		return cmp.Or(strings.Compare(a.Outpoint, b.Outpoint), strings.Compare(a.Tx, b.Tx))
	})
	return w, nil
}

// list lists the pool, and reads the transactions that are new, not scanned, or pay watched destinations: these may have become contested.
func (s *Source) list(ctx context.Context, watched chain.Watched) error {
	started := s.now()
	hashes, err := s.client.PoolHashes(ctx)
	if err != nil {
		return err
	}
	var wanted []string
	for _, hash := range hashes {
		if e := s.pool.entries[hash]; e == nil || e.tx == nil || e.tx.Pays(watched) {
			wanted = append(wanted, hash)
		}
	}
	listed := map[string]bool{}
	for _, hash := range hashes {
		listed[hash] = s.pool.entries[hash] != nil && s.pool.entries[hash].tx != nil
	}
	for batch := range slices.Chunk(wanted, maxBatch) { // the pool may be too large for the memory
		if err := s.read(ctx, batch, listed, started); err != nil {
			return err
		}
	}
	s.pool.leave(listed, started)
	return nil
}

// read reads transactions of the pool. It removes those that have left the pool since from listed.
func (s *Source) read(ctx context.Context, hashes []string, listed map[string]bool, now time.Time) error {
	txs, err := s.client.Transactions(ctx, hashes)
	if missed, isMissed := errors.AsType[*MissedError](err); isMissed {
		for _, hash := range missed.Hashes {
			delete(listed, hash)
		}
	} else if err != nil {
		return err
	}
	for _, raw := range txs {
		if !raw.InPool {
			delete(listed, raw.Hash) // mined since
			continue
		}
		if err := s.add(raw, now); err != nil {
			return err
		}
		listed[raw.Hash] = true
	}
	return nil
}

// add adds a transaction of the pool, or updates it.
func (s *Source) add(raw Tx, now time.Time) error {
	e := s.pool.entries[raw.Hash]
	if e == nil {
		e = &entry{seenAt: now}
		if d := s.pool.departed[raw.Hash]; !d.seenAt.IsZero() { // its block left the chain
			e.seenAt = d.seenAt
		} else if !raw.ReceivedAt.IsZero() && raw.ReceivedAt.Before(now) {
			e.seenAt = raw.ReceivedAt
		}
		delete(s.pool.departed, raw.Hash)
		s.pool.entries[raw.Hash] = e
	}
	e.isContested, e.isRelayed = raw.DoubleSpendSeen, raw.Relayed
	if e.tx != nil {
		return nil
	}
	tx, err := s.scan(raw)
	if err != nil {
		return err
	}
	e.tx = &tx
	return nil
}

// interrupt begins a gap in the view, which ends with the next listing.
func (p *pool) interrupt() { p.listedAt = time.Time{} }

// leave moves the transactions that are not listed to departed, and notes the time of the listing.
func (p *pool) leave(listed map[string]bool, now time.Time) {
	for hash, e := range p.entries {
		if !listed[hash] {
			delete(p.entries, hash)
			p.departed[hash] = departure{e.seenAt, now}
		}
	}
	for hash, d := range p.departed {
		if now.Sub(d.leftAt) > sightingTTL {
			delete(p.departed, hash)
		}
	}
	if p.listedAt.IsZero() || now.Sub(p.listedAt) > maxGap {
		p.since = now
	}
	p.listedAt = now
}
