package monerotest

import (
	"os/exec"
	"strings"
	"testing"

	"chequer/internal/programtest"
)

// Wallet is a running wallet with one account. Its methods fail the test on errors. They must be called from one goroutine.
type Wallet struct {
	// Address is its primary address, and ViewKey its private view key in hexadecimal digits.
	Address, ViewKey string

	node    *Node
	url     string
	dir     string
	process *programtest.Process
}

// NewWallet starts a wallet with new keys. It ends with the test.
func (n *Node) NewWallet(t testing.TB) *Wallet {
	t.Helper()
	listen := programtest.FreeAddress(t, "127.0.0.1")
	w := &Wallet{node: n, url: "http://" + listen, dir: t.TempDir()}
	arguments := []string{
		"--daemon-address", strings.TrimPrefix(n.URL, "http://"), "--trusted-daemon", "--daemon-ssl", "disabled", "--rpc-ssl", "disabled", "--disable-rpc-login",
		"--rpc-bind-ip", "127.0.0.1", "--rpc-bind-port", port(t, listen), "--wallet-dir", w.dir, "--non-interactive", "--log-level", "0",
	}
	if n.User != "" {
		arguments = append(arguments, "--daemon-login", n.User+":"+n.Password)
	}
	w.process = launch(t, w.dir, exec.Command(walletProgram, arguments...), func() bool {
		return w.call(t, "get_version", nil, nil) == nil
	})
	t.Cleanup(w.process.Kill)
	w.Call(t, "create_wallet", map[string]any{"filename": "wallet", "language": "English"}, nil)
	var address struct{ Address string }
	w.Call(t, "get_address", map[string]any{"account_index": 0}, &address)
	var key struct{ Key string }
	w.Call(t, "query_key", map[string]any{"key_type": "view_key"}, &key)
	w.Address, w.ViewKey = address.Address, key.Key
	return w
}

// RestoreViewOnly replaces the wallet by one that only has an address and its view key, and that has read no block. It
// reads blocks at the next Refresh.
func (w *Wallet) RestoreViewOnly(t testing.TB, address, viewKey string) {
	t.Helper()
	w.Call(t, "auto_refresh", map[string]any{"enable": false}, nil)
	w.Call(t, "generate_from_keys", map[string]any{"filename": "restored", "password": "", "address": address, "viewkey": viewKey, "restore_height": 0}, nil)
	w.Address, w.ViewKey = address, viewKey
}

// Call calls a method of JSON-RPC and decodes its result, if result is not nil.
func (w *Wallet) Call(t testing.TB, method string, params, result any) {
	t.Helper()
	if err := w.call(t, method, params, result); err != nil {
		t.Fatalf("monero-wallet-rpc: %s: %v", method, err)
	}
}

func (w *Wallet) call(t testing.TB, method string, params, result any) error {
	return callRPC(t.Context(), w.url, "", "", method, params, result)
}

// Refresh reads the new blocks and the pool. A restart of the daemon breaks the connection of the wallet, which notices it at
// its next call.
func (w *Wallet) Refresh(t testing.TB) {
	t.Helper()
	err := w.call(t, "refresh", nil, nil)
	if err != nil && strings.Contains(err.Error(), "no connection to daemon") {
		err = w.call(t, "refresh", nil, nil)
	}
	if err != nil {
		t.Fatalf("monero-wallet-rpc: refresh: %v", err)
	}
}

// Balance returns the balance and the part of it that can be spent, in the smallest units (10^-12 XMR).
func (w *Wallet) Balance(t testing.TB) (total, unlocked uint64) {
	t.Helper()
	w.Refresh(t)
	var answer struct {
		Balance  uint64
		Unlocked uint64 `json:"unlocked_balance"`
	}
	w.Call(t, "get_balance", map[string]any{"account_index": 0}, &answer)
	return answer.Balance, answer.Unlocked
}

// maxSubaddresses is the number of subaddresses that a wallet makes by one call.
const maxSubaddresses = 64

// Subaddresses makes the next subaddresses of account 0 and returns them. The first of a new wallet has the index 1.
func (w *Wallet) Subaddresses(t testing.TB, count int) []string {
	t.Helper()
	var made []string
	for len(made) < count {
		var answer struct{ Addresses []string }
		w.Call(t, "create_address", map[string]any{"account_index": 0, "count": min(count-len(made), maxSubaddresses)}, &answer)
		made = append(made, answer.Addresses...)
	}
	return made
}

// To is a part of a payment: units (10^-12 XMR) to an address.
type To struct {
	Address string `json:"address"`
	Amount  uint64 `json:"amount"`
}

// Tx is a transaction that a wallet made.
type Tx struct {
	Hash string
	// Hex is the transaction for Node.Submit, in hexadecimal digits.
	Hex string
	// Fee is in the smallest units.
	Fee uint64
}

// Transfer pays. The outputs can be spent from an unlock time on: a height below 500,000,000, a time in seconds of Unix, or 0.
func (w *Wallet) Transfer(t testing.TB, unlock uint64, to ...To) Tx {
	t.Helper()
	w.Refresh(t)
	tx := w.makeTx(t, "transfer", map[string]any{"destinations": to, "account_index": 0, "unlock_time": unlock, "get_tx_hex": true})
	w.node.awaitRelay(t)
	return tx
}

// makeTx calls a method that makes one transaction.
func (w *Wallet) makeTx(t testing.TB, method string, params map[string]any) Tx {
	t.Helper()
	var answer struct {
		Hash string `json:"tx_hash"`
		Hex  string `json:"tx_blob"`
		Fee  uint64
	}
	w.Call(t, method, params, &answer)
	return Tx(answer)
}

// Output is an output that the wallet owns.
type Output struct {
	Amount   uint64 // in the smallest units
	KeyImage string `json:"key_image"`
	Unlocked bool
	Spent    bool
	Tx       string `json:"tx_hash"`
	Height   int64  `json:"block_height"`
	// Subaddress is the index of the address that it paid.
	Subaddress struct{ Major, Minor int64 } `json:"subaddr_index"`
}

// Outputs returns the outputs that are not spent.
func (w *Wallet) Outputs(t testing.TB) []Output {
	t.Helper()
	w.Refresh(t)
	var answer struct{ Transfers []Output }
	w.Call(t, "incoming_transfers", map[string]any{"transfer_type": "available", "account_index": 0}, &answer)
	return answer.Transfers
}

// SweepSingle makes a transaction that sends a whole output to an address, and does not send it. Two transactions of the
// same output are a double spend; see Node.Submit.
func (w *Wallet) SweepSingle(t testing.TB, keyImage, address string) Tx {
	t.Helper()
	return w.makeTx(t, "sweep_single", map[string]any{"address": address, "key_image": keyImage, "do_not_relay": true, "get_tx_hex": true})
}

// Spendable returns an output that can be spent.
func (w *Wallet) Spendable(t testing.TB) Output {
	t.Helper()
	for _, o := range w.Outputs(t) {
		if o.Unlocked && !o.Spent {
			return o
		}
	}
	t.Fatal("the wallet has no output that can be spent")
	return Output{}
}
