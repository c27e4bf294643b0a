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

// newOwner opens a shop without wallets in a tab that is signed in as its owner.
func newOwner(b *tab, w *demoSite) string {
	b.t.Helper()
	o := newFirstRunDesk(w.t)
	b.signInAs(newDeskClient(w.t, o.link, "Maren"))
	return o.url + deskShop
}

// walletForm enters a wallet, and continues to its consequences.
func (b *tab) walletForm(shop, key, address string) {
	b.t.Helper()
	b.visit(shop + "/wallets/add?asset=BTC")
	b.typeInto("#key", key)
	b.typeInto("#address", address)
	b.send("main form button")
}

// withWallets visits the wallets of a shop in which one wallet was replaced.
func withWallets(b *tab, w *demoSite) {
	b.t.Helper()
	shop := newOwner(b, w)
	for _, wallet := range [][2]string{{bitcoinKey, bitcoinAddress}, {nestedKey, nestedAddress}} {
		b.walletForm(shop, wallet[0], wallet[1])
		b.send("#decide button")
		b.waitFor("[role=status]", "New invoices use this wallet.", nil)
	}
	b.visit(shop + "/wallets")
}

// addingWallet visits the page that follows the entry of a wallet, until it has an element.
func addingWallet(key, address, selector string) func(*tab, *demoSite) {
	return func(b *tab, w *demoSite) {
		b.t.Helper()
		b.walletForm(newOwner(b, w), key, address)
		b.do(chromedp.WaitVisible(chromedp.CSS(selector)))
	}
}

// TestDesk_adds_a_wallet follows an owner from the place Wallets to a wallet, without JavaScript.
func TestDesk_adds_a_wallet(t *testing.T) {
	t.Parallel()
	o := newFirstRunDesk(t)
	b := openAlone(t, screen{width: 390, height: 844, noJS: true})
	b.signInAs(newDeskClient(t, o.link, "Maren"))
	b.visit(o.url + deskShop + "/wallets")
	b.send(".list a.b")
	b.waitFor("h1", "Wallet: Bitcoin", nil)
	b.typeInto("#key", bitcoinKey)
	b.typeInto("#address", nestedAddress)
	b.send("main form button")
	b.waitFor("#address-error", "This key does not give this address", nil)
	b.typeInto("#address", bitcoinAddress)
	b.send("main form button")
	b.waitFor("h1", "Use this wallet?", nil)
	b.send("#decide button")
	b.waitFor("[role=status]", "New invoices use this wallet.", nil)
	b.waitFor(".cards", "native SegWit", nil)
	b.discardMessages("status of 422 (Unprocessable Entity)")
	b.checkConsole()
}
