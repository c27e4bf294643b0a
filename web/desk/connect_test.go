package desk_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/account"
	"chequer/internal/merchant"
	"chequer/web/desk"
)

const storePermission = "btcpay.store."

// keyRequest returns the query of a plug-in's request for a key.
func keyRequest(redirect string, permissions ...string) url.Values {
	query := values("applicationName", "Web shop “Nord”", "strict", "true", "selectiveStores", "true")
	for _, p := range permissions {
		query.Add("permissions", storePermission+p)
	}
	if redirect != "" {
		query.Set("redirect", redirect)
	}
	return query
}

// pluginRequests are the permissions that the plug-ins ask for. See internal/greenfield/CONTRACT.md, section 6.
var pluginRequests = map[string][]string{
	"woocommerce": {
		"canviewinvoices", "cancreateinvoice", "canviewstoresettings", "canmodifyinvoices", "webhooks.canmodifywebhooks", "cancreatenonapprovedpullpayments",
	},
	"woocommerce, only what it needs": {"canviewinvoices", "cancreateinvoice", "canviewstoresettings", "canmodifyinvoices"},
	"prestashop": {
		"canmodifystoresettings", "webhooks.canmodifywebhooks", "canviewstoresettings", "cancreateinvoice", "canviewinvoices", "canmodifyinvoices",
	},
	"magento":  {"canviewinvoices", "cancreateinvoice", "webhooks.canmodifywebhooks", "canviewstoresettings", "canmodifyinvoices"},
	"shopware": {"cancreateinvoice", "canviewinvoices", "webhooks.canmodifywebhooks", "canviewstoresettings"},
}

// consent opens the page of a request from the address that plug-ins know, and returns it with the address of its form.
func (b *browser) consent(query url.Values) (p page, action string) {
	b.fixture.t.Helper()
	first := b.get("/api-keys/authorize?" + query.Encode())
	second := b.get(first.header.Get("Location"))
	if second.status != http.StatusSeeOther {
		b.fixture.t.Fatalf("answer %d to %q, want a redirect to the shop: %s", second.status, first.header.Get("Location"), second.text())
	}
	p = b.get(second.header.Get("Location")).want(http.StatusOK, "Connect a web shop")
	return p, p.find("#connect").AttrOr("action", "")
}

// inputs returns the names and values of the hidden fields of a form.
func (p page) inputs(form string) (pairs []string) {
	p.find(form + " input").Each(func(_ int, s *selection) { pairs = append(pairs, s.AttrOr("name", ""), s.AttrOr("value", "")) })
	return pairs
}

// Each plug-in gets a key with the permissions that it asks for, in its form, all for one store.
func TestConnect_plugins(t *testing.T) {
	t.Parallel()
	for name, permissions := range pluginRequests {
		for _, mode := range []merchant.Mode{merchant.Live, merchant.Test} {
			t.Run(name+" "+string(mode), func(t *testing.T) {
				t.Parallel()
				f := newFixture(t)
				b := f.owner()
				const redirect = "https://web.example/callback?wc-api=x&a=1"
				asks := keyRequest(redirect, permissions...)
				asks.Set("applicationIdentifier", name)
				p, action := b.consent(asks)
				if got := p.find(".host").Text(); got != "web.example" {
					t.Errorf("the page shows the host %q, want web.example", got)
				}
				p.want(http.StatusOK, "“Web shop “Nord”” asks for an API key", "Spend money. This server has no private key.")
				before := len(f.actions())
				answer := b.post(action, append(p.inputs("#connect"), "mode", string(mode))...).want(http.StatusOK, "Continue to web.example")
				store := merchant.StoreID(shop, mode)
				k := f.keys(shop)[0]
				want := []string{"apiKey", "", "userId", k.ID}
				for _, permission := range permissions {
					want = append(want, "permissions[]", storePermission+permission+":"+store)
				}
				got := answer.inputs("#connected")
				token := got[1]
				if got[1] = ""; !slices.Equal(got, want) {
					t.Errorf("(-want +got):\n%s", cmp.Diff(want, got))
				}
				if got := answer.find("#connected").AttrOr("action", ""); got != redirect {
					t.Errorf("the form leads to %q, want %q", got, redirect)
				}
				if found, err := f.merchants.AuthenticateToken(t.Context(), token); err != nil || found.ID != k.ID || found.Mode != mode || found.May(merchant.ScopeSettleInvoices) {
					t.Errorf("got key %+v, error %v, want the key %s in %s mode without the scope to settle", found, err, k.ID, mode)
				}
				if plugin, _, _ := strings.Cut(name, ","); k.Plugin != plugin || k.Label != "Web shop “Nord”" {
					t.Errorf("got plug-in %q, label %q, want %q, %q", k.Plugin, k.Label, plugin, "Web shop “Nord”")
				}
				if got := f.actions()[before:]; !slices.Equal(got, []string{"Maren: key.created"}) {
					t.Errorf("the audit log has %q, want one entry key.created", got)
				}
				for name, want := range map[string]string{"Content-Security-Policy": "; form-action https://web.example;", "Referrer-Policy": "no-referrer", "Cache-Control": "no-store"} {
					if got := answer.header.Get(name); !strings.Contains(got, want) {
						t.Errorf("%s is %q, want %q", name, got, want)
					}
				}
				if strings.Contains(f.log.String(), token) {
					t.Error("the log has the key")
				}
			})
		}
	}
}

