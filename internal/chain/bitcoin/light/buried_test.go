package light_test

import (
	"testing"
	"time"

	"chequer/internal/chain"
	"chequer/internal/chain/bitcoin/bitcointest"
	"chequer/internal/chain/chaintest"
	"chequer/internal/money"
)

func TestDoubleSpend_deep_in_the_chain_is_final(t *testing.T) {
	t.Parallel()
	l := newLab(t, bitcointest.Btcd(t))
	amount := money.MustParse("0.5", money.BTC)
	watch := chaintest.Watch{}
	script := l.NewScript(t)
	watch[script] = true
	tx := l.Send(t, chaintest.Output{Script: script, Amount: amount})
	s := scan(t, l, chain.Cursor{}, watch)
	if len(s.Transfers) != 1 || s.Transfers[0].Tx != tx {
		t.Fatalf("before: %+v", s.Transfers)
	}
	spent := s.Transfers[0].Spends[0]
	l.Mine(t, l.Conflict(t, tx, chaintest.Output{Script: l.NewScript(t), Amount: amount}))
	s = scan(t, l, s.Next, watch)
	// The next scans begin above the block of the double spend.
	for range 2 {
		l.MineBlocks(t, 101)
		l.catchUp(t)
		s = scan(t, l, s.Next, watch)
		if len(s.Transfers) != 0 {
			t.Fatalf("from block %d: %+v", s.From.Height, s.Transfers)
		}
	}
	if l.client.Pending(spent) {
		t.Error("its spent outpoint is still pending")
	}
}

func scan(t *testing.T, l *lab, from chain.Cursor, watch chaintest.Watch) chain.Snapshot {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for {
		s, err := l.net.Scan(t.Context(), from, watch)
		if err == nil {
			return s
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}
