package light

import (
	"slices"
	"time"

	"github.com/btcsuite/btcd/chaincfg/chainhash"
)

const (
	// mostFetches is how many transactions a peer may have announced that were not
	// fetched yet.
	mostFetches = 5_000
	// slow is when a transaction is asked of another peer that announced it.
	slow = 10 * time.Second
	// mostPeers is how many peers are remembered to ask for a transaction: more than
	// are connected, unless the merchant names many.
	mostPeers = 2 * outbound
)

// fetches is what was announced and is not here yet: each transaction is asked of
// one peer at a time.
type fetches struct {
	of    map[chainhash.Hash]*fetch
	count map[int32]int // fetches by peer that they may be asked of
}

type fetch struct {
	asked time.Time
	peers []int32 // the first was asked, the others announced it too
}

func newFetches() fetches {
	return fetches{of: map[chainhash.Hash]*fetch{}, count: map[int32]int{}}
}

// full tells whether a peer may announce nothing more for now.
func (f *fetches) full(peer int32) bool { return f.count[peer] >= mostFetches }

// announced takes in that a peer can be asked for a transaction, and tells whether
// it is to be asked now.
func (f *fetches) announced(id chainhash.Hash, peer int32, now time.Time) (ask bool) {
	one := f.of[id]
	if one == nil {
		one = &fetch{asked: now}
		f.of[id] = one
		ask = true
	}
	if len(one.peers) < mostPeers && !slices.Contains(one.peers, peer) {
		one.peers = append(one.peers, peer)
		f.count[peer]++
	}
	return ask
}

// pending reports whether a transaction was announced and has not been delivered.
func (f *fetches) pending(id chainhash.Hash) bool { return f.of[id] != nil }

// delivered tells whether a transaction was asked for, and ends its fetch.
func (f *fetches) delivered(id chainhash.Hash) bool {
	one := f.of[id]
	if one == nil {
		return false
	}
	for _, peer := range one.peers {
		f.uncount(peer)
	}
	delete(f.of, id)
	return true
}

// refused asks the next peer for a transaction that one does not have.
func (f *fetches) refused(id chainhash.Hash, peer int32, now time.Time) (next int32, ok bool) {
	one := f.of[id]
	if one == nil || len(one.peers) == 0 || one.peers[0] != peer {
		return 0, false
	}
	f.uncount(peer)
	one.peers = one.peers[1:]
	if len(one.peers) == 0 {
		delete(f.of, id)
		return 0, false
	}
	one.asked = now
	return one.peers[0], true
}

// overdue lists, by the peer that was asked, what did not come in time.
func (f *fetches) overdue(now time.Time) map[int32][]chainhash.Hash {
	late := map[int32][]chainhash.Hash{}
	for id, one := range f.of {
		if now.Sub(one.asked) >= slow {
			late[one.peers[0]] = append(late[one.peers[0]], id)
		}
	}
	return late
}

// gone lists what was asked of a peer that is no longer connected, and forgets
// that the peer announced anything.
func (f *fetches) gone(peer int32) (asked []chainhash.Hash) {
	for id, one := range f.of {
		switch i := slices.Index(one.peers, peer); {
		case i == 0:
			asked = append(asked, id)
		case i > 0:
			one.peers = slices.Delete(one.peers, i, i+1)
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
