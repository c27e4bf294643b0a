package e2e_test

import (
	"net/http/httptest"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"chequer/internal/chain/lightning/lightningtest"
)

// The account key of the wallet "abandon … about" with its first address, and the key of another account.
const (
	bitcoinKey     = "zpub6rFR7y4Q2AijBEqTUquhVz398htDFrtymD9xYYfG1m4wAcvPhXNfE3EfH1r1ADqtfSdVCToUG868RvUUkgDKf31mGDtKsAYz2oz2AGutZYs"
	bitcoinAddress = "bc1qcr8te4kr609gcawutmrza0j4xv80jy8z306fyu"
	nestedKey      = "ypub6Ww3ibxVfGzLrAH1PNcjyAWenMTbbAosGNB6VvmSEgytSER9azLDWCxoJwW7Ke7icmizBMXrzBx9979FfaHxHcrArf3zbeJJJUZPf663zsP"
	nestedAddress  = "37VucYSaXLCAsxYyAPfbSi9eh4iEcbShgf"
)

// The wallet of tests/functional_tests/wallet.py of Monero: its primary address and its private view key.
const (
	moneroAddress = "42ey1afDFnn4886T7196doS9GPMzexD9gXpsZJDwVjeRVdFCSoHnv7KPbBeGpzJBzHRCAs9UxqeoyFQMYbqSWYTfJJQAWDm"
	moneroView    = "49774391fa5e8d249fc2c5b45dadef13534bf2483dede880dac88f061e809100"
)

// enterWallet enters a wallet, and continues to its consequences.
func (b *tab) enterWallet(shop, key, address string) {
	b.t.Helper()
	b.visit(shop + "/wallets/add?asset=BTC")
	b.typeInto("#key", key)
	b.typeInto("#address", address)
	b.send("main form button")
}

// withWallets visits the wallets of a shop in which one wallet was replaced.
func withWallets(b *tab, site *demoSite) {
	b.t.Helper()
	shop := newOwner(b, site).url + deskShop
	for _, wallet := range [][2]string{{bitcoinKey, bitcoinAddress}, {nestedKey, nestedAddress}} {
		b.enterWallet(shop, wallet[0], wallet[1])
		b.send("#decide button")
		b.waitFor("[role=status]", "New invoices use this wallet.", nil)
	}
	b.visit(shop + "/wallets")
}

// addingWallet visits the page that follows the entry of a wallet, until it has an element.
func addingWallet(key, address, selector string) func(*tab, *demoSite) {
	return func(b *tab, site *demoSite) {
		b.t.Helper()
		b.enterWallet(newOwner(b, site).url+deskShop, key, address)
		b.do(chromedp.WaitVisible(chromedp.CSS(selector)))
	}
}

// TestDesk_adds_a_wallet follows an owner from the place Wallets to a wallet, without JavaScript.
func TestDesk_adds_a_wallet(t *testing.T) {
	t.Parallel()
	desk := newFirstRunDesk(t)
	tab := openAlone(t, screen{width: 390, height: 844, noJS: true})
	tab.signInAs(newDeskClient(t, desk.link, "Maren"))
	tab.visit(desk.url + deskShop + "/wallets")
	tab.send(".list a.b")
	tab.waitFor("h1", "Wallet: Bitcoin", nil)
	tab.typeInto("#key", bitcoinKey)
	tab.typeInto("#address", nestedAddress)
	tab.send("main form button")
	tab.waitFor("#address-error", "This key does not give this address", nil)
	tab.typeInto("#address", bitcoinAddress)
	tab.send("main form button")
	tab.waitFor("h1", "Use this wallet?", nil)
	tab.send("#decide button")
	tab.waitFor("[role=status]", "New invoices use this wallet.", nil)
	tab.waitFor(".cards", "native SegWit", nil)
	tab.discardMessages("status of 422 (Unprocessable Entity)")
	tab.checkConsole()
}

// startNode starts lnd on this machine, and returns the text of a connection to it.
func startNode(t *testing.T) string {
	t.Helper()
	node := lightningtest.NewLND(t, time.Now, lightningtest.InvoiceMacaroon)
	server := httptest.NewTLSServer(node)
	t.Cleanup(func() {
		server.CloseClientConnections() // the program may still read notifications
		server.Close()
	})
	return node.Connection(server)
}

