// Package monerotest starts real programs of Monero for tests: a daemon, monerod, on its own regression test network, and
// wallets, monero-wallet-rpc. It mines, pays and reorganises.
package monerotest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"chequer/internal/programtest"
)

// timeout limits one action of a program. It is long, because the machine may be busy.
const timeout = 3 * time.Minute

// The names of the programs of the Debian package monero.
const (
	daemonProgram = "monerod"
	walletProgram = "monero-wallet-rpc"
)

// Node is a running daemon. Its methods fail the test on errors and return when the daemon shows their effect. They must be
// called from one goroutine.
type Node struct {
	// URL and Restricted are the URLs of its RPC and its restricted RPC, which have the same User and Password. With https
	// in place of http they accept TLS connections, too.
	URL, Restricted string
	// User and Password are the login of its RPC, empty without the option Login.
	User, Password string
	// Certificate is the SHA-256 of its certificate.
	Certificate []byte
	// Miner is the wallet that its blocks pay. It is nil with the option Bare.
	Miner *Wallet

	dir        string
	arguments  []string
	p2p        string // address for peers
	isBare     bool
	isStagenet bool
	process    *programtest.Process
}

// Option changes how a node is started.
type Option func(*Node)

// Login makes the RPC ask for a login.
func Login() Option { return func(n *Node) { n.User, n.Password = "shop", "only-for-tests" } }

// Bare starts the daemon without a wallet and without coins.
func Bare() Option { return func(n *Node) { n.isBare = true } }

// Stagenet starts the daemon without a wallet on the stagenet, whose blocks it does not get.
func Stagenet() Option { return func(n *Node) { n.isBare, n.isStagenet = true, true } }

// Arguments adds arguments to the command line of the daemon.
func Arguments(arguments ...string) Option {
	return func(n *Node) { n.arguments = append(n.arguments, arguments...) }
}

// Require skips a test outside a nightly run, and fails it if a program is missing there. See fetch.sh. Benchmarks run at
// any time, and check Missing first.
func Require(t testing.TB) {
	t.Helper()
	if _, isBenchmark := t.(*testing.B); !isBenchmark && os.Getenv("E2E_NIGHTLY") == "" {
		t.Skip("programs of Monero are for make nightly")
	}
	if program := Missing(); program != "" {
		t.Fatalf("%s is not installed", program)
	}
}

// Missing returns the name of a program that is not installed, "" if all are.
func Missing() string {
	for _, program := range []string{daemonProgram, walletProgram} {
		if _, err := exec.LookPath(program); err != nil {
			return program
		}
	}
	return ""
}

// initialHeight is the height of a new chain. The coins of its first 20 blocks can be spent, which is enough for the rings
// of transactions.
const initialHeight = 80

// Start starts a daemon with a miner that has coins.
func Start(t testing.TB, options ...Option) *Node {
	t.Helper()
	Require(t)
	n := &Node{dir: t.TempDir()}
	for _, option := range options {
		option(n)
	}
	main, restricted := programtest.FreeAddress(t, "127.0.0.1"), programtest.FreeAddress(t, "127.0.0.1")
	n.URL, n.Restricted, n.p2p = "http://"+main, "http://"+restricted, programtest.FreeAddress(t, "127.0.0.1")
	certificate, key := n.newCertificate(t)
	network := []string{"--regtest", "--keep-fakechain", "--fixed-difficulty", "1"}
	if n.isStagenet {
		network = []string{"--stagenet"}
	}
	n.arguments = append(network, append([]string{
		offline, "--data-dir", n.dir, "--non-interactive",
		"--p2p-bind-ip", "127.0.0.1", "--p2p-bind-port", port(t, n.p2p), "--no-igd", "--no-zmq",
		"--rpc-bind-ip", "127.0.0.1", "--rpc-bind-port", port(t, main), "--rpc-restricted-bind-port", port(t, restricted),
		"--rpc-ssl", "autodetect", "--rpc-ssl-certificate", certificate, "--rpc-ssl-private-key", key, "--disable-rpc-ban",
		"--check-updates", "disabled", "--disable-dns-checkpoints", "--log-level", "0",
	}, n.arguments...)...)
	if n.User != "" {
		n.arguments = append(n.arguments, "--rpc-login", n.User+":"+n.Password)
	}
	t.Cleanup(n.Kill)
	n.Launch(t)
	if !n.isBare {
		n.Miner = n.NewWallet(t)
		n.Mine(t, initialHeight)
	}
	return n
}

// offline is the argument of daemons without peers.
const offline = "--offline"

