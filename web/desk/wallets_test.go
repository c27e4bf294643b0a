package desk_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"chequer/internal/chain"
	"chequer/internal/keys"
	"chequer/internal/merchant"
	"chequer/internal/money"
	"chequer/internal/report"
	"chequer/internal/storage"
)

// Two account keys of the wallet "abandon … about" with addresses of them: zpub84at0 is the receiving address of index
// 0 of zpub84, zpub84at19 that of index 19, and ypub49at0 that of index 0 of ypub49. recovery is the phrase itself.
const (
	zpub84     = "zpub6rFR7y4Q2AijBEqTUquhVz398htDFrtymD9xYYfG1m4wAcvPhXNfE3EfH1r1ADqtfSdVCToUG868RvUUkgDKf31mGDtKsAYz2oz2AGutZYs"
	zpub84at0  = "bc1qcr8te4kr609gcawutmrza0j4xv80jy8z306fyu"
	zpub84at19 = "bc1q27yd7vz8m5kz230wuyncfe3pyazez6ah58yzy0"
	ypub49     = "ypub6Ww3ibxVfGzLrAH1PNcjyAWenMTbbAosGNB6VvmSEgytSER9azLDWCxoJwW7Ke7icmizBMXrzBx9979FfaHxHcrArf3zbeJJJUZPf663zsP"
	ypub49at0  = "37VucYSaXLCAsxYyAPfbSi9eh4iEcbShgf"
	recovery   = "abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon about"
)

// activeWallet returns the active Bitcoin wallet of the shop; the zero Wallet if there is none.
func (f *fixture) activeWallet() (active merchant.Wallet) {
	f.t.Helper()
	all, err := f.storage.Wallets(f.t.Context(), shop, merchant.Live)
	f.must(err)
	for _, w := range all {
		if w.Asset == string(keys.BTC) {
			active = w
		}
	}
	return active
}

// confirmFields returns the hidden fields of the form that confirms a sign-in, with the form token and with the fields of
// the action that waits.
func (p page) confirmFields() (fields []string) {
	p.t.Helper()
	p.find(`form[action="/desk/shop/confirm"] input[type=hidden]`).Each(func(_ int, s *selection) {
		fields = append(fields, s.AttrOr("name", ""), s.AttrOr("value", ""))
	})
	return fields
}

// hidden returns the fields of a page's form, without the form token.
func (p page) hidden(form string) (fields []string) {
	p.t.Helper()
	p.find(form + ` input[type="hidden"]`).Each(func(_ int, s *selection) {
		name, _ := s.Attr("name")
		value, _ := s.Attr("value")
		if name != "form" {
			fields = append(fields, name, value)
		}
	})
	return fields
}

func TestWallets_are_added_replaced_and_removed(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.owner()
	b.get("/desk/shop/wallets").want(http.StatusOK, "Available", "Bitcoin", "Litecoin", "Ethereum networks")
	b.get("/desk/shop/wallets/add?asset=DOGE").want(http.StatusNotFound)
	b.get("/desk/shop/wallets/add?asset=BTC").want(http.StatusOK, "Wallet: Bitcoin", "First receiving address")

	asked := b.send("/desk/shop/wallets/add", "asset", "BTC", "key", zpub84, "address", zpub84at0).want(http.StatusOK, "Use this wallet?", "index 0", "native SegWit", "Shoppers can pay by BTC")
	if f.activeWallet().ID != "" {
		t.Fatal("the wallet was added before it was confirmed")
	}
	b.send("/desk/shop/wallets/confirm", asked.hidden("#decide")...).wantRedirect("/desk/shop/wallets?done=wallet")
	first := f.activeWallet()
	b.get("/desk/shop/wallets").want(http.StatusOK, "xpub6CatW…C7PW6V", "native SegWit", "Payment methods that are off", "EURC-BASE: needs a node")
	b.send("/desk/shop/wallets/add", "asset", "BTC", "key", zpub84, "address", zpub84at0).want(http.StatusUnprocessableEntity, "This key is the wallet already")
	b.send("/desk/shop/wallets/confirm", asked.hidden("#decide")...).want(http.StatusUnprocessableEntity, "This key is the wallet already")

	asked = b.send("/desk/shop/wallets/add", "asset", "BTC", "key", ypub49, "address", ypub49at0).want(http.StatusOK, "Use another wallet for new invoices?", "keep their addresses")
	b.send("/desk/shop/wallets/confirm", asked.hidden("#decide")...).wantRedirect("/desk/shop/wallets?done=wallet")
	b.get("/desk/shop/wallets").want(http.StatusOK, "nested SegWit", "Former wallets", "xpub6CatW…C7PW6V")

	b.get("/desk/shop/wallets/" + first.ID + "/remove").want(http.StatusNotFound)
	at := "/desk/shop/wallets/" + f.activeWallet().ID + "/remove"
	b.get(at).want(http.StatusOK, "Remove this wallet?", "New invoices cannot be paid by BTC")
	b.send(at).wantRedirect("/desk/shop/wallets?done=wallet-removed")
	b.send(at).want(http.StatusNotFound)
	if f.activeWallet().ID != "" {
		t.Error("the wallet was not removed")
	}
}

