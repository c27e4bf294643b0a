package e2e_test

import (
	"testing"

	"github.com/chromedp/chromedp"
)

// The account key of the wallet "abandon … about" with its first address, and the key of another account.
const (
	bitcoinKey     = "zpub6rFR7y4Q2AijBEqTUquhVz398htDFrtymD9xYYfG1m4wAcvPhXNfE3EfH1r1ADqtfSdVCToUG868RvUUkgDKf31mGDtKsAYz2oz2AGutZYs"
	bitcoinAddress = "bc1qcr8te4kr609gcawutmrza0j4xv80jy8z306fyu"
	nestedKey      = "ypub6Ww3ibxVfGzLrAH1PNcjyAWenMTbbAosGNB6VvmSEgytSER9azLDWCxoJwW7Ke7icmizBMXrzBx9979FfaHxHcrArf3zbeJJJUZPf663zsP"
	nestedAddress  = "37VucYSaXLCAsxYyAPfbSi9eh4iEcbShgf"
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