// Connect restarts the daemon with a peer, the only one that it connects to. The peer must be another daemon that was or
// will be connected to this one.
func (n *Node) Connect(t testing.TB, peer *Node) {
	t.Helper()
	n.arguments = slices.DeleteFunc(n.arguments, func(a string) bool { return a == offline })
	n.arguments = append(n.arguments, "--add-exclusive-node", peer.p2p, "--allow-local-ip")
	n.Restart(t)
}

func port(t testing.TB, address string) string {
	t.Helper()
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// Launch starts a stopped daemon with its existing chain and addresses, and returns when it answers.
func (n *Node) Launch(t testing.TB) {
	t.Helper()
	n.process = launch(t, n.dir, exec.Command(daemonProgram, n.arguments...), func() bool {
		return n.call(t.Context(), "get_info", nil, nil) == nil
	})
}

// launch starts a program, and waits until it answers. Its output is in the directory.
func launch(t testing.TB, dir string, command *exec.Cmd, answers func() bool) *programtest.Process {
	t.Helper()
	name := filepath.Join(dir, "output")
	output, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer output.Close()
	command.Dir, command.Stdout, command.Stderr = dir, output, output // the wallet writes a log to its working directory
	process, err := programtest.Start(command)
	if err != nil {
		t.Fatalf("start %s: %v", command.Path, err)
	}
	for deadline := time.Now().Add(timeout); !answers(); time.Sleep(50 * time.Millisecond) {
		isOver := time.Now().After(deadline)
		select {
		case <-process.Ended:
			isOver = true
		default:
		}
		if isOver {
			process.Kill()
			text, _ := os.ReadFile(name)
			t.Fatalf("%s does not answer:\n%s", command.Path, text[max(0, len(text)-2000):])
		}
	}
	return process
}

// Stop stops the daemon, which writes its chain, and returns when it has ended.
func (n *Node) Stop(t testing.TB) {
	t.Helper()
	n.Get(t, "/stop_daemon", nil, nil)
	select {
	case <-n.process.Ended:
	case <-time.After(timeout):
		t.Fatal("monerod does not stop")
	}
	n.Kill()
}

// Restart stops the daemon and starts it again.
func (n *Node) Restart(t testing.TB) {
	t.Helper()
	n.Stop(t)
	n.Launch(t)
}

// Kill ends the process immediately, if it runs.
func (n *Node) Kill() {
	if n.process != nil {
		n.process.Kill()
		n.process = nil
	}
}

// Height returns the height of the newest block.
func (n *Node) Height(t testing.TB) int64 {
	t.Helper()
	var answer struct{ Height int64 }
	n.Call(t, "get_info", nil, &answer)
	return answer.Height - 1
}

// mineBatch is the number of blocks that are mined by one call, so that each call ends within its timeout.
const mineBatch = 20

// Mine mines blocks that pay the miner.
func (n *Node) Mine(t testing.TB, blocks int) {
	t.Helper()
	n.MineTo(t, n.Miner.Address, blocks)
}

// MineTo mines blocks that pay a primary address.
func (n *Node) MineTo(t testing.TB, address string, blocks int) {
	t.Helper()
	for want := n.Height(t) + int64(blocks); blocks > 0; blocks -= mineBatch {
		n.Call(t, "generateblocks", map[string]any{"amount_of_blocks": min(blocks, mineBatch), "wallet_address": address}, nil)
		if got := n.Height(t); blocks <= mineBatch && got != want {
			t.Fatalf("mined up to height %d, want %d", got, want)
		}
	}
}

// PopBlocks removes the newest blocks from the chain. Their transactions return to the pool.
func (n *Node) PopBlocks(t testing.TB, blocks int) {
	t.Helper()
	want := n.Height(t) - int64(blocks)
	n.Get(t, "/pop_blocks", map[string]any{"nblocks": blocks}, nil)
	if got := n.Height(t); got != want {
		t.Fatalf("popped down to height %d, want %d", got, want)
	}
}

// FlushPool removes transactions from the pool, all of them if none are named.
func (n *Node) FlushPool(t testing.TB, txs ...string) {
	t.Helper()
	n.Call(t, "flush_txpool", map[string]any{"txids": txs}, nil)
}

// Submit sends a transaction, in hexadecimal digits, to the daemon. It returns the reason why the daemon refuses it, such as
// "double spend", or "" if the pool has it.
func (n *Node) Submit(t testing.TB, hex string) string {
	t.Helper()
	var answer struct {
		Status, Reason string
		DoubleSpend    bool `json:"double_spend"`
	}
	if err := n.get(t.Context(), "/send_raw_transaction", map[string]any{"tx_as_hex": hex, "do_not_relay": false}, &answer); err != nil {
		t.Fatalf("monerod: submit: %v", err)
	}
	switch {
	case answer.Status == "OK":
		n.awaitRelay(t)
		return ""
	case answer.DoubleSpend:
		return "double spend"
	}
	return answer.Status + ": " + answer.Reason
}

// awaitRelay waits until the daemon has relayed the transactions of its pool, which it does soon after it has received them.
// Before that it does not mine them, and its restricted RPC does not show them.
func (n *Node) awaitRelay(t testing.TB) {
	t.Helper()
	for deadline := time.Now().Add(timeout); ; time.Sleep(20 * time.Millisecond) {
		all, relayed := n.poolSize(t, n.URL), n.poolSize(t, n.Restricted)
		if all == relayed {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("monerod has relayed %d of %d transactions", relayed, all)
		}
	}
}

// poolSize returns the number of transactions that an RPC shows in the pool.
func (n *Node) poolSize(t testing.TB, url string) int {
	t.Helper()
	var answer struct {
		Size int `json:"tx_pool_size"`
	}
	if err := callRPC(t.Context(), url, n.User, n.Password, "get_info", nil, &answer); err != nil {
		t.Fatalf("monerod: get_info: %v", err)
	}
	return answer.Size
}

// Call calls a method of JSON-RPC and decodes its result, if result is not nil.
func (n *Node) Call(t testing.TB, method string, params, result any) {
	t.Helper()
	if err := n.call(t.Context(), method, params, result); err != nil {
		t.Fatalf("monerod: %s: %v", method, err)
	}
}

// Get calls a path and decodes its answer, if answer is not nil. The status must be OK.
func (n *Node) Get(t testing.TB, path string, params, answer any) {
	t.Helper()
	var raw json.RawMessage
	err := n.get(t.Context(), path, params, &raw)
	var status struct{ Status string }
	if err == nil {
		err = json.Unmarshal(raw, &status)
	}
	if err == nil && status.Status != "OK" {
		err = fmt.Errorf("status %s", status.Status)
	}
	if err == nil && answer != nil {
		err = json.Unmarshal(raw, answer)
	}
	if err != nil {
		t.Fatalf("monerod: %s: %v", path, err)
	}
}

func (n *Node) call(ctx context.Context, method string, params, result any) error {
	return callRPC(ctx, n.URL, n.User, n.Password, method, params, result)
}

func (n *Node) get(ctx context.Context, path string, params, answer any) error {
	text, err := post(ctx, n.URL+path, n.User, n.Password, params)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, answer)
}

