package desk_test

import (
	"net/http"
	"strings"
	"testing"

	"chequer/internal/account"
)

// An account disables the keys, on every page and for itself only.
func TestKeyboard_shortcuts_are_disabled_per_account(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	maren, jonas := f.owner(), f.as("Jonas", account.Seller)
	const at = "/desk/shop/account/keyboard"
	maren.get(at).want(http.StatusOK, "g w Wallets", "g h Health", "j Next row", "Disable the keys")
	if text := jonas.get(at).want(http.StatusOK, "/ Search", "g o Your terminals", "? This page").text(); strings.Contains(text, "Wallets") {
		t.Errorf("the page of a seller has the key of the wallets: %q", text)
	}
	if got := maren.get("/desk/shop").attribute(".rail", "data-keys"); got != at {
		t.Errorf("the page about the keys of the overview is %q, want %q", got, at)
	}
	maren.send(at, "shortcuts", "off").wantRedirect(at + "?done=shortcuts-off")
	for _, path := range []string{"/desk/shop", "/desk/shop/wallets", at} {
		if n := maren.get(path).want(http.StatusOK).find("[data-keys], .find kbd").Length(); n != 0 {
			t.Errorf("%s has keys", path)
		}
	}
	jonas.get(at).want(http.StatusOK, "Disable the keys")
	before := len(f.actions())
	maren.send(at, "shortcuts", "off").wantRedirect(at + "?done=shortcuts-off")
	if n := len(f.actions()) - before; n != 0 {
		t.Errorf("%d entries of the audit log without a change", n)
	}
	maren.send(at, "shortcuts", "on").wantRedirect(at + "?done=shortcuts-on")
	maren.get(at).want(http.StatusOK, "Disable the keys")
	if got := strings.Join(f.actions(), "; "); !strings.HasSuffix(got, "Maren: account.shortcuts_set; Maren: account.shortcuts_set") {
		t.Errorf("the audit log is %s, want two changes by Maren at its end", got)
	}
}

// The search opens a place by its name, unless an invoice is found.
func TestSearch_opens_places(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b, ida := f.owner(), f.as("Ida", account.Bookkeeper)
	for name, path := range map[string]string{"wallets": "/wallets", " Audit Log ": "/log", "theme": "/theme", "your account": "/account", "OVERVIEW": ""} {
		b.get("/desk/shop/payments?q=" + strings.ReplaceAll(name, " ", "+")).wantRedirect("/desk/shop" + path)
	}
	ida.get("/desk/shop/payments?q=wallets").want(http.StatusOK) // a bookkeeper has no such place
	b.get("/desk/shop/payments?q=wallet").want(http.StatusOK)
	inv := f.testInvoices.sell(shop, "wallets", "40.00")
	b.get("/desk/shop/payments?mode=test&q=wallets").wantRedirect("/desk/shop/payments/" + inv.ID)
}
