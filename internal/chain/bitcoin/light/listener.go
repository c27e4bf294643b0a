package light

import (
	"chequer/internal/clock"
	"context"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/btcsuite/btcd/chaincfg/chainhash"
	"github.com/btcsuite/btcd/peer"
	"github.com/btcsuite/btcd/wire"
)

const (
	// outbound is the number of peers that the listener connects to.
	outbound = 8
	// askInterval is the interval at which each peer is asked for its tip.
	askInterval = 30 * time.Second
	// tipAnswerTTL is the time that a peer's answer about its tip counts.
	tipAnswerTTL = 2 * time.Minute
	// maxBehind is the number of blocks below the claimed height that may be missing.
	maxBehind = 6
	// requiredServices are the services that discovered peers must have.
	requiredServices = wire.SFNodeNetwork | wire.SFNodeWitness | wire.SFNodeCF
)

// listener is connected to several peers. It receives announcements of transactions, and asks
// each peer for its tip and its filter header.
type listener struct {
	network     Network
	configured  []string     // addresses of the peers that the merchant named
	book        *addressBook // nil if no peers are discovered
	pool        *pool
	now         func() time.Time
	onTipAnswer func() // called after a peer sent its tip or a filter header

	mu           sync.Mutex
	remotes      map[int32]*remote
	connections  map[group]int // number of connections, including those being opened
	banned       map[group]time.Time
	contradicted map[netip.Addr]time.Time // end of the time during which neutrino does not connect to them
	fetches      fetches
	tip          tip
	askedAt      time.Time
	// outvotedSince is the time since which the peers agree on another filter header than
	// the tip's; zero while they do not.
	outvotedSince  time.Time
	connectedSince time.Time // time since which enough groups are connected; zero while they are not
}

// newListener returns a listener that is not connected yet. It calls onTipAnswer when
// a peer has sent its tip or a filter header.
func newListener(network Network, configured []string, pool *pool, now func() time.Time, onTipAnswer func()) *listener {
	return &listener{
		network: network, configured: configured, pool: pool, now: now, onTipAnswer: onTipAnswer,
		remotes: map[int32]*remote{}, connections: map[group]int{}, banned: map[group]time.Time{}, contradicted: map[netip.Addr]time.Time{}, fetches: newFetches(),
	}
}

// run keeps the connections open until the context ends.
func (l *listener) run(ctx context.Context) {
	var wg sync.WaitGroup
	defer wg.Wait()
	for _, address := range l.configured {
		wg.Go(func() { l.stayConnected(ctx, address) })
	}
	if l.book != nil {
		for range max(outbound-len(l.configured), 0) {
			wg.Go(func() { l.connectDiscovered(ctx) })
		}
	}
}

// stayConnected stays connected to a configured peer.
func (l *listener) stayConnected(ctx context.Context, address string) {
	if _, _, err := net.SplitHostPort(address); err != nil {
		address = net.JoinHostPort(address, l.network.Params.DefaultPort)
	}
	const soonest, latest = time.Second, time.Minute
	for wait := soonest; ; wait = min(2*wait, latest) {
		if l.serve(ctx, address, false) {
			wait = soonest
		}
		if !clock.Sleep(ctx, wait) {
			return
		}
	}
}

// connectDiscovered connects to discovered peers, one after the other, each of another group.
func (l *listener) connectDiscovered(ctx context.Context) {
	for {
		na, ok := l.book.next(l.reserve)
		if !ok {
			l.book.askSeeds(ctx)
			if !clock.Sleep(ctx, 10*time.Second) {
				return
			}
			continue
		}
		if l.serve(ctx, dialAddress(na), true) {
			l.book.markGood(na)
		}
		l.release(groupOfNA(na))
		if !clock.Sleep(ctx, time.Second) {
			return
		}
	}
}

// reserve reserves a group for a connection, unless there is a connection to it.
func (l *listener) reserve(g group) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.connections[g] > 0 || l.now().Before(l.banned[g]) {
		return false
	}
	l.connections[g]++
	return true
}

func (l *listener) release(g group) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.connections[g]--; l.connections[g] <= 0 {
		delete(l.connections, g)
	}
}

// serve connects to a peer and waits until the connection ends. It reports whether the
// handshake was completed.
func (l *listener) serve(ctx context.Context, address string, discovered bool) bool {
	dialer := net.Dialer{Timeout: 10 * time.Second}
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return false
	}
	r := newRemote(conn.RemoteAddr(), discovered)
	if r.peer, err = peer.NewOutboundPeer(l.config(r), conn.RemoteAddr().String()); err != nil {
		conn.Close()
		return false
	}
	if !discovered {
		l.mu.Lock()
		l.connections[r.group]++
		l.mu.Unlock()
		defer l.release(r.group)
	}
	r.peer.AssociateConnection(timeoutConn{conn})
	defer context.AfterFunc(ctx, r.peer.Disconnect)()
	r.peer.WaitForDisconnect()
	l.remove(r)
	return r.peer.VerAckReceived()
}

