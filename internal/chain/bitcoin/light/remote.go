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

// remote is a connected peer. Its traffic is limited: beyond the limits it is disconnected.
type remote struct {
	peer       *peer.Peer
	group      group
	address    netip.Addr
	discovered bool // not named by the merchant

	bytes, messages, items, asks *rate.Limiter

	// The listener's lock guards the fields below.
	id          int32 // of the connected peer
	answer      tipAnswer
	receivedAt  time.Time // time of its last answer about its tip
	askPending  bool      // a request was postponed by the rate limit
	undelivered int       // number of transactions that it announced and did not deliver in a usable form
	isGone      bool
}

// maxUndelivered is the number of announced transactions that a peer may fail to deliver.
const maxUndelivered = 500

func newRemote(to net.Addr, discovered bool) *remote {
	g := groupOfPeer(to)
	return &remote{
		group: g, address: addressOf(to), discovered: discovered, answer: tipAnswer{group: g},
		// An honest peer sends about 20 transactions a second, far below these limits.
		bytes:    rate.NewLimiter(1<<20, 16<<20),
		messages: rate.NewLimiter(500, 5_000),
		items:    rate.NewLimiter(500, 2*wire.MaxInvPerMsg),
		asks:     rate.NewLimiter(5, 50),
	}
}

// config returns the configuration of a connection to a peer. It shows the same version as
// neutrino, so that a peer cannot recognise the client as a shop.
func (l *listener) config(r *remote) *peer.Config {
	return &peer.Config{
		UserAgentName: neutrino.UserAgentName, UserAgentVersion: neutrino.UserAgentVersion,
		ChainParams: l.network.Params,
		Listeners: peer.MessageListeners{
			OnVersion: func(p *peer.Peer, m *wire.MsgVersion) *wire.MsgReject {
				if r.discovered && (m.DisableRelayTx || m.Services&requiredServices != requiredServices) {
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
			OnInv:       func(_ *peer.Peer, m *wire.MsgInv) { l.handleAnnouncements(r, m) },
			OnTx:        func(_ *peer.Peer, m *wire.MsgTx) { l.handleTx(r, m) },
			OnNotFound:  func(_ *peer.Peer, m *wire.MsgNotFound) { l.handleNotFound(r, m) },
			OnHeaders:   func(_ *peer.Peer, m *wire.MsgHeaders) { l.handleTip(r, m) },
			OnCFHeaders: func(_ *peer.Peer, m *wire.MsgCFHeaders) { l.handleFilter(r, m) },
			OnAddr: func(p *peer.Peer, m *wire.MsgAddr) {
				for _, a := range m.AddrList {
					l.book.add(p, wire.NetAddressV2FromBytes(a.Timestamp, a.Services, a.IP, a.Port))
				}
			},
			OnAddrV2: func(p *peer.Peer, m *wire.MsgAddrV2) { l.book.add(p, m.AddrList...) },
		},
	}
}

// writeTimeout is the time that a peer may take to read a message.
const writeTimeout = 20 * time.Second

// timeoutConn fails writes to a peer that does not read within writeTimeout.
type timeoutConn struct{ net.Conn }

func (c timeoutConn) Write(b []byte) (int, error) {
	if err := c.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
		return 0, err
	}
	return c.Conn.Write(b)
}

// maxRequested is the number of transactions in one request, as in Bitcoin Core.
const maxRequested = 1000

// askFor requests transactions from a peer.
func askFor(p *peer.Peer, ids []chainhash.Hash) {
	for len(ids) > 0 {
		batch := ids[:min(len(ids), maxRequested)]
		ids = ids[len(batch):]
		m := wire.NewMsgGetDataSizeHint(uint(len(batch)))
		for i := range batch {
			m.InvList = append(m.InvList, wire.NewInvVect(wire.InvTypeWitnessTx, &batch[i]))
		}
		p.QueueMessage(m, nil)
	}
}