// TestWallets_verify_the_address tries keys and addresses that do not belong together.
func TestWallets_verify_the_address(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.owner()
	for name, test := range map[string]struct{ key, address, field, message string }{
		"private key":             {recovery, zpub84at0, "key", "private key or a recovery phrase"},
		"private key as address":  {zpub84, recovery, "key", "private key or a recovery phrase"},
		"extended private key":    {"xprv9s21ZrQH143K3GJpoapnV8SFfukcVBSfeCficPSGfubmSFDxo1kuHnLisriDvSnRRuL2Qrg5ggqHKNVpxR86QEC8w35uxmGoggxtQTPvfUu", zpub84at0, "key", "private key or a recovery phrase"},
		"no key":                  {"", zpub84at0, "key", "Refused"},
		"an address as key":       {zpub84at0, zpub84at0, "key", "it is one address"},
		"no address":              {zpub84, "", "address", "Enter an address of your wallet"},
		"a wrong letter":          {zpub84, zpub84at0[:41] + "v", "address", "Refused"},
		"address of another coin": {zpub84, "LM2WMpR1Rp6j3Sa59cMXMs1SPzj9eXpGc1", "address", "Refused"},
		"address of another key":  {zpub84, ypub49at0, "address", "This key does not give this address"},
	} {
		t.Run(name, func(t *testing.T) {
			got := b.send("/desk/shop/wallets/add", "asset", "BTC", "key", test.key, "address", test.address).want(http.StatusUnprocessableEntity, test.message)
			if text := got.find("#" + test.field + "-error").Text(); !strings.Contains(text, test.message) {
				t.Errorf("the error of the field %s is %q, want %q", test.field, text, test.message)
			}
			for _, secret := range []string{recovery, "xprv9s21"} {
				if strings.Contains(got.body, secret) || strings.Contains(f.log.String(), secret) {
					t.Error("the page or the log has the private key")
				}
			}
			if !strings.Contains(test.message, "private") && test.key != "" && !strings.Contains(got.body, test.key) {
				t.Error("the page does not keep the entered key")
			}
		})
	}
	if f.activeWallet().ID != "" {
		t.Error("a wallet was added")
	}
}

// TestWallets_start_above_used_addresses enters a later address of a key.
func TestWallets_start_above_used_addresses(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.owner()
	asked := b.send("/desk/shop/wallets/add", "asset", "BTC", "key", zpub84, "address", zpub84at19).want(http.StatusOK, "index 19", "from index 20")
	b.send("/desk/shop/wallets/confirm", asked.hidden("#decide")...).wantRedirect("/desk/shop/wallets?done=wallet")
	next, err := f.storage.NextIndex(t.Context(), f.activeWallet().Counter)
	f.must(err)
	if next != 20 {
		t.Errorf("the next index is %d, want 20", next)
	}
}

// TestWallets_changed_in_the_meantime confirms a wallet after another was added.
func TestWallets_changed_in_the_meantime(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.owner()
	first := b.send("/desk/shop/wallets/add", "asset", "BTC", "key", zpub84, "address", zpub84at0).want(http.StatusOK, "Use this wallet?")
	second := b.send("/desk/shop/wallets/add", "asset", "BTC", "key", ypub49, "address", ypub49at0).want(http.StatusOK, "Use this wallet?")
	b.send("/desk/shop/wallets/confirm", second.hidden("#decide")...).wantRedirect("/desk/shop/wallets?done=wallet")
	kept := f.activeWallet()
	again := b.send("/desk/shop/wallets/confirm", first.hidden("#decide")...).want(http.StatusConflict, "was changed in the meantime", "Use another wallet for new invoices?")
	if f.activeWallet() != kept {
		t.Error("the wallet was replaced without its consequences shown")
	}
	b.send("/desk/shop/wallets/confirm", again.hidden("#decide")...).wantRedirect("/desk/shop/wallets?done=wallet")
}

func TestWallets_of_a_demo(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.demo = true
	owner := f.owner()
	if page := owner.get("/desk/shop/wallets").want(http.StatusOK, "This is the demo, which accepts test payments only."); page.find(`main a[href*="/wallets/add"]`).Length() != 0 {
		t.Error("the page leads to a form that cannot succeed")
	}
	owner.get("/desk/shop/wallets/add?asset=BTC").wantRedirect("/desk/shop/wallets")
	for _, path := range []string{"add", "confirm"} {
		refused := owner.send("/desk/shop/wallets/"+path, "asset", "BTC", "key", zpub84, "address", zpub84at0).want(http.StatusConflict, "This is the demo")
		if refused.find("#key").Length() != 0 {
			t.Errorf("the answer to %s has the form", path)
		}
	}
	if steps := textOf(owner.get("/desk/shop").find("main .todo")); strings.Contains(steps, "live") || !strings.Contains(steps, "Your own shop This is the demo") {
		t.Errorf("the first steps are %q, want none for live payments, and the step to an own shop", steps)
	}
}