// callRPC calls a method of JSON-RPC.
func callRPC(ctx context.Context, url, user, password, method string, params, result any) error {
	if params == nil {
		params = map[string]any{}
	}
	text, err := post(ctx, url+"/json_rpc", user, password, map[string]any{"jsonrpc": "2.0", "id": "0", "method": method, "params": params})
	if err != nil {
		return err
	}
	var answer struct {
		Result json.RawMessage
		Error  *struct {
			Code    int
			Message string
		}
	}
	switch err := json.Unmarshal(text, &answer); {
	case err != nil:
		return fmt.Errorf("%w: %.200s", err, text)
	case answer.Error != nil:
		return fmt.Errorf("%s (%d)", answer.Error.Message, answer.Error.Code)
	case result == nil:
		return nil
	}
	return json.Unmarshal(answer.Result, result)
}

// post sends parameters in JSON. With a user it answers the challenge of the server.
func post(ctx context.Context, url, user, password string, params any) ([]byte, error) {
	if params == nil {
		params = map[string]any{}
	}
	body, err := json.Marshal(params)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	transport := &http.Transport{} // with one connection, to which a challenge belongs
	defer transport.CloseIdleConnections()
	authorization := ""
	for {
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
		if err != nil {
			return nil, err
		}
		if authorization != "" {
			request.Header.Set("Authorization", authorization)
		}
		response, err := (&http.Client{Transport: transport}).Do(request)
		if err != nil {
			return nil, err
		}
		text, err := io.ReadAll(response.Body)
		response.Body.Close()
		switch {
		case err != nil:
			return nil, err
		case response.StatusCode == http.StatusUnauthorized && user != "" && authorization == "":
			authorization = answerChallenge(response.Header.Get("WWW-Authenticate"), user, password, request.URL.Path)
		case response.StatusCode != http.StatusOK:
			return nil, fmt.Errorf("%s: %.200s", response.Status, text)
		default:
			return text, nil
		}
	}
}
