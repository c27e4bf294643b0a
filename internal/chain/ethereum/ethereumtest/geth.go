package ethereumtest

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"math/big"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/btcsuite/btcd/btcec/v2"
	"github.com/btcsuite/btcd/btcec/v2/ecdsa"

	"chequer/internal/programtest"
)

// gethChainID is the chain ID of geth's developer network, gethSenders the number of accounts
// that are funded there.
const (
	gethChainID = 1337
	gethSenders = 60
)

// geth is the additional state of a Node that runs geth, which signs only for its own account.
type geth struct {
	keys        map[string]*btcec.PrivateKey // by account
	withdrawals int64                        // number of withdrawals so far, one for each empty block
}

// Geth starts go-ethereum as a node of its developer network, with the contracts
// deployed. It is built only for a nightly run, see fetch.sh: there the test fails if it is
// missing, and in all other runs the test is skipped.
func Geth(t *testing.T) *Node {
	t.Helper()
	if os.Getenv("E2E_NIGHTLY") == "" {
		t.Skip("geth is for make nightly")
	}
	program := programtest.FetchedPath("geth")
	if _, err := exec.LookPath(program); err != nil {
		t.Fatalf("geth is missing in a nightly run: %v", err)
	}
	host, port, err := net.SplitHostPort(programtest.FreeAddress(t, "127.0.0.1"))
	if err != nil {
		t.Fatal(err)
	}
	n := &Node{
		RPC: "http://" + net.JoinHostPort(host, port), ChainID: gethChainID, txs: map[string]signed{}, geth: &geth{keys: map[string]*btcec.PrivateKey{}},
	}
	process, err := programtest.Start(exec.Command(program,
		"--dev", "--dev.period", "0", "--datadir", t.TempDir(), "--http", "--http.addr", host, "--http.port", port, "--http.api", "eth,net,web3,debug,dev",
		"--ipcdisable", "--nodiscover", "--maxpeers", "0", "--port", "0", "--nat", "none", "--authrpc.port", "0", "--verbosity", "1"))
	if err != nil {
		t.Fatalf("start geth: %v", err)
	}
	t.Cleanup(process.Kill)
	var accounts []string
	n.until(t, "it answers", func() bool { return n.call(&accounts, "eth_accounts") == nil })
	n.fund(t, accounts[0])
	n.Token = n.Deploy(t, Code("token", 0))
	n.FeeToken = n.Deploy(t, Code("token", 10))
	n.LookalikeToken = n.Deploy(t, Code("odd"))
	return n
}

// until waits until a condition is true.
func (n *Node) until(t testing.TB, name string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(timeout); !condition(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("geth: after %s not true: %s", timeout, name)
		}
	}
}

// fund creates the senders and gives each of them one ether.
func (n *Node) fund(t testing.TB, from string) {
	t.Helper()
	var last string
	for nonce := range gethSenders { // explicit, because geth may not count its last nonce yet
		key, err := btcec.NewPrivateKey()
		if err != nil {
			t.Fatal(err)
		}
		sender := "0x" + hex.EncodeToString(keccak(key.PubKey().SerializeUncompressed()[1:])[12:])
		n.geth.keys[sender], n.senders = key, append(n.senders, sender)
		n.Call(t, &last, "eth_sendTransaction", map[string]any{"from": from, "to": sender, "value": fmt.Sprintf("0x%x", big.NewInt(1e18)), "nonce": fmt.Sprintf("0x%x", nonce)})
	}
	n.until(t, "the senders are funded", func() bool { return n.mined(t, last) })
}

// mined reports whether a transaction is in a block. While geth indexes its blocks, it
// returns an error for an unknown transaction.
func (n *Node) mined(t testing.TB, tx string) bool {
	t.Helper()
	var receipt *struct{ Status string }
	err := n.call(&receipt, "eth_getTransactionReceipt", tx)
	if err != nil && !strings.Contains(err.Error(), "indexing is in progress") {
		t.Fatalf("geth: receipt: %v", err)
	}
	return receipt != nil
}

// signRaw signs a transaction. See EIP-155.
func (g *geth) signRaw(t testing.TB, s signed, chainID uint64, to, data string) (raw string) {
	t.Helper()
	value := s.value
	if value == nil {
		value = new(big.Int)
	}
	number := func(text string) *big.Int {
		n, ok := new(big.Int).SetString(strings.TrimPrefix(text, "0x"), 16)
		if !ok {
			t.Fatalf("%q is not a number", text)
		}
		return n
	}
	octets := func(text string) []byte {
		raw, err := hex.DecodeString(strings.TrimPrefix(text, "0x"))
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
	fields := [][]byte{
		number(s.nonce).Bytes(), big.NewInt(s.price).Bytes(), big.NewInt(gas).Bytes(), octets(to), value.Bytes(), octets(data),
	}
	chain := new(big.Int).SetUint64(chainID)
	hash := keccak(rlp(append(fields[:6:6], chain.Bytes(), nil, nil)...))
	signature := ecdsa.SignCompact(g.keys[s.from], hash, false)
	v := new(big.Int).Lsh(chain, 1)
	v.Add(v, big.NewInt(35+int64(signature[0]-27)))
	rValue, sValue := bytes.TrimLeft(signature[1:33], "\x00"), bytes.TrimLeft(signature[33:], "\x00")
	return "0x" + hex.EncodeToString(rlp(append(fields, v.Bytes(), rValue, sValue)...))
}

// rlp encodes a list of strings. See the Yellow Paper, "Recursive Length Prefix".
func rlp(fields ...[]byte) []byte {
	var list []byte
	for _, f := range fields {
		if len(f) != 1 || f[0] >= 0x80 {
			list = append(list, lengthPrefix(0x80, len(f))...)
		}
		list = append(list, f...)
	}
	return append(lengthPrefix(0xc0, len(list)), list...)
}

// lengthPrefix returns the prefix of a string (kind 0x80) or a list (kind 0xc0) of n bytes.
func lengthPrefix(kind byte, n int) []byte {
	if n < 56 {
		return []byte{kind + byte(n)}
	}
	digits := big.NewInt(int64(n)).Bytes()
	return append([]byte{kind + 55 + byte(len(digits))}, digits...)
}

// mineGeth waits for the blocks that geth makes of transactions on their arrival. Without
// transactions it makes geth mine an empty block, which geth does for a withdrawal.
func (n *Node) mineGeth(t testing.TB, txs []string) {
	t.Helper()
	for _, tx := range txs {
		n.until(t, "transaction is in a block", func() bool { return n.mined(t, tx) })
	}
	if len(txs) > 0 {
		return
	}
	before := n.Height(t)
	n.geth.withdrawals++
	n.Call(t, nil, "dev_addWithdrawal", map[string]any{
		"index": fmt.Sprintf("0x%x", n.geth.withdrawals), "validatorIndex": "0x1", "address": "0x" + strings.Repeat("0", 39) + "1", "amount": "0x1",
	})
	n.until(t, "empty block is mined", func() bool { return n.Height(t) > before })
}
