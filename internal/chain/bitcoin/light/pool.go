package light

import (
	"fmt"
	"hash/maphash"
	"slices"
	"sync"
	"time"

	"github.com/btcsuite/btcd/chaincfg/chainhash"
	"github.com/btcsuite/btcd/wire"
)

const (
	// unmatchedTTL is the time that an announced transaction is kept to match destinations
	// that are added later.
	unmatchedTTL = time.Hour
	// relevantTTL is the time that a relevant transaction is kept without a new
	// announcement.
	relevantTTL = 14 * 24 * time.Hour

	// announcementSaveInterval is the time since the announcement of a transaction that the store
	// has, after which the time of a new one is saved.
	announcementSaveInterval = time.Hour

	// Limits of the transactions that are kept although they may not be relevant: of all
	// trusted transactions, and, for each group, of the untrusted ones. An untrusted
	// transaction is charged to the group that announced it first, and its bytes to the group
	// that delivered it, so that no group can displace the transactions that others announced.
	maxTrusted, maxTrustedBytes     = 200_000, 64 << 20
	maxUntrusted, maxUntrustedBytes = 5_000, 4 << 20
	// maxTxBytes is the largest size of a transaction. Nodes relay only smaller ones.
	maxTxBytes = 400_000
)

// pool stores unconfirmed transactions. It is safe for concurrent use.
type pool struct {
	announcers int // number of groups that must announce a transaction
	store      *store
	now        func() time.Time
	wake       func()
	hasher     hasher

	mu        sync.Mutex
	entries   map[chainhash.Hash]*entry
	trusted   queue
	untrusted map[group]*queue // by the group that announced them first, or that delivered them
	watched   scripts
	relevant  relevantTxs
	// unsaved are the entries that differ from those in the store. save deletes those that the pool
	// does not have.
	unsaved map[chainhash.Hash]bool
}

// newPool returns a pool with the entries of the store. The mark is the number of the newest input of
// an earlier pool, see relevantTxs. The inputs of this pool have higher numbers, so that they are new
// to callers with marks of the earlier pool.
func newPool(announcers int, store *store, mark uint64, now func() time.Time, wake func()) (*pool, error) {
	p := &pool{
		announcers: announcers, store: store, now: now, wake: wake,
		hasher:  hasher{maphash.MakeSeed()},
		entries: map[chainhash.Hash]*entry{}, untrusted: map[group]*queue{},
		relevant: newRelevantTxs(mark), unsaved: map[chainhash.Hash]bool{},
	}
	records, err := store.load()
	if err != nil {
		return nil, err
	}
	p.restore(records)
	return p, nil
}

// recordAnnouncement records that a peer of a group announced a transaction, and reports whether the
// transaction is still to be fetched.
func (p *pool) recordAnnouncement(id chainhash.Hash, by group) (fetch bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	e := p.entries[id]
	if e == nil {
		e = &entry{id: id, first: now}
		p.entries[id] = e
		p.charge(by, e, 0)
	}
	if e.saved.Add(announcementSaveInterval).Before(now) {
		p.markUnsaved(e)
	}
	e.last = now
	if e.seen.IsZero() && !slices.Contains(e.groups, by) {
		e.groups = append(e.groups, by)
		p.markUnsaved(e)
		// The transaction is first seen when the last of the required groups announces it:
		// one operator alone cannot make that earlier.
		if len(e.groups) >= p.announcers {
			e.seen = now
			p.promote(e)
		}
	}
	return e.raw == nil
}

// storeDelivered stores a transaction that was fetched from a peer of a group. It returns an error
// if the transaction cannot be kept in the delivered form, so another peer has to deliver it.
func (p *pool) storeDelivered(tx *wire.MsgTx, by group) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	e := p.entries[tx.TxHash()]
	if e == nil || e.raw != nil { // the entry was deleted, or the transaction is already delivered
		return nil
	}
	if size := tx.SerializeSize(); size > maxTxBytes {
		return fmt.Errorf("transaction of %d bytes exceeds %d", size, maxTxBytes)
	}
	if err := p.hasher.fill(e, tx); err != nil {
		return err
	}
	e.watchedOutputs = p.watched.intersect(e.outputHashes)
	e.paysWatched = len(e.watchedOutputs) > 0
	p.markUnsaved(e)
	p.charge(by, e, len(e.raw))
	p.promote(e)
	return nil
}

// charge charges a group for the memory of an entry.
func (p *pool) charge(by group, e *entry, bytes int) {
	q := p.untrusted[by]
	if q == nil {
		q = &queue{}
		p.untrusted[by] = q
	}
	q.add(e, bytes)
	p.trim(q)
}