// A demo creates keys and webhooks for test payments only: a live key would make it a real shop.
func TestKeys_of_a_demo(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.demo = true
	owner := f.owner()
	for path, fields := range map[string][]string{
		"/desk/shop/keys":     {"label", "Web shop", "scope", "create"},
		"/desk/shop/webhooks": {"url", "https://shop.example/hook"},
	} {
		page := owner.get(path).want(http.StatusOK, "This is the demo, which accepts test payments only.")
		if modes := textOf(page.find("#mode option")); modes != "Test" {
			t.Errorf("%s offers the modes %q, want Test", path, modes)
		}
		for _, mode := range []string{"live", ""} {
			refused := owner.send(path, append(fields, "mode", mode)...).want(http.StatusConflict, "This is the demo, which accepts test payments only.")
			if refused.find("#mode-error").Length() != 1 {
				t.Errorf("%s: the refusal is not at the field", path)
			}
		}
		owner.send(path, append(fields, "mode", "test")...).want(http.StatusOK, "secret")
	}
	keys, err := f.merchants.Keys(t.Context(), shop)
	if err != nil || len(keys) != 1 || keys[0].Mode != merchant.Test {
		t.Errorf("the keys are %+v, error %v, want one test key", keys, err)
	}
}

// A manager sees the wallets and cannot change them. The page for an owner whose sign-in is old keeps the entered key.
func TestWallets_need_an_owner(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.owner()
	manager := f.as("Tove", "manager")
	if links := manager.get("/desk/shop/wallets").want(http.StatusOK, "Wallets").find(`a[href*="/wallets/add"]`).Length(); links != 0 {
		t.Errorf("the page of a manager has %d links to change wallets", links)
	}
	manager.get("/desk/shop/wallets/add?asset=BTC").want(http.StatusForbidden, "Wallets are managed by")
	f.clock.Advance(11 * time.Minute)
	kept := b.send("/desk/shop/wallets/add", "asset", "BTC", "key", zpub84, "address", zpub84at0).want(http.StatusForbidden, "Confirm it’s you")
	if !strings.Contains(kept.body, zpub84) {
		t.Error("the entered key is lost")
	}
	if pasted := b.send("/desk/shop/wallets/add", "asset", "BTC", "key", recovery, "address", zpub84at0).want(http.StatusForbidden, "Confirm it’s you"); strings.Contains(pasted.body, recovery) {
		t.Error("the page that confirms the sign-in has the private key")
	}
}

// walletStorage returns the received sums and the unused addresses that the fixture has, if any.
type walletStorage struct {
	*storage.Storage
	f *fixture
}

func (s walletStorage) Received(ctx context.Context, merchantID string) (report.Received, error) {
	if s.f.received != nil {
		return *s.f.received, nil
	}
	return s.Storage.Received(ctx, merchantID)
}

func (s walletStorage) UnusedInARow(ctx context.Context, w merchant.Wallet, network chain.ID) (int64, error) {
	if s.f.unused > 0 {
		return s.f.unused, nil
	}
	return s.Storage.UnusedInARow(ctx, w, network)
}

// A wallet shows what its key received, with the meaning of the figure.
func TestWallets_show_received_amounts(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.owner()
	asked := b.send("/desk/shop/wallets/add", "asset", "BTC", "key", zpub84, "address", zpub84at0)
	b.send("/desk/shop/wallets/confirm", asked.hidden("#decide")...).wantRedirect("/desk/shop/wallets?done=wallet")
	counter := f.activeWallet().Counter
	b.get("/desk/shop/wallets").want(http.StatusOK, "Received here nothing", "gave out. It is not the balance of the wallet")
	f.received = &report.Received{}
	b.get("/desk/shop/wallets").want(http.StatusOK, "Received here not computed yet", "The received amounts are being computed.")
	f.received = &report.Received{Complete: true, ByKey: map[string][]report.ReceivedSum{"another": {{Asset: "BTC", Amount: money.MustParse("9", money.BTC)}}}}
	b.get("/desk/shop/wallets").want(http.StatusOK, "Received here nothing")
	f.received.ByKey[counter] = []report.ReceivedSum{{Asset: "BTC", Amount: money.MustParse("0.12345678", money.BTC)}, {Asset: "GONE", Amount: money.MustParse("2", money.BTC)}}
	b.get("/desk/shop/wallets").want(http.StatusOK, "Received here 0.12345678 BTC, 2 GONE")
	asked = b.send("/desk/shop/wallets/add", "asset", "BTC", "key", ypub49, "address", ypub49at0)
	b.send("/desk/shop/wallets/confirm", asked.hidden("#decide")...).wantRedirect("/desk/shop/wallets?done=wallet")
	b.get("/desk/shop/wallets").want(http.StatusOK, "Received here nothing", "Former wallets", "Received here: 0.12345678 BTC, 2 GONE")
}
