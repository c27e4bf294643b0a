package light

import (
	"iter"
	"math/big"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/btcsuite/btcd/chaincfg"
	"github.com/btcsuite/btcd/chaincfg/chainhash"
	"github.com/btcsuite/btcd/peer"
	"github.com/btcsuite/btcd/wire"
	"github.com/btcsuite/btcwallet/walletdb"

	"chequer/internal/chain"
	"chequer/internal/chain/utxo"
)

// HasTransaction reports whether enough peers announced a transaction, and it was fetched.
func HasTransaction(c *Client, tx string) bool {
	return !c.Seen(tx).IsZero()
}

// SetHeadersTimeout sets the time without new headers after which a client restarts neutrino.
func SetHeadersTimeout(c *Client, after time.Duration) { c.headersTimeout = after }

// Stored returns the number of transactions of a client, and how many of them are not fetched
// yet.
func Stored(c *Client) (entries, fetches int) {
	c.componentsMu.RLock()
	defer c.componentsMu.RUnlock()
	if c.components == nil {
		return 0, 0
	}
	c.pool.mu.Lock()
	defer c.pool.mu.Unlock()
	c.listener.mu.Lock()
	defer c.listener.mu.Unlock()
	return len(c.pool.entries), len(c.listener.fetches.byTx)
}

// Gate exports gate.
type Gate struct{ *gate }

func NewGate(groups int) Gate               { return Gate{newGate(groups)} }
func (g Gate) Guard(conn net.Conn) net.Conn { return g.guard(conn) }

// Matches exports matches.
var Matches = matches

// Group returns the group of an address.
func Group(address string) uint64 { return uint64(groupOf(netip.MustParseAddr(address))) }

// Witness is a peer's answer about the tip.
type Witness struct {
	Group       int
	Tip, Filter byte
}

// CheckTip checks a tip whose hash and filter header start with 1. It returns the error's text.
func CheckTip(t Trust, height int64, age time.Duration, work int64, witnesses []Witness) string {
	now := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	var list []tipAnswer
	for _, w := range witnesses {
		list = append(list, tipAnswer{
			group: group(w.Group), tip: chainhash.Hash{w.Tip}, filterOf: chainhash.Hash{w.Tip}, filter: chainhash.Hash{w.Filter},
		})
	}
	tip := tip{height: height, hash: chainhash.Hash{1}, filter: chainhash.Hash{1}, time: now.Add(-age), work: big.NewInt(work)}
	if err := t.check(tip, list, now); err != nil {
		return err.Error()
	}
	return ""
}

// Pool is a pool with a fake clock.
type Pool struct {
	*pool
	Now   time.Time
	Wakes int
	db    walletdb.DB
	path  string
}

// NewPool returns an empty pool.
func NewPool(t *testing.T, announcers int) *Pool {
	t.Helper()
	p := &Pool{Now: time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC), path: t.TempDir() + "/light.db"}
	p.open(t, announcers)
	t.Cleanup(func() { p.db.Close() })
	return p
}

func (p *Pool) open(t *testing.T, announcers int) {
	t.Helper()
	var err error
	if p.db, err = openFile(p.path); err != nil {
		t.Fatal(err)
	}
	store, err := openStore(p.db, "regtest")
	if err != nil {
		t.Fatal(err)
	}
	var mark uint64
	if p.pool != nil {
		_, mark = p.Inputs(0)
	}
	p.pool, err = newPool(announcers, store, mark, func() time.Time { return p.Now }, func() { p.Wakes++ })
	if err != nil {
		t.Fatal(err)
	}
}

// Restart replaces the pool by a new one with the saved entries.
func (p *Pool) Restart(t *testing.T) {
	t.Helper()
	p.Expire(t)
	if err := p.db.Close(); err != nil {
		t.Fatal(err)
	}
	p.open(t, p.announcers)
}

// Announce lets groups announce a transaction, a second apart, and delivers it.
func (p *Pool) Announce(tx *wire.MsgTx, groups ...int) {
	for _, g := range groups {
		p.Now = p.Now.Add(time.Second)
		if p.recordAnnouncement(tx.TxHash(), group(g)) {
			if err := p.storeDelivered(tx, group(g)); err != nil {
				panic(err)
			}
		}
	}
}

// AnnounceHash lets a group announce a transaction that is never delivered.
func (p *Pool) AnnounceHash(id chainhash.Hash, by int) { p.recordAnnouncement(id, group(by)) }

func (p *Pool) Waiting(w chain.Watched) ([]utxo.Tx, []chain.Conflict) { return p.waiting(w) }
func (p *Pool) Seen(tx string) time.Time                              { return p.seen(tx) }
func (p *Pool) Inputs(mark uint64) (iter.Seq[string], uint64)         { return p.scriptsSpent(mark) }
func (p *Pool) Pending(outpoint string) bool                          { return p.pending(outpoint) }
func (p *Pool) Block(txs ...utxo.Tx)                                  { p.recordBlock(txs) }
func (p *Pool) Buried(ids ...string)                                  { p.forgetBuried(ids) }
func (p *Pool) Len() int                                              { return len(p.entries) }

