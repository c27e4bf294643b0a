package main

import (
	"math/big"
	"strconv"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"chequer/internal/chain/ethereum/ethereumtest"
	"chequer/internal/evm"
	"chequer/internal/storage/storagetest"
)

// sweptAddresses are the first addresses of the wallet of testdata/sweep.txt, and its payer.
var (
	sweptAddresses = []string{"0x9858EfFD232B4033E47d90003D41EC34EcaEda94", "0x6Fac4D18c912343BF86fa7049364Dd4E424Ab9C0", "0xb6716976A3ebe8D39aCEB04372f22Ff8e6802D7A"}
	sweepPayer     = "0xbd360E2157d41C9b42e9735720A46D7C4573Af6A"
)

// sweepNodes has the node of each script.
var sweepNodes sync.Map

// sweepNode starts a node of Base on which two addresses hold EURC, one holds the coin, and the payer holds the coin. It sets the
// variable RPC to its URL, and issues the addresses of the wallets in the data directory.
func sweepNode(t *testing.T, ts *testscript.TestScript) {
	t.Helper()
	const (
		token  = "0x60a3E35Cc302bFA44Cb288Bc5a4F316Fdb1adb42"
		oracle = "0x420000000000000000000000000000000000000F"
	)
	n := ethereumtest.Anvil(t, 8453)
	var code string
	n.Call(t, &code, "eth_getCode", n.DeployAuthorized(t), "latest")
	n.Call(t, nil, "anvil_setCode", token, code)
	n.SetMulticall(t, evm.Multicall3.String())
	n.Call(t, nil, "anvil_setCode", oracle, "0x6103e860005260206000f3") // returns 1,000
	for i, units := range []int64{1_250_000_000, 68_400_000} {
		n.MineBlock(t, n.Transact(t, token, ethereumtest.Data("mint(address,uint256)", sweptAddresses[i], big.NewInt(units))))
	}
	for _, account := range []string{sweptAddresses[2], sweepPayer} {
		n.Call(t, nil, "anvil_setBalance", account, "0x16345785d8a0000") // 0.1
	}
	n.Call(t, nil, "anvil_mine", "0x64")
	ts.Setenv("RPC", n.RPC)
	storagetest.Exec(t, "sqlite:"+ts.MkAbs("data/chequer.db"),
		"INSERT INTO counters (name, next) SELECT counter, 3 FROM wallets WHERE true ON CONFLICT (name) DO UPDATE SET next = excluded.next")
	sweepNodes.Store(ts, n)
}

// mine N mines blocks on the node of the script.
func mine(t *testing.T, ts *testscript.TestScript, args []string) {
	t.Helper()
	count, err := strconv.Atoi(args[0])
	ts.Check(err)
	n, _ := sweepNodes.Load(ts)
	n.(*ethereumtest.Node).Call(t, nil, "anvil_mine", "0x"+strconv.FormatInt(int64(count), 16))
}