// connectable are the settings of a server that calls wallets and nodes on this machine.
var connectable = []string{"CHEQUER_BITCOIN_NODE=off", "CHEQUER_BITCOIN_NETWORK=regtest", "CHEQUER_CALLBACK_ALLOW=127.0.0.0/8"}

// connectedNode visits the wallets of a shop that is connected to a node.
func connectedNode(b *tab, site *demoSite) {
	b.t.Helper()
	owner := newDeskClient(site.t, newFirstRunDesk(site.t, connectable...).link, "Maren")
	b.signInAs(owner)
	b.visit(owner.url + deskShop + "/wallets/lightning")
	b.typeInto("#connection", startNode(site.t))
	b.send("#decide .go")
	b.waitFor("[role=status]", "It makes and finds payment requests, and cannot spend.", nil)
	b.visit(owner.url + deskShop + "/wallets")
}

// TestDesk_connects_a_node follows an owner from the place Wallets to a connection and its test, without JavaScript.
func TestDesk_connects_a_node(t *testing.T) {
	t.Parallel()
	desk := newFirstRunDesk(t, connectable...)
	tab := openAlone(t, screen{width: 390, height: 844, noJS: true})
	tab.signInAs(newDeskClient(t, desk.link, "Maren"))
	tab.visit(desk.url + deskShop + "/wallets")
	tab.send(`.list a[href$="/lightning"]`)
	tab.waitFor("h1", "Connect a Lightning wallet or node", nil)
	tab.typeInto("#connection", "hunter2")
	tab.send("#decide .go")
	tab.waitFor("#connection-error", "not a connection", nil)
	tab.typeInto("#connection", startNode(t))
	tab.send("#decide .go")
	tab.waitFor("[role=status]", "It makes and finds payment requests, and cannot spend.", nil)
	tab.waitFor(".cards", "lnd, 127.0.0.1:", nil)
	tab.send(".cards form button")
	tab.waitFor(".cards", "Test: ready, makes and finds requests, cannot spend", nil)
	tab.send(".cards a.no")
	tab.waitFor("h1", "Remove this wallet? Lightning", nil)
	tab.send("#decide button")
	tab.waitFor("[role=status]", "The wallet was removed.", nil)
	tab.discardMessages("status of 422 (Unprocessable Entity)")
	tab.checkConsole()
}

// withMonero visits the wallets of a shop that has a Monero wallet.
func withMonero(b *tab, site *demoSite) {
	b.t.Helper()
	shop := newOwner(b, site).url + deskShop
	b.visit(shop + "/wallets/monero")
	b.typeInto("#address", moneroAddress)
	b.typeInto("#view_key", moneroView)
	b.send("#decide .go")
	b.waitFor("[role=status]", "New invoices use this wallet.", nil)
	b.visit(shop + "/wallets")
}

// TestDesk_adds_a_Monero_wallet follows an owner from the place Wallets to a Monero wallet and its removal, without JavaScript. The
// page after an error has no view key.
func TestDesk_adds_a_Monero_wallet(t *testing.T) {
	t.Parallel()
	desk := newFirstRunDesk(t)
	tab := openAlone(t, screen{width: 390, height: 844, noJS: true})
	tab.signInAs(newDeskClient(t, desk.link, "Maren"))
	tab.visit(desk.url + deskShop + "/wallets")
	tab.send(`.list a[href$="/monero"]`)
	tab.waitFor("h1", "Add a Monero wallet", nil)
	tab.typeInto("#address", moneroAddress[1:])
	tab.typeInto("#view_key", moneroView)
	tab.send("#decide .go")
	tab.waitFor("#address-error", "Refused", nil)
	if value := get(tab, chromedp.Evaluate[string](`document.querySelector("#view_key").value`)); value != "" {
		t.Errorf("the field has %d characters of a view key", len(value))
	}
	tab.typeInto("#address", moneroAddress)
	tab.typeInto("#view_key", moneroView)
	tab.do(chromedp.KeyEvent(kb.Enter))
	tab.waitFor("[role=status]", "New invoices use this wallet.", nil)
	tab.waitFor(".cards", "42ey1afDF…JQAWDm", nil)
	tab.send(".cards a.no")
	tab.waitFor("h1", "Remove this wallet? Monero", nil)
	tab.send("#decide button")
	tab.waitFor("[role=status]", "The wallet was removed.", nil)
	tab.discardMessages("status of 422 (Unprocessable Entity)")
	tab.checkConsole()
}