// trim forgets a group's entries that are beyond its limit, or that too few other groups
// announced in time.
func (p *pool) trim(q *queue) {
	for _, e := range q.drop(maxUntrusted, maxUntrustedBytes, p.now().Add(-unmatchedTTL)) {
		if !e.isTrusted() {
			p.forget(e)
		}
	}
}

// promote moves an entry that has become trusted to the trusted ones, and to the relevant ones if it has claims.
func (p *pool) promote(e *entry) {
	if !e.isTrusted() {
		return
	}
	p.trusted.add(e, len(e.raw))
	if p.relevant.addClaims(e) {
		p.takeConflicts(e)
		p.markUnsaved(e)
		p.wake()
	}
	if oldest := p.relevant.oldestExcessClaim(e); oldest != nil {
		p.forget(oldest)
	}
	p.limitRelevant()
}

// limitRelevant forgets relevant transactions beyond the limits. A forgotten payment is found again in
// its block.
func (p *pool) limitRelevant() {
	for _, e := range p.relevant.beyondLimits() {
		p.forget(e)
	}
}

// takeConflicts makes the transactions relevant that spend the same outputs as a relevant
// entry.
func (p *pool) takeConflicts(e *entry) {
	if !e.paysWatched {
		return
	}
	spends := map[uint64]bool{}
	for _, o := range e.inputHashes {
		spends[o] = true
	}
	for _, other := range p.entries {
		if other != e && other.isTrusted() && slices.ContainsFunc(other.inputHashes, func(o uint64) bool { return spends[o] }) {
			p.relevant.addClaims(other)
			p.markUnsaved(other)
		}
	}
}

// markUnsaved marks an entry to be saved, if it is relevant or pays a watched destination.
func (p *pool) markUnsaved(e *entry) {
	if e.paysWatched || e.isRelevant() {
		p.unsaved[e.id] = true
	}
}

// forget deletes an entry.
func (p *pool) forget(e *entry) {
	p.markUnsaved(e)
	p.relevant.drop(e)
	if p.entries[e.id] == e { // not a newer entry
		delete(p.entries, e.id)
	}
}

// expire forgets old entries and saves the changes.
func (p *pool) expire() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	for by, q := range p.untrusted {
		if p.trim(q); len(q.items) == 0 {
			delete(p.untrusted, by)
		}
	}
	for _, e := range p.trusted.drop(maxTrusted, maxTrustedBytes, now.Add(-unmatchedTTL)) {
		if !e.isRelevant() {
			p.forget(e)
		}
	}
	for _, e := range p.relevant.list() {
		if e.last.Add(relevantTTL).Before(now) {
			p.forget(e)
		}
	}
	return p.save()
}

// save saves the changes in the store.
func (p *pool) save() error {
	if len(p.unsaved) == 0 {
		return nil
	}
	var records []record
	var deletes []chainhash.Hash
	for id := range p.unsaved {
		if e := p.entries[id]; e != nil && e.raw != nil {
			records = append(records, record{ID: id, Raw: e.raw, Groups: e.groups, First: e.first, Seen: e.seen, Last: e.last, Payer: e.paysWatched})
		} else {
			deletes = append(deletes, id)
		}
	}
	if err := p.store.save(records, deletes); err != nil {
		return err
	}
	for id := range p.unsaved {
		if e := p.entries[id]; e != nil && e.raw != nil {
			e.saved = e.last
		}
	}
	clear(p.unsaved)
	return nil
}

// restore adds the entries of the store. Those that pay watched destinations are first, because
// the others are relevant only if they spend the same outputs.
func (p *pool) restore(records []record) {
	slices.SortStableFunc(records, func(a, b record) int {
		if a.Payer == b.Payer {
			return a.Seen.Compare(b.Seen)
		}
		if a.Payer {
			return -1
		}
		return 1
	})
	for _, r := range records {
		e := &entry{id: r.ID, groups: r.Groups, first: r.First, seen: r.Seen, last: r.Last, saved: r.Last, paysWatched: r.Payer}
		tx, err := decode(r.Raw)
		if err != nil || p.hasher.fill(e, tx) != nil {
			p.unsaved[r.ID] = true // cannot be decoded: save deletes it
			continue
		}
		if e.isTrusted() && !p.relevant.addClaims(e) || len(e.groups) == 0 {
			p.unsaved[r.ID] = true // no longer relevant: save deletes it
			continue
		}
		p.entries[e.id] = e
		if !e.isTrusted() {
			p.charge(e.groups[0], e, len(e.raw))
		}
	}
	p.limitRelevant()
}
