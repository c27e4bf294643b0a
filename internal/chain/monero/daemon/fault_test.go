package daemon_test

import (
	"encoding/hex"
	"testing"
	"time"

	"filippo.io/edwards25519"

	"chequer/internal/chain"
	"chequer/internal/chain/chaintest"
	"chequer/internal/monero"
)

// mineReward mines a block whose miner pays destinations.
func (m *memory) mineReward(outputs []chaintest.Output, o options) {
	m.t.Helper()
	o.reward = len(m.blocks)
	_, tx := m.build(outputs, o)
	m.rewards[o.reward] = tx.json
	m.Mine(m.t)
}

// A transaction that was not sent to peers may never be: anyone can submit one so to a restricted RPC that the merchant
// offers to others.
func TestSource_shows_transactions_that_are_not_relayed_as_not_firm(t *testing.T) {
	t.Parallel()
	m := newMemory(t)
	hash := m.add(true, coins(m.NewScript(t), "1.5"), options{})
	m.private[hash] = true
	if got := only(t, m.scan(t)); got.Firm {
		t.Error("a transaction that is not relayed is firm")
	}
	delete(m.private, hash)
	if !only(t, m.scan(t)).Firm {
		t.Error("the transaction is not firm after it was relayed")
	}
}

// The transaction leaves the pool between the two calls of a scan.
func TestSource_drops_a_transaction_that_leaves_the_pool_meanwhile(t *testing.T) {
	t.Parallel()
	m := newMemory(t)
	hash := m.add(true, coins(m.NewScript(t), "1.5"), options{})
	only(t, m.scan(t))
	m.hidden[hash] = true
	if s := m.scan(t); len(s.Transfers) > 0 {
		t.Errorf("transfers %+v are shown", s.Transfers)
	}
}

// What happened in the pool while the daemon did not answer was not seen.
func TestSource_has_a_gap_in_its_view_after_an_error(t *testing.T) {
	t.Parallel()
	m := newMemory(t)
	since := m.scan(t).ViewSince
	if got := m.scan(t).ViewSince; since.IsZero() || !got.Equal(since) {
		t.Errorf("view since %s, was since %s", got, since)
	}
	m.isDown = true
	if _, err := m.scanner.Scan(t.Context(), chain.Cursor{}, chaintest.Watch{}); err == nil {
		t.Fatal("a scan succeeds while the daemon is down")
	}
	failed := time.Now()
	m.isDown = false
	if got := m.scan(t).ViewSince; got.Before(failed) {
		t.Errorf("view since %s, want later than the error at %s", got, failed)
	}
}

// Plain amounts have no commitment that proves which key and which wallet fit.
func TestSource_finds_a_plain_amount_among_several_keys_and_wallets(t *testing.T) {
	t.Parallel()
	m := newMemory(t)
	m.wallets = append(m.wallets, newWallet(t))
	other := new(edwards25519.Point).ScalarBaseMult(randomScalar()).Bytes()
	one, two := m.NewScript(t), m.NewScript(t)
	m.mineReward(coins(one, "0.6"), options{keys: [][]byte{other, other}})
	m.mineReward(append(coins(two, "0.3"), coins(one, "0.2")...), options{keys: [][]byte{other}})
	got := map[string][]string{}
	for _, transfer := range m.scan(t).Transfers {
		if !transfer.Coinbase || transfer.Unsure {
			t.Errorf("transfer %+v, want a sure one of a reward", transfer)
		}
		got[transfer.Script] = append(got[transfer.Script], transfer.Amount.String())
	}
	if len(got) != 2 || len(got[one]) != 2 || got[one][0] != "0.6" || got[one][1] != "0.2" || len(got[two]) != 1 || got[two][0] != "0.3" {
		t.Errorf("transfers %v, want 0.6 and 0.2 to %s and 0.3 to %s", got, one, two)
	}
}

