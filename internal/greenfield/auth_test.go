package greenfield_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/greenfield"
	"chequer/internal/httpapi"
	"chequer/internal/merchant"
)

const unauthenticated = `{"code":"unauthenticated","message":"Authentication is required: Authorization: token API-KEY, with a key that is not revoked"}`

func TestAuthentication_accepts_only_valid_tokens(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		signing, err := f.merchants.CreateKey(t.Context(), f.shop.ID, merchant.Test, merchant.AllScopes, "")
		if err != nil {
			t.Fatal(err)
		}
		revoked := f.newToken(f.shop, merchant.Test, "woocommerce")
		if err := f.merchants.RevokeKey(t.Context(), f.shop.ID, revoked[:32]); err != nil {
			t.Fatal(err)
		}
		for name, tt := range map[string]struct {
			headers []string
			want    int
		}{
			"token":                      {[]string{"token " + f.token}, 200},
			"bearer":                     {[]string{"Bearer " + f.token}, 200},
			"upper case":                 {[]string{"TOKEN " + f.token}, 200},
			"no header":                  {nil, 401},
			"two headers":                {[]string{"token " + f.token, "token " + f.token}, 401},
			"no scheme":                  {[]string{f.token}, 401},
			"another scheme":             {[]string{"Basic " + f.token}, 401},
			"no token":                   {[]string{"token "}, 401},
			"the public part":            {[]string{"token " + f.token[:32]}, 401},
			"another secret part":        {[]string{"token " + f.token[:32] + strings.Repeat("A", 40)}, 401},
			"one character changed":      {[]string{"token " + f.token[:71] + flip(f.token[71:])}, 401},
			"another public part":        {[]string{"token " + strings.Repeat("A", 32) + f.token[32:]}, 401},
			"one character more":         {[]string{"token " + f.token + "A"}, 401},
			"a revoked key":              {[]string{"token " + revoked}, 401},
			"a key that signs":           {[]string{"token " + signing.Key + signing.Secret}, 401},
			"a key that signs, no token": {[]string{"token " + signing.Key + strings.Repeat("A", 40)}, 401},
			"text that is no UTF-8":      {[]string{"token \xff\x00" + f.token[2:]}, 401},
		} {
			r := httptest.NewRequestWithContext(t.Context(), "GET", "/shop/api/v1/server/info", nil)
			r.Header["Authorization"] = tt.headers
			got := f.serve(r)
			if got.status != tt.want || tt.want == 401 && got.body != unauthenticated {
				t.Errorf("%s: answer %d: %s, want %d", name, got.status, got.body, tt.want)
			}
		}
		// A key of a plug-in does not sign requests of the other API.
		if _, err := f.merchants.Authenticate(t.Context(), f.token[:32]); !errors.Is(err, merchant.ErrNotFound) {
			t.Errorf("Authenticate: got error %v, want %v", err, merchant.ErrNotFound)
		}
	})
}

// flip returns a letter that differs from the given one.
func flip(letter string) string {
	if letter == "A" {
		return "B"
	}
	return "A"
}

// The database contains no part of the secret of a token, so that a copy of it gives no access.
func TestToken_is_not_stored(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		all, err := f.merchants.Keys(t.Context(), f.shop.ID)
		if err != nil || len(all) != 1 {
			t.Fatalf("got %+v, error %v", all, err)
		}
		if k := all[0]; k.Secret != "" || k.Plugin != "other" || strings.Contains(k.Key+k.TokenHash, f.token[32:]) {
			t.Errorf("got %+v, want no part of the secret of the token", k)
		}
	})
}

func TestCalls_need_a_protected_connection(t *testing.T) {
	t.Parallel()
	f := newFixture(t, storageFile(t))
	f.config.Protected = func(*http.Request) bool { return false }
	f.handler = greenfield.New(f.config)
	got := f.send("GET", "/server/info", f.token, "")
	if got.status != http.StatusForbidden || !strings.Contains(got.body, `"code":"unprotected-connection"`) {
		t.Errorf("answer %d: %s", got.status, got.body)
	}
}

// Tokens of other shops and modes, and store IDs of other shops and modes, give no access.
func TestStores_of_other_shops_and_modes_give_no_access(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		other := f.createShop("Bakery")
		tokens := map[string]string{
			"m_atelier-nord": f.newToken(f.shop, merchant.Live, "woocommerce"), "test-m_atelier-nord": f.token,
			"m_bakery": f.newToken(other, merchant.Live, "woocommerce"), "test-m_bakery": f.newToken(other, merchant.Test, "woocommerce"),
		}
		paths := []string{"", "/payment-methods", "/payment-methods/OnChain", "/payment-methods/LightningNetwork"}
		for owner, token := range tokens {
			for id := range tokens {
				for _, path := range paths {
					got := f.send("GET", "/stores/"+id+path, token, "")
					if want := 403; owner != id && got.status != want || owner == id && got.status != 200 {
						t.Errorf("key of %s: %s%s: answer %d: %s", owner, id, path, got.status, got.body)
					}
				}
			}
		}
		got := f.send("GET", "/stores/m_bakery", f.token, "")
		want := `{"code":"missing-permission","message":"The API key lacks the permission btcpay.store.canviewstoresettings for this store","missingPermission":"btcpay.store.canviewstoresettings"}`
		if got.body != want {
			t.Errorf("got %s, want %s", got.body, want)
		}
		if unknown := f.send("GET", "/stores/nothing", f.token, ""); unknown.body != want {
			t.Errorf("an unknown store: got %s, want the answer for the store of another shop", unknown.body)
		}
	})
}

