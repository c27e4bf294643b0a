package light

import (
	"net"
	"net/netip"
	"time"

	"github.com/btcsuite/btcd/chaincfg/chainhash"
	"github.com/btcsuite/btcd/peer"
	"github.com/btcsuite/btcd/wire"
	"github.com/lightninglabs/neutrino"
	"golang.org/x/time/rate"
)

// remote is a peer that we are connected to. What it may cost us is bounded: it
// is disconnected when it goes beyond.
type remote struct {
	peer       *peer.Peer
	group      group
	address    netip.Addr
	discovered bool // not one that the merchant named

	bytes, messages, items, asks *rate.Limiter

	// The listener's lock guards the fields below.
	id      int32 // of the connected peer
	witness witness
	told    time.Time // when it told its tip
	owed    bool      // a question that came too soon
	failed  int       // transactions that it announced and did not deliver as they can be kept
	gone    bool
}

// strikes is how often a peer may fail to deliver what it announced.
const strikes = 500

func newRemote(to net.Addr, discovered bool) *remote {
	g := groupOfPeer(to)
	return &remote{
		group: g, address: addressOf(to), discovered: discovered, witness: witness{group: g},
		// Far more than an honest peer sends: some 20 transactions a second.
		bytes:    rate.NewLimiter(1<<20, 16<<20),
		messages: rate.NewLimiter(500, 5_000),
		items:    rate.NewLimiter(500, 2*wire.MaxInvPerMsg),
		asks:     rate.NewLimiter(5, 50),
	}
}

// config is how the listener talks to a peer. It says what every neutrino does,
// so that nothing tells that a shop is behind it.
func (l *listener) config(r *remote) *peer.Config {
	return &peer.Config{
		UserAgentName: neutrino.UserAgentName, UserAgentVersion: neutrino.UserAgentVersion,
		ChainParams: l.network.Params,
		Listeners: peer.MessageListeners{
			OnVersion: func(p *peer.Peer, m *wire.MsgVersion) *wire.MsgReject {
				if r.discovered && (m.DisableRelayTx || m.Services&wanted != wanted) {
					p.Disconnect()
				}
				return nil
			},
			OnVerAck: func(*peer.Peer, *wire.MsgVerAck) { l.add(r) },
			OnRead: func(p *peer.Peer, bytes int, _ wire.Message, _ error) {
				if now := l.now(); !r.bytes.AllowN(now, bytes) || !r.messages.AllowN(now, 1) {
					p.Disconnect()
				}
			},
			OnInv:       func(_ *peer.Peer, m *wire.MsgInv) { l.announced(r, m) },
			OnTx:        func(_ *peer.Peer, m *wire.MsgTx) { l.delivered(r, m) },
			OnNotFound:  func(_ *peer.Peer, m *wire.MsgNotFound) { l.refused(r, m) },
			OnHeaders:   func(_ *peer.Peer, m *wire.MsgHeaders) { l.toldTip(r, m) },
			OnCFHeaders: func(_ *peer.Peer, m *wire.MsgCFHeaders) { l.toldFilter(r, m) },
			OnAddr: func(p *peer.Peer, m *wire.MsgAddr) {
				for _, a := range m.AddrList {
					l.book.learn(p, wire.NetAddressV2FromBytes(a.Timestamp, a.Services, a.IP, a.Port))
				}
			},
			OnAddrV2: func(p *peer.Peer, m *wire.MsgAddrV2) { l.book.learn(p, m.AddrList...) },
		},
	}
}

// patientConn ends a connection whose other end does not read.
type patientConn struct{ net.Conn }

func (c patientConn) Write(b []byte) (int, error) {
	if err := c.SetWriteDeadline(time.Now().Add(20 * time.Second)); err != nil {
		return 0, err
	}
	return c.Conn.Write(b)
}

// askFor asks a peer for transactions.
func askFor(p *peer.Peer, ids []chainhash.Hash) {
	for len(ids) > 0 {
		some := ids[:min(len(ids), 1000)]
		ids = ids[len(some):]
		m := wire.NewMsgGetDataSizeHint(uint(len(some)))
		for i := range some {
			m.InvList = append(m.InvList, wire.NewInvVect(wire.InvTypeWitnessTx, &some[i]))
		}
		p.QueueMessage(m, nil)
	}
}