// Relevant returns the number of relevant transactions and their memory in bytes, as counted by
// the pool.
func (p *Pool) Relevant() (count, bytes int) { return p.relevant.total.count, p.relevant.total.bytes }

// SetMaxRelevant sets the limit of the number of relevant transactions in the pool.
func (p *Pool) SetMaxRelevant(count int) { p.relevant.limit.count = count }

// Stored returns the number of transactions in the store.
func (p *Pool) Stored(t *testing.T) int {
	t.Helper()
	records, err := p.store.load()
	if err != nil {
		t.Fatal(err)
	}
	return len(records)
}

// Expire forgets old entries and saves the changes.
func (p *Pool) Expire(t *testing.T) {
	t.Helper()
	if err := p.expire(); err != nil {
		t.Fatal(err)
	}
}

// Listener is a listener with peers that can announce transactions. Each peer has another
// group, and none is connected.
type Listener struct {
	*listener
	Pool *Pool
}

// NewListener returns a listener with a number of peers. Its pool needs a number of
// announcers.
func NewListener(t *testing.T, announcers, peers int) *Listener {
	t.Helper()
	p := NewPool(t, announcers)
	network := Regtest
	network.Trust.Peers, network.Trust.Announcers = announcers, announcers
	l := &Listener{newListener(network, nil, p.pool, func() time.Time { return p.Now }, func() {}), p}
	for i := range peers {
		r := newRemote(&net.TCPAddr{IP: net.IPv4(127, byte(i+1), 0, 1), Port: 8333}, true)
		var err error
		if r.peer, err = peer.NewOutboundPeer(l.config(r), "127.0.0.1:8333"); err != nil {
			t.Fatal(err)
		}
		r.id = int32(i)
		l.remotes[r.id] = r
	}
	return l
}

// Announce lets a peer announce a transaction.
func (l *Listener) Announce(peer int, tx *wire.MsgTx) {
	m, id := wire.NewMsgInv(), tx.TxHash()
	m.AddInvVect(wire.NewInvVect(wire.InvTypeTx, &id))
	l.handleAnnouncements(l.remotes[int32(peer)], m)
}

// Deliver lets a peer deliver a transaction.
func (l *Listener) Deliver(peer int, tx *wire.MsgTx) { l.handleTx(l.remotes[int32(peer)], tx) }

// Undelivered returns how many transactions a peer failed to deliver.
func (l *Listener) Undelivered(peer int) int { return l.remotes[int32(peer)].undelivered }

// Asked returns the peer that a transaction is requested from, −1 for none.
func (l *Listener) Asked(tx *wire.MsgTx) int {
	if f := l.fetches.byTx[tx.TxHash()]; f != nil {
		return int(f.peers[0])
	}
	return -1
}

// Fetches exports fetches.
type Fetches struct{ fetches }

func NewFetches() *Fetches { return &Fetches{newFetches()} }

func (f *Fetches) AddSource(id chainhash.Hash, peer int32, now time.Time) bool {
	return !f.isFull(peer) && f.addSource(id, peer, now)
}
func (f *Fetches) Remove(id chainhash.Hash) bool                    { return f.remove(id) }
func (f *Fetches) Overdue(now time.Time) map[int32][]chainhash.Hash { return f.overdue(now) }
func (f *Fetches) RemovePeer(peer int32) []chainhash.Hash           { return f.removePeer(peer) }
func (f *Fetches) Len() int                                         { return len(f.byTx) + len(f.count) }
func (f *Fetches) NextPeer(id chainhash.Hash, failed int32, now time.Time) (int32, bool) {
	return f.nextPeer(id, failed, now)
}

// Works returns the work of each of several chains, summed up by one chainWork.
func Works(chains ...[]*wire.BlockHeader) (works []int64, err error) {
	var sums chainWork
	for _, c := range chains {
		w, err := sums.upTo(int64(len(c)-1), func(height int64) (*wire.BlockHeader, error) { return c[height], nil })
		if err != nil {
			return nil, err
		}
		works = append(works, w.Int64())
	}
	return works, nil
}

// NextGroups returns the groups of addresses that a book returns. Every third address of the
// book does not serve filters.
func NextGroups(t *testing.T, addresses []string, count int) (groups []uint64) {
	t.Helper()
	b := newAddressBook(t.TempDir(), &chaincfg.MainNetParams)
	from, err := peer.NewOutboundPeer(&peer.Config{}, addresses[0])
	if err != nil {
		t.Fatal(err)
	}
	for i, a := range addresses {
		services := requiredServices
		if i%3 == 2 {
			services = wire.SFNodeNetwork
		}
		to := netip.MustParseAddrPort(a)
		b.add(from, wire.NetAddressV2FromBytes(time.Now(), services, to.Addr().AsSlice(), to.Port()))
	}
	reserved := map[group]bool{}
	for range count {
		na, ok := b.next(func(g group) bool { isReserved := reserved[g]; reserved[g] = true; return !isReserved })
		if !ok {
			break
		}
		groups = append(groups, uint64(groupOfNA(na)))
	}
	return groups
}
