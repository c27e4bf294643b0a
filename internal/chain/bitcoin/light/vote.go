package light

import (
	"net"
	"slices"
	"time"

	"github.com/btcsuite/btcd/chaincfg/chainhash"
	"github.com/btcsuite/btcd/wire"
)

// tipAnswer is a connected peer's answer about the tip.
type tipAnswer struct {
	group    group
	tip      chainhash.Hash // the peer's newest block
	filterOf chainhash.Hash // the block of its filter header
	filter   chainhash.Hash
}

// askTip asks a peer for the headers after the parent of the tip. If they do not include the tip, the
// peer does not agree. While the tip is far behind the network, askTip does nothing, because there
// would be too many headers.
func (l *listener) askTip(r *remote) {
	if l.tip.height == 0 || l.behind() {
		return
	}
	if r.askPending = !r.asks.AllowN(l.now(), 1); r.askPending {
		return
	}
	m, parent := wire.NewMsgGetHeaders(), l.tip.parent
	m.BlockLocatorHashes = []*chainhash.Hash{&parent}
	r.peer.QueueMessage(m, nil)
}

// behind reports whether the tip is many blocks below the height that the peers claim.
func (l *listener) behind() bool { return l.tip.height+maxBehind < l.claimedHeight() }

// setTip sets the tip and asks all peers about it.
func (l *listener) setTip(tip tip) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tip, l.askedAt = tip, l.now()
	l.outvotedSince = time.Time{}
	for _, r := range l.remotes {
		l.askTip(r)
		if r.answer.tip == tip.hash {
			l.askFilter(r)
		}
	}
}

// handleTip handles a peer's newest headers.
func (l *listener) handleTip(r *remote, m *wire.MsgHeaders) {
	l.mu.Lock()
	defer l.onTipAnswer()
	defer l.mu.Unlock()
	r.receivedAt, r.answer.tip = l.now(), chainhash.Hash{}
	hasTip := false
	for i, h := range m.Headers {
		hash := h.BlockHash()
		if i > 0 && h.PrevBlock != r.answer.tip {
			r.peer.Disconnect()
			return
		}
		r.answer.tip = hash
		hasTip = hasTip || hash == l.tip.hash
	}
	if hasTip {
		l.askFilter(r)
	}
}

// askFilter asks a peer for the filter header of the tip. The peer must have the tip's block in
// its chain; otherwise it would end the connection.
func (l *listener) askFilter(r *remote) {
	if l.tip.height == 0 || r.answer.filterOf == l.tip.hash || r.peer.Services()&wire.SFNodeCF == 0 {
		return
	}
	hash := l.tip.hash
	r.peer.QueueMessage(wire.NewMsgGetCFHeaders(wire.GCSFilterRegular, uint32(l.tip.height), &hash), nil)
}

// handleFilter handles a peer's filter header for a block.
func (l *listener) handleFilter(r *remote, m *wire.MsgCFHeaders) {
	l.mu.Lock()
	defer l.onTipAnswer()
	defer l.mu.Unlock()
	if len(m.FilterHashes) != 1 || m.FilterType != wire.GCSFilterRegular {
		return
	}
	// See BIP 157, "Filter Headers".
	r.answer.filterOf = m.StopHash
	r.answer.filter = chainhash.DoubleHashH(slices.Concat(m.FilterHashes[0][:], m.PrevFilterHeader[:]))
}

// vote returns the filter header that the peers agree on for the tip. It is another header than the
// stored one only if peers of enough groups serve it, of more groups than serve the stored one, and
// of more than half of all groups. ok is false if too few groups serve the same header.
func (l *listener) vote() (agreed chainhash.Hash, ok bool) {
	votes, allGroups := map[chainhash.Hash]map[group]bool{}, map[group]bool{}
	for _, r := range l.remotes {
		if r.peer.Services()&wire.SFNodeCF == 0 {
			continue
		}
		allGroups[r.group] = true
		if r.answer.filterOf == l.tip.hash {
			if votes[r.answer.filter] == nil {
				votes[r.answer.filter] = map[group]bool{}
			}
			votes[r.answer.filter][r.group] = true
		}
	}
	required, stored := max(l.network.Trust.Filters, 1), len(votes[l.tip.filter])
	for filter, groups := range votes {
		if n := len(groups); n >= required && n > stored && 2*n > len(allGroups) && len(allGroups) >= l.network.Trust.Peers {
			return filter, true
		}
	}
	return l.tip.filter, stored >= required
}

// outvoteDelay is the time that peers must agree on another filter header before the stored
// headers are deleted, so that all peers can answer.
const outvoteDelay = 10 * time.Second

// outvoted reports whether the peers have agreed for outvoteDelay on another filter header for the tip
// than the stored one.
func (l *listener) outvoted() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.outvotedSince.IsZero() && l.now().Sub(l.outvotedSince) >= outvoteDelay
}

// banTime is the time for which the group of a peer with a contradicted filter header is not connected.
const banTime = 24 * time.Hour

// disconnectContradicting disconnects peers whose filter header differs from the agreed one. It sets
// outvotedSince while the stored filter header differs from the agreed one.
func (l *listener) disconnectContradicting(now time.Time) {
	filter, agreed := l.vote()
	switch {
	case !agreed || filter == l.tip.filter:
		l.outvotedSince = time.Time{}
	case l.outvotedSince.IsZero():
		l.outvotedSince = now
	}
	if !agreed || !l.outvotedSince.IsZero() && now.Sub(l.outvotedSince) < outvoteDelay {
		return
	}
	for _, r := range l.remotes {
		if r.answer.filterOf == l.tip.hash && r.answer.filter != filter {
			l.banned[r.group] = now.Add(banTime)
			if !l.outvotedSince.IsZero() {
				l.contradicted[r.address] = now.Add(banTime)
			}
			r.peer.Disconnect()
		}
	}
}

// isContradicted reports whether a peer served a filter header that the others contradicted.
func (l *listener) isContradicted(to net.Addr) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.now().Before(l.contradicted[addressOf(to)])
}

// tipAnswers returns the recent answers of the connected peers about the tip.
func (l *listener) tipAnswers() (list []tipAnswer, connected int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	for _, r := range l.remotes {
		if now.Sub(r.receivedAt) < tipAnswerTTL {
			list = append(list, r.answer)
		}
	}
	return list, len(l.remotes)
}

// height returns the median height that the peers claim; 0 without peers.
func (l *listener) height() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.claimedHeight()
}

func (l *listener) claimedHeight() int64 {
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
