package lndtest

import (
	"bufio"
	"encoding/hex"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/btcsuite/btcd/btcec/v2"
	"github.com/btcsuite/btcd/btcec/v2/schnorr"

	"chequer/internal/programtest"
)

// Service is the configuration of a Wallet.
type Service struct {
	Relay string
	// Methods are the methods of the connection. The default is those that receive.
	Methods []string
	// LegacyEncryption makes the wallet read and write NIP-04 only, and name no encryption.
	LegacyEncryption bool
	// Silent makes the wallet publish no notification.
	Silent bool
	// Delay is the time before each answer.
	Delay time.Duration
	// Clock is the difference of the times in its answers.
	Clock time.Duration
}

// Wallet is the wallet service of Nostr Wallet Connect of @getalby/sdk, before a node.
type Wallet struct {
	// Connection is the connection that a merchant pastes.
	Connection string

	arguments string // in JSON
	cert      string
	process   *programtest.Process

	mu       sync.Mutex
	requests []WalletRequest
}

// WalletRequest is a request that a Wallet has read.
type WalletRequest struct{ Method, Encryption string }

// receiving are the methods of a connection that may only receive.
var receiving = []string{"get_info", "make_invoice", "lookup_invoice"}

// StartWallet starts a Wallet before a node.
func StartWallet(t *testing.T, n *Node, s Service) *Wallet {
	t.Helper()
	if s.Methods == nil {
		s.Methods = receiving
	}
	wallet, client := newKey(t), newKey(t)
	arguments, err := json.Marshal(map[string]any{
		"relay": s.Relay, "secret": hex.EncodeToString(wallet.Serialize()), "client": public(client), "lnd": n.Server, "macaroon": n.Macaroon(t, "admin"),
		"methods": s.Methods, "nip04": s.LegacyEncryption, "silent": s.Silent, "delay": s.Delay.Milliseconds(), "clock": int(s.Clock / time.Second),
	})
	if err != nil {
		t.Fatal(err)
	}
	w := &Wallet{
		Connection: "nostr+walletconnect://" + public(wallet) + "?relay=" + s.Relay + "&secret=" + hex.EncodeToString(client.Serialize()),
		arguments:  string(arguments), cert: n.Cert,
	}
	t.Cleanup(w.Stop)
	w.Start(t)
	return w
}

func newKey(t *testing.T) *btcec.PrivateKey {
	t.Helper()
	key, err := btcec.NewPrivateKey()
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// public returns the public key in the form of Nostr.
func public(key *btcec.PrivateKey) string {
	return hex.EncodeToString(schnorr.SerializePubKey(key.PubKey()))
}

// Start starts a stopped wallet, and returns when it answers requests.
func (w *Wallet) Start(t *testing.T) {
	t.Helper()
	folder := filepath.Join(filepath.Dir(filepath.Dir(programtest.FetchedPath("lnd"))), "lightning")
	command := exec.Command("node", filepath.Join(folder, "wallet.mjs"), w.arguments)
	command.Env = append(os.Environ(), "NODE_EXTRA_CA_CERTS="+w.cert)
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	output := &strings.Builder{}
	command.Stdout, command.Stderr = writer, output
	w.process, err = programtest.Start(command)
	_ = writer.Close()
	if err != nil {
		t.Fatalf("start wallet service: %v", err)
	}
	lines := bufio.NewScanner(reader)
	for lines.Scan() && lines.Text() != "ready" {
	}
	if lines.Text() != "ready" {
		<-w.process.Ended
		t.Fatalf("the wallet service ended: %s", output)
	}
	go w.read(reader, lines)
}

// read reads the requests that the wallet prints, until it ends.
func (w *Wallet) read(reader *os.File, lines *bufio.Scanner) {
	defer reader.Close()
	for lines.Scan() {
		var r WalletRequest
		if json.Unmarshal(lines.Bytes(), &r) == nil && r.Method != "" {
			w.mu.Lock()
			w.requests = append(w.requests, r)
			w.mu.Unlock()
		}
	}
}

// Stop ends the wallet.
func (w *Wallet) Stop() {
	if w.process != nil {
		w.process.Kill()
		w.process = nil
	}
}

// Requests returns the requests that the wallet has read.
func (w *Wallet) Requests() []WalletRequest {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.requests)
}