// The form creates one key. A repeated form gets the first answer, or is refused by a process that does not have that answer.
func TestConnect_replay(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.owner()
	p, action := b.consent(keyRequest("https://web.example/", "canviewinvoices"))
	form := append(p.inputs("#connect"), "mode", "live")
	first := b.post(action, form...).want(http.StatusOK, "The key was created")
	second := b.post(action, form...).want(http.StatusOK, "The key was created")
	if !slices.Equal(first.inputs("#connected"), second.inputs("#connected")) || second.header.Get("Content-Security-Policy") != first.header.Get("Content-Security-Policy") ||
		second.header.Get("Referrer-Policy") != "no-referrer" {
		t.Errorf("the second answer has another key, or other headers: %v", second.header)
	}
	b.post(action, append(form, "mode", "test")...).want(http.StatusConflict, "This form was used already")
	f.desk = desk.New(f.config) // another process, which does not have the first answer
	b.post(action, form...).want(http.StatusConflict, "This form was used already")
	if all := f.keys(shop); len(all) != 1 {
		t.Errorf("the form created %d keys, want 1", len(all))
	}
}

// A form that does not belong to the request, the session, the shop or this site creates no key.
func TestConnect_changed_form(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.owner()
	emil := f.as("Emil", account.Developer)
	p, action := b.consent(keyRequest("https://web.example/", "canviewinvoices"))
	form := p.inputs("#connect")
	changed := "The form does not belong to this request"
	b.post(strings.Replace(action, "web.example", "evil.example", 1), form...).want(http.StatusConflict, changed, "evil.example")
	b.post(strings.Replace(action, "canviewinvoices", "cancreateinvoice", 1), form...).want(http.StatusConflict, changed)
	b.post(action, "form", form[1], "proof", form[5]).want(http.StatusConflict, changed)
	b.post(action, "form", form[1], "number", "1", "proof", form[5]).want(http.StatusConflict, changed)
	b.post(action, "form", form[1]).want(http.StatusConflict, changed)
	foreign := append([]string{"form", emil.formToken()}, form[2:]...)
	emil.post(action, foreign...).want(http.StatusConflict, changed) // of another session
	b.post(action, form[2:]...).want(http.StatusForbidden, "Form refused")
	b.header = map[string]string{"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"}
	b.post(action, form...).want(http.StatusForbidden, "Form refused")
	b.header = nil
	b.post(strings.Replace(action, "/desk/shop/", "/desk/other/", 1), form...).want(http.StatusNotFound)
	f.clock.Advance(15 * 24 * time.Hour)
	if got := b.post(action, form...); outcomeOf(got) != "signed out" {
		t.Errorf("after the end of the session: answer %d, %q, want the sign-in", got.status, got.text())
	}
	if all := f.keys(shop); len(all) != 0 {
		t.Errorf("stored keys %+v, want none", all)
	}
}

// A merchant who is not signed in signs in first, and then sees the same request.
func TestConnect_signs_in_first(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.ownerByPassword()
	b := f.browser()
	asks := keyRequest("https://web.example/?a=b//c", "canviewinvoices", "cancreateinvoice")
	at := b.get("/api-keys/authorize/?" + asks.Encode()).header.Get("Location")
	b.get(at).wantRedirect("/desk/signin?next=" + url.QueryEscape(at))
	signIn := b.get("/desk/signin?next=" + url.QueryEscape(at)).want(http.StatusOK)
	next := signIn.find("form:not([hidden]) input[name=next]").AttrOr("value", "")
	b.post("/desk/signin", "name", "Maren", "password", password, "code", f.code("Maren"), "next", next).wantRedirect(at)
	shown := b.get(b.get(at).header.Get("Location")).want(http.StatusOK, "web.example")
	got, err := url.Parse(shown.find("#connect").AttrOr("action", ""))
	if err != nil || !cmp.Equal(got.Query(), asks) {
		t.Errorf("error %v (-want +got):\n%s", err, cmp.Diff(asks, got.Query()))
	}
}

