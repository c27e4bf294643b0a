package light_test

import (
	"encoding/hex"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/btcsuite/btcd/btcutil"
	"github.com/btcsuite/btcd/chaincfg/chainhash"
	"github.com/btcsuite/btcd/txscript"
	"github.com/btcsuite/btcd/wire"
	"github.com/google/go-cmp/cmp"

	"chequer/internal/chain"
	"chequer/internal/chain/bitcoin"
	"chequer/internal/chain/bitcoin/light"
	"chequer/internal/chain/chaintest"
)

// shop is a watched script, other is not.
var (
	shop  = script("shop")
	other = script("other")
	watch = chaintest.Watch{hex.EncodeToString(shop): true}
)

func script(name string) []byte { return append([]byte{0, 20}, btcutil.Hash160([]byte(name))...) }

// newTx returns a transaction that spends outputs, which are identified by numbers, to scripts.
func newTx(spends []int, scripts ...[]byte) *wire.MsgTx {
	tx := wire.NewMsgTx(2)
	for _, n := range spends {
		in := wire.NewTxIn(outpoint(n), nil, wire.TxWitness{make([]byte, 71), key(n)})
		tx.AddTxIn(in)
	}
	for i, s := range scripts {
		tx.AddTxOut(wire.NewTxOut(int64(1000+i), s))
	}
	return tx
}

func outpoint(n int) *wire.OutPoint { return wire.NewOutPoint(&chainhash.Hash{byte(n)}, uint32(n)) }

// key returns bytes like the public key of output n.
func key(n int) []byte { return append([]byte{2, byte(n)}, make([]byte, 31)...) }

// want compares the waiting transactions, and the last spender of each contested output.
func want(t *testing.T, p *light.Pool, waiting []*wire.MsgTx, conflicts map[int]*wire.MsgTx) {
	t.Helper()
	txs, found := p.Waiting(watch)
	var got, ids []string
	for _, tx := range txs {
		got = append(got, tx.ID)
	}
	for _, tx := range waiting {
		ids = append(ids, tx.TxHash().String())
	}
	if diff := cmp.Diff(ids, got); diff != "" {
		t.Errorf("waiting (-want +got):\n%s", diff)
	}
	gotConflicts, wantConflicts := map[string]string{}, map[string]string{}
	for _, c := range found {
		gotConflicts[c.Outpoint] = c.Tx
		if c.Seen != p.Seen(c.Tx) || c.Seen.IsZero() {
			t.Errorf("conflict seen at %s, want the time of its transaction, %s", c.Seen, p.Seen(c.Tx))
		}
	}
	for n, tx := range conflicts {
		wantConflicts[outpoint(n).String()] = tx.TxHash().String()
	}
	if diff := cmp.Diff(wantConflicts, gotConflicts); diff != "" {
		t.Errorf("conflicts (-want +got):\n%s", diff)
	}
}

type txs = []*wire.MsgTx

func TestPool_shows_transactions_that_two_groups_announced(t *testing.T) {
	t.Parallel()
	p := light.NewPool(t, 2)
	tx := newTx([]int{1}, other, shop)
	p.Announce(tx, 1, 1)
	want(t, p, nil, nil)
	if got := p.Seen(tx.TxHash().String()); !got.IsZero() {
		t.Errorf("seen at %s with one group, want zero", got)
	}
	p.Now = p.Now.Add(time.Minute)
	p.Announce(tx, 2)
	second := p.Now
	want(t, p, txs{tx}, nil)
	p.Announce(tx, 3, 1)
	if got := p.Seen(tx.TxHash().String()); got != second {
		t.Errorf("first seen at %s, want the second group's announcement at %s", got, second)
	}
	if p.Wakes != 1 {
		t.Errorf("%d wake-ups, want 1", p.Wakes)
	}
}

func TestPool_matches_destinations_added_later(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		after time.Duration
		found bool
	}{{59 * time.Minute, true}, {61 * time.Minute, false}} {
		p := light.NewPool(t, 2)
		tx, bump := newTx([]int{1}, shop), newTx([]int{1}, other, shop)
		p.Announce(tx, 1, 2)
		p.Announce(bump, 1, 2)
		p.Now = p.Now.Add(tt.after)
		p.Expire(t)
		if tt.found {
			want(t, p, txs{bump}, map[int]*wire.MsgTx{1: bump})
		} else {
			want(t, p, nil, nil)
		}
	}
}

