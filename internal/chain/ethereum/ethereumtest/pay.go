package ethereumtest

import (
	"embed"
	"encoding/hex"
	"fmt"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"golang.org/x/crypto/sha3"

	"chequer/internal/chain/chaintest"
)

// contracts are compiled from tokens.sol, authorized.sol and plain.sol by solc 0.8.30 with
//
//	{"evmVersion": "paris", "optimizer": {"enabled": true, "runs": 1},
//	 "metadata": {"bytecodeHash": "none", "appendCBOR": false}}
//
//go:embed token.hex odd.hex authorized.hex plain.hex multicall.hex
var contracts embed.FS

// Code returns the code of a contract of these files with its constructor's arguments.
func Code(contract string, arguments ...int64) string {
	text, err := contracts.ReadFile(contract + ".hex")
	if err != nil {
		panic(err)
	}
	code := "0x" + strings.ReplaceAll(string(text), "\n", "")
	for _, a := range arguments {
		code += encodeNumber(big.NewInt(a))
	}
	return code
}

// encodeNumber encodes a whole number as an argument of a contract.
func encodeNumber(n *big.Int) string { return fmt.Sprintf("%064x", n) }

// encodeAddress encodes an address as an argument.
func encodeAddress(address string) string {
	return strings.Repeat("0", 24) + strings.TrimPrefix(address, "0x")
}

// Data encodes a call of a contract: a method such as "transfer(address,uint256)" and its
// arguments.
func Data(method string, arguments ...any) string {
	data := "0x" + hex.EncodeToString(keccak([]byte(method))[:4])
	for _, a := range arguments {
		switch a := a.(type) {
		case string:
			data += encodeAddress(a)
		case *big.Int:
			data += encodeNumber(a)
		}
	}
	return data
}

func keccak(data []byte) []byte {
	hash := sha3.NewLegacyKeccak256()
	hash.Write(data)
	return hash.Sum(nil)
}

// maxSenders is the number of accounts of anvil. Each sends one transaction, so that
// transactions can be mined in any order.
const maxSenders = 200

// gas is the gas limit of each transaction; enough for all of them.
const gas = 3_000_000

// signed is a signed transaction.
type signed struct {
	raw   string
	from  string
	nonce string
	price int64
	value *big.Int // wei; nil = 0
}

// sign signs a transaction of the next sender. The node does not get it before Mine.
func (n *Node) sign(t testing.TB, to, data string) (tx string) {
	t.Helper()
	from := n.senders[n.next]
	n.next++
	var nonce string
	n.Call(t, &nonce, "eth_getTransactionCount", from, "latest")
	return n.signFrom(t, signed{from: from, nonce: nonce, price: 10_000_000_000, value: n.value}, to, data)
}

func (n *Node) signFrom(t testing.TB, s signed, to, data string) (tx string) {
	t.Helper()
	fields := map[string]any{
		"from": s.from, "nonce": s.nonce, "data": data, "gas": fmt.Sprintf("0x%x", gas), "gasPrice": fmt.Sprintf("0x%x", s.price),
		"chainId": fmt.Sprintf("0x%x", n.ChainID), "value": "0x0",
	}
	if s.value != nil {
		fields["value"] = fmt.Sprintf("0x%x", s.value)
	}
	if to != "" {
		fields["to"] = to
	}
	if n.geth != nil {
		s.raw = n.geth.signRaw(t, s, n.ChainID, to, data)
	} else {
		n.Call(t, &s.raw, "eth_signTransaction", fields)
	}
	raw, err := hex.DecodeString(strings.TrimPrefix(s.raw, "0x"))
	if err != nil {
		t.Fatal(err)
	}
	tx = "0x" + hex.EncodeToString(keccak(raw))
	n.txs[tx] = s
	return tx
}

// Transact signs a transaction that calls a contract; Mine puts it into a block.
func (n *Node) Transact(t testing.TB, contract, data string) (tx string) {
	t.Helper()
	return n.sign(t, contract, data)
}

// TransactWith is Transact with a value in wei.
func (n *Node) TransactWith(t testing.TB, wei *big.Int, to, data string) (tx string) {
	t.Helper()
	n.value = wei
	defer func() { n.value = nil }()
	return n.sign(t, to, data)
}

// Contracts that receive wei and call the account that is their argument. Each copies the code
// after its first eleven bytes.
const (
	Forwards  = "0x600f80600b6000396000f3" + "600060006000600034600035" + "5af100"         // CALL with the value
	Fails     = "0x601380600b6000396000f3" + "600060006000600034600035" + "5af160006000fd" // CALL with the value, and REVERT
	Delegates = "0x600e80600b6000396000f3" + "60006000600060006000" + "355af400"           // DELEGATECALL, which transfers nothing
	CallsCode = "0x600f80600b6000396000f3" + "600060006000600034600035" + "5af200"         // CALLCODE, which transfers nothing
	Ends      = "0x600480600b6000396000f3" + "600035ff"                                    // SELFDESTRUCT, which sends the value
)

