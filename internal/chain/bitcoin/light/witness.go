package light

import (
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
	if l.tip.height == 0 || l.tip.height+near < l.claimed() {
		return
	}
	if r.owed = !r.asks.AllowN(l.now(), 1); r.owed {
		return
	}
	m, parent := wire.NewMsgGetHeaders(), l.tip.parent
	m.BlockLocatorHashes = []*chainhash.Hash{&parent}
	r.peer.QueueMessage(m, nil)
}

// moved asks all peers about a new tip.
func (l *listener) moved(tip tip) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tip, l.asked = tip, l.now()
	for _, r := range l.remotes {
		l.ask(r)
		l.askFilter(r)
	}
}

// toldTip takes in a peer's newest blocks.
func (l *listener) toldTip(r *remote, m *wire.MsgHeaders) {
	l.mu.Lock()
	defer l.answered()
	defer l.mu.Unlock()
	r.told, r.witness.tip = l.now(), chainhash.Hash{}
	for i, h := range m.Headers {
		hash := h.BlockHash()
		if i > 0 && h.PrevBlock != r.witness.tip {
			r.peer.Disconnect()
			return
		}
		r.witness.tip = hash
	}
	l.askFilter(r)
}

// askFilter asks a peer that agrees on the tip for its filter header. One that
// does not know the block would end the connection.
func (l *listener) askFilter(r *remote) {
	if r.witness.tip != l.tip.hash || r.witness.filterOf == l.tip.hash || r.peer.Services()&wire.SFNodeCF == 0 {
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

// expel ends the connections to peers whose filters are not those that the
// others serve.
func (l *listener) expel(now time.Time) {
	served := map[group]bool{}
	var wrong []*remote
	for _, r := range l.remotes {
		switch {
		case r.witness.filterOf != l.tip.hash:
		case r.witness.filter == l.tip.filter:
			served[r.group] = true
		default:
			wrong = append(wrong, r)
		}
	}
	if len(served) < max(l.network.Trust.Filters, 1) {
		return
	}
	for _, r := range wrong {
		l.banned[r.group] = now.Add(24 * time.Hour)
		r.peer.Disconnect()
	}
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
