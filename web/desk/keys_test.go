package desk_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"chequer/internal/account"
	"chequer/internal/merchant"
)

// keys returns the keys of a shop in the storage.
func (f *fixture) keys(shopID string) []merchant.Key {
	f.t.Helper()
	all, err := f.storage.Keys(f.t.Context(), shopID)
	f.must(err)
	return all
}

// A developer creates a key: the secret is shown in the answer to the form, and on no later page.
func TestKeys_show_their_secret_once(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.owner()
	b := f.as("Emil", account.Developer)
	b.get("/desk/shop/keys").want(http.StatusOK, "There is no API key yet.")
	before := len(f.actions())
	answer := b.send("/desk/shop/keys", "label", "Web shop", "mode", "test", "scope", "read", "scope", "create").want(http.StatusOK, "Web shop was created")
	all := f.keys(shop)
	if len(all) != 1 || all[0].Label != "Web shop" || all[0].Mode != merchant.Test || !all[0].May(merchant.ScopeRead) || all[0].May(merchant.ScopeAdmin) {
		t.Fatalf("stored keys %+v", all)
	}
	if answer.find(`button[data-copies="secret-0"], button[data-copies="secret-1"]`).Length() != 2 {
		t.Error("the page has no buttons that copy the key and the secret")
	}
	if got := answer.find("#secret-0").Text() + " " + answer.find("#secret-1").Text(); got != all[0].Key+" "+all[0].Secret {
		t.Errorf("the page shows %q, want the key and its secret", got)
	}
	if got := answer.header.Get("Cache-Control"); got != "no-store" {
		t.Errorf("the page with the secret has Cache-Control %q", got)
	}
	if got := f.actions()[before:]; len(got) != 1 || got[0] != "Emil: key.created" {
		t.Errorf("the audit log has %q, want the key by Emil", got)
	}
	for _, path := range []string{"/desk/shop/keys", "/desk/shop/keys/" + all[0].Key, "/desk/shop/log"} {
		page := b.get(path).want(http.StatusOK, all[0].Key)
		if strings.Contains(page.body, all[0].Secret) {
			t.Errorf("%s shows the secret", path)
		}
	}
	b.get("/desk/shop/keys").want(http.StatusOK, "Test").want(http.StatusOK, "never")
}

// A form that breaks a rule keeps its values, and names the field.
// The key of a shop plug-in is listed and revoked like any other. The page names the plug-in and its store.
func TestKeys_of_a_plugin(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.owner()
	b := f.as("Emil", account.Developer)
	k, token, err := f.merchants.CreatePluginKey(t.Context(), shop, merchant.PluginKey{
		Plugin: "medusa", Mode: merchant.Test, Scopes: []merchant.Scope{merchant.ScopeViewInvoices, merchant.ScopeSettleInvoices},
	})
	f.must(err)
	b.get("/desk/shop/keys").want(http.StatusOK, "medusa", "read invoices")
	page := b.get("/desk/shop/keys/"+k.Key).want(http.StatusOK, "Shop plug-in medusa", "Store ID test-"+shop, "accept as paid")
	if strings.Contains(page.body, token[32:]) {
		t.Error("the page shows the token")
	}
	b.send("/desk/shop/keys/" + k.Key + "/revoke").wantRedirect("/desk/shop/keys?done=revoked")
	if found, err := f.merchants.AuthenticateToken(t.Context(), token); err != nil || found.RevokedAt.IsZero() {
		t.Errorf("got %+v, error %v, want a revoked key", found, err)
	}
}

func TestKeys_refused_form(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.owner()
	page := b.send("/desk/shop/keys", "label", "two\nlines", "mode", "test", "scope", "link").want(http.StatusUnprocessableEntity, "The label must not contain the invisible character U+000A.")
	if got := page.find("#label"); got.AttrOr("aria-invalid", "") != "true" || got.AttrOr("value", "") != "two\nlines" {
		t.Errorf("the field has the value %q, marked as wrong %q", got.AttrOr("value", ""), got.AttrOr("aria-invalid", ""))
	}
	if got := page.find("input[name=scope][checked]"); got.Length() != 1 || got.AttrOr("value", "") != "link" {
		t.Errorf("%d scopes are chosen, the first %q, want link", got.Length(), got.AttrOr("value", ""))
	}
	if got := page.find("option[selected]").AttrOr("value", ""); got != "test" {
		t.Errorf("the chosen mode is %q, want test", got)
	}
	b.send("/desk/shop/keys", "label", "Web shop").want(http.StatusUnprocessableEntity, "The scopes must not be empty.")
	b.send("/desk/shop/keys", "scope", "cook").want(http.StatusUnprocessableEntity, `The scopes must be create, read, page, link or admin, not "cook".`)
	b.send("/desk/shop/keys", "scope", "read", "label", strings.Repeat("x", 65)).want(http.StatusUnprocessableEntity, "The label must have at most 64 characters.")
	developer := f.as("Ida", account.Developer)
	developer.send("/desk/shop/keys", "scope", "admin", "scope", "read").want(http.StatusUnprocessableEntity, "The scopes can include admin only if an owner creates the key")
	if n := developer.get("/desk/shop/keys").find("input[value=admin]").Length(); n != 0 {
		t.Error("a developer is offered the scope admin")
	}
	if all := f.keys(shop); len(all) != 0 {
		t.Errorf("refused forms stored %+v", all)
	}
}

