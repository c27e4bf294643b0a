// Package ethereumtest starts a real EVM node for tests. It deploys test contracts, sends
// transfers of their tokens, mines and reorganises.
package ethereumtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"chequer/internal/programtest"
)

// timeout is the time that a node may take for one action on a busy machine.
const timeout = time.Minute

// Node is a running anvil or geth. With the methods Network and Asset it is a chaintest.Harness.
// Its methods fail the test on errors. They must be called from one goroutine.
type Node struct {
	// RPC is the node's URL, ChainID its chain ID.
	RPC     string
	ChainID uint64
	// Token and FeeToken are ERC-20 contracts; FeeToken keeps a tenth of each transfer.
	// LookalikeToken is a contract whose logs resemble transfers.
	Token, FeeToken, LookalikeToken string

	geth    *geth // nil for anvil
	senders []string
	next    int               // index in senders
	value   *big.Int          // wei of the next transaction
	txs     map[string]signed // by hash
}

// Anvil starts anvil as the node of a network, with the contracts deployed. If fetch.sh could
// not install it, the test is skipped, except in CI, where it fails.
func Anvil(t testing.TB, chainID uint64) *Node {
	t.Helper()
	program := programtest.FetchedPath("anvil")
	programtest.RequireProgram(t, program)
	host, port, err := net.SplitHostPort(programtest.FreeAddress(t, "127.0.0.1"))
	if err != nil {
		t.Fatal(err)
	}
	n := &Node{RPC: "http://" + net.JoinHostPort(host, port), ChainID: chainID, txs: map[string]signed{}}
	process, err := programtest.Start(exec.Command(program,
		"--host", host, "--port", port, "--silent", "--no-mining", "--accounts", strconv.Itoa(maxSenders),
		"--chain-id", strconv.FormatUint(chainID, 10), "--base-fee", "0"))
	if err != nil {
		t.Fatalf("start anvil: %v", err)
	}
	t.Cleanup(process.Kill)
	for deadline := time.Now().Add(timeout); ; time.Sleep(20 * time.Millisecond) {
		err := n.call(&n.senders, "eth_accounts")
		if err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("anvil does not answer: %v", err)
		}
	}
	n.Token = n.Deploy(t, Code("token", 0))
	n.FeeToken = n.Deploy(t, Code("token", 10))
	n.LookalikeToken = n.Deploy(t, Code("odd"))
	return n
}

// Call calls a method of the node and decodes its result, unless result is nil.
func (n *Node) Call(t testing.TB, result any, method string, params ...any) {
	t.Helper()
	if err := n.call(result, method, params...); err != nil {
		t.Fatalf("%s: %v", method, err)
	}
}

func (n *Node) call(result any, method string, params ...any) error {
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": append([]any{}, params...)})
	if err != nil {
		return err
	}
	client := http.Client{Timeout: timeout, Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Post(n.RPC, "application/json", bytes.NewReader(body))
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	var answer struct {
		Result json.RawMessage
		Error  *struct{ Message string }
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		return fmt.Errorf("%s: %w", text, err)
	}
	if answer.Error != nil {
		return fmt.Errorf("%s", answer.Error.Message)
	}
	if result == nil {
		return nil
	}
	return json.Unmarshal(answer.Result, result)
}
