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
	// memory is how long an announced transaction is kept to match destinations
	// that come later.
	memory = time.Hour
	// patience is how long a transaction of interest is kept without a new
	// announcement.
	patience = 14 * 24 * time.Hour

	// Bounds on what is kept although it may be of no interest. What too few groups
	// have announced is charged to the group that began, so that nobody can push
	// out what others announced.
	mostSure, mostSureBytes     = 200_000, 64 << 20
	mostUnsure, mostUnsureBytes = 5_000, 4 << 20
	// mostBytes is more than nodes relay of one transaction.
	mostBytes = 400_000
)

// pool remembers transactions that no block holds yet. It is safe for concurrent
// use.
type pool struct {
	announcers int
	store      *store
	now        func() time.Time
	wake       func()
	hasher     hasher

	mu       sync.Mutex
	entries  map[chainhash.Hash]*entry
	sure     queue
	unsure   map[group]*queue // by the group that announced them first
	watched  scripts
	interest interest
	unsaved  map[chainhash.Hash]bool // entries that the store has in another form
}

// newPool is a pool with what the store remembers. Its inputs are numbered above
// a mark, so that they are new to who has marks of an earlier pool.
func newPool(announcers int, store *store, mark uint64, now func() time.Time, wake func()) (*pool, error) {
	p := &pool{
		announcers: announcers, store: store, now: now, wake: wake,
		hasher:  hasher{maphash.MakeSeed()},
		entries: map[chainhash.Hash]*entry{}, unsure: map[group]*queue{},
		interest: newInterest(mark), unsaved: map[chainhash.Hash]bool{},
	}
	records, err := store.load()
	if err != nil {
		return nil, err
	}
	p.restore(records)
	return p, nil
}

// announced takes in that a peer of a group announced a transaction, and tells
// whether it is still to be fetched.
func (p *pool) announced(id chainhash.Hash, by group) (fetch bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	e := p.entries[id]
	if e == nil {
		e = &entry{id: id, first: now}
		p.entries[id] = e
		p.charge(by, e, 0)
	}
	// It's worth a write to the store once an hour only.
	if e.last.Add(memory).Before(now) {
		p.changed(e)
	}
	e.last = now
	if e.seen.IsZero() && !slices.Contains(e.groups, by) {
		e.groups = append(e.groups, by)
		p.changed(e)
		// First seen is when the last of the needed groups announced it: one hand
		// alone cannot make it earlier.
		if len(e.groups) >= p.announcers {
			e.seen = now
			p.settle(e)
		}
	}
	return e.raw == nil
}

// delivered stores a transaction that was fetched from a peer of a group. It
// returns an error when the transaction cannot be kept in the form delivered, so
// that another peer has to deliver it.
func (p *pool) delivered(tx *wire.MsgTx, by group) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	e := p.entries[tx.TxHash()]
	if e == nil || e.raw != nil { // forgotten, or delivered before
		return nil
	}
	if size := tx.SerializeSize(); size > mostBytes {
		return fmt.Errorf("transaction of %d bytes exceeds %d", size, mostBytes)
	}
	if err := p.hasher.fill(e, tx); err != nil {
		return err
	}
	e.paid = p.watched.among(e.pays)
	e.payer = len(e.paid) > 0
	p.changed(e)
	p.charge(by, e, len(e.raw))
	p.settle(e)
	return nil
}

// charge lets a group stand for the memory that an entry takes.
func (p *pool) charge(by group, e *entry, bytes int) {
	q := p.unsure[by]
	if q == nil {
		q = &queue{}
		p.unsure[by] = q
	}
	q.add(e, bytes)
	p.trim(q)
}

// trim forgets what a group announced that is too much, or was not announced by
// others for too long.
func (p *pool) trim(q *queue) {
	for _, e := range q.drop(mostUnsure, mostUnsureBytes, p.now().Add(-memory)) {
		if !e.sure() {
			p.forget(e)
		}
	}
}

// settle looks at an entry that may have become sure.
func (p *pool) settle(e *entry) {
	if !e.sure() {
		return
	}
	p.sure.add(e, len(e.raw))
	if p.interest.take(e) {
		p.takeConflicts(e)
		p.changed(e)
		p.wake()
	}
	if oldest := p.interest.crowd(e); oldest != nil {
		p.forget(oldest)
	}
	p.bound()
}

// bound forgets transactions of interest beyond their bounds. A payment that is
// forgotten is found again in its block.
func (p *pool) bound() {
	for _, e := range p.interest.excess() {
		p.forget(e)
	}
}

// takeConflicts makes what spends the same outputs as an entry of interest one
// of interest too.
func (p *pool) takeConflicts(e *entry) {
	if !e.payer {
		return
	}
	spends := map[uint64]bool{}
	for _, o := range e.spends {
		spends[o] = true
	}
	for _, other := range p.entries {
		if other != e && other.sure() && slices.ContainsFunc(other.spends, func(o uint64) bool { return spends[o] }) {
			p.interest.take(other)
			p.changed(other)
		}
	}
}

// changed notes that the store must be told of an entry.
func (p *pool) changed(e *entry) {
	if e.payer || e.tx != nil {
		p.unsaved[e.id] = true
	}
}

// forget drops an entry altogether.
func (p *pool) forget(e *entry) {
	p.changed(e)
	p.interest.drop(e)
	if p.entries[e.id] == e { // and not a later one
		delete(p.entries, e.id)
	}
}

// sweep forgets what is too old and tells the store what changed.
func (p *pool) sweep() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	for by, q := range p.unsure {
		if p.trim(q); len(q.places) == 0 {
			delete(p.unsure, by)
		}
	}
	for _, e := range p.sure.drop(mostSure, mostSureBytes, now.Add(-memory)) {
		if e.tx == nil {
			p.forget(e)
		}
	}
	for _, e := range p.interest.list() {
		if e.last.Add(patience).Before(now) {
			p.forget(e)
		}
	}
	return p.save()
}

// save tells the store what changed.
func (p *pool) save() error {
	if len(p.unsaved) == 0 {
		return nil
	}
	var puts []record
	var deletes []chainhash.Hash
	for id := range p.unsaved {
		if e := p.entries[id]; e != nil && e.raw != nil {
			puts = append(puts, record{ID: id, Raw: e.raw, Groups: e.groups, First: e.first, Seen: e.seen, Last: e.last, Payer: e.payer})
		} else {
			deletes = append(deletes, id)
		}
	}
	if err := p.store.save(puts, deletes); err != nil {
		return err
	}
	clear(p.unsaved)
	return nil
}

// restore takes in what the store remembers. What pays comes first: the rest is
// of interest only beside it.
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
		e := &entry{id: r.ID, groups: r.Groups, first: r.First, seen: r.Seen, last: r.Last, payer: r.Payer}
		tx, err := decode(r.Raw)
		if err != nil || p.hasher.fill(e, tx) != nil {
			p.unsaved[r.ID] = true // it cannot be read
			continue
		}
		if e.sure() && !p.interest.take(e) || len(e.groups) == 0 {
			p.unsaved[r.ID] = true // of no interest any more
			continue
		}
		p.entries[e.id] = e
		if !e.sure() {
			p.charge(e.groups[0], e, len(e.raw))
		}
	}
	p.bound()
}
