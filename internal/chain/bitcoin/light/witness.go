package light

import (
	"net"
	"slices"
	"time"

	"github.com/btcsuite/btcd/chaincfg/chainhash"
	"github.com/btcsuite/btcd/wire"
)

// witness is what a connected peer told of the tip.
type witness struct {
	group    group
	tip      chainhash.Hash // its own newest block
	filterOf chainhash.Hash // the block that it served a filter header for
	filter   chainhash.Hash
}

// ask asks a peer for what comes after our tip's parent: its first block is our
// tip, or it does not agree. While we are far behind that would be many.
func (l *listener) ask(r *remote) {
	if l.tip.height == 0 || l.behind() {
		return
	}
	if r.owed = !r.asks.AllowN(l.now(), 1); r.owed {
		return
	}
	m, parent := wire.NewMsgGetHeaders(), l.tip.parent
	m.BlockLocatorHashes = []*chainhash.Hash{&parent}
	r.peer.QueueMessage(m, nil)
}

// behind reports whether peers have many more blocks than we have.
func (l *listener) behind() bool { return l.tip.height+near < l.claimed() }

// moved asks all peers about a new tip.
func (l *listener) moved(tip tip) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tip, l.asked = tip, l.now()
	l.outvotedSince = time.Time{}
	for _, r := range l.remotes {
		l.ask(r)
		if r.witness.tip == tip.hash {
			l.askFilter(r)
		}
	}
}

// toldTip takes in a peer's newest blocks.
func (l *listener) toldTip(r *remote, m *wire.MsgHeaders) {
	l.mu.Lock()
	defer l.answered()
	defer l.mu.Unlock()
	r.told, r.witness.tip = l.now(), chainhash.Hash{}
	knows := false
	for i, h := range m.Headers {
		hash := h.BlockHash()
		if i > 0 && h.PrevBlock != r.witness.tip {
			r.peer.Disconnect()
			return
		}
		r.witness.tip = hash
		knows = knows || hash == l.tip.hash
	}
	if knows {
		l.askFilter(r)
	}
}

// askFilter asks a peer that has the tip's block in its chain for the filter header.
// A peer that does not know the block would end the connection.
func (l *listener) askFilter(r *remote) {
	if l.tip.height == 0 || r.witness.filterOf == l.tip.hash || r.peer.Services()&wire.SFNodeCF == 0 {
		return
	}
	hash := l.tip.hash
	r.peer.QueueMessage(wire.NewMsgGetCFHeaders(wire.GCSFilterRegular, uint32(l.tip.height), &hash), nil)
}

// toldFilter takes in the filter header that a peer holds for a block.
func (l *listener) toldFilter(r *remote, m *wire.MsgCFHeaders) {
	l.mu.Lock()
	defer l.answered()
	defer l.mu.Unlock()
	if len(m.FilterHashes) != 1 || m.FilterType != wire.GCSFilterRegular {
		return
	}
	// See BIP 157, "Filter Headers".
	r.witness.filterOf = m.StopHash
	r.witness.filter = chainhash.DoubleHashH(slices.Concat(m.FilterHashes[0][:], m.PrevFilterHeader[:]))
}

// vote returns the filter header that the peers agree on for the tip: the stored
// one, unless peers of enough groups serve another one, and these are more than
// serve the stored one and more than half of all. It is false when peers of too few
// groups serve the same.
func (l *listener) vote() (chainhash.Hash, bool) {
	votes, all := map[chainhash.Hash]map[group]bool{}, map[group]bool{}
	for _, r := range l.remotes {
		if r.peer.Services()&wire.SFNodeCF == 0 {
			continue
		}
		all[r.group] = true
		if r.witness.filterOf == l.tip.hash {
			if votes[r.witness.filter] == nil {
				votes[r.witness.filter] = map[group]bool{}
			}
			votes[r.witness.filter][r.group] = true
		}
	}
	enough, stored := max(l.network.Trust.Filters, 1), len(votes[l.tip.filter])
	for filter, groups := range votes {
		if n := len(groups); n >= enough && n > stored && 2*n > len(all) && len(all) >= l.network.Trust.Peers {
			return filter, true
		}
	}
	return l.tip.filter, stored >= enough
}

// settled is how long peers must agree on another filter header before the stored
// ones are dropped: until all of them have answered.
const settled = 10 * time.Second

// outvoted reports whether the peers have agreed for a while on another filter
// header for the tip than the stored one.
func (l *listener) outvoted() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.outvotedSince.IsZero() && l.now().Sub(l.outvotedSince) >= settled
}

// expel ends the connections to peers whose filters are not those that the others
// agree on, and notes since when the stored filter header is not.
func (l *listener) expel(now time.Time) {
	filter, agreed := l.vote()
	switch {
	case !agreed || filter == l.tip.filter:
		l.outvotedSince = time.Time{}
	case l.outvotedSince.IsZero():
		l.outvotedSince = now
	}
	if !agreed || !l.outvotedSince.IsZero() && now.Sub(l.outvotedSince) < settled {
		return
	}
	for _, r := range l.remotes {
		if r.witness.filterOf == l.tip.hash && r.witness.filter != filter {
			l.banned[r.group] = now.Add(24 * time.Hour)
			if !l.outvotedSince.IsZero() {
				l.liars[r.address] = now.Add(24 * time.Hour)
			}
			r.peer.Disconnect()
		}
	}
}

// lied reports whether a peer served a filter header that the others contradicted.
func (l *listener) lied(to net.Addr) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.now().Before(l.liars[addressOf(to)])
}

// witnesses are what the connected peers told of the tip lately.
func (l *listener) witnesses() (list []witness, connected int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	for _, r := range l.remotes {
		if now.Sub(r.told) < stale {
			list = append(list, r.witness)
		}
	}
	return list, len(l.remotes)
}

// height is how high the chain is, as the peer in the middle says; 0 without
// peers.
func (l *listener) height() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.claimed()
}

func (l *listener) claimed() int64 {
	var heights []int32
	for _, r := range l.remotes {
		heights = append(heights, r.peer.StartingHeight())
	}
	if len(heights) == 0 {
		return 0
	}
	slices.Sort(heights)
	return int64(heights[(len(heights)-1)/2])
}
