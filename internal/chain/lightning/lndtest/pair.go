// Package lndtest starts real parts of Lightning for tests: two nodes of lnd with a channel between them, a relay and a
// wallet service of Nostr Wallet Connect, and the service of a Lightning address.
package lndtest

import (
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"os"
	"os/exec"
	"testing"

	"github.com/btcsuite/btcd/btcutil"
	"github.com/btcsuite/btcd/chaincfg"
	"github.com/btcsuite/btcd/txscript"

	"chequer/internal/chain/bitcoin/bitcointest"
	"chequer/internal/chain/chaintest"
	"chequer/internal/money"
	"chequer/internal/programtest"
)

// Pair is two nodes with a channel between them, on a regression test network. Both can pay 4,000,000 satoshis.
type Pair struct {
	Shop, Payer *Node
	Chain       *bitcointest.Node
}

// The size of the channel, and the part of it that the shop has at first, in satoshis.
const (
	channelSize = "10000000"
	channelPush = "5000000"
)

// Require skips a test outside a nightly run, and fails it if a program is missing there. See fetch.sh.
func Require(t testing.TB) {
	t.Helper()
	if os.Getenv("E2E_NIGHTLY") == "" {
		t.Skip("nodes of Lightning are for make nightly")
	}
	for _, program := range []string{"btcd", "lnd", "nostr-relay"} {
		if _, err := exec.LookPath(programtest.FetchedPath(program)); err != nil {
			t.Fatalf("%s is missing in a nightly run: %v", program, err)
		}
	}
}

// Start starts a Pair.
func Start(t testing.TB) *Pair {
	t.Helper()
	Require(t)
	p := &Pair{Chain: bitcointest.Btcd(t, bitcointest.TLS())}
	p.Shop, p.Payer = newNode(t, p.Chain, "--noseedbackup"), newNode(t, p.Chain, "--noseedbackup")
	for _, n := range []*Node{p.Shop, p.Payer} {
		n.Start(t)
	}
	p.fund(t)
	p.connect(t)
	p.openChannel(t)
	return p
}

// Locked starts a third node whose wallet is locked.
func (p *Pair) Locked(t testing.TB) *Node {
	t.Helper()
	n := newNode(t, p.Chain)
	n.launch(t)
	password := base64.StdEncoding.EncodeToString([]byte("only-for-tests"))
	var seed struct {
		Words []string `json:"cipher_seed_mnemonic"`
	}
	n.until(t, "that it has no wallet", func() bool { return n.State(t) == "NON_EXISTING" })
	n.Call(t, http.MethodGet, "/v1/genseed", nil, &seed)
	n.Call(t, http.MethodPost, "/v1/initwallet", map[string]any{"wallet_password": password, "cipher_seed_mnemonic": seed.Words}, nil)
	n.until(t, "its wallet", func() bool { return n.State(t) == "SERVER_ACTIVE" })
	n.Stop(t)
	n.launch(t)
	n.until(t, "that it is locked", func() bool { return n.State(t) == "LOCKED" })
	return n
}

// fund sends coins to the payer.
func (p *Pair) fund(t testing.TB) {
	t.Helper()
	var answer struct{ Address string }
	p.Payer.Call(t, http.MethodGet, "/v1/newaddress?type=WITNESS_PUBKEY_HASH", nil, &answer)
	address, err := btcutil.DecodeAddress(answer.Address, &chaincfg.RegressionNetParams)
	if err != nil {
		t.Fatal(err)
	}
	script, err := txscript.PayToAddrScript(address)
	if err != nil {
		t.Fatal(err)
	}
	tx := p.Chain.Send(t, chaintest.Output{Script: hex.EncodeToString(script), Amount: money.MustParse("1", money.BTC)})
	p.Chain.Mine(t, tx)
	p.Payer.until(t, "its coins", func() bool {
		var balance struct {
			Confirmed string `json:"confirmed_balance"`
		}
		p.Payer.Call(t, http.MethodGet, "/v1/balance/blockchain", nil, &balance)
		return balance.Confirmed == "100000000"
	})
}

// connect connects the payer with the shop.
func (p *Pair) connect(t testing.TB) {
	t.Helper()
	p.Payer.Call(t, http.MethodPost, "/v1/peers", map[string]any{"addr": map[string]string{"pubkey": p.Shop.Key, "host": p.Shop.peers}}, nil)
}

// openChannel opens the channel and returns when both can pay.
func (p *Pair) openChannel(t testing.TB) {
	t.Helper()
	key, err := hex.DecodeString(p.Shop.Key)
	if err != nil {
		t.Fatal(err)
	}
	p.Payer.Call(t, http.MethodPost, "/v1/channels", map[string]any{
		"node_pubkey": key, "local_funding_amount": channelSize, "push_sat": channelPush, "sat_per_vbyte": "2", "private": true,
	}, nil)
	p.Chain.Mine(t, p.Chain.Waiting(t)...)
	p.WaitForChannel(t)
}

// pays reports whether a node can pay another over the channel. It pays one satoshi.
func pays(t testing.TB, payer, payee *Node) bool {
	t.Helper()
	var made struct {
		Request string `json:"payment_request"`
	}
	payee.Call(t, http.MethodPost, "/v1/invoices", map[string]any{"value": "1"}, &made)
	return payer.send(t, map[string]any{"payment_request": made.Request}, "SUCCEEDED") == nil
}

// WaitForChannel returns when both nodes can pay over the channel, such as after a restart of one of them.
func (p *Pair) WaitForChannel(t testing.TB) {
	t.Helper()
	for _, n := range []*Node{p.Shop, p.Payer} {
		n.until(t, "an active channel", func() bool {
			var answer struct{ Channels []struct{ Active bool } }
			n.Call(t, http.MethodGet, "/v1/channels", nil, &answer)
			return len(answer.Channels) == 1 && answer.Channels[0].Active
		})
	}
	// A channel is active before the node has its fees, without which it finds no route.
	p.Payer.until(t, "a payment to the shop", func() bool { return pays(t, p.Payer, p.Shop) })
	p.Shop.until(t, "a payment of the shop", func() bool { return pays(t, p.Shop, p.Payer) })
}