// Account encodes an account as the argument of these contracts.
func Account(address string) string { return "0x" + encodeAddress(address) }

// Deploy deploys a contract and mines the transaction.
func (n *Node) Deploy(t testing.TB, code string) (address string) {
	t.Helper()
	tx := n.sign(t, "", code)
	n.MineBlock(t, tx)
	var receipt struct{ ContractAddress, Status string }
	n.Call(t, &receipt, "eth_getTransactionReceipt", tx)
	if receipt.Status != "0x1" {
		t.Fatal("contract was not deployed")
	}
	return receipt.ContractAddress
}

// MoveToken moves the token to another address, such as that of a real token.
func (n *Node) MoveToken(t testing.TB, address string) {
	t.Helper()
	var code string
	n.Call(t, &code, "eth_getCode", n.Token, "latest")
	n.Call(t, nil, "anvil_setCode", address, code)
	n.Call(t, nil, "anvil_setStorageAt", address, "0x1", "0x"+encodeNumber(big.NewInt(6))) // decimals
	n.Token = address
}

// NewScript returns an address without payments.
func (n *Node) NewScript(testing.TB) string {
	return fmt.Sprintf("0x%016x%024x", rand.Uint64(), rand.Uint64())
}

// Send signs a transaction that pays with the token; Mine puts it into a block. There is no
// mempool.
func (n *Node) Send(t testing.TB, outputs ...chaintest.Output) (tx string) {
	t.Helper()
	return n.sign(t, n.Token, encodePayment(outputs))
}

// Replace signs a transaction that replaces another one before it is mined.
func (n *Node) Replace(t testing.TB, tx string, outputs ...chaintest.Output) (replacement string) {
	t.Helper()
	s := n.txs[tx]
	delete(n.txs, tx)
	s.price *= 2
	return n.signFrom(t, s, n.Token, encodePayment(outputs))
}

// encodePayment encodes a call of pay(address[],uint256[]).
func encodePayment(outputs []chaintest.Output) string {
	count := int64(len(outputs))
	data := Data("pay(address[],uint256[])", big.NewInt(64), big.NewInt(64+32+32*count), big.NewInt(count))
	for _, o := range outputs {
		data += encodeAddress(o.Script)
	}
	data += encodeNumber(big.NewInt(count))
	for _, o := range outputs {
		data += encodeNumber(o.Amount.Minor())
	}
	return data
}

// Mine is MineBlock, for chaintest.Harness.
func (n *Node) Mine(t testing.TB, txs ...string) {
	t.Helper()
	n.MineBlock(t, txs...)
}

// MineBlock mines a block with transactions.
func (n *Node) MineBlock(t testing.TB, txs ...string) {
	t.Helper()
	for _, tx := range txs {
		s, known := n.txs[tx]
		if !known {
			t.Fatalf("transaction %s was replaced", tx)
		}
		n.Call(t, nil, "eth_sendRawTransaction", s.raw)
	}
	if n.geth != nil {
		n.mineGeth(t, txs)
		return
	}
	n.Call(t, nil, "evm_mine")
}

// Reorganise removes the newest blocks, down to the lowest that contains one of the
// transactions, and mines the same number of blocks and one more without transactions.
func (n *Node) Reorganise(t testing.TB, txs ...string) {
	t.Helper()
	tip := n.Height(t)
	lowest := tip
	for _, tx := range txs {
		var receipt struct{ BlockNumber string }
		n.Call(t, &receipt, "eth_getTransactionReceipt", tx)
		lowest = min(lowest, parseNumber(t, receipt.BlockNumber))
	}
	if n.geth != nil {
		n.Call(t, nil, "debug_setHead", fmt.Sprintf("0x%x", lowest-1))
		for n.Height(t) < tip {
			n.Mine(t)
		}
	} else {
		n.Call(t, nil, "anvil_reorg", tip-lowest+1, []any{})
		n.Call(t, nil, "anvil_dropAllTransactions")
	}
	n.Mine(t)
}

// Height returns the height of the newest block.
func (n *Node) Height(t testing.TB) int64 {
	t.Helper()
	var height string
	n.Call(t, &height, "eth_blockNumber")
	return parseNumber(t, height)
}

func parseNumber(t testing.TB, text string) (number int64) {
	t.Helper()
	if _, err := fmt.Sscanf(text, "0x%x", &number); err != nil {
		t.Fatalf("%q is not a number", text)
	}
	return number
}

// Outcome reports whether a transaction is in a block, and whether it succeeded.
func (n *Node) Outcome(t testing.TB, tx string) (mined, succeeded bool) {
	t.Helper()
	var receipt *struct{ Status string }
	n.Call(t, &receipt, "eth_getTransactionReceipt", tx)
	return receipt != nil, receipt != nil && receipt.Status == "0x1"
}
