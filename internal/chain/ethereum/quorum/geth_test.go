package quorum_test

import (
	"fmt"
	"math/big"
	"testing"

	"chequer/internal/chain"
	"chequer/internal/chain/chaintest"
	"chequer/internal/chain/ethereum/ethereumtest"
	"chequer/internal/chain/ethereum/quorum"
	"chequer/internal/keys"
	"chequer/internal/money"
)

// TestGeth runs the suite with geth, the most common node of Ethereum.
func TestGeth(t *testing.T) {
	chaintest.Run(t, func(t *testing.T) chaintest.Harness {
		n := ethereumtest.Geth(t)
		return newHarness(t, n, quorum.Endpoint{URL: n.RPC, Trusted: true})
	})
}

// geth is stricter than anvil: it accepts at most 1,000 values in a topic and 1,000 calls in a
// request.
func TestGeth_accepts_large_requests(t *testing.T) {
	node := ethereumtest.Geth(t)
	h := newHarness(t, node, quorum.Endpoint{URL: node.RPC, Trusted: true})
	watch := &accountWatch{Watch: chaintest.Watch{}}
	for i := range 1000 {
		watch.Watch[fmt.Sprintf("0x%040x", 1000+i)] = true
	}
	for i := range 1500 {
		watch.strays = append(watch.strays, fmt.Sprintf("0x%040x", 5000+i))
	}
	wei := big.NewInt(1_000_000_000_000_000)
	script := fmt.Sprintf("0x%040x", 1999)
	node.Mine(t, node.Send(t, chaintest.Output{Script: script, Amount: money.MustParse("12.5", h.Asset().Currency)}), node.TransactWith(t, wei, script, ""))
	s, err := h.net.Scan(t.Context(), chain.Cursor{}, watch)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, transfer := range s.Transfers {
		got[transfer.Asset] = transfer.Amount.String()
	}
	if len(s.Transfers) != 2 || got["EURC"] != "12.5" || got["ETH"] != "0.001" || s.Read.Hash != s.Tip.Hash {
		t.Errorf("transfers %v, balances read at %+v; want one transfer of each asset, and the tip", s.Transfers, s.Read)
	}
	if faults := h.net.TokenFaults(); len(faults) != 0 {
		t.Errorf("token faults %+v, want none", faults)
	}
	contract, err := keys.ParseEthereumAddress(node.Token)
	if err != nil {
		t.Fatal(err)
	}
	best, err := h.quorum.Best(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if decimals, known, err := h.quorum.Decimals(t.Context(), best.Header, contract); decimals != 6 || !known || err != nil {
		t.Errorf("Decimals() = %d, %t, %v; want 6", decimals, known, err)
	}
}
