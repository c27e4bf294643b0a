package daemon_test

import (
	"strings"
	"testing"
	"time"

	"filippo.io/edwards25519"

	"chequer/internal/chain"
	"chequer/internal/chain/chaintest"
	"chequer/internal/monero"
	"chequer/internal/money"
)

func TestSource_conforms(t *testing.T) {
	t.Parallel()
	chaintest.Run(t, func(t *testing.T) chaintest.Harness { return newMemory(t) })
}

// coins returns an output of an amount.
func coins(script, amount string) []chaintest.Output {
	return []chaintest.Output{{Script: script, Amount: money.MustParse(amount, money.XMR)}}
}

// only returns the only transfer of a snapshot.
func only(t *testing.T, s chain.Snapshot) chain.Transfer {
	t.Helper()
	if len(s.Transfers) != 1 {
		t.Fatalf("%d transfers are shown, want 1: %+v", len(s.Transfers), s.Transfers)
	}
	return s.Transfers[0]
}

func TestSource_shows_when_a_transaction_was_received(t *testing.T) {
	t.Parallel()
	m := newMemory(t)
	hash := m.add(true, coins(m.NewScript(t), "1.5"), options{})
	received := time.Now().Add(-10 * time.Minute).Truncate(time.Second)
	tx := m.txs[hash]
	tx.received = received
	m.txs[hash] = tx
	s := m.scan(t)
	if got := only(t, s); !got.FirstSeen.Equal(received) || !got.Firm || got.Unsure || s.Unconfirmed != chain.Complete {
		t.Errorf("transfer %+v, coverage %s, want one that was seen at %s", got, s.Unconfirmed, received)
	}
	m.Mine(t, hash)
	if got := only(t, m.scan(t)); !got.FirstSeen.Equal(received) || got.Block == nil {
		t.Errorf("in a block the transfer is %+v, want the time %s", got, received)
	}
	if m.restart(); !only(t, m.scan(t)).FirstSeen.IsZero() {
		t.Error("a new process states a time that no daemon shows")
	}
}

func TestSource_of_a_restricted_daemon_is_partial(t *testing.T) {
	t.Parallel()
	m := newMemory(t)
	m.restricted = true
	m.add(true, coins(m.NewScript(t), "1.5"), options{})
	before := time.Now()
	s := m.scan(t)
	if got := only(t, s); got.Firm || got.FirstSeen.Before(before) || s.Unconfirmed != chain.Partial {
		t.Errorf("transfer %+v, coverage %s, want one that is not firm and seen now", got, s.Unconfirmed)
	}
}

// A transaction whose input another one spends is not firm from the next scan on.
func TestSource_notices_that_a_transaction_is_contested(t *testing.T) {
	t.Parallel()
	m := newMemory(t)
	hash := m.add(true, coins(m.NewScript(t), "1.5"), options{})
	if found := only(t, m.scan(t)); !found.Firm || found.Contested {
		t.Errorf("the transfer is %+v, want one that is firm and not contested", found)
	}
	m.contested[hash] = true
	if found := only(t, m.scan(t)); found.Firm || !found.Contested {
		t.Errorf("the transfer is %+v, want one that is contested and not firm", found)
	}
	m.Mine(t, hash)
	if found := only(t, m.scan(t)); found.Contested {
		t.Error("a transfer in a block is contested")
	}
}

func TestSource_marks_time_locks(t *testing.T) {
	t.Parallel()
	m := newMemory(t)
	for _, unlock := range []uint64{1, 500, 1_900_000_000} {
		script := m.NewScript(t)
		m.Mine(t, m.add(true, coins(script, "1.5"), options{unlock: unlock}))
		s, err := m.scanner.Scan(t.Context(), chain.Cursor{}, chaintest.Watch{script: true})
		if err != nil || !only(t, s).Unsure {
			t.Errorf("unlock time %d: transfers %+v, error %v, want one that is not sure", unlock, s.Transfers, err)
		}
	}
}

func TestSource_refuses_amounts_that_are_not_proved(t *testing.T) {
	t.Parallel()
	m := newMemory(t)
	wrong := commit(1, edwards25519.NewScalar())
	m.Mine(t, m.add(true, coins(m.NewScript(t), "1.5"), options{commitment: wrong}))
	if s := m.scan(t); len(s.Transfers) > 0 {
		t.Errorf("transfers %+v are shown", s.Transfers)
	}
}

// Two outputs with one one-time key are spent once, so their transfers share an outpoint.
func TestSource_shows_a_one_time_key_that_is_used_twice(t *testing.T) {
	t.Parallel()
	m := newMemory(t)
	script, secret := m.NewScript(t), randomScalar()
	first := m.add(true, coins(script, "1.5"), options{secret: secret})
	second := m.add(true, coins(script, "1.5"), options{secret: secret})
	m.Mine(t, first, second)
	s := m.scan(t)
	if len(s.Transfers) != 2 {
		t.Fatalf("%d transfers are shown, want 2", len(s.Transfers))
	}
	shared := func(t chain.Transfer) string {
		for _, o := range t.Spends {
			if chain.IsOneTimeOutpoint(o) {
				return o
			}
		}
		return ""
	}
	if one, two := shared(s.Transfers[0]), shared(s.Transfers[1]); one == "" || one != two {
		t.Errorf("the transfers spend %q and %q, want one outpoint", one, two)
	}
}

// The blocks of a wallet that is added later are scanned for it.
func TestSource_scans_again_for_a_new_wallet(t *testing.T) {
	t.Parallel()
	m := newMemory(t)
	first := m.wallets[0]
	script := m.NewScript(t)
	m.Mine(t, m.add(true, coins(script, "1.5"), options{}))
	m.wallets = []*monero.Wallet{newWallet(t)}
	if s := m.scan(t); len(s.Transfers) > 0 {
		t.Fatalf("transfers %+v are shown for another wallet", s.Transfers)
	}
	m.wallets = append(m.wallets, first)
	if got := only(t, m.scan(t)); got.Script != script {
		t.Errorf("transfer to %s, want %s", got.Script, script)
	}
}

// The pool and the blocks are read once.
func TestSource_reads_each_transaction_once(t *testing.T) {
	t.Parallel()
	m := newMemory(t)
	script := m.NewScript(t)
	other := m.add(true, coins(script, "1"), options{})
	mined := m.add(true, coins(script, "2"), options{})
	m.Mine(t, mined)
	watch := chaintest.Watch{} // nothing is watched, so that nothing is read again
	for range 3 {
		if _, err := m.scanner.Scan(t.Context(), chain.Cursor{}, watch); err != nil {
			t.Fatal(err)
		}
	}
	counts := map[string]int{}
	for _, hash := range m.asked {
		counts[hash]++
	}
	if counts[other] != 1 || counts[mined] != 1 {
		t.Errorf("the transaction in the pool was read %d times and that in the block %d times, want 1 and 1", counts[other], counts[mined])
	}
}

// A daemon that lacks a transaction of a block shows nothing.
func TestSource_fails_without_a_transaction(t *testing.T) {
	t.Parallel()
	m := newMemory(t)
	hash := m.add(true, coins(m.NewScript(t), "1.5"), options{})
	m.Mine(t, hash)
	m.hidden[hash] = true
	if _, err := m.scanner.Scan(t.Context(), chain.Cursor{}, chaintest.Watch{}); err == nil || !strings.Contains(err.Error(), "does not have the transaction") {
		t.Errorf("error %v, want one about a missed transaction", err)
	}
	if fault := m.scanner.Health().Fault; fault == "" {
		t.Error("the health of the network has no fault")
	}
}