// A miner can copy the public keys of a payment into the reward of a block, with any amount, because plain amounts need no
// secret. Only one of the two outputs can be spent, but both transactions can be in blocks.
func TestSource_keeps_a_payment_whose_keys_a_miner_copies(t *testing.T) {
	t.Parallel()
	m := newMemory(t)
	script, secret := m.NewScript(t), randomScalar()
	hash := m.add(true, coins(script, "1.5"), options{secret: secret})
	watch := spending{chaintest.Watch{script: true}, map[string]bool{}}
	scan := func() (amounts []string) {
		t.Helper()
		s, err := m.scanner.Scan(t.Context(), chain.Cursor{}, watch)
		if err != nil {
			t.Fatal(err)
		}
		for _, transfer := range s.Transfers {
			amounts = append(amounts, transfer.Amount.String())
			for _, o := range transfer.Spends {
				watch.outpoints[o] = true
			}
		}
		for _, c := range s.Conflicts {
			if c.Tx != hash {
				t.Errorf("conflict %+v, want none with the payment", c)
			}
		}
		return amounts
	}
	if got := scan(); len(got) != 1 {
		t.Fatalf("transfers of %q, want one", got)
	}
	m.mineReward(coins(script, "0.000000000001"), options{secret: secret})
	for range 2 {
		if got := scan(); len(got) != 2 || got[0] != "0.000000000001" || got[1] != "1.5" {
			t.Errorf("transfers of %q, want the reward, and the payment in the pool", got)
		}
	}
	m.Mine(t, hash)
	if got := scan(); len(got) != 2 || got[1] != "1.5" {
		t.Errorf("transfers of %q, want the reward and the payment", got)
	}
}

// spending is a Watch with watched outpoints.
type spending struct {
	chaintest.Watch
	outpoints map[string]bool
}

// Outpoint implements chain.Watched.
func (s spending) Outpoint(outpoint string) bool { return s.outpoints[outpoint] }

// Keys of a small order, and valid keys plus a point of a small order, are not other forms of a destination.
func TestSource_with_keys_of_a_small_order(t *testing.T) {
	t.Parallel()
	m := newMemory(t)
	script := m.NewScript(t)
	small, err := hex.DecodeString("26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05") // of order 8
	if err != nil {
		t.Fatal(err)
	}
	torsion := point(monero.PublicKey(small))
	identity := new(edwards25519.Point).MultByCofactor(torsion)
	if identity.Equal(edwards25519.NewIdentityPoint()) != 1 {
		t.Fatal("the point is not of a small order")
	}
	hash, tx := m.build(coins(script, "1.5"), options{keys: [][]byte{small, identity.Bytes()}})
	m.txs[hash] = tx
	m.pool = append(m.pool, hash)
	if got := only(t, m.scan(t)); got.Script != script || got.Amount.String() != "1.5" {
		t.Errorf("transfer %+v", got)
	}
}

// A pool can have 100,000 transactions. They are not kept in memory at once, and an error does not lose those that were read.
func TestSource_reads_a_large_pool_in_parts(t *testing.T) {
	t.Parallel()
	m := newMemory(t)
	script := m.NewScript(t)
	for range 250 {
		m.add(true, coins(script, "1"), options{})
	}
	m.broken = m.pool[249]
	if _, err := m.scanner.Scan(t.Context(), chain.Cursor{}, chaintest.Watch{}); err == nil {
		t.Fatal("a scan succeeds without a part of the pool")
	}
	m.asked, m.broken = nil, ""
	if _, err := m.scanner.Scan(t.Context(), chain.Cursor{}, chaintest.Watch{}); err != nil || len(m.asked) != 50 {
		t.Errorf("the second scan asked for %d transactions, error %v, want the 50 that were not read", len(m.asked), err)
	}
}

// The block at a height is replaced between the calls for its header and for the block.
func TestSource_scans_again_after_a_block_is_replaced_meanwhile(t *testing.T) {
	t.Parallel()
	m := newMemory(t)
	script := m.NewScript(t)
	m.Mine(t, m.add(true, coins(script, "1.5"), options{}))
	replacement := m.add(false, coins(script, "0.5"), options{})
	m.onBlock = func() {
		m.blocks = m.blocks[:20]
		for len(m.blocks) < 80 {
			m.addBlock()
		}
		m.addBlock(replacement)
	}
	if got := only(t, m.scan(t)); got.Tx != replacement || got.Block.Hash != m.blocks[80].hash {
		t.Errorf("transfer %+v, want one of %s in block %s", got, replacement, m.blocks[80].hash)
	}
	if fault := m.scanner.Health().Fault; fault != "" {
		t.Errorf("fault %q", fault)
	}
}

// The pool of the daemon lists a transaction that is in a block.
func TestSource_shows_a_transaction_in_the_pool_and_in_a_block_once(t *testing.T) {
	t.Parallel()
	m := newMemory(t)
	hash := m.add(true, coins(m.NewScript(t), "1.5"), options{})
	only(t, m.scan(t))
	m.Mine(t, hash)
	m.pool = append(m.pool, hash)
	for range 2 {
		if got := only(t, m.scan(t)); got.Block == nil {
			t.Errorf("transfer %+v, want it in a block", got)
		}
	}
}
