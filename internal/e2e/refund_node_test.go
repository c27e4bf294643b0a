package e2e_test

import (
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/btcsuite/btcd/btcutil/bech32"

	"chequer/internal/api"
	"chequer/internal/chain/bitcoin/bitcointest"
	"chequer/internal/chain/chaintest"
	"chequer/internal/keys"
	"chequer/internal/money"
)

// shopperAddress returns an address of a shopper's wallet on the test network of a coin.
func shopperAddress(t *testing.T, kind keys.Kind) string {
	t.Helper()
	return witnessAddress(t, map[keys.Kind]string{keys.BTC: "bcrt", keys.LTC: "rltc"}[kind], []byte("twenty bytes of hash"))
}

// witnessAddress returns the address of a witness program of version 0; see BIP 173.
func witnessAddress(t *testing.T, prefix string, program []byte) string {
	t.Helper()
	groups, err := bech32.ConvertBits(program, 8, 5, true)
	if err != nil {
		t.Fatal(err)
	}
	address, err := bech32.Encode(prefix, append([]byte{0}, groups...))
	if err != nil {
		t.Fatal(err)
	}
	return address
}

// payLink pays the payment link of a refund, as a wallet does.
func (c coin) payLink(t *testing.T, n *bitcointest.Node, link string) (tx string) {
	t.Helper()
	uri, err := url.Parse(link)
	if err != nil {
		t.Fatal(err)
	}
	_, script, err := keys.ParseAddress(uri.Opaque, c.kind, keys.Regtest)
	if err != nil {
		t.Fatal(err)
	}
	return n.Send(t, chaintest.Output{Script: script, Amount: money.MustParse(uri.Query().Get("amount"), n.Asset().Currency)})
}

// TestReal_coins_refund_an_invoice refunds an overpaid invoice: by command, from a wallet on a real node. The network shows that the
// refund is sent and confirmed, also after a reorganisation and a kill.
func TestReal_coins_refund_an_invoice(t *testing.T) {
	for _, coin := range coins {
		t.Run(coin.name, func(t *testing.T) {
			t.Parallel()
			node := coin.start(t)
			p, key := startShop(t, coin, node)
			shop := newShop(t, p.url, key)
			id := shop.createInvoice()
			r := shop.invoice(id)
			due := money.MustParse(r.PaymentMethods[0].DueAmount, node.Asset().Currency)
			coin.pay(t, node, r, due.Add(due).String())
			node.Mine(t, node.Waiting(t)...)
			node.MineBlocks(t, 3)
			shop.waitStatus(id, api.StatusPaid, waitTimeout)

			var made api.Refund
			if err := json.Unmarshal(p.run("refund", "add", id, "--kind", "surplus", "--address", shopperAddress(t, coin.kind), "--json"), &made); err != nil {
				t.Fatal(err)
			}
			folder := t.TempDir()
			p.run("refund", "export", made.ID, "--for", "core", "--directory", folder)
			file, err := os.ReadFile(filepath.Join(folder, "refunds-core.json"))
			if err != nil || !strings.Contains(string(file), `"`+made.Address+`":"`+made.Amount+`"`) {
				t.Errorf("the file contains %s, %v", file, err)
			}
			state := func() api.Refund { return shop.invoice(id).Refunds[0] }
			waitFor := func(want string) {
				t.Helper()
				until(t, waitTimeout, "the refund is "+want, func() bool { return state().State == want })
			}
			tx := coin.payLink(t, node, made.PaymentURI)
			waitFor("sent")
			if got := state(); got.Tx != tx || got.SentBy != "network" {
				t.Errorf("the refund is sent by %q with %q, want %q", got.SentBy, got.Tx, tx)
			}
			node.Mine(t, tx)
			node.MineBlocks(t, 3)
			waitFor("confirmed")
			node.Fork(t, 4)
			waitFor("sent")
			p.kill()
			node.Mine(t, tx)
			node.MineBlocks(t, 3)
			p.serve()
			waitFor("confirmed")
			if got := state(); got.Tx != tx || got.Trouble != "" || got.Confirmations < 1 {
				t.Errorf("the refund is %+v", got)
			}
		})
	}
}
