package node

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/btcsuite/btcd/chaincfg/chainhash"

	"chequer/internal/chain"
	"chequer/internal/chain/bitcoin"
)

const (
	// keptSightings is how long a sighting is kept once its transaction does not wait
	// any more: longer than until the block that took it is read.
	keptSightings = 2 * time.Hour
	// txsAtOnce is how many transactions are asked for in one batch: the largest that
	// nodes hand on, spelled out, must fit in an answer.
	txsAtOnce = 25
)

// mempool is what waits, as it was listed last. It may be large, so that only
// what pays watched destinations is kept whole.
type mempool struct {
	entries map[chainhash.Hash]*entry
	gone    map[chainhash.Hash]gone // sightings of what does not wait any more
	listed  time.Time               // when it was asked for last; zero when it was not, or not whole
	number  uint32                  // of the list
	mark    uint64                  // destinations up to here were looked for
}

// entry is a transaction that waits.
type entry struct {
	list   *list
	number uint32      // of the last list that it is in
	paid   []uint64    // hashes of scripts; nil until it is read
	tx     *bitcoin.Tx // nil unless it pays a destination
	seen   time.Time   // zero while it is not known
	asked  bool        // whether the node was asked for its time
}

// list is the time between two lists of the mempool: what is in the second only
// came in between. After is zero when there was none before.
type list struct{ after, by time.Time }

// gone is a transaction that does not wait any more.
type gone struct{ seen, since time.Time }

func newMempool() mempool {
	return mempool{entries: map[chainhash.Hash]*entry{}, gone: map[chainhash.Hash]gone{}}
}

// Seen implements bitcoin.Source. It is not known when a transaction was seen that
// waited before our first look and was never looked at.
func (n *Node) Seen(tx string) time.Time {
	id, err := chainhash.NewHashFromStr(tx)
	if err != nil {
		return time.Time{}
	}
	if e := n.mempool.entries[*id]; e != nil {
		return e.seen
	}
	return n.mempool.gone[*id].seen
}

// forget forgets the sighting of a transaction.
func (m *mempool) forget(tx string) {
	if id, err := chainhash.NewHashFromStr(tx); err == nil {
		delete(m.gone, *id)
	}
}

// Waiting implements bitcoin.Source.
func (n *Node) Waiting(ctx context.Context, watched chain.Watched) (bitcoin.Waiting, error) {
	w, err := n.waiting(ctx, watched)
	return w, n.done(ctx, readMempool, err)
}

// state is what a node tells of itself and of what waits.
type state struct {
	begin, end time.Time // when it was asked and when it had answered
	ids        []string
	pool       struct{ Loaded *bool }     // nil in btcd: it keeps no mempool
	network    struct{ LocalRelay *bool } // false when the node takes blocks only; nil in btcd
	peers      int
	uptime     int64 // in seconds; negative when it does not tell
}

// waiting brings the mempool up to date. What was read stays when something
// fails, and is not read again.
func (n *Node) waiting(ctx context.Context, watched chain.Watched) (bitcoin.Waiting, error) {
	s, err := n.state(ctx)
	if err != nil {
		return bitcoin.Waiting{}, err
	}
	n.tell(func(h *chain.Health) { h.Peers = s.peers })
	if s.peers == 0 && n.config.Chain != "regtest" {
		n.alone = true
		return bitcoin.Waiting{}, errors.New("it has no peers: it sees neither transactions nor blocks")
	}
	if relay := s.network.LocalRelay; relay != nil && !*relay {
		n.mempool.listed = time.Time{}
		return bitcoin.Waiting{Coverage: chain.None}, nil
	}
	if err := n.mempool.update(s); err != nil {
		return bitcoin.Waiting{}, err
	}
	if err := n.readNew(ctx, watched); err != nil {
		return bitcoin.Waiting{}, err
	}
	if err := n.lookAgain(ctx, watched); err != nil {
		return bitcoin.Waiting{}, err
	}
	if err := n.date(ctx); err != nil {
		return bitcoin.Waiting{}, err
	}
	w := bitcoin.Waiting{Coverage: chain.Complete, Since: n.since(s), Txs: n.mempool.paying(watched)}
	if s.loading() {
		w.Coverage = chain.Partial
	}
	return w, nil
}

func (n *Node) state(ctx context.Context) (state, error) {
	s := state{begin: n.config.Now()}
	ids, pool := ask(&s.ids, "getrawmempool"), ask(&s.pool, "getmempoolinfo")
	network, uptime := ask(&s.network, "getnetworkinfo"), ask(&s.uptime, "uptime")
	peers := ask(&s.peers, "getconnectioncount")
	if err := n.rpc.do(ctx, pool, network, peers, uptime, ids); err != nil {
		return state{}, err
	}
	s.end = n.config.Now()
	if network.err != nil && unknown(network.err) {
		network.err = nil
	}
	if uptime.err != nil || s.uptime < 0 || s.uptime > int64(100*365*24*time.Hour/time.Second) {
		s.uptime = -1
	}
	return s, firstError(ids, pool, network, peers)
}

// loading tells whether the node still reads the mempool that it saved.
func (s state) loading() bool { return s.pool.Loaded != nil && !*s.pool.Loaded }

