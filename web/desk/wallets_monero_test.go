package desk_test

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"chequer/internal/keys"
	"chequer/internal/merchant"
	"chequer/internal/monero"
	"chequer/internal/money"
	"chequer/internal/report"
)

// Two wallets of tests/functional_tests/wallet.py and transfer.py of Monero: the address and the private view key of each, and
// the private spend key and the seed words of the first. moneroSub is an address of the first with a higher index.
const (
	moneroAddress = "42ey1afDFnn4886T7196doS9GPMzexD9gXpsZJDwVjeRVdFCSoHnv7KPbBeGpzJBzHRCAs9UxqeoyFQMYbqSWYTfJJQAWDm"
	moneroView    = "49774391fa5e8d249fc2c5b45dadef13534bf2483dede880dac88f061e809100"
	moneroSpend   = "148d78d2aba7dbca5cd8f6abcfb0b3c009ffbdbea1ff373d50ed94d78286640e"
	moneroSeed    = "velvet lymph giddy number token physics poetry unquoted nibs useful sabotage limits benches lifestyle eden nitrogen anvil fewest avoid batch vials washing fences goat unquoted"
	moneroSub     = "888tNkZrPN6JsEgekjMnABU4TBzc2Dt29EPAvkRxbANsAnjyPbb3iQ1YBRk1UXcdRsiKc9dhwMVgN5S9cQUiyoogDavup3H"
)

const moneroForm = "/desk/shop/wallets/monero"

// otherMonero returns the address and the private view key of another wallet on the main network.
func otherMonero(t *testing.T) (address, view string) {
	t.Helper()
	var seed [32]byte
	seed[0] = 7
	_, primary, key := monero.NewTestWallet(seed)
	primary.Network = monero.Mainnet
	secret := key.Reveal()
	return primary.String(), hex.EncodeToString(secret[:])
}

// moneroWallet returns the shop's active Monero wallet; the zero Wallet if there is none.
func (f *fixture) moneroWallet() (active merchant.Wallet) {
	f.t.Helper()
	all, err := f.storage.Wallets(f.t.Context(), shop, merchant.Live)
	f.must(err)
	for _, w := range all {
		if w.Asset == string(keys.XMR) {
			active = w
		}
	}
	return active
}

func TestMonero_wallets_are_added_replaced_and_removed(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		b := f.owner()
		if n := b.get("/desk/shop/wallets").want(http.StatusOK, "Monero").find(`main a[href="` + moneroForm + `"]`).Length(); n != 1 {
			t.Errorf("the page has %d links to the form, want 1", n)
		}
		form := b.get(moneroForm).want(http.StatusOK, "Add a Monero wallet", "shows all payments that the wallet receives", "for this shop alone", "It cannot spend. It is stored encrypted, and never shown again.",
			"subaddress-lookahead", "Shoppers can pay by XMR.", "Off: EURC-BASE: needs a node.", "wallet.changed is sent")
		if strings.Contains(form.text(), "keep their addresses") {
			t.Error("the form for a first wallet speaks of a former one")
		}
		b.send(moneroForm, append(form.hidden("#decide"), "address", " "+moneroAddress+"\n", "view_key", moneroView+"\n")...).wantRedirect("/desk/shop/wallets?done=wallet")
		first := f.moneroWallet()
		if first.Key != "xmr:"+moneroAddress || first.Secret != moneroView {
			t.Errorf("the wallet is %+v", first)
		}
		b.get("/desk/shop/wallets?done=wallet").want(http.StatusOK, "New invoices use this wallet.", "Primary address 42ey1afDF…JQAWDm", "Received here nothing", "Next index 1", "Payment methods XMR")

		form = b.get(moneroForm).want(http.StatusOK, "Use another Monero wallet for new invoices?", "Existing invoices keep their addresses, which are still watched.")
		b.send(moneroForm, append(form.hidden("#decide"), "address", moneroAddress, "view_key", moneroView)...).want(http.StatusUnprocessableEntity, "This is the Monero wallet already.")
		address, view := otherMonero(t)
		stale := b.send(moneroForm, "address", address, "view_key", view).want(http.StatusConflict, "The wallet was changed in the meantime.", "keep their addresses")
		if got := stale.find("#address").AttrOr("value", ""); got != address {
			t.Errorf("the form has the address %q, want %q", got, address)
		}
		b.send(moneroForm, append(stale.hidden("#decide"), "address", address, "view_key", view)...).wantRedirect("/desk/shop/wallets?done=wallet")
		b.get("/desk/shop/wallets").want(http.StatusOK, "Former wallets", "42ey1afDF…JQAWDm", address[:9]+"…"+address[len(address)-6:])

		at := "/desk/shop/wallets/" + f.moneroWallet().ID + "/remove"
		b.get(at).want(http.StatusOK, "Remove this wallet? Monero", "New invoices cannot be paid by XMR.", "Existing invoices keep their addresses")
		b.send(at).wantRedirect("/desk/shop/wallets?done=wallet-removed")
		if f.moneroWallet().ID != "" {
			t.Error("the wallet was not removed")
		}
		want := []string{"Maren: wallet.added", "Maren: wallet.replaced", "Maren: wallet.removed"}
		if got := f.actionsOf("wallet."); !slices.Equal(got, want) {
			t.Errorf("the audit log has %q, want %q", got, want)
		}
	})
}

