package e2e_test

import (
	"bytes"
	"encoding/json"
	"net/http/httptest"
	"net/url"
	"os/exec"
	"strings"
	"testing"
	"time"

	"chequer/internal/api"
	"chequer/internal/chain/lightning/lightningtest"
	"chequer/internal/chain/lightning/lndtest"
	"chequer/internal/merchant"
)

// connect connects the first shop of a program that does not run to a Lightning wallet or node, and returns an API key.
func (p *process) connect(connection string) (key merchant.Key) {
	p.t.Helper()
	p.runWith(connection+"\n", "lightning", "add")
	if err := json.Unmarshal(p.run("key", "add", "--json"), &key); err != nil {
		p.t.Fatal(err)
	}
	return key
}

// waitConnected waits until the running server offers the connections to Lightning: only the operator's commands see their state.
func (p *process) waitConnected() {
	p.t.Helper()
	until(p.t, waitTimeout, "the connections are looked up", func() bool {
		c := exec.CommandContext(p.t.Context(), binary(p.t), "doctor")
		c.Env = p.environ
		output, _ := c.Output() // the status is that of all findings
		return bytes.Contains(output, []byte("ok    lightning (")) && !bytes.Contains(output, []byte("warn  lightning ("))
	})
}

// The program is killed, and the node settles a payment meanwhile. The next start looks it up, also if the price is no longer held.
func TestKilled_while_a_payment_over_Lightning_settles(t *testing.T) {
	for _, engine := range engines {
		t.Run(engine.name, func(t *testing.T) {
			node := lightningtest.NewLND(t, time.Now, lightningtest.InvoiceMacaroon)
			server := httptest.NewTLSServer(node)
			t.Cleanup(server.Close)
			settings := []string{"CHEQUER_BITCOIN_NETWORK=regtest", "CHEQUER_BITCOIN_NODE=off", "CHEQUER_ETHEREUM_RPC=off", "CHEQUER_BASE_RPC=off", allowLoopback}
			if url := engine.database(t); url != "" {
				settings = append(settings, "CHEQUER_DATABASE_URL="+url)
			}
			p := newProcess(t, t.TempDir(), settings...)
			p.run("init")
			p.key = p.connect(node.Connection(server))
			p.serve()
			p.waitConnected()
			s := newShop(t, p.url, p.key)
			id := s.createInvoice()
			_, method := lightningOf(t, s.invoice(id))
			if method.Address == "" {
				t.Fatal("the invoice has no payment request")
			}
			p.kill()
			paid := node.Wallet.Last()
			if paid.Text != method.Address {
				t.Fatalf("the node made %s, the invoice has %s", paid.Text, method.Address)
			}
			node.Wallet.Pay(paid.Hash)
			p.serve()
			until(t, waitTimeout, "the invoice is paid", func() bool { return s.invoice(id).Status == api.StatusPaid })
			if r := s.invoice(id); len(r.Payments) != 1 || r.Payments[0].Tx != paid.Hash || r.Payments[0].Address != paid.Text {
				t.Errorf("payments %+v, want the request with the hash %s", r.Payments, paid.Hash)
			}
		})
	}
}

// Chromium shows one code for Bitcoin and Lightning, which a real node pays by Lightning. The open page shows the payment without
// being loaded again.
func TestLightning_real_nodes_pay_the_code_of_the_page(t *testing.T) {
	pair := lndtest.Start(t)
	bitcoin := coins[1]
	settings := append(bitcoin.settings(pair.Chain), "CHEQUER_STOREFRONT=on", "CHEQUER_SHOP_NAME=Atelier Nord", allowLoopback)
	p := newProcess(t, t.TempDir(), settings...)
	p.addWallet(bitcoin)
	key := p.connect(pair.Shop.Connection(t, pair.Shop.Macaroon(t, "invoice")))
	p.serve()
	p.waitScanned()
	p.waitConnected()
	merchant := newShop(t, p.url, key)
	for _, s := range screens {
		t.Run(s.name, func(t *testing.T) {
			tab := open(t, s)
			page := tab.createInvoice(p.url, "12,50")
			_, method := lightningOf(t, merchant.invoice(idOf(page)))
			link := tab.decode(".qr svg")
			content, err := url.Parse(strings.ToLower(link))
			if err != nil || content.Scheme != "bitcoin" || content.Query().Get("lightning") != method.Address {
				t.Fatalf("the code contains %q, error %v, want a link of Bitcoin with the request %s", link, err, method.Address)
			}
			reload := tab.reloader(s, page)
			pair.Payer.Pay(t, content.Query().Get("lightning"))
			tab.waitFor("#st", "Paid", reload)
			tab.picture(s, "lightning_real_paid")
			if r := merchant.invoice(idOf(page)); r.PaidCurrency != api.MethodLightning || r.Status != api.StatusPaid {
				t.Errorf("%s by %s, want paid by Lightning", r.Status, r.PaidCurrency)
			}
			tab.checkConsole()
		})
	}
}