// A key is revoked after its consequences are shown. A key of another shop does not exist.
func TestKeys_are_revoked_after_their_consequences_are_shown(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.owner()
	k, err := f.merchants.CreateKey(t.Context(), shop, merchant.Live, merchant.AllScopes, "Old plug-in")
	f.must(err)
	foreign, err := f.merchants.CreateKey(t.Context(), "other", merchant.Live, merchant.AllScopes, "Foreign")
	f.must(err)
	f.must(f.merchants.UseKey(t.Context(), k))
	at := "/desk/shop/keys/" + k.Key
	page := b.get(at).want(http.StatusOK, "Revoke Old plug-in?")
	for _, want := range []string{"Calls with this key fail at once.", "The key was last used: now.", "Checkout links that it signed stop working.", "This cannot be undone."} {
		if !strings.Contains(page.text(), want) {
			t.Errorf("the page lacks %q: %s", want, page.text())
		}
	}
	b.get("/desk/shop/keys/"+foreign.Key).want(http.StatusNotFound, "Not found")
	b.send("/desk/shop/keys/"+foreign.Key+"/revoke").want(http.StatusNotFound, "Not found")
	if strings.Contains(b.get("/desk/shop/keys").text(), "Foreign") {
		t.Error("the list shows a key of another shop")
	}
	before := len(f.actions())
	b.send(at + "/revoke").wantRedirect("/desk/shop/keys?done=revoked")
	b.get("/desk/shop/keys?done=revoked").want(http.StatusOK, "The key was revoked.").want(http.StatusOK, "Revoked")
	if got, err := f.merchants.Authenticate(t.Context(), k.Key); err != nil || got.RevokedAt.IsZero() {
		t.Errorf("the revoked key is accepted, error %v", err)
	}
	if got, err := f.merchants.Authenticate(t.Context(), foreign.Key); err != nil || !got.RevokedAt.IsZero() {
		t.Errorf("the key of the other shop is revoked, error %v", err)
	}
	b.send(at+"/revoke").want(http.StatusConflict, "This key was revoked already.")
	if n := b.get(at).want(http.StatusOK, "Revoked").find("#revoke").Length(); n != 0 {
		t.Error("the page of a revoked key offers to revoke it")
	}
	if got := f.actions()[before:]; len(got) != 1 || got[0] != "Maren: key.revoked" {
		t.Errorf("the audit log has %q, want one revocation by Maren", got)
	}
}

// A new key needs a confirmed sign-in, and the form continues after it with all scopes.
func TestKeys_need_a_confirmed_sign_in(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.ownerByPassword()
	f.clock.Advance(11 * time.Minute)
	b.get("/desk/shop/keys").want(http.StatusOK, "API keys")
	ask := b.send("/desk/shop/keys", "label", "Web shop", "scope", "read", "scope", "create").want(http.StatusForbidden, "Confirm it’s you")
	if len(f.keys(shop)) != 0 {
		t.Fatal("the key was created without a confirmation")
	}
	kept := ask.confirmFields()
	answer := b.post("/desk/shop/confirm", append(kept, "confirm-password", password, "confirm-code", f.code("Maren"))...)
	if answer.status != http.StatusTemporaryRedirect || answer.header.Get("Location") != "/desk/shop/keys" {
		t.Fatalf("the confirmation answers %d to %q", answer.status, answer.header.Get("Location"))
	}
	b.post("/desk/shop/keys", kept...).want(http.StatusOK, "Web shop was created")
	if all := f.keys(shop); len(all) != 1 || len(all[0].Scopes) != 2 {
		t.Errorf("stored keys %+v, want one with two scopes", all)
	}
	f.as("Jonas", account.Seller).get("/desk/shop/keys").want(http.StatusForbidden, "API keys and webhooks are managed by: Owner: Maren.")
}
