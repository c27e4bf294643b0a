package light

import (
	"slices"
	"time"

	"github.com/btcsuite/btcd/chaincfg/chainhash"
)

const (
	// maxFetches is the maximum number of announced transactions of a peer that wait to be fetched.
	maxFetches = 5_000
	// fetchTimeout is the time after which a transaction is requested from another peer.
	fetchTimeout = 10 * time.Second
	// maxSources is the number of peers that are stored as sources of a transaction: more than
	// are connected, unless the merchant names many.
	maxSources = 2 * outbound
)

// fetches are the announced transactions that are not delivered yet. Each is requested from one
// peer at a time.
type fetches struct {
	byTx  map[chainhash.Hash]*fetch
	count map[int32]int // number of fetches by peer that is a source
}

type fetch struct {
	requestedAt time.Time
	peers       []int32 // sources; it is requested from the first
}

func newFetches() fetches {
	return fetches{byTx: map[chainhash.Hash]*fetch{}, count: map[int32]int{}}
}

// isFull reports whether a peer has announced too many transactions that are not fetched.
func (f *fetches) isFull(peer int32) bool { return f.count[peer] >= maxFetches }

// addSource adds a peer as a source of a transaction, and reports whether to request the
// transaction now.
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

// remove ends the fetch of a transaction, and reports whether it was requested.
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

// nextPeer returns the next peer to request a transaction from after a peer did not deliver it.
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

// overdue returns the transactions that are not delivered after fetchTimeout, by the peer from which they were
// requested.
func (f *fetches) overdue(now time.Time) map[int32][]chainhash.Hash {
	overdue := map[int32][]chainhash.Hash{}
	for id, current := range f.byTx {
		if now.Sub(current.requestedAt) >= fetchTimeout {
			overdue[current.peers[0]] = append(overdue[current.peers[0]], id)
		}
	}
	return overdue
}

// removePeer removes a disconnected peer from the sources, and returns the transactions that were
// requested from it.
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
