package e2e_test

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// signedInNew visits the page of the keys as a new account.
func signedInNew(b *tab, site *demoSite) {
	b.t.Helper()
	member := newDeskClient(site.t, site.owner.invite("manager"), "Runa at the keys")
	b.signInAs(member)
	b.visit(member.url + deskShop + "/account/keyboard")
}

// Keys open places and rows, and do nothing in a field and after the account has disabled them.
func TestDesk_keys_open_places_unless_disabled(t *testing.T) {
	t.Parallel()
	site := newDemoSite(t)
	tab := openAlone(t, screen{width: 1280, height: 900})
	atInvoice(forOrder)(tab, site)
	signedInNew(tab, site)
	arrives := func(path string) {
		t.Helper()
		until(t, waitTimeout, "the page "+path+" is open", func() bool {
			return strings.HasSuffix(get(tab, chromedp.Location()), path) && get(tab, chromedp.Evaluate[bool](`document.readyState === "complete"`))
		})
	}
	for _, place := range []struct{ keys, path string }{
		{"go", deskShop}, {"gn", "/attention"}, {"gs", "/products"}, {"gr", "/reports"}, {"gw", "/wallets"}, {"gt", "/theme"}, {"gh", "/health"}, {"?", "/account/keyboard"}, {"gp", "/payments"},
	} {
		tab.pressKey(place.keys)
		arrives(place.path)
	}
	tab.visit(site.owner.url + deskShop + "/payments?mode=test")
	tab.pressKey("j")
	first := get(tab, chromedp.Evaluate[string](`document.activeElement.href || ""`))
	if !strings.Contains(first, "/payments/") {
		t.Errorf("the key j focuses %q", first)
	}
	tab.pressKey("k") // there is no row above
	if got := get(tab, chromedp.Evaluate[string](`document.activeElement.href || ""`)); got != first {
		t.Errorf("the key k focuses %q, want %q", got, first)
	}
	tab.pressKey(kb.Enter)
	arrives(first[strings.LastIndexByte(first, '/'):])

	tab.pressKey("/")
	tab.checkFocus("q")
	get(tab, chromedp.Evaluate[any](`void (document.activeElement.value = "")`)) // the protocol sends the character apart from its key
	tab.do(chromedp.KeyEvent("wallets" + kb.Enter))
	arrives("/wallets")
	tab.visit(site.owner.url + deskShop + "/account/keyboard")
	tab.click("main form button")
	tab.waitFor("[role=status]", "The keys do nothing", nil)
	tab.pressKey("gp")
	tab.pressKey("/")
	tab.checkFocus("")
	if at := get(tab, chromedp.Location()); !strings.HasSuffix(at, "/account/keyboard?done=shortcuts-off") {
		t.Errorf("with disabled keys the page is %s, want that of the keys still", at)
	}
	tab.checkConsole()
}
