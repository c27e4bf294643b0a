package desk_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/descope/virtualwebauthn"

	"chequer/internal/account/accounttest"
)

// authenticator holds a passkey of a browser.
type authenticator struct {
	t    *testing.T
	rp   virtualwebauthn.RelyingParty
	auth virtualwebauthn.Authenticator
	cred virtualwebauthn.Credential
}

func newAuthenticator(t *testing.T) *authenticator {
	return &authenticator{
		t: t, rp: virtualwebauthn.RelyingParty{Name: "Atelier Nord", ID: "shop.example", Origin: site},
		auth: virtualwebauthn.NewAuthenticator(), cred: accounttest.NewCredential(t),
	}
}

// create answers navigator.credentials.create.
func (a *authenticator) create(options string) string {
	a.t.Helper()
	parsed, err := virtualwebauthn.ParseAttestationOptions(options)
	if err != nil {
		a.t.Fatal(err)
	}
	a.auth.Options.UserHandle = []byte(parsed.UserID)
	a.auth.AddCredential(a.cred)
	return virtualwebauthn.CreateAttestationResponse(a.rp, a.auth, a.cred, *parsed)
}

// get answers navigator.credentials.get.
func (a *authenticator) get(options string) string {
	a.t.Helper()
	parsed, err := virtualwebauthn.ParseAssertionOptions(options)
	if err != nil {
		a.t.Fatal(err)
	}
	a.cred.Counter++
	return virtualwebauthn.CreateAssertionResponse(a.rp, a.auth, a.cred, *parsed)
}

// ceremony asks the desk for options as the script does, and returns the authenticator's answer.
func (b *browser) ceremony(path string, answer func(options string) string, pairs ...string) (offer, response string) {
	b.fixture.t.Helper()
	b.header = map[string]string{"Accept": "application/json"}
	sent := b.post(path, pairs...)
	b.header = nil
	return answered(b.fixture.t, sent, answer)
}

// answered returns the offer of an answer with options, and the authenticator's answer to them.
func answered(t *testing.T, sent page, answer func(options string) string) (offer, response string) {
	t.Helper()
	var given struct {
		Options json.RawMessage
		Offer   string
	}
	if err := json.Unmarshal([]byte(sent.body), &given); err != nil || given.Offer == "" {
		t.Fatalf("the options are %d %s, error %v", sent.status, sent.body, err)
	}
	return given.Offer, answer(string(given.Options))
}

// signInByPasskey signs in with the browser's passkey.
func (b *browser) signInByPasskey() page {
	b.fixture.t.Helper()
	offer, response := b.ceremony("/desk/signin/passkey/options", b.key.get)
	return b.post("/desk/signin/passkey", "offer", offer, "credential", response)
}

func TestPasskey_signs_in_once_per_offer(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	owner := f.owner()
	owner.get("/desk/shop/account").want(http.StatusOK, "Passkey “Firefox on Linux”")
	b := f.browser()
	b.key = owner.key
	offer, response := b.ceremony("/desk/signin/passkey/options", b.key.get)
	b.post("/desk/signin/passkey", "offer", offer, "credential", response).wantRedirect("/desk")
	b.get("/desk/shop/account").want(http.StatusOK, "This session")
	f.browser().post("/desk/signin/passkey", "offer", offer, "credential", response).want(http.StatusUnprocessableEntity, "The passkey was not accepted.")
	stranger := f.browser()
	stranger.key.auth.Options.UserHandle = []byte("acc_unknown")
	stranger.key.auth.AddCredential(stranger.key.cred)
	stranger.signInByPasskey().want(http.StatusUnprocessableEntity, "The passkey was not accepted.")
	b.post("/desk/signin/passkey").want(http.StatusUnprocessableEntity, "The page was open for too long")
}

