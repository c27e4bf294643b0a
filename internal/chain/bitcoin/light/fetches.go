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
	of    map[chainhash.Hash]*fetch
	count map[int32]int // number of fetches by peer that is a source
}

type fetch struct {
	asked time.Time
	peers []int32 // sources; it is requested from the first
}

func newFetches() fetches {
	return fetches{of: map[chainhash.Hash]*fetch{}, count: map[int32]int{}}
}

// full reports whether a peer has announced too many transactions that are not fetched.
func (f *fetches) full(peer int32) bool { return f.count[peer] >= maxFetches }

// announced adds a peer as a source of a transaction, and reports whether to request the
// transaction now.
func (f *fetches) announced(id chainhash.Hash, peer int32, now time.Time) (ask bool) {
	current := f.of[id]
	if current == nil {
		current = &fetch{asked: now}
		f.of[id] = current
		ask = true
	}
	if len(current.peers) < maxSources && !slices.Contains(current.peers, peer) {
		current.peers = append(current.peers, peer)
		f.count[peer]++
	}
	return ask
}

// pending reports whether a transaction was announced and has not been delivered.
func (f *fetches) pending(id chainhash.Hash) bool { return f.of[id] != nil }

// delivered ends the fetch of a transaction, and reports whether it was requested.
func (f *fetches) delivered(id chainhash.Hash) bool {
	current := f.of[id]
	if current == nil {
		return false
	}
	for _, peer := range current.peers {
		f.uncount(peer)
	}
	delete(f.of, id)
	return true
}

// refused returns the next peer to request a transaction from after a peer did not deliver it.
func (f *fetches) refused(id chainhash.Hash, peer int32, now time.Time) (next int32, ok bool) {
	current := f.of[id]
	if current == nil || len(current.peers) == 0 || current.peers[0] != peer {
		return 0, false
	}
	f.uncount(peer)
	current.peers = current.peers[1:]
	if len(current.peers) == 0 {
		delete(f.of, id)
		return 0, false
	}
	current.asked = now
	return current.peers[0], true
}

// overdue returns the transactions that are not delivered after fetchTimeout, by the peer.
func (f *fetches) overdue(now time.Time) map[int32][]chainhash.Hash {
	late := map[int32][]chainhash.Hash{}
	for id, current := range f.of {
		if now.Sub(current.asked) >= fetchTimeout {
			late[current.peers[0]] = append(late[current.peers[0]], id)
		}
	}
	return late
}

// gone removes a disconnected peer from the sources, and returns the transactions that were
// requested from it.
func (f *fetches) gone(peer int32) (asked []chainhash.Hash) {
	for id, current := range f.of {
		switch i := slices.Index(current.peers, peer); {
		case i == 0:
			asked = append(asked, id)
		case i > 0:
			current.peers = slices.Delete(current.peers, i, i+1)
			f.uncount(peer)
		}
	}
	return asked
}

func (f *fetches) uncount(peer int32) {
	if f.count[peer]--; f.count[peer] <= 0 {
		delete(f.count, peer)
	}
}