func TestPool_the_last_seen_transaction_spends_the_output(t *testing.T) {
	t.Parallel()
	p := light.NewPool(t, 2)
	p.Waiting(watch)
	tx := newTx([]int{1, 2}, shop)
	doubleSpend, bump := newTx([]int{2}, other), newTx([]int{1, 2, 3}, shop, other)
	p.Announce(tx, 1, 2)
	p.Announce(doubleSpend, 1)
	want(t, p, txs{tx}, nil)
	p.Announce(doubleSpend, 2)
	want(t, p, nil, map[int]*wire.MsgTx{2: doubleSpend})
	p.Announce(tx, 3)
	want(t, p, nil, map[int]*wire.MsgTx{2: doubleSpend})
	p.Announce(bump, 2, 1)
	want(t, p, txs{bump}, map[int]*wire.MsgTx{1: bump, 2: bump})
	p.Restart(t)
	want(t, p, txs{bump}, map[int]*wire.MsgTx{1: bump, 2: bump})
}

func TestPool_keeps_relevant_transactions_after_a_restart(t *testing.T) {
	t.Parallel()
	p := light.NewPool(t, 2)
	p.Waiting(watch)
	tx, announcedOnce, doubleSpend, unrelated := newTx([]int{1}, shop), newTx([]int{2}, shop), newTx([]int{1}, other), newTx([]int{3}, other)
	p.Announce(tx, 1, 2)
	seen := p.Seen(tx.TxHash().String())
	p.Announce(announcedOnce, 1)
	p.Announce(unrelated, 1, 2)
	p.Restart(t)
	if got := p.Seen(tx.TxHash().String()); !got.Equal(seen) {
		t.Errorf("seen at %s, want %s", got, seen)
	}
	if p.Len() != 2 {
		t.Errorf("%d entries, want the two payments", p.Len())
	}
	p.Announce(announcedOnce, 2)
	p.Announce(doubleSpend, 2, 1)
	want(t, p, txs{announcedOnce}, map[int]*wire.MsgTx{1: doubleSpend})
}

func TestPool_forgets_after_14_days_without_an_announcement(t *testing.T) {
	t.Parallel()
	p := light.NewPool(t, 1)
	tx, reannounced := newTx([]int{1}, shop), newTx([]int{2}, shop)
	p.Announce(tx, 1)
	p.Announce(reannounced, 1)
	want(t, p, txs{tx, reannounced}, nil)
	p.Now = p.Now.Add(10 * 24 * time.Hour)
	p.Announce(reannounced, 1)
	p.Now = p.Now.Add(5 * 24 * time.Hour)
	p.Restart(t)
	p.Expire(t)
	want(t, p, txs{reannounced}, nil)
	if p.Pending(outpoint(1).String()) || !p.Pending(outpoint(2).String()) {
		t.Error("pending outpoints are not those of the waiting transactions")
	}
}

// The store has the time of a transaction's last announcement with an error of at most an hour, also if announcements are more
// frequent.
func TestPool_saves_frequent_announcements(t *testing.T) {
	t.Parallel()
	p := light.NewPool(t, 1)
	tx := newTx([]int{1}, shop)
	p.Waiting(watch)
	const interval = 50 * time.Minute
	for range 15 * 24 * time.Hour / interval {
		p.Announce(tx, 1)
		p.Expire(t)
		p.Now = p.Now.Add(interval)
	}
	p.Restart(t)
	p.Expire(t)
	want(t, p, txs{tx}, nil)
	p.Now = p.Now.Add(14*24*time.Hour - 3*interval)
	p.Restart(t)
	p.Expire(t)
	want(t, p, txs{tx}, nil)
	p.Now = p.Now.Add(3 * interval)
	p.Expire(t)
	want(t, p, nil, nil)
}

