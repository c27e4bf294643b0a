package monerotest_test

import (
	"slices"
	"strings"
	"testing"

	"chequer/internal/chain/monero/monerotest"
)

// poolHashes returns the hashes of the transactions in the pool.
func poolHashes(t *testing.T, n *monerotest.Node) []string {
	t.Helper()
	var answer struct {
		Hashes []string `json:"tx_hashes"`
	}
	n.Get(t, "/get_transaction_pool_hashes", nil, &answer)
	return answer.Hashes
}

func TestNode(t *testing.T) {
	n := monerotest.Start(t)
	shop := n.NewWallet(t)
	if len(shop.Address) != 95 || !strings.HasPrefix(shop.Address, "4") || len(shop.ViewKey) != 64 {
		t.Errorf("wallet with address %s and a view key of %d characters", shop.Address, len(shop.ViewKey))
	}
	addresses := shop.Subaddresses(t, 70)
	if len(addresses) != 70 || !strings.HasPrefix(addresses[69], "8") {
		t.Errorf("%d subaddresses", len(addresses))
	}

	paid := n.Miner.Transfer(t, 0, monerotest.To{Address: addresses[4], Amount: 2e12}, monerotest.To{Address: shop.Address, Amount: 1e12})
	if got := poolHashes(t, n); !slices.Equal(got, []string{paid.Hash}) || paid.Fee == 0 {
		t.Errorf("pool %v after %+v", got, paid)
	}
	height := n.Height(t)
	n.Mine(t, 1)
	if got := poolHashes(t, n); len(got) > 0 || n.Height(t) != height+1 {
		t.Errorf("pool %v at height %d after a block", got, n.Height(t))
	}
	if total, unlocked := shop.Balance(t); total != 3e12 || unlocked != 0 {
		t.Errorf("balance %d, %d unlocked, want 3e12 locked", total, unlocked)
	}
	n.Restart(t)
	if got := n.Height(t); got != height+1 {
		t.Errorf("height %d after a restart, want %d", got, height+1)
	}
	n.PopBlocks(t, 1)
	if got := poolHashes(t, n); !slices.Equal(got, []string{paid.Hash}) {
		t.Errorf("pool %v after the block is removed", got)
	}
	n.FlushPool(t)
	n.Mine(t, 2)
	if total, _ := shop.Balance(t); total != 0 {
		t.Errorf("balance %d after the transaction is removed", total)
	}

	locked := n.Miner.Transfer(t, uint64(n.Height(t)+100), monerotest.To{Address: addresses[0], Amount: 1e12})
	n.Mine(t, 12)
	outputs := shop.Outputs(t)
	if len(outputs) != 1 || outputs[0].Tx != locked.Hash || outputs[0].Amount != 1e12 || outputs[0].Unlocked || outputs[0].Subaddress.Minor != 1 {
		t.Errorf("outputs %+v", outputs)
	}
	output := n.Miner.Spendable(t)
	first, second := n.Miner.SweepSingle(t, output.KeyImage, shop.Address), n.Miner.SweepSingle(t, output.KeyImage, shop.Address)
	if got := poolHashes(t, n); len(got) > 0 {
		t.Errorf("pool %v before Submit", got)
	}
	if got := n.Submit(t, first.Hex); got != "" {
		t.Errorf("Submit() = %q", got)
	}
	if got := n.Submit(t, second.Hex); got != "double spend" {
		t.Errorf("Submit() of the rival = %q", got)
	}
	n.FlushPool(t, first.Hash)
	if got := n.Submit(t, second.Hex); got != "" {
		t.Errorf("Submit() of the rival alone = %q", got)
	}
}