// With a base path, the redirects keep it.
func TestConnect_below_a_base_path(t *testing.T) {
	t.Parallel()
	f := fixtureAt(t, site+"/pay")
	f.start()
	b := f.browser()
	at := b.get("/pay/api-keys/authorize?" + keyRequest("", "canviewinvoices").Encode()).header.Get("Location")
	if !strings.HasPrefix(at, "/pay/desk/all/connect?") {
		t.Errorf("the redirect leads to %q, want /pay/desk/all/connect", at)
	}
	b.get(at).wantRedirect("/pay/desk/signin?next=" + url.QueryEscape(at))
}

// A new key needs a confirmed sign-in. After the confirmation, the form is sent again.
func TestConnect_confirm(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.ownerByPassword()
	f.clock.Advance(11 * time.Minute)
	p, action := b.consent(keyRequest("https://web.example/", "canviewinvoices", "cancreateinvoice"))
	kept := b.post(action, append(p.inputs("#connect"), "mode", "test")...).want(http.StatusForbidden, "Confirm it’s you").confirmFields()
	if len(f.keys(shop)) != 0 {
		t.Fatal("the key was created without a confirmation")
	}
	answer := b.post("/desk/shop/confirm", append(kept, "confirm-password", password, "confirm-code", f.code("Maren"))...)
	if location := answer.header.Get("Location"); answer.status != http.StatusTemporaryRedirect || location != action {
		t.Fatalf("the confirmation answers %d to %q, want %q", answer.status, location, action)
	}
	b.post(action, kept...).want(http.StatusOK, "Continue to web.example")
	if all := f.keys(shop); len(all) != 1 || all[0].Mode != merchant.Test {
		t.Errorf("stored keys %+v, want one test key", all)
	}
	f.as("Jonas", account.Seller).get("/desk/all/connect?"+keyRequest("", "canviewinvoices").Encode()).want(http.StatusForbidden, "API keys and webhooks are managed by: Owner: Maren.")
}

// Without a redirect the key is shown, once. A name that is too long for the label is truncated.
func TestConnect_without_redirect(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.owner()
	asks := keyRequest("", "canviewinvoices")
	asks.Set("applicationName", strings.Repeat("ä", 100))
	p, action := b.consent(asks)
	p.want(http.StatusOK, "the key is shown to you once")
	answer := b.post(action, append(p.inputs("#connect"), "mode", "test")...).want(http.StatusOK, "test-"+shop)
	if _, err := f.merchants.AuthenticateToken(t.Context(), answer.find("#secret-0").Text()); err != nil {
		t.Error(err)
	}
	if got := f.keys(shop)[0].Label; got != strings.Repeat("ä", merchant.MaxLabel) {
		t.Errorf("got label %q, want %d characters", got, merchant.MaxLabel)
	}
	b.get("/desk/shop/keys").want(http.StatusOK, "Plug-in", "How to connect a plug-in")
}

// An account with several shops chooses one first.
func TestConnect_chooses_shop(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.owner()
	link, err := f.accounts.Invite(t.Context(), map[string]account.Role{shop: account.Owner, "other": account.Developer})
	f.must(err)
	b := f.browser()
	offer, response := b.ceremony("/desk/start/passkey/options", b.key.create, "token", link.Token, "name", "Ida")
	b.post("/desk/start/passkey", "token", link.Token, "name", "Ida", "offer", offer, "credential", response)
	list := b.get("/desk/all/connect?"+keyRequest("https://web.example/", "canviewinvoices").Encode()).want(http.StatusOK, "Which shop receives the payments?")
	at := list.find(`a[href^="/desk/other/connect?"]`)
	if at.Length() != 1 || list.find(`a[href^="/desk/shop/connect?"]`).Length() != 1 {
		t.Fatalf("the page is %q, want links to two shops", list.text())
	}
	p := b.get(at.AttrOr("href", "")).want(http.StatusOK, "Payments go to Nord Markt", "Choose another shop")
	b.post(p.find("#connect").AttrOr("action", ""), append(p.inputs("#connect"), "mode", "live")...).want(http.StatusOK, "The key was created")
	if len(f.keys("other")) != 1 || len(f.keys(shop)) != 0 {
		t.Errorf("the chosen shop has %d keys, the other %d, want 1 and 0", len(f.keys("other")), len(f.keys(shop)))
	}
}

