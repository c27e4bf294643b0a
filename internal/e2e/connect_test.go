package e2e_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/pquerna/otp/totp"
)

// wooPermissions are the permissions that the plug-in for WooCommerce asks for.
var wooPermissions = []string{
	"canviewinvoices", "cancreateinvoice", "canviewstoresettings", "canmodifyinvoices", "webhooks.canmodifywebhooks", "cancreatenonapprovedpullpayments",
}

// authorizePath returns the path at which a plug-in asks for a key, which is sent to an address of the shop.
func authorizePath(application, redirect string, permissions []string) string {
	query := url.Values{"applicationName": {application}, "strict": {"true"}, "selectiveStores": {"true"}}
	for _, p := range permissions {
		query.Add("permissions", "btcpay.store."+p)
	}
	if redirect != "" {
		query.Set("redirect", redirect)
	}
	return "/api-keys/authorize?" + query.Encode()
}

// askingToConnect returns a step that visits the page on which a plug-in asks for a key.
func askingToConnect(redirect string) func(*tab, *demoSite) {
	return func(b *tab, site *demoSite) {
		b.t.Helper()
		b.signInAs(site.owner)
		b.visit(site.owner.url + authorizePath("WooCommerce – Web shop Nord", redirect, wooPermissions))
	}
}

// choosingShop visits the page on which a plug-in asks for a key of one of several shops, in the session of the tab.
func choosingShop(b *tab, site *demoSite) {
	b.t.Helper()
	b.visit(site.owner.url + authorizePath("WooCommerce – Web shop Nord", "https://web-shop.example/", wooPermissions))
}

// connected creates a key for a web shop that answers with 204, so that the browser stays at the page that sends the key.
func connected(b *tab, site *demoSite) {
	b.t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }))
	b.t.Cleanup(server.Close)
	askingToConnect(server.URL+"/callback")(b, site)
	press("#connect button", "#connected")(b, site)
}

// withPluginKeys creates the keys of three plug-ins, one of which has the longest name that occurs.
func withPluginKeys(b *tab, site *demoSite) {
	b.t.Helper()
	for _, name := range []string{"WooCommerce", "PrestaShop", "BTCPayServerForWooCommerceOfTheShopWithTheVeryLongNameNord"} {
		path := authorizePath(name, "", wooPermissions)
		form := site.owner.read(path).Find("#connect")
		var pairs []string
		for _, field := range []string{"form", "number", "proof"} {
			pairs = append(pairs, field, form.Find("input[name="+field+"]").AttrOr("value", ""))
		}
		site.owner.post(form.AttrOr("action", ""), append(pairs, "mode", "test")...)
	}
}

// webShop is a shop with a plug-in made for BTCPay Server. It asks a server for a key, and uses the key as soon as it receives it.
type webShop struct {
	t      *testing.T
	url    string
	server string          // address of the server
	posts  chan url.Values // received forms with a key
}

func newWebShop(t *testing.T, server string) *webShop {
	t.Helper()
	s := &webShop{t: t, server: server, posts: make(chan url.Values, 10)}
	site := httptest.NewServer(http.HandlerFunc(s.receive))
	t.Cleanup(site.Close)
	s.url = site.URL
	return s
}

// connectURL returns the address to which the button of the plug-in leads.
func (s *webShop) connectURL(permissions []string) string {
	return s.server + "/" + authorizePath("WooCommerce of Web shop Nord", s.url+"/?wc-api=connect&a=1", permissions)
}

// receive answers the form with the key. First it reads the stores, and registers and removes a webhook, as WooCommerce does.
func (s *webShop) receive(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost { // such as the icon
		w.WriteHeader(http.StatusNoContent)
		return
	}
	if r.URL.RawQuery != "wc-api=connect&a=1" || r.Header.Get("Referer") != "" {
		s.t.Errorf("the key arrives at %s with the referrer %q, want the redirect address and no referrer", r.URL, r.Header.Get("Referer"))
	}
	if err := r.ParseForm(); err != nil {
		s.t.Error(err)
	}
	_, store, _ := strings.Cut(r.PostForm["permissions[]"][0], ":")
	key := r.PostForm.Get("apiKey")
	s.call(key, http.MethodGet, "/api/v1/stores", "", `"id":"`+store+`"`)
	webhooks := "/api/v1/stores/" + store + "/webhooks"
	id, _, _ := strings.Cut(strings.TrimPrefix(s.call(key, http.MethodPost, webhooks, `{"url":"http://127.0.0.1:9/hook"}`, `"enabled":true`), `{"id":"`), `"`)
	s.call(key, http.MethodDelete, webhooks+"/"+id, "", "")
	s.posts <- r.PostForm
	w.Header().Set("Content-Type", "text/html")
	_, _ = io.WriteString(w, `<!doctype html><html lang="en"><title>Web shop</title><h1>Connected</h1>`)
}

// call calls the API of plug-ins, and returns the answer. It fails unless the answer contains want.
func (s *webShop) call(key, method, path, body, want string) string {
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.server+path, strings.NewReader(body))
	if err != nil {
		s.t.Error(err)
		return ""
	}
	r.Header.Set("Authorization", "token "+key)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Error(err)
		return ""
	}
	defer answer.Body.Close()
	got, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK || !strings.Contains(string(got), want) {
		s.t.Errorf("%s %s: %s, error %v, %s, want 200 with %s", method, path, answer.Status, err, got, want)
	}
	return string(got)
}

// connectIn connects the shop in a tab that is signed in at the desk, and returns the key.
func (s *webShop) connectIn(tab *tab, permissions []string) string {
	s.t.Helper()
	tab.waitFor(".host", strings.TrimPrefix(s.url, "http://"), nil)
	tab.do(chromedp.SetValue(chromedp.CSS("#mode"), "test"))
	tab.send("#connect button")
	if tab.screen.noJS {
		tab.waitFor("h1", "The key was created", nil)
		tab.picture(tab.screen, "connected")
		tab.send("#connected button")
	}
	tab.waitFor("h1", "Connected", nil)
	if at := get(tab, chromedp.Location()); at != s.url+"/?wc-api=connect&a=1" {
		s.t.Errorf("the browser is at %s, want the redirect address", at)
	}
	select {
	case got := <-s.posts:
		var want []string
		for _, p := range permissions {
			want = append(want, "btcpay.store."+p+":test-m_first")
		}
		if !slices.Equal(got["permissions[]"], want) || got.Get("userId") == "" {
			s.t.Errorf("the shop received %q, want the permissions %q and a user ID", got, want)
		}
		return got.Get("apiKey")
	case <-time.After(waitTimeout):
		s.t.Fatal("the shop received no key")
	}
	return ""
}

// A plug-in asks for a key. The owner signs in, consents, and the shop uses the key at once, with and without JavaScript.
func TestConnect(t *testing.T) {
	t.Parallel()
	for _, s := range []screen{deskScreen, phoneScreenNoJS} {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			desk := newFirstRunDesk(t, allowLoopback)
			owner, shop := newDeskClient(t, desk.link, "Maren"), newWebShop(t, desk.url)
			tab := openAlone(t, s)
			tab.visit(shop.connectURL(wooPermissions))
			tab.waitFor("h1", "Sign in", nil)
			tab.typeInto("#name", "Maren")
			tab.typeInto("#password", deskPassword)
			code, err := totp.GenerateCode(owner.seed, time.Now().Add(30*time.Second)) // each code is used once
			tab.check(err)
			tab.typeInto("#code", code)
			tab.send(`form[action$="/desk/signin"] button`)
			shop.connectIn(tab, wooPermissions)
			tab.checkConsole()
		})
	}
}
