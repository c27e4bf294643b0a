package light

import (
	"encoding/hex"
	"iter"
	"slices"
	"time"

	"github.com/btcsuite/btcd/chaincfg/chainhash"

	"chequer/internal/chain"
	"chequer/internal/chain/utxo"
)

// scripts is a set of watched scripts, by their hashes. A million of them take about 20 MB.
type scripts struct {
	hashes    map[uint64]struct{}
	mark      uint64 // of the newest script
	createdAt time.Time
}

// intersect returns the hashes that are in the set.
func (s *scripts) intersect(hashes []uint64) (found []uint64) {
	for _, h := range hashes {
		if _, in := s.hashes[h]; in && !slices.Contains(found, h) {
			found = append(found, h)
		}
	}
	return found
}

// add adds the scripts that are watched since the last call, and reports whether there were
// any. Once a day it creates the set again, without the scripts that are no longer watched.
func (s *scripts) add(watched chain.Watched, h hasher, now time.Time) (added bool) {
	if s.hashes == nil || now.Sub(s.createdAt) > 24*time.Hour {
		s.hashes, s.mark, s.createdAt = map[uint64]struct{}{}, 0, now
	}
	list, next := watched.Since(s.mark)
	var buffer []byte
	for script := range list {
		var err error
		if buffer, err = hex.AppendDecode(buffer[:0], []byte(script)); err == nil {
			s.hashes[h.script(buffer)] = struct{}{}
			added = true
		}
	}
	s.mark = next
	return added
}

// waiting returns the unconfirmed transactions to watched destinations, and their conflicts.
func (p *pool) waiting(watched chain.Watched) ([]utxo.Tx, []chain.Conflict) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.watched.add(watched, p.hasher, p.now()) {
		p.matchAgain()
	}
	var txs []utxo.Tx
	for _, e := range p.relevant.list() {
		if e.paysWatched && p.relevant.isLatestSpender(e) && e.tx.Pays(watched) {
			txs = append(txs, *e.tx)
		}
	}
	return txs, p.relevant.conflicts()
}

// matchAgain matches the stored transactions with the destinations that are now watched.
func (p *pool) matchAgain() {
	for _, e := range p.entries {
		paid := p.watched.intersect(e.outputHashes)
		if len(paid) == 0 || slices.Equal(paid, e.watchedOutputs) {
			continue
		}
		e.watchedOutputs = paid
		if !e.paysWatched {
			e.paysWatched = true
			p.markUnsaved(e)
		}
		if e.isTrusted() {
			p.relevant.addClaims(e)
			p.takeConflicts(e)
		}
	}
	p.limitRelevant()
}

// seen returns the time at which enough groups had announced a transaction, or the zero time.
func (p *pool) seen(id string) time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	hash, err := chainhash.NewHashFromStr(id)
	if err != nil || p.entries[*hash] == nil || !p.entries[*hash].isTrusted() {
		return time.Time{}
	}
	return p.entries[*hash].seen
}

// scriptsSpent returns the scripts of inputs that were added after a mark.
func (p *pool) scriptsSpent(mark uint64) (iter.Seq[string], uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.relevant.since(mark)
}

// pending reports whether a relevant transaction spends an outpoint.
func (p *pool) pending(outpoint string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.relevant.claims[outpoint] != nil
}

// recordBlock records the transactions of a block.
func (p *pool) recordBlock(txs []utxo.Tx) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.relevant.recordBlock(txs)
}

// forgetBuried forgets transactions that are deep in the chain, and those that spend the same
// outputs.
func (p *pool) forgetBuried(ids []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, id := range ids {
		for _, e := range p.relevant.takeBuried(id) {
			p.forget(e)
		}
	}
}