// An account adds and removes passkeys, and keeps one sign-in method.
func TestPasskey_added_and_removed(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.owner()
	if n := b.get("/desk/shop/account").find(`form[action$="/remove"]`).Length(); n != 0 {
		t.Errorf("%d buttons remove the last sign-in method", n)
	}
	id := func() string {
		return b.get("/desk/shop/account").find(`form[action$="/passkey/remove"] input[name=id]`).AttrOr("value", "")
	}
	token := b.formToken()
	offer, response := b.ceremony("/desk/shop/account/passkey/options", newAuthenticator(t).create, "form", token)
	b.send("/desk/shop/account/passkey", "offer", offer, "credential", response).wantRedirect("/desk/shop/account?done=added")
	first := id()
	b.send("/desk/shop/account/passkey/remove", "id", first).wantRedirect("/desk/shop/account?done=removed")
	b.send("/desk/shop/account/passkey/remove", "id", first).want(http.StatusNotFound, "Not found")
	last := b.get("/desk/shop/account")
	if n := last.find(`form[action$="/passkey/remove"]`).Length(); n != 0 {
		t.Errorf("%d buttons remove the last passkey", n)
	}
	if !strings.Contains(strings.Join(f.actions(), "\n"), "Maren: account.passkey_removed") {
		t.Errorf("the audit log is %q, want account.passkey_removed by Maren in it", f.actions())
	}
}

// The script shows the reason when there are no options.
func TestPasskey_options_refused(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.owner()
	form := b.formToken()
	f.clock.Advance(11 * time.Minute)
	link := f.browser()
	for _, tt := range []struct {
		b      *browser
		path   string
		pairs  []string
		status int
		want   string
	}{
		{link, "/desk/start/passkey/options", []string{"token", "wrong", "name", "Tove"}, http.StatusUnprocessableEntity, "This link was used, has expired or is incomplete."},
		{b, "/desk/shop/account/passkey/options", []string{"form", form}, http.StatusForbidden, "Confirm your sign-in first: reload this page."},
		{link, "/desk/shop/account/passkey/options", nil, http.StatusUnauthorized, "The session has ended. Sign in again."},
	} {
		tt.b.header = map[string]string{"Accept": "application/json"}
		got := tt.b.post(tt.path, tt.pairs...)
		var answer struct{ Error string }
		if err := json.Unmarshal([]byte(got.body), &answer); err != nil || got.status != tt.status || answer.Error != tt.want {
			t.Errorf("%s: answer %d %s, error %v, want %d %q", tt.path, got.status, got.body, err, tt.status, tt.want)
		}
	}
}

// An account gives a passkey a name, with which the list and the audit log show it.
func TestPasskey_has_its_new_name_in_list_and_log(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.owner()
	list := b.get("/desk/shop/account").want(http.StatusOK, "Passkey “Firefox on Linux”", "Created", "last used", "this device only")
	form := list.attribute("#methods a.sm", "href")
	b.get(form).want(http.StatusOK, "Rename the passkey “Firefox on Linux”")
	before := len(f.actions())
	for _, wrong := range []string{"", strings.Repeat("a", 41), "a\u202eb"} {
		got := b.send(form, "name", wrong).want(http.StatusUnprocessableEntity)
		if text, kept := got.find("#name-error").Text(), got.attribute("#name", "value"); text == "" || kept != wrong {
			t.Errorf("name %q: error %q, kept %q", wrong, text, kept)
		}
	}
	b.send(form, "name", "Firefox on Linux").wantRedirect("/desk/shop/account?done=passkey-renamed")
	if n := len(f.actions()); n != before {
		t.Errorf("%d entries of the audit log without a change", n-before)
	}
	b.send(form, "name", "Office key").wantRedirect("/desk/shop/account?done=passkey-renamed")
	b.get("/desk/shop/account").want(http.StatusOK, "Passkey “Office key”")
	entries, err := f.storage.AuditLog(t.Context(), 0, 1)
	f.must(err)
	c := entries[0].Change
	if c.Action != "account.passkey_renamed" || c.Subject != "Maren" || c.Before["name"] != "Firefox on Linux" || c.After["name"] != "Office key" {
		t.Errorf("the entry of the audit log is %+v, want the new name of Maren's passkey", c)
	}
	again := f.browser()
	again.key = b.key
	again.signInByPasskey().wantRedirect("/desk")
	b.get("/desk/shop/account/passkey/unknown/rename").want(http.StatusNotFound)
	b.send("/desk/shop/account/passkey/unknown/rename", "name", "Other").want(http.StatusNotFound)
}