// Each error is at the field that it concerns. A text that can spend empties both fields, and no page and no log has it.
func TestMonero_wallets_are_verified(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.owner()
	_, test, err := keys.NewTestKey(rand.Reader, keys.XMR)
	f.must(err)
	otherAddress, otherView := otherMonero(t)
	stagenet := strings.TrimPrefix(test.String(), "xmr:")
	for name, tt := range map[string]struct {
		address, key           string
		addressError, keyError string
		kept                   string // address in the field
	}{
		"nothing":                       {" ", "", "Enter the primary address of your wallet.", "Enter the private view key of your wallet.", ""},
		"no view key":                   {moneroAddress, "", "", "Enter the private view key of your wallet.", moneroAddress},
		"no address":                    {"", moneroView, "Enter the primary address of your wallet.", "", ""},
		"a mistyped address":            {moneroAddress[:94] + "n", moneroView, "Refused: the checksum of the address does not match, so a character is mistyped or missing.", "", moneroAddress[:94] + "n"},
		"a subaddress":                  {moneroSub, moneroView, "Refused: it is a subaddress: give the primary address of the wallet.", "", moneroSub},
		"an address of another network": {stagenet, test.ViewKey(), "Refused: the address belongs to another network", "", stagenet},
		"an address of Bitcoin":         {zpub84at0, moneroView, "Refused: a Monero address has 95 characters", "", zpub84at0},
		"a key of another wallet":       {moneroAddress, otherView, "", "Refused: the private view key does not belong to the address.", moneroAddress},
		"a key of a mistyped form":      {moneroAddress, moneroView[1:], "", "Refused: a private view key has 64 hex digits.", moneroAddress},
		"two errors":                    {moneroSub, moneroView[1:], "Refused: it is a subaddress", "Refused: a private view key has 64 hex digits.", moneroSub},
		"the fields swapped":            {moneroView, moneroAddress, "Refused: a Monero address has 95 characters", "Refused: a private view key has 64 hex digits.", ""},
		"the spend key":                 {moneroAddress, moneroSpend, "", "Refused and not stored: this is the private spend key of the address", ""},
		"the spend key as address":      {moneroSpend, moneroView, "Refused: a Monero address has 95 characters", "", ""},
		"the spend key with a note":     {"spend key: " + moneroSpend, moneroView, "Refused: a Monero address has 95 characters", "", ""},
		"the spend key without a digit": {moneroSpend[1:], moneroView, "Refused: a Monero address has 95 characters", "", ""},
		"seed words":                    {moneroAddress, moneroSeed, "", "Refused and not stored: these are the seed words of a wallet, which can spend all its coins: make a new wallet for the shop", ""},
		"seed words as address":         {moneroSeed, moneroView, "Refused and not stored: these are the seed words of a wallet", "", ""},
		"seed words of another address": {otherAddress[:90], moneroSeed, "Refused:", "Refused and not stored: these are the seed words of a wallet", ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := b.send(moneroForm, "address", tt.address, "view_key", tt.key).want(http.StatusUnprocessableEntity)
			for field, want := range map[string]string{"address": tt.addressError, "view_key": tt.keyError} {
				if text := got.find("#" + field + "-error").Text(); !strings.Contains(text, want) || want == "" && text != "" {
					t.Errorf("the error of the field %s is %q, want %q", field, text, want)
				}
			}
			if kept := got.find("#address").AttrOr("value", ""); kept != tt.kept {
				t.Errorf("the field has the address %q, want %q", kept, tt.kept)
			}
			key := got.find("#view_key")
			if value, has := key.Attr("value"); has && value != "" || key.AttrOr("type", "") != "password" {
				t.Errorf("the field for the view key has the value %q and the type %q", value, key.AttrOr("type", ""))
			}
			for _, secret := range []string{moneroSpend[1:], moneroView, otherView, "velvet", "physics"} {
				if strings.Contains(got.body, secret) || strings.Contains(f.log.String(), secret) {
					t.Errorf("the page or the log has %q", secret)
				}
			}
		})
	}
	if f.moneroWallet().ID != "" {
		t.Error("a wallet was added")
	}
	b.get("/desk/shop/wallets/add?asset=XMR").want(http.StatusNotFound)
	b.send("/desk/shop/wallets/add", "asset", "XMR", "key", zpub84, "address", moneroAddress).want(http.StatusNotFound)
}

