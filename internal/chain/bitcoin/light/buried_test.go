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
	h := newHarness(t, bitcointest.Btcd(t))
	amount := money.MustParse("0.5", money.BTC)
	watch := chaintest.Watch{}
	script := h.NewScript(t)
	watch[script] = true
	tx := h.Send(t, chaintest.Output{Script: script, Amount: amount})
	s := scan(t, h, chain.Cursor{}, watch)
	if len(s.Transfers) != 1 || s.Transfers[0].Tx != tx {
		t.Fatalf("before: %+v", s.Transfers)
	}
	spent := s.Transfers[0].Spends[0]
	h.Mine(t, h.Conflict(t, tx, chaintest.Output{Script: h.NewScript(t), Amount: amount}))
	s = scan(t, h, s.Next, watch)
	// The next scans begin above the block of the double spend.
	for range 2 {
		h.MineBlocks(t, 101)
		h.catchUp(t)
		s = scan(t, h, s.Next, watch)
		if len(s.Transfers) != 0 {
			t.Fatalf("from block %d: %+v", s.From.Height, s.Transfers)
		}
	}
	if h.client.Pending(spent) {
		t.Error("the outpoint that the transaction spent is still pending")
	}
}

// scan repeats a scan until it succeeds, for at most a minute.
func scan(t *testing.T, h *harness, from chain.Cursor, watch chaintest.Watch) chain.Snapshot {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for {
		s, err := h.net.Scan(t.Context(), from, watch)
		if err == nil {
			return s
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}
