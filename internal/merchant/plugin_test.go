package merchant_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"chequer/internal/merchant"
)

func TestCreatePluginKey_stores_only_the_hash_of_the_token(t *testing.T) {
	t.Parallel()
	stored, service, _ := newKeyring()
	woocommerce, err := merchant.FindPlugin("woocommerce")
	if err != nil {
		t.Fatal(err)
	}
	k, token, err := service.CreatePluginKey(t.Context(), "shop", merchant.PluginKey{Plugin: "woocommerce", Mode: merchant.Test, Scopes: woocommerce.Scopes})
	if err != nil || len(token) != 72 || token[:32] != k.Key || k.Secret != "" || k.Label != "woocommerce" || k.StoreID() != "test-shop" {
		t.Fatalf("CreatePluginKey = %+v, %q, %v", k, token, err)
	}
	if in := stored.keys[k.Key]; in.Secret != "" || len(in.TokenHash) != 64 {
		t.Errorf("stored: %+v", in)
	}
	if found, err := service.AuthenticateToken(t.Context(), token); err != nil || found.ID != k.ID {
		t.Errorf("AuthenticateToken = %+v, %v", found, err)
	}
	for _, text := range []string{"", token[:71], token + "0", token[:71] + "x", "x" + token[1:]} {
		if _, err := service.AuthenticateToken(t.Context(), text); !errors.Is(err, merchant.ErrNotFound) {
			t.Errorf("AuthenticateToken(%q): got error %v, want %v", text, err, merchant.ErrNotFound)
		}
	}
	if _, err := service.Authenticate(t.Context(), k.Key); !errors.Is(err, merchant.ErrNotFound) {
		t.Errorf("Authenticate: got error %v, want %v", err, merchant.ErrNotFound)
	}
}

// wrongTokens returns refused tokens with the public part of a token.
func wrongTokens(token string) map[string]string {
	return map[string]string{
		"first character of the secret part": token[:32] + "x" + token[33:],
		"last character of the secret part":  token[:71] + "x",
		"whole secret part":                  token[:32] + strings.Repeat("x", 40),
	}
}

// The work for a token depends on its public part only: the secret part is not looked up, and is compared as a hash. So the
// time of a refusal does not reveal a part of the secret.
func TestAuthenticateToken_looks_up_the_public_part_only(t *testing.T) {
	t.Parallel()
	stored, service, at := newKeyring()
	k, token, err := service.CreatePluginKey(t.Context(), "shop", merchant.PluginKey{Plugin: "other", Mode: merchant.Live, Scopes: []merchant.Scope{merchant.ScopeViewInvoices}})
	if err != nil {
		t.Fatal(err)
	}
	tokens := wrongTokens(token)
	tokens["right token"] = token
	for name, text := range tokens {
		*at = at.Add(time.Minute) // nothing is cached
		stored.asked = nil
		if _, err := service.AuthenticateToken(t.Context(), text); (err == nil) != (text == token) {
			t.Errorf("%s: error %v", name, err)
		}
		if !slices.Equal(stored.asked, []string{k.Key}) {
			t.Errorf("%s: looked up %q, want the public part once", name, stored.asked)
		}
	}
	stored.asked = nil
	for _, text := range []string{token[:71], token + "x", token[32:]} {
		if _, err := service.AuthenticateToken(t.Context(), text); !errors.Is(err, merchant.ErrNotFound) || len(stored.asked) > 0 {
			t.Errorf("a token of another length: looked up %q, error %v", stored.asked, err)
		}
	}
}

// BenchmarkAuthenticateToken measures refusals. The kinds of wrong tokens take the same time.
func BenchmarkAuthenticateToken(b *testing.B) {
	_, service, _ := newKeyring()
	_, token, err := service.CreatePluginKey(b.Context(), "shop", merchant.PluginKey{Plugin: "other", Mode: merchant.Live, Scopes: []merchant.Scope{merchant.ScopeViewInvoices}})
	if err != nil {
		b.Fatal(err)
	}
	for name, text := range wrongTokens(token) {
		b.Run(strings.ReplaceAll(name, " ", "_"), func(b *testing.B) {
			for b.Loop() {
				if _, err := service.AuthenticateToken(b.Context(), text); !errors.Is(err, merchant.ErrNotFound) {
					b.Fatal(err)
				}
			}
		})
	}
}

func TestCreatePluginKey_refuses_invalid_keys(t *testing.T) {
	t.Parallel()
	_, service, _ := newKeyring()
	scopes := []merchant.Scope{merchant.ScopeViewInvoices}
	for want, n := range map[string]merchant.PluginKey{
		`plugin must be woocommerce, prestashop, magento, shopware, opencart, givewp, virtuemart, xenforo, wix, medusa or other, not ""`: {Scopes: scopes},
		"scopes must not be empty": {Plugin: "other"},
		`scopes must be canviewinvoices, cancreateinvoice, canmodifyinvoices, canviewstoresettings, canmodifystoresettings, webhooks.canmodifywebhooks, ` +
			`cancreatenonapprovedpullpayments or cansettleinvoices, not "admin"`: {Plugin: "other", Scopes: []merchant.Scope{merchant.ScopeAdmin}},
		// BTCPay Server has more permissions than these.
		`scopes must be canviewinvoices, cancreateinvoice, canmodifyinvoices, canviewstoresettings, canmodifystoresettings, webhooks.canmodifywebhooks, ` +
			`cancreatenonapprovedpullpayments or cansettleinvoices, not "canmanagepullpayments"`: {Plugin: "other", Scopes: []merchant.Scope{merchant.ScopeViewInvoices, "canmanagepullpayments"}},
		"label must not contain the invisible character U+0009": {Plugin: "other", Scopes: scopes, Label: "a\tb"},
	} {
		_, _, err := service.CreatePluginKey(t.Context(), "shop", n)
		checkFault(t, err, want)
	}
	// The scopes of a plug-in are not those of a key that signs.
	if _, err := merchant.ParseScopes([]string{string(merchant.ScopeViewInvoices)}); err == nil {
		t.Error("ParseScopes accepts a scope of a plug-in")
	}
}

// Every plug-in has known scopes, and none of these scopes lets a plug-in settle invoices.
func TestPlugins_have_known_scopes_and_settle_no_invoices(t *testing.T) {
	t.Parallel()
	for _, p := range merchant.Plugins {
		for _, scope := range p.Scopes {
			if scope == merchant.ScopeSettleInvoices {
				t.Errorf("%s may settle invoices", p.Name)
			}
		}
		_, service, _ := newKeyring()
		if _, _, err := service.CreatePluginKey(t.Context(), "shop", merchant.PluginKey{Plugin: p.Name, Mode: merchant.Live, Scopes: p.Scopes}); err != nil {
			t.Errorf("%s: %v", p.Name, err)
		}
	}
}