func TestMonero_wallets_need_an_owner_and_never_show_the_view_key(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.owner()
	pages := []page{b.send(moneroForm, "address", moneroSub, "view_key", moneroView).want(http.StatusUnprocessableEntity)}
	b.send(moneroForm, "address", moneroAddress, "view_key", moneroView).wantRedirect("/desk/shop/wallets?done=wallet")
	remove := "/desk/shop/wallets/" + f.moneroWallet().ID + "/remove"
	pages = append(pages, b.get("/desk/shop/wallets"), b.get(moneroForm), b.get(remove), b.get("/desk/shop/log").want(http.StatusOK, "Wallet added"), b.get("/desk/shop"))
	manager := f.as("Tove", "manager")
	seen := manager.get("/desk/shop/wallets").want(http.StatusOK, "42ey1afDF")
	if n := seen.find(`main form, main a[href*="/wallets/"]`).Length(); n != 0 {
		t.Errorf("the page of a manager has %d forms and links to change the wallet", n)
	}
	manager.get(moneroForm).want(http.StatusForbidden, "Wallets are managed by")
	f.clock.Advance(11 * time.Minute)
	b.get(moneroForm).want(http.StatusForbidden, "Confirm it’s you")
	waiting := b.send(moneroForm, "address", moneroAddress, "view_key", moneroView).want(http.StatusForbidden, "Confirm it’s you")
	if !strings.Contains(waiting.body, moneroAddress) {
		t.Error("the entered address is lost")
	}
	for _, address := range []string{moneroSeed, moneroSpend} {
		pages = append(pages, b.send(moneroForm, "address", address, "view_key", moneroView).want(http.StatusForbidden, "Confirm it’s you"))
	}
	for _, p := range append(pages, seen, waiting) {
		for _, secret := range []string{moneroView, moneroSpend, "velvet"} {
			if strings.Contains(p.body, secret) {
				t.Errorf("a page has %q: %s", secret, p.body)
			}
		}
	}
	if strings.Contains(f.log.String(), moneroView) {
		t.Error("the log has the view key")
	}
	entries, err := f.storage.AuditLog(t.Context(), 0, 100)
	f.must(err)
	for _, e := range entries {
		if text := fmt.Sprint(e); strings.Contains(text, moneroView) || strings.Contains(text, moneroAddress) {
			t.Errorf("an entry of the audit log has the key: %s", text)
		}
	}
}