// A request with a fault is refused, also before the choice of a shop, with a text that names the fault.
func TestConnect_refused_requests(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.owner()
	refuse := func(query, want string) {
		t.Helper()
		for _, path := range []string{"/api-keys/authorize?", "/desk/all/connect?", "/desk/shop/connect?"} {
			p := b.get(path+query).want(http.StatusBadRequest, "The plug-in cannot be connected", want)
			if p.find("form, script:not([src])").Length() > 0 {
				t.Errorf("the page of %s has a form or a script, want neither", query)
			}
		}
	}
	for redirect, want := range map[string]string{
		"javascript:alert(1)":                              "redirect must be an absolute https address",
		"data:text/html,x":                                 "redirect must be an absolute https address",
		"//evil.example/":                                  "redirect must be an absolute https address",
		"/desk/shop":                                       "redirect must be an absolute https address",
		"https:///path":                                    "redirect must be an absolute https address",
		"https:web.example":                                "redirect must be an absolute https address",
		"https://web.example\\@evil.example/":              "redirect must be an absolute https address",
		"https://web.example/a\r\nX: y":                    "redirect must be an absolute https address",
		"https://web.example/a b":                          "redirect must be an absolute https address",
		"https://[::1]/":                                   "redirect must be an absolute https address",
		"https://web.example:0/":                           "redirect must be an absolute https address",
		"https://web.example;x/":                           "redirect must be an absolute https address",
		"ftp://web.example/":                               "redirect must be an absolute https address",
		"https://user@web.example/":                        "neither a user name nor a fragment",
		"https://a:b@web.example/":                         "neither a user name nor a fragment",
		"https://web.example/#x":                           "neither a user name nor a fragment",
		"http://web.example/":                              "over http, others could read the key",
		"http://8.8.8.8/":                                  "over http, others could read the key",
		"http://134744072/":                                "redirect must be an absolute https address",
		"https://134744072/":                               "redirect must be an absolute https address",
		"http://0x08080808/":                               "redirect must be an absolute https address",
		"https://0x08080808/":                              "redirect must be an absolute https address",
		"http://10.1/":                                     "redirect must be an absolute https address",
		"https://10.1/":                                    "redirect must be an absolute https address",
		"http://localhost.evil.example/":                   "over http, others could read the key",
		"https://web.example/" + strings.Repeat("x", 2048): "redirect must have at most 2048 characters",
	} {
		refuse(keyRequest(redirect, "canviewinvoices").Encode(), want)
	}
	for _, redirect := range []string{"http://localhost:8080/x", "http://127.0.0.1/", "http://192.168.1.20:81/", "http://10.0.0.1/", "http://nas/", "http://web.local/", "https://8.8.8.8/", "https://müller.example/"} {
		p, _ := b.consent(keyRequest(redirect, "canviewinvoices"))
		u, err := url.Parse(redirect)
		f.must(err)
		want := strings.Replace(u.Host, "müller", "xn--mller-kva", 1)
		if got := p.find(".host").Text(); got != want {
			t.Errorf("%s: the page shows the host %q, want %q", redirect, got, want)
		}
	}
	ok := keyRequest("", "canviewinvoices")
	for name, tt := range map[string]struct {
		change func(q url.Values)
		want   string
	}{
		"no permission":        {func(q url.Values) { q.Del("permissions") }, "permissions must contain a permission that this server grants"},
		"unknown permission":   {func(q url.Values) { q.Add("permissions", "btcpay.server.canmodifyserversettings") }, `permissions must not contain "btcpay.server.canmodifyserversettings"`},
		"everything":           {func(q url.Values) { q.Add("permissions", "unrestricted") }, `must not contain "unrestricted"`},
		"own permission":       {func(q url.Values) { q.Add("permissions", "btcpay.store.cansettleinvoices") }, `must not contain "btcpay.store.cansettleinvoices"`},
		"a store":              {func(q url.Values) { q.Add("permissions", "btcpay.store.canviewinvoices:other") }, `must not contain "btcpay.store.canviewinvoices:other"`},
		"strict by default":    {func(q url.Values) { q.Del("strict"); q.Add("permissions", "x") }, `must not contain "x"`},
		"long permission":      {func(q url.Values) { q.Add("permissions", strings.Repeat("x", 1000)) }, `must not contain "` + strings.Repeat("x", 60) + `…"`},
		"many permissions":     {func(q url.Values) { q["permissions"] = slices.Repeat(q["permissions"], 21) }, "permissions must have at most 20 values"},
		"long name":            {func(q url.Values) { q.Set("applicationName", strings.Repeat("ä", 201)) }, "applicationName must have at most 200 characters"},
		"reordered name":       {func(q url.Values) { q.Set("applicationName", "a\u202eb") }, "applicationName must not contain the invisible character U+202E"},
		"long identifier":      {func(q url.Values) { q.Set("applicationIdentifier", strings.Repeat("ä", 201)) }, "applicationIdentifier must have at most 200 characters"},
		"two names":            {func(q url.Values) { q.Add("applicationName", "x") }, "applicationName must not be repeated"},
		"two addresses":        {func(q url.Values) { q["redirect"] = []string{"https://a.example", "https://b.example"} }, "redirect must not be repeated"},
		"strict is no boolean": {func(q url.Values) { q.Set("strict", "perhaps") }, "strict must be true or false"},
		"only unknown ones":    {func(q url.Values) { q.Set("strict", "false"); q["permissions"] = []string{"x"} }, "permissions must contain a permission that this server grants"},
	} {
		t.Run(name, func(t *testing.T) {
			q := url.Values{}
			for k, v := range ok {
				q[k] = slices.Clone(v)
			}
			tt.change(q)
			refuse(q.Encode(), tt.want)
		})
	}
	refuse(ok.Encode()+"&x=%zz", "the request has a malformed query")
	refuse(ok.Encode()+"&x="+strings.Repeat("x", 8<<10), "the request must have at most 8192 bytes")
	if n := len(f.keys(shop)); n != 0 {
		t.Errorf("the requests created %d keys, want none", n)
	}
}

