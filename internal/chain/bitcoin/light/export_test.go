package light

import (
	"iter"
	"math/big"
	"net/netip"
	"testing"
	"time"

	"github.com/btcsuite/btcd/chaincfg/chainhash"
	"github.com/btcsuite/btcd/wire"
	"github.com/btcsuite/btcwallet/walletdb"

	"chequer/internal/chain"
	"chequer/internal/chain/bitcoin"
)

// Heard tells whether enough peers announced a transaction, and it was fetched.
func Heard(c *Client, tx string) bool {
	return !c.Seen(tx).IsZero()
}

// Remembered is how many transactions a client remembers, and how many it has
// yet to fetch.
func Remembered(c *Client) (entries, fetches int) {
	c.life.RLock()
	defer c.life.RUnlock()
	if c.parts == nil {
		return 0, 0
	}
	c.pool.mu.Lock()
	defer c.pool.mu.Unlock()
	c.listener.mu.Lock()
	defer c.listener.mu.Unlock()
	return len(c.pool.entries), len(c.listener.fetches.of)
}

// Group is the group of an address.
func Group(address string) uint64 { return uint64(groupOf(netip.MustParseAddr(address))) }

// Witness is a peer's word.
type Witness struct {
	Group       int
	Tip, Filter byte
}

// Judge judges a tip whose hash and filter header are of ones.
func Judge(t Trust, height int64, age time.Duration, work int64, witnesses []Witness) string {
	now := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	var list []witness
	for _, w := range witnesses {
		list = append(list, witness{
			group: group(w.Group), tip: chainhash.Hash{w.Tip}, filterOf: chainhash.Hash{w.Tip}, filter: chainhash.Hash{w.Filter},
		})
	}
	tip := tip{height: height, hash: chainhash.Hash{1}, filter: chainhash.Hash{1}, time: now.Add(-age), work: big.NewInt(work)}
	if err := t.judge(tip, list, now); err != nil {
		return err.Error()
	}
	return ""
}

// Pool is a pool with a clock of the test's.
type Pool struct {
	*pool
	Now   time.Time
	Rings int
	db    walletdb.DB
	path  string
}

// NewPool is an empty pool.
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
	p.pool, err = newPool(announcers, store, func() time.Time { return p.Now }, func() { p.Rings++ })
	if err != nil {
		t.Fatal(err)
	}
}

// Restart makes the pool anew from what it saved.
func (p *Pool) Restart(t *testing.T) {
	t.Helper()
	p.Sweep(t)
	if err := p.db.Close(); err != nil {
		t.Fatal(err)
	}
	p.open(t, p.announcers)
}

// Announce lets groups announce a transaction, a second apart, and delivers it.
func (p *Pool) Announce(tx *wire.MsgTx, groups ...int) {
	for _, g := range groups {
		p.Now = p.Now.Add(time.Second)
		if p.announced(tx.TxHash(), group(g)) {
			p.delivered(tx, group(g))
		}
	}
}

// AnnounceHash lets a group announce what is never delivered.
func (p *Pool) AnnounceHash(id chainhash.Hash, by int) { p.announced(id, group(by)) }

func (p *Pool) Waiting(w chain.Watched) ([]bitcoin.Tx, []chain.Conflict) { return p.waiting(w) }
func (p *Pool) Seen(tx string) time.Time                                 { return p.seen(tx) }
func (p *Pool) Inputs(mark uint64) (iter.Seq[string], uint64)            { return p.scriptsSpent(mark) }
func (p *Pool) Pending(outpoint string) bool                             { return p.pending(outpoint) }
func (p *Pool) Block(txs ...bitcoin.Tx)                                  { p.block(txs) }
func (p *Pool) Buried(ids ...string)                                     { p.buried(ids) }
func (p *Pool) Len() int                                                 { return len(p.entries) }

func (p *Pool) Sweep(t *testing.T) {
	t.Helper()
	if err := p.sweep(); err != nil {
		t.Fatal(err)
	}
}
