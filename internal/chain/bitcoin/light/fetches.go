package light

import (
	"slices"
	"time"

	"github.com/btcsuite/btcd/chaincfg/chainhash"
)

const (
	// maxFetches is the maximum number of undelivered transactions that a peer has announced.
	maxFetches = 5_000
	// fetchTimeout is the time after which a transaction is requested from another peer.
	fetchTimeout = 10 * time.Second
	// maxSources is the maximum number of sources of a transaction. There are fewer connected peers, unless
	// the settings name many.
	maxSources = 2 * outbound
)

// fetches holds the announced transactions that are not delivered yet. Each is requested from one peer
// at a time.
type fetches struct {
	byTx  map[chainhash.Hash]*fetch
	count map[int32]int // by peer: number of transactions of which it is a source
}

type fetch struct {
	requestedAt time.Time
	peers       []int32 // sources; the transaction is requested from the first
}

func newFetches() fetches {
	return fetches{byTx: map[chainhash.Hash]*fetch{}, count: map[int32]int{}}
}

// isFull reports whether a peer has announced maxFetches transactions that are not delivered yet.
func (f *fetches) isFull(peer int32) bool { return f.count[peer] >= maxFetches }

// addSource adds a peer as a source of a transaction, up to maxSources. It reports whether the peer is
// the first one, from which the caller then requests the transaction.
func (f *fetches) addSource(id chainhash.Hash, peer int32, now time.Time) (request bool) {
	current := f.byTx[id]
	if current == nil {
		current = &fetch{requestedAt: now}
		f.byTx[id] = current
		request = true
	}
	if len(current.peers) < maxSources && !slices.Contains(current.peers, peer) {
		current.peers = append(current.peers, peer)
		f.count[peer]++
	}
	return request
}

// pending reports whether a transaction was announced and has not been delivered.
func (f *fetches) pending(id chainhash.Hash) bool { return f.byTx[id] != nil }

// remove removes a transaction, and reports whether it was pending.
func (f *fetches) remove(id chainhash.Hash) bool {
	current := f.byTx[id]
	if current == nil {
		return false
	}
	for _, peer := range current.peers {
		f.uncount(peer)
	}
	delete(f.byTx, id)
	return true
}

// nextPeer removes the peer that did not deliver a transaction, and returns the next source. ok is false if the
// transaction was not requested from the peer or has no other source; in the latter case it is removed.
func (f *fetches) nextPeer(id chainhash.Hash, peer int32, now time.Time) (next int32, ok bool) {
	current := f.byTx[id]
	if current == nil || len(current.peers) == 0 || current.peers[0] != peer {
		return 0, false
	}
	f.uncount(peer)
	current.peers = current.peers[1:]
	if len(current.peers) == 0 {
		delete(f.byTx, id)
		return 0, false
	}
	current.requestedAt = now
	return current.peers[0], true
}

// overdue returns the transactions that were requested at least fetchTimeout ago, by the peer from which they
// were requested.
func (f *fetches) overdue(now time.Time) map[int32][]chainhash.Hash {
	overdue := map[int32][]chainhash.Hash{}
	for id, current := range f.byTx {
		if now.Sub(current.requestedAt) >= fetchTimeout {
			overdue[current.peers[0]] = append(overdue[current.peers[0]], id)
		}
	}
	return overdue
}

// removePeer removes a disconnected peer from the sources of the transactions that are requested from other
// peers. It returns the transactions that are requested from the peer itself, for which the caller calls nextPeer.
func (f *fetches) removePeer(peer int32) (requested []chainhash.Hash) {
	for id, current := range f.byTx {
		switch i := slices.Index(current.peers, peer); {
		case i == 0:
			requested = append(requested, id)
		case i > 0:
			current.peers = slices.Delete(current.peers, i, i+1)
			f.uncount(peer)
		}
	}
	return requested
}

func (f *fetches) uncount(peer int32) {
	if f.count[peer]--; f.count[peer] <= 0 {
		delete(f.count, peer)
	}
}