// update takes in which transactions wait.
func (m *mempool) update(s state) error {
	times := &list{after: m.listed, by: s.end}
	m.number++
	for _, text := range s.ids {
		id, err := parseHash(text)
		if err != nil {
			return err
		}
		e := m.entries[id]
		if e == nil {
			e = m.enter(id, times)
		}
		e.number = m.number
	}
	for id, e := range m.entries {
		if e.number != m.number {
			m.leave(id, e, s.end)
		}
	}
	for id, g := range m.gone {
		if s.end.Sub(g.since) > keptSightings {
			delete(m.gone, id)
		}
	}
	// What a node reads from its file while it starts came before.
	m.listed = s.begin
	if s.loading() {
		m.listed = time.Time{}
	}
	return nil
}

// enter takes in a transaction that waits. It keeps its first sighting when a
// block that held it was taken off the chain.
func (m *mempool) enter(id chainhash.Hash, times *list) *entry {
	e := &entry{list: times}
	if !times.after.IsZero() {
		e.seen = times.by
	}
	if g := m.gone[id]; !g.seen.IsZero() {
		e.seen, e.asked = g.seen, true
	}
	delete(m.gone, id)
	m.entries[id] = e
	return e
}

func (m *mempool) leave(id chainhash.Hash, e *entry, now time.Time) {
	delete(m.entries, id)
	m.gone[id] = gone{seen: e.seen, since: now}
}

// paying are the transactions that pay watched destinations, in the order in
// which they were seen.
func (m *mempool) paying(watched chain.Watched) []bitcoin.Tx {
	type sighted struct {
		tx   bitcoin.Tx
		seen time.Time
	}
	var all []sighted
	for _, e := range m.entries {
		if e.tx != nil && pays(*e.tx, watched) {
			all = append(all, sighted{*e.tx, e.seen})
		}
	}
	slices.SortFunc(all, func(a, b sighted) int {
		return cmp.Or(a.seen.Compare(b.seen), strings.Compare(a.tx.ID, b.tx.ID))
	})
	var txs []bitcoin.Tx
	for _, s := range all {
		txs = append(txs, s.tx)
	}
	return txs
}

func pays(tx bitcoin.Tx, watched chain.Watched) bool {
	return slices.ContainsFunc(tx.Outputs, func(out bitcoin.Output) bool { return watched.Destination(out.Script) })
}

// readNew reads the transactions that were not read yet.
func (n *Node) readNew(ctx context.Context, watched chain.Watched) error {
	var ids []chainhash.Hash
	for id, e := range n.mempool.entries {
		if e.paid == nil {
			ids = append(ids, id)
		}
	}
	return n.readTxs(ctx, ids, watched)
}

// lookAgain reads transactions again that may pay destinations which came since.
func (n *Node) lookAgain(ctx context.Context, watched chain.Watched) error {
	m := &n.mempool
	scripts, next := watched.Since(m.mark)
	if next < m.mark { // it begins anew
		scripts, next = watched.Since(0)
	}
	fresh := map[uint64]bool{}
	for s := range scripts {
		fresh[hashScript(s)] = true
	}
	var ids []chainhash.Hash
	if len(fresh) > 0 {
		for id, e := range m.entries {
			if e.tx == nil && slices.ContainsFunc(e.paid, func(h uint64) bool { return fresh[h] }) {
				ids = append(ids, id)
			}
		}
	}
	if err := n.readTxs(ctx, ids, watched); err != nil {
		return err
	}
	m.mark = next
	return nil
}

// readTxs reads transactions that wait. One that does not wait any more is no error.
func (n *Node) readTxs(ctx context.Context, ids []chainhash.Hash, watched chain.Watched) error {
	for some := range slices.Chunk(ids, txsAtOnce) {
		requests := make([]*request, len(some))
		for i, id := range some {
			requests[i] = ask(new(json.RawMessage), "getrawtransaction", id.String(), n.config.BlocksAsJSON)
			if !n.config.BlocksAsJSON {
				requests[i].params = requests[i].params[:1]
			}
		}
		if err := n.rpc.do(ctx, requests...); err != nil {
			return err
		}
		for i, id := range some {
			tx, err := n.readTx(ctx, id.String(), requests[i])
			if refused(err, codeNotFound) {
				n.mempool.leave(id, n.mempool.entries[id], n.config.Now())
				continue
			}
			if err != nil {
				return err
			}
			n.mempool.entries[id].take(tx, watched)
		}
	}
	return nil
}

// readTx reads the answer to a getrawtransaction.
func (n *Node) readTx(ctx context.Context, id string, r *request) (bitcoin.Tx, error) {
	if r.err != nil {
		return bitcoin.Tx{}, r.err
	}
	answer := *r.result.(*json.RawMessage)
	var text string
	var told tx
	var read bitcoin.Tx
	err := json.Unmarshal(answer, &text)
	if err == nil {
		if read, err = parseTx(text); err != nil {
			// The network may know transactions that our library cannot read.
			err = n.rpc.call(ctx, &told, "getrawtransaction", id, true)
		}
	} else {
		err = json.Unmarshal(answer, &told)
	}
	if err != nil {
		return bitcoin.Tx{}, err
	}
	if told.TxID != "" {
		if read, _, err = told.read(); err != nil {
			return bitcoin.Tx{}, err
		}
	}
	if read.ID != id {
		return bitcoin.Tx{}, fmt.Errorf("asked for transaction %s it gives %q", id, read.ID)
	}
	return read, sane(read)
}

// take keeps what matters of a transaction.
func (e *entry) take(tx bitcoin.Tx, watched chain.Watched) {
	e.paid = make([]uint64, len(tx.Outputs)) // not nil
	for i, out := range tx.Outputs {
		e.paid[i] = hashScript(out.Script)
	}
	if pays(tx, watched) {
		e.tx = &tx
	}
}
