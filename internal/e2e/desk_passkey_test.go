package e2e_test

import (
	"testing"

	"github.com/chromedp/cdproto/webauthn"
	"github.com/chromedp/chromedp"
)

// recordPasskeys is a script that adds to sessionStorage.calls the mediation of each request for a passkey, and the name
// of its error if it fails.
const recordPasskeys = `(() => {
	if (!navigator.credentials) return;
	const get = navigator.credentials.get.bind(navigator.credentials), record = text => sessionStorage.calls = (sessionStorage.calls || "") + text + " ";
	navigator.credentials.get = call => {
		record(call.mediation || "modal");
		return get(call).catch(e => { record(e.name); throw e; });
	};
})()`

// passkeyCalls returns the record of recordPasskeys.
func (b *tab) passkeyCalls() string {
	b.t.Helper()
	return get(b, chromedp.Evaluate[string](`sessionStorage.calls || ""`))
}

// signedInWithPasskey returns a tab that has created an account with a passkey and is signed in, and its authenticator.
func signedInWithPasskey(t *testing.T) (*tab, webauthn.AuthenticatorID) {
	t.Helper()
	desk := newFirstRunDesk(t)
	tab := openAlone(t, screen{width: 390, height: 844})
	authenticator := tab.addAuthenticator()
	tab.visit(desk.link)
	tab.waitFor("h1", "Create the owner account", nil)
	tab.typeInto("#name", "Maren")
	tab.click("form[data-passkey] button")
	tab.waitFor("h1", "Your shop", nil)
	tab.addInitScript(recordPasskeys)
	return tab, authenticator
}

// signOut signs out by the menu of the desk.
func (b *tab) signOut() {
	b.t.Helper()
	b.click(".bar details summary")
	b.click(".bar form button")
}

// The sign-in page asks for a passkey in the field for the name. Choosing one signs in without the button.
func TestDesk_signin_suggests_passkeys(t *testing.T) {
	t.Parallel()
	tab, _ := signedInWithPasskey(t)
	tab.signOut()
	tab.waitFor("h1", "Overview", nil)
	if got := tab.passkeyCalls(); got != "conditional " {
		t.Errorf("calls for a passkey: %q", got)
	}
	tab.checkConsole()
}

// The button ends the ceremony of the field before it begins its own: browsers allow one at a time.
func TestDesk_signin_has_one_ceremony_at_a_time(t *testing.T) {
	t.Parallel()
	tab, authenticator := signedInWithPasskey(t)
	tab.touch(authenticator, false)
	tab.signOut()
	tab.waitFor("h1", "Sign in", nil)
	until(t, waitTimeout, "the field asks for a passkey", func() bool { return tab.passkeyCalls() == "conditional " })
	tab.touch(authenticator, true)
	tab.click("form[data-passkey] button")
	tab.waitFor("h1", "Overview", nil)
	if got := tab.passkeyCalls(); got != "conditional modal AbortError " && got != "conditional AbortError modal " {
		t.Errorf("calls for a passkey: %q", got)
	}
	tab.checkConsole()
}

// Without a passkey the page shows no error before the button is pressed, and the password stays usable.
func TestDesk_signin_without_a_passkey(t *testing.T) {
	t.Parallel()
	tab, authenticator := signedInWithPasskey(t)
	_, err := chromedp.Call(tab.ctx, webauthn.ClearCredentials, webauthn.ClearCredentialsParams{AuthenticatorID: authenticator})
	tab.check(err)
	tab.signOut()
	tab.waitFor("h1", "Sign in", nil)
	until(t, waitTimeout, "the field asks for a passkey", func() bool { return tab.passkeyCalls() != "" })
	if got := tab.text("form[data-passkey] [role=alert]"); got != "" {
		t.Errorf("before the button is pressed the page says %q", got)
	}
	tab.click("form[data-passkey] button")
	tab.waitFor("form[data-passkey] [role=alert]", "The browser returned no passkey.", nil)
	tab.typeInto("#name", "Maren")
	tab.typeInto("#password", deskPassword)
	tab.send(`form[action="/desk/signin"] button`)
	tab.waitFor("main [role=alert]:not([data-fault])", "Name, password or code is wrong.", nil)
}

// withPasskey visits the page of an account that signs in with a password and has a passkey.
func withPasskey(b *tab, site *demoSite) {
	b.t.Helper()
	b.signInAs(site.seller)
	b.addAuthenticator()
	b.visit(site.seller.url + deskShop + "/account")
	b.do(chromedp.WaitVisible(chromedp.CSS("form[data-passkey] button")))
	clickThrough("form[data-passkey] button")(b, site)
	b.waitFor("#methods", "Passkey “", nil)
}

// withNotices visits the overview of an owner with a notice about another owner.
func withNotices(b *tab, site *demoSite) {
	b.t.Helper()
	newDeskClient(site.t, site.owner.invite("owner"), "Ida")
	signedIn("")(b, site)
	b.do(chromedp.WaitVisible(chromedp.CSS("#security")))
}