func TestScopes_admit_only_their_routes(t *testing.T) {
	t.Parallel()
	f := newFixture(t, storageFile(t))
	for _, scope := range merchant.PluginScopes {
		token := f.newTokenFor(f.shop, merchant.Test, "other", scope)
		for path, allowed := range map[string][]merchant.Scope{
			"/stores":           {merchant.ScopeViewStore, merchant.ScopeModifyStore},
			f.store(""):         {merchant.ScopeViewStore, merchant.ScopeModifyStore},
			"/server/info":      merchant.PluginScopes,
			"/api-keys/current": merchant.PluginScopes,
		} {
			want := http.StatusForbidden
			for _, a := range allowed {
				if a == scope {
					want = http.StatusOK
				}
			}
			if got := f.send("GET", path, token, ""); got.status != want {
				t.Errorf("%s with %s: answer %d: %s, want %d", path, scope, got.status, got.body, want)
			}
		}
	}
}

func TestCurrentKey_has_the_permissions_of_its_scopes(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		token := f.newToken(f.shop, merchant.Test, "prestashop", merchant.ScopeSettleInvoices)
		got := f.send("GET", "/api-keys/current", token, "")
		var key struct {
			APIKey, Label string
			Permissions   []string
		}
		if err := json.Unmarshal([]byte(got.body), &key); err != nil {
			t.Fatalf("%v: %s", err, got.body)
		}
		want := []string{
			"btcpay.store.canmodifystoresettings:test-m_atelier-nord", "btcpay.store.webhooks.canmodifywebhooks:test-m_atelier-nord",
			"btcpay.store.canviewstoresettings:test-m_atelier-nord", "btcpay.store.cancreateinvoice:test-m_atelier-nord",
			"btcpay.store.canviewinvoices:test-m_atelier-nord", "btcpay.store.canmodifyinvoices:test-m_atelier-nord",
		}
		if diff := cmp.Diff(want, key.Permissions); diff != "" || key.APIKey != token || key.Label != "prestashop" {
			t.Errorf("got %s (-want +got):\n%s", got.body, diff)
		}
	})
}

func TestCalls_are_limited(t *testing.T) {
	t.Parallel()
	f := newFixture(t, storageFile(t))
	f.config.Limits = httpapi.Limits{PerKey: 2, PerAddress: 1}
	f.handler = greenfield.New(f.config)
	count := func(token string, calls int) (refused int) {
		t.Helper()
		for range calls {
			if got := f.send("GET", "/server/info", token, ""); got.status == http.StatusTooManyRequests {
				refused++
				if got.header.Get("Retry-After") != "1" {
					t.Errorf("Retry-After = %q", got.header.Get("Retry-After"))
				}
			}
		}
		return refused
	}
	if got := count(f.token, 15); got != 5 { // a burst of five times two
		t.Errorf("%d of 15 calls were refused, want 5", got)
	}
	if got := count("guess", 5); got != 3 { // a burst of two
		t.Errorf("%d of 5 guesses were refused, want 3", got)
	}
	f.clock.Advance(time.Second)
	if got := count(f.token, 3); got != 1 {
		t.Errorf("%d of 3 calls after a second were refused, want 1", got)
	}
}

// Calls that are refused because of a missing permission or a foreign store count towards the rate limit of the key.
func TestRefused_calls_are_limited(t *testing.T) {
	t.Parallel()
	for name, path := range map[string]string{"a missing permission": "/stores", "another store": "/stores/m_bakery"} {
		f := newFixture(t, storageFile(t))
		f.config.Limits = httpapi.Limits{PerKey: 2, PerAddress: 1}
		f.handler = greenfield.New(f.config)
		token := f.newTokenFor(f.shop, merchant.Test, "other", merchant.ScopeCreateInvoice)
		got := map[int]int{}
		for range 15 {
			got[f.send("GET", path, token, "").status]++
		}
		if diff := cmp.Diff(map[int]int{http.StatusForbidden: 10, http.StatusTooManyRequests: 5}, got); diff != "" {
			t.Errorf("%s: statuses (-want +got):\n%s", name, diff)
		}
	}
}

func TestUse_of_a_key_is_recorded(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		f.clock.Advance(time.Hour)
		f.send("GET", "/server/info", f.token, "")
		all, err := f.merchants.Keys(t.Context(), f.shop.ID)
		if err != nil || len(all) != 1 || !all[0].UsedAt.Equal(noon.Add(time.Hour)) {
			t.Errorf("got %+v, error %v, want a use at %s", all, err, noon.Add(time.Hour))
		}
	})
}
