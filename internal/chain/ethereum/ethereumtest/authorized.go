package ethereumtest

import (
	"math/big"
	"testing"
)

// DeployAuthorized deploys a token with the authorizations of EIP-3009, whose name is EURC and whose version is 2.
func (n *Node) DeployAuthorized(t testing.TB) (contract string) {
	t.Helper()
	return n.Deploy(t, Code("authorized"))
}

// SetMulticall sets the code of an address to that of a contract with Multicall3.aggregate3.
func (n *Node) SetMulticall(t testing.TB, address string) {
	t.Helper()
	var code string
	n.Call(t, &code, "eth_getCode", n.Deploy(t, Code("multicall")), "latest")
	n.Call(t, nil, "anvil_setCode", address, code)
}

// Read calls a method of a contract without a transaction, and returns the number in its result.
func (n *Node) Read(t testing.TB, contract, data string) *big.Int {
	t.Helper()
	var result string
	n.Call(t, &result, "eth_call", map[string]string{"to": contract, "data": data}, "latest")
	return parseWord(t, result)
}

// Balance returns the balance of an account in wei.
func (n *Node) Balance(t testing.TB, account string) *big.Int {
	t.Helper()
	var result string
	n.Call(t, &result, "eth_getBalance", account, "latest")
	return parseWord(t, result)
}

// parseWord parses 0x and the hex digits of a number.
func parseWord(t testing.TB, text string) *big.Int {
	t.Helper()
	number, ok := new(big.Int).SetString(text, 0)
	if !ok {
		t.Fatalf("%q is not a number", text)
	}
	return number
}