// add adds a peer after the handshake.
func (l *listener) add(r *remote) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r.isGone {
		return
	}
	r.id = r.peer.ID()
	l.remotes[r.id] = r
	l.updateConnectedSince()
	l.askTip(r)
	if r.discovered && l.book.needsAddresses() {
		r.peer.QueueMessage(wire.NewMsgGetAddr(), nil)
	}
}

// remove removes a peer, and requests its outstanding transactions from others.
func (l *listener) remove(r *remote) {
	l.mu.Lock()
	r.isGone = true
	if l.remotes[r.id] == r {
		delete(l.remotes, r.id)
		l.askOthers(r.id, l.fetches.removePeer(r.id))
	}
	l.updateConnectedSince()
	l.mu.Unlock()
	l.onTipAnswer()
}

// updateConnectedSince updates the time since which enough groups are connected.
func (l *listener) updateConnectedSince() {
	groups := map[group]bool{}
	for _, r := range l.remotes {
		groups[r.group] = true
	}
	switch {
	case len(groups) < l.network.Trust.Peers:
		l.connectedSince = time.Time{}
	case l.connectedSince.IsZero():
		l.connectedSince = l.now()
	}
}

// handleAnnouncements handles a peer's announcements.
func (l *listener) handleAnnouncements(r *remote, m *wire.MsgInv) {
	now := l.now()
	if !r.items.AllowN(now, len(m.InvList)) {
		r.peer.Disconnect()
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	var fetch []chainhash.Hash
	announcesBlock := false
	for _, i := range m.InvList {
		switch {
		case i.Type == wire.InvTypeBlock:
			announcesBlock = true
		case i.Type != wire.InvTypeTx || l.fetches.isFull(r.id):
		case l.pool.recordAnnouncement(i.Hash, r.group) && l.fetches.addSource(i.Hash, r.id, now):
			fetch = append(fetch, i.Hash)
		}
	}
	askFor(r.peer, fetch)
	if announcesBlock {
		l.askTip(r)
	}
}

// handleTx passes a requested transaction to the pool. A transaction that the pool refuses
// counts as not delivered. Otherwise one peer could hide a payment: it could deliver the
// transaction with a witness that is too large to keep, because the ID does not cover the witness.
func (l *listener) handleTx(r *remote, tx *wire.MsgTx) {
	l.mu.Lock()
	defer l.mu.Unlock()
	id := tx.TxHash()
	if !l.fetches.pending(id) {
		return
	}
	if err := l.pool.storeDelivered(tx, r.group); err != nil {
		l.askOthers(r.id, []chainhash.Hash{id})
		return
	}
	l.fetches.remove(id)
}

// handleNotFound handles a peer's answer that it does not have announced transactions.
func (l *listener) handleNotFound(r *remote, m *wire.MsgNotFound) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, i := range m.InvList {
		l.askOthers(r.id, []chainhash.Hash{i.Hash})
	}
}

// askOthers counts transactions as undelivered by a peer, and requests each of them from the next peer that
// announced it. A peer with more than maxUndelivered is disconnected.
func (l *listener) askOthers(failed int32, ids []chainhash.Hash) {
	if r := l.remotes[failed]; r != nil {
		if r.undelivered += len(ids); r.undelivered > maxUndelivered {
			r.peer.Disconnect()
		}
	}
	now := l.now()
	for _, id := range ids {
		next, ok := l.fetches.nextPeer(id, failed, now)
		for ok && l.remotes[next] == nil {
			next, ok = l.fetches.nextPeer(id, next, now)
		}
		if ok {
			askFor(l.remotes[next].peer, []chainhash.Hash{id})
		}
	}
}

// tick requests overdue transactions from other peers, asks for tips, and disconnects peers that contradict the others.
func (l *listener) tick() {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	for failed, late := range l.fetches.overdue(now) {
		l.askOthers(failed, late)
	}
	l.disconnectContradicting(now)
	askAll := now.Sub(l.askedAt) >= askInterval
	if askAll {
		l.askedAt = now
	}
	for _, r := range l.remotes {
		if askAll && l.behind() {
			// The tip has not changed for a while, although the peers have more blocks.
			l.askFilter(r)
		} else if askAll || r.askPending {
			l.askTip(r)
		}
	}
}

// viewSince returns the time since which announcements are received without a gap.
func (l *listener) viewSince() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.connectedSince
}