func TestMonero_wallets_of_a_demo(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.demo = true
	b := f.owner()
	if page := b.get("/desk/shop/wallets").want(http.StatusOK, "This is the demo"); page.find(`main a[href*="/wallets/monero"]`).Length() != 0 {
		t.Error("the page leads to a form that cannot succeed")
	}
	b.get(moneroForm).wantRedirect("/desk/shop/wallets")
	b.send(moneroForm, "address", moneroAddress, "view_key", moneroView).want(http.StatusConflict, "This is the demo")
	if f.moneroWallet().ID != "" {
		t.Error("a demo has a wallet")
	}
}

// A key is the wallet of one shop of the server. The refusal is at the field, for each kind of wallet.
func TestWallets_of_another_shop(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.owner()
	bitcoin, err := keys.Parse(zpub84, keys.BTC, keys.Main, "")
	f.must(err)
	monero, err := keys.ParseMonero(moneroAddress, moneroView, keys.Main)
	f.must(err)
	for _, key := range []keys.Key{bitcoin, monero} {
		_, err := f.config.Wallets.Wallets.Add(t.Context(), "other", merchant.Addition{Key: key})
		f.must(err)
	}
	asked := b.send("/desk/shop/wallets/add", "asset", "BTC", "key", zpub84, "address", zpub84at0).want(http.StatusOK, "Use this wallet?")
	refused := b.send("/desk/shop/wallets/confirm", asked.hidden("#decide")...).want(http.StatusUnprocessableEntity)
	if text := refused.find("#key-error").Text(); !strings.Contains(text, "This key belongs to another shop of this server.") {
		t.Errorf("the error of the key is %q", text)
	}
	refused = b.send(moneroForm, "address", moneroAddress, "view_key", moneroView).want(http.StatusUnprocessableEntity)
	if text := refused.find("#address-error").Text(); !strings.Contains(text, "This wallet belongs to another shop of this server.") {
		t.Errorf("the error of the address is %q", text)
	}
	if f.activeWallet().ID != "" || f.moneroWallet().ID != "" {
		t.Error("a wallet was added")
	}
}

// The settings of the server may offer no method for a wallet. The pages then name the reason.
func TestMonero_wallets_without_a_method(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.offered = func(keys.Kind) []string { return nil }
	b := f.owner()
	form := b.get(moneroForm).want(http.StatusOK, "The settings of the server offer no payment method for this wallet yet.", "Off: EURC-BASE: needs a node.")
	b.send(moneroForm, append(form.hidden("#decide"), "address", moneroAddress, "view_key", moneroView)...).wantRedirect("/desk/shop/wallets?done=wallet")
	b.get("/desk/shop/wallets").want(http.StatusOK, "Payment methods none")
	if text := b.get("/desk/shop/wallets/"+f.moneroWallet().ID+"/remove").want(http.StatusOK, "Remove this wallet? Monero").text(); strings.Contains(text, "cannot be paid by") {
		t.Errorf("the page names methods that there are not: %s", text)
	}
}

// The card has the sum that the wallet received, and warns when the wallet program may not look far enough ahead.
func TestMonero_wallets_show_received_amounts_and_unused_subaddresses(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.owner()
	b.send(moneroForm, "address", moneroAddress, "view_key", moneroView).wantRedirect("/desk/shop/wallets?done=wallet")
	w := f.moneroWallet()
	f.received = &report.Received{Complete: true, ByKey: map[string][]report.ReceivedSum{w.Counter: {{Asset: "XMR", Amount: money.MustParse("1.234567890123", money.XMR)}}}}
	f.unused = 200
	if text := b.get("/desk/shop/wallets").want(http.StatusOK, "Received here 1.234567890123 XMR").text(); strings.Contains(text, "unused") {
		t.Errorf("200 unused subaddresses are reported: %s", text)
	}
	f.unused = 430
	b.get("/desk/shop/wallets").want(http.StatusOK, "The last 430 subaddresses are unused. Monero wallets look only 200 ahead: yours must look 430 ahead, as with subaddress-lookahead 50:430.")
}
