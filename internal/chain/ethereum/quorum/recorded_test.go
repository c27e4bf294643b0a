package quorum_test

import (
	"net/http"
	"testing"
	"time"

	"chequer/internal/chain"
	"chequer/internal/chain/chaintest"
	"chequer/internal/chain/ethereum/quorum"
)

// restart watches with the transfers of a snapshot recorded, like a program that is restarted
// with the cursor of before.
func (s *shop) restart(before chain.Snapshot, endpoints []quorum.Endpoint) (*shop, chaintest.Recording) {
	next := openShop(s.T, s.fake, endpoints)
	next.from = before.Next
	return next, chaintest.Recording{Watch: next.watch, Transfers: before.Transfers}
}

func TestRecorded_token_transfer_is_kept_without_logs(t *testing.T) {
	t.Parallel()
	limited := func(n *node) { n.status, n.retryAfter, n.garbage = http.StatusTooManyRequests, "30", "slow down" }
	for name, tt := range map[string]struct {
		silent func(*node) // two endpoints; the other two are rate limited
		shown  int
		fails  bool
	}{
		"with receipts":                        {func(n *node) { n.hidesLogs = true }, 1, false},
		"without receipts of a listed block":   {func(n *node) { n.hidesLogs, n.nullReceipts = true, true }, 0, true},
		"with an error for each receipt":       {func(n *node) { n.hidesLogs, n.failingMethod = true, "eth_getTransactionReceipt" }, 0, true},
		"with its block and without the event": {func(n *node) { n.hidesLogs, n.deniesReceipts = true, true }, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fake := newFakeChain(19)
			fake.mineBlock(tokenPayment(ourAddress, 5_000_000))
			for range 15 {
				fake.mineBlock()
			}
			a, b, c, d := newNode(t, fake), newNode(t, fake), newNode(t, fake), newNode(t, fake)
			s := openShop(t, fake, endpoints(a, b, c, d))
			before := s.want("5")
			a.change(limited)
			b.change(limited)
			c.change(tt.silent)
			d.change(tt.silent)
			s, watched := s.restart(before, endpoints(a, b, c, d))
			after, err := s.scanner.Scan(t.Context(), s.from, watched)
			if (err != nil) != tt.fails || len(after.Transfers) != tt.shown {
				t.Fatalf("scan shows %d transfers, error %v; want %d, error %t", len(after.Transfers), err, tt.shown, tt.fails)
			}
			if err == nil && tt.shown == 0 && len(after.Refuted) != 1 {
				t.Errorf("scan refutes %q", after.Refuted)
			}
		})
	}
}

// One endpoint that confirms a recorded transfer prevents two that deny it from refuting it.
func TestRecorded_token_transfer_is_not_refuted_while_an_endpoint_confirms_it(t *testing.T) {
	t.Parallel()
	fake := newFakeChain(19)
	fake.mineBlock(tokenPayment(ourAddress, 5_000_000))
	fake.mineBlock()
	a, b, c := newNode(t, fake), newNode(t, fake), newNode(t, fake)
	s := openShop(t, fake, endpoints(a, b, c))
	before := s.want("5")
	for _, n := range []*node{b, c} {
		n.change(func(n *node) { n.hidesLogs, n.deniesReceipts = true, true })
	}
	a.change(func(n *node) { n.hidesLogs = true })
	s, watched := s.restart(before, endpoints(a, b, c))
	if after, err := s.scanner.Scan(t.Context(), s.from, watched); err == nil {
		t.Errorf("scan succeeds: shown %d, refuted %q", len(after.Transfers), after.Refuted)
	}
}

// The rise of a balance is shown while its block is on the chain, also by a program that may
// not ask for balances any more.
func TestRecorded_rise_is_kept_without_permission_to_ask_for_balances(t *testing.T) {
	t.Parallel()
	fake := newFakeChain(19)
	rose := fake.mineBlock()
	fake.mineBlock()
	a, b := newNode(t, fake), newNode(t, fake)
	s := openShop(t, fake, endpoints(a, b))
	s.from = chain.Cursor{Height: 10, Hash: fake.blocks[10].hash}
	coin := params().Assets[0]
	rise := chain.Transfer{
		ID: "balance:31337:" + ourAddress + ":5", Asset: coin.Code, Script: ourAddress,
		Block: &chain.Block{Height: rose.height, Hash: rose.hash, Time: rose.at.UTC().Truncate(time.Second)},
	}
	watched := chaintest.Recording{Watch: s.watch, Transfers: []chain.Transfer{rise}}
	for range 2 {
		after, err := s.scanner.Scan(t.Context(), s.from, watched)
		if err != nil || len(after.Transfers) != 1 || after.Transfers[0].ID != rise.ID {
			t.Fatalf("scan shows %+v, error %v", after.Transfers, err)
		}
	}
	fake.reorganise(2)
	for range 3 {
		fake.mineBlock()
	}
	fake.pass(time.Minute)
	after, err := s.scanner.Scan(t.Context(), s.from, watched)
	if err != nil || len(after.Transfers) != 0 {
		t.Errorf("after its block left, scan shows %+v, error %v", after.Transfers, err)
	}
}