// If strict is false, the key gets the known permissions, and the page names the others.
func TestConnect_not_strict(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.owner()
	asks := keyRequest("https://web.example/", "canviewinvoices", "canuselightningnode", "canviewinvoices")
	asks.Set("strict", "0")
	p, action := b.consent(asks)
	p.want(http.StatusOK, `Use "btcpay.store.canuselightningnode", which this server does not grant.`)
	answer := b.post(action, append(p.inputs("#connect"), "mode", "live")...).want(http.StatusOK)
	want := []string{"permissions[]", "btcpay.store.canviewinvoices:" + shop}
	if got := answer.inputs("#connected")[4:]; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A demo connects plug-ins to its test store only.
func TestConnect_of_a_demo_offers_test_mode_only(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.demo = true
	b := f.owner()
	p, action := b.consent(keyRequest("https://web.example/", "canviewinvoices"))
	p.want(http.StatusOK, "This is the demo, which accepts test payments only.")
	if n := p.find(`#connect [value=live]`).Length(); n != 0 {
		t.Error("the page offers live mode")
	}
	b.post(action, append(p.inputs("#connect"), "mode", string(merchant.Live))...).want(http.StatusConflict, "This is the demo, which accepts test payments only.")
	if got := f.keys(shop); len(got) != 0 {
		t.Errorf("got %d keys, want none", len(got))
	}
	p, action = b.consent(keyRequest("https://web.example/", "canviewinvoices"))
	b.post(action, append(p.inputs("#connect"), "mode", string(merchant.Test))...).want(http.StatusOK, "Continue to web.example")
	if got := f.keys(shop); len(got) != 1 || got[0].Mode != merchant.Test {
		t.Errorf("got %+v, want one test key", got)
	}
}

// The page of the keys leads to a page that creates the key of each plug-in into which the merchant enters it.
func TestConnect_plugins_without_a_button(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	owner := f.owner()
	links := owner.get("/desk/shop/keys").want(http.StatusOK, "If it has no such button").find(`main a[href^="/desk/shop/connect?"]`)
	pasting := slices.DeleteFunc(slices.Clone(merchant.Plugins), func(p merchant.Plugin) bool { return !p.AcceptsPastedKey() })
	if links.Length() != len(pasting) {
		t.Fatalf("%d links, want one for each of %d plug-ins", links.Length(), len(pasting))
	}
	for i, plugin := range pasting {
		address := links.Eq(i).AttrOr("href", "")
		p := owner.get(address).want(http.StatusOK, "the key is shown to you once")
		owner.post(p.find("#connect").AttrOr("action", ""), append(p.inputs("#connect"), "mode", "test")...).want(http.StatusOK, "test-"+shop)
		keys := f.keys(shop)
		made := slices.IndexFunc(keys, func(k merchant.Key) bool { return k.Plugin == plugin.Name })
		if made < 0 {
			t.Errorf("%s: %q created no key of the plug-in", plugin.Name, address)
			continue
		}
		if got := slices.Sorted(slices.Values(keys[made].Scopes)); !slices.Equal(got, slices.Sorted(slices.Values(plugin.Scopes))) {
			t.Errorf("%s: scopes %v, want %v", plugin.Name, got, plugin.Scopes)
		}
	}
}