func TestPool_lists_the_scripts_of_inputs(t *testing.T) {
	t.Parallel()
	pool := light.NewPool(t, 1)
	pool.Waiting(watch)
	nested := newTx([]int{1}, shop)
	redeem := script("nested")
	nested.TxIn[0].SignatureScript = append([]byte{byte(len(redeem))}, redeem...)
	nestedScript, err := txscript.NewScriptBuilder().AddOp(txscript.OP_HASH160).AddData(btcutil.Hash160(redeem)).AddOp(txscript.OP_EQUAL).Script()
	if err != nil {
		t.Fatal(err)
	}
	taproot := newTx([]int{3}, shop)
	taproot.TxIn[0].Witness = wire.TxWitness{make([]byte, 64)}
	pool.Announce(nested, 1)
	pool.Announce(newTx([]int{2}, shop), 1)
	pool.Announce(taproot, 1)
	pool.Announce(newTx([]int{4}, other), 1)
	_, mark := pool.Inputs(0)
	inputs, _ := pool.Inputs(0)
	first := []string{hex.EncodeToString(nestedScript), hex.EncodeToString(append([]byte{0, 20}, btcutil.Hash160(key(2))...))}
	if diff := cmp.Diff(first, slices.Collect(inputs)); diff != "" {
		t.Errorf("inputs (-want +got):\n%s", diff)
	}
	pool.Announce(newTx([]int{5}, shop), 1)
	inputs, _ = pool.Inputs(mark)
	if diff := cmp.Diff([]string{hex.EncodeToString(append([]byte{0, 20}, btcutil.Hash160(key(5))...))}, slices.Collect(inputs)); diff != "" {
		t.Errorf("new inputs (-want +got):\n%s", diff)
	}
	_, mark = pool.Inputs(0)
	pool.Restart(t)
	if inputs, next := pool.Inputs(mark); len(slices.Collect(inputs)) != 3 || next != mark+3 {
		t.Errorf("after a restart the inputs end at %d, want 3 new inputs after %d", next, mark)
	}
}

func TestPool_forgets_buried_transactions_and_their_conflicts(t *testing.T) {
	t.Parallel()
	p := light.NewPool(t, 1)
	p.Waiting(watch)
	paid, doubleSpent := newTx([]int{1}, shop), newTx([]int{2, 3}, shop)
	unseen := bitcoin.NewTx(newTx([]int{3}, other))
	p.Announce(paid, 1)
	p.Announce(newTx([]int{1}, other), 1)
	p.Announce(doubleSpent, 1)
	p.Block(bitcoin.NewTx(paid), unseen, bitcoin.NewTx(newTx([]int{9}, other)))
	p.Buried(paid.TxHash().String())
	want(t, p, txs{doubleSpent}, nil)
	p.Buried(unseen.ID)
	want(t, p, nil, nil)
	p.Restart(t)
	want(t, p, nil, nil)
	if p.Len() != 0 {
		t.Errorf("%d entries, want none", p.Len())
	}
}

func TestPool_a_flood_displaces_only_its_own_transactions(t *testing.T) {
	t.Parallel()
	p := light.NewPool(t, 2)
	p.Waiting(watch)
	payment := newTx([]int{1}, shop)
	p.Announce(payment, 1)
	for i := range 20_000 {
		p.AnnounceHash(chainhash.HashH(fmt.Append(nil, i)), 2)
	}
	for i := range 1_000 {
		// Large transactions that only one group announces.
		p.Announce(newTx([]int{i % 200}, make([]byte, 20_000), fmt.Append(nil, i)), 3)
	}
	if p.Len() > 5_500 {
		t.Errorf("%d entries, want at most 5500", p.Len())
	}
	p.Announce(payment, 4)
	want(t, p, txs{payment}, nil)
}

func TestPool_limits_the_spenders_of_one_output(t *testing.T) {
	t.Parallel()
	p := light.NewPool(t, 1)
	p.Waiting(watch)
	var last *wire.MsgTx
	for i := range 500 {
		last = newTx([]int{1}, shop, fmt.Append(nil, i))
		p.Announce(last, 1)
	}
	want(t, p, txs{last}, map[int]*wire.MsgTx{1: last})
	if inputs, _ := p.Inputs(0); len(slices.Collect(inputs)) > 101 {
		t.Error("all transactions are kept")
	}
}

var _ chain.Watched = watch
