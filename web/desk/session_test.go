package desk_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"chequer/web/desk/visit"
)

// signIn signs in with the password and the code of an account.
func (b *browser) signIn(name, next string) page {
	b.fixture.t.Helper()
	return b.post("/desk/signin", "name", name, "password", password, "code", b.fixture.code(name), "next", next)
}

func TestSignIn_returns_to_the_requested_page(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.ownerByPassword()
	b := f.browser()
	b.get("/desk/shop/account").wantRedirect("/desk/signin?next=%2Fdesk%2Fshop%2Faccount")
	form := b.get("/desk/signin?next=%2Fdesk%2Fshop%2Faccount").want(http.StatusOK, "Six digits from your authenticator app")
	if next := form.find(`form[action="/desk/signin"] input[name=next]`).AttrOr("value", ""); next != "/desk/shop/account" {
		t.Errorf("the form leads to %q", next)
	}
	b.signIn("Maren", "/desk/shop/account").wantRedirect("/desk/shop/account")
	cookie := b.cookies["__Host-desk"]
	if cookie == nil || !cookie.Secure || !cookie.HttpOnly || cookie.SameSite != http.SameSiteLaxMode || cookie.Path != "/" || cookie.Domain != "" {
		t.Errorf("the cookie is %+v, want Secure, HttpOnly and SameSite=Lax for the path /, without a domain", cookie)
	}
	b.get("/desk/shop/account").want(http.StatusOK, "Firefox on Linux")
	b.get("/desk").wantRedirect("/desk/shop")
}

// A wrong password, a wrong code and an unknown name have the same answer, and many of them are
// refused for a time.
func TestSignIn_does_not_name_the_wrong_field(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.ownerByPassword()
	var answers []string
	for _, given := range [][2]string{{"Maren", "wrong password"}, {"Nora", password}} {
		b := f.browser()
		f.clock.Advance(2 * time.Minute)
		refused := b.post("/desk/signin", "name", given[0], "password", given[1], "code", f.code("Maren")).want(http.StatusUnprocessableEntity, "Name, password or code is wrong.")
		answers = append(answers, strings.ReplaceAll(refused.body, given[0], "NAME"))
		if b.session() != "" || strings.Contains(refused.body, given[1]) {
			t.Error("the answer has a session or the password")
		}
	}
	if answers[0] != answers[1] {
		t.Error("the answers for a wrong password and an unknown name differ")
	}
	waits := f.browser().signIn("Maren", "").want(http.StatusTooManyRequests, "Too many failed attempts. Try again in")
	if waits.header.Get("Retry-After") == "" {
		t.Error("the answer has no Retry-After")
	}
}

// A session identifier that was set before the sign-in is not used after it, and a sign-in ends the
// session that the browser had.
func TestSession_is_new_after_sign_in(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	former := f.ownerByPassword()
	b := f.browser()
	b.cookies["__Host-desk"] = &http.Cookie{Name: "__Host-desk", Value: "set-by-an-attacker"}
	b.signIn("Maren", "").wantRedirect("/desk")
	if b.session() == "set-by-an-attacker" || b.session() == "" {
		t.Errorf("the session after the sign-in is %q, want a new one", b.session())
	}
	attacker := f.browser()
	attacker.cookies["__Host-desk"] = &http.Cookie{Name: "__Host-desk", Value: "set-by-an-attacker"}
	attacker.get("/desk/shop/account").wantRedirect("/desk/signin?next=%2Fdesk%2Fshop%2Faccount")

	f.clock.Advance(time.Minute)
	copied := f.browser()
	copied.cookies["__Host-desk"] = former.cookies["__Host-desk"]
	former.signIn("Maren", "").wantRedirect("/desk")
	copied.get("/desk/shop/account").wantRedirect("/desk/signin?next=%2Fdesk%2Fshop%2Faccount")
	former.get("/desk/shop/account").want(http.StatusOK, "This session")
}

// After signing out, a copied cookie opens no page, and the back button finds no stored page.
func TestSignOut_invalidates_copied_cookies(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.owner()
	shown := b.get("/desk/shop/account")
	if got := shown.header.Get("Cache-Control"); got != "no-store" {
		t.Errorf("Cache-Control is %q, want no-store", got)
	}
	copied := f.browser()
	copied.cookies["__Host-desk"] = b.cookies["__Host-desk"]
	b.send("/desk/signout").wantRedirect("/desk/signin?done=signedout")
	if b.session() != "" {
		t.Error("the browser has the cookie still")
	}
	for _, after := range []*browser{b, copied} {
		after.get("/desk/shop/account").wantRedirect("/desk/signin?next=%2Fdesk%2Fshop%2Faccount")
	}
	b.get("/desk/signin?done=signedout").want(http.StatusOK, "You are signed out.")
	b.post("/desk/signout").wantRedirect("/desk/signin?done=signedout") // without a session
	if actions := f.actions(); !slices.Contains(actions, "Maren: session.ended") {
		t.Errorf("the audit log is %q, want session.ended by Maren in it", actions)
	}
}

func TestSession_ends(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.ownerByPassword()
	second := f.browser()
	second.signIn("Maren", "")
	b.send("/desk/shop/account/session/end").want(http.StatusNotFound, "Not found")
	page := b.get("/desk/shop/account")
	id := page.find(`form[action="/desk/shop/account/session/end"] input[name=id]`).AttrOr("value", "")
	b.send("/desk/shop/account/session/end", "id", id).wantRedirect("/desk/shop/account?done=ended")
	second.get("/desk/shop/account").wantRedirect("/desk/signin?next=%2Fdesk%2Fshop%2Faccount")
	f.clock.Advance(time.Minute)
	second.signIn("Maren", "")
	b.send("/desk/shop/account/sessions/end").wantRedirect("/desk/shop/account?done=ended")
	second.get("/desk/shop/account").wantRedirect("/desk/signin?next=%2Fdesk%2Fshop%2Faccount")
	b.get("/desk/shop/account").want(http.StatusOK, "This session")
	f.clock.Advance(12 * time.Hour)
	b.get("/desk/shop/account").wantRedirect("/desk/signin?next=%2Fdesk%2Fshop%2Faccount")
}

// A link leads only to a page of the desk.
func TestLocalPath_leads_only_to_the_desk(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"/desk/shop/payments":                 "/desk/shop/payments",
		"/desk/shop/payments?mode=test&q=a b": "/desk/shop/payments?mode=test&q=a b",
		"":                                    "",
		"/":                                   "",
		"/invoice/abc":                        "",
		"/deskelsewhere":                      "",
		"//evil.example/desk/":                "",
		"https://evil.example/desk/":          "",
		"https:/desk/":                        "",
		"/\\evil.example/desk/":               "",
		"/desk/\\evil.example":                "",
		"/desk//evil.example":                 "",
		"/desk/../../evil.example":            "",
		"/desk/\r\nSet-Cookie: a=b":           "",
		"javascript:alert(1)":                 "",
		"javascript:/desk/alert(1)":           "",
	} {
		if got := (&visit.Site{}).LocalPath(address); got != want {
			t.Errorf("%q leads to %q, want %q", address, got, want)
		}
	}
	f := newFixture(t)
	f.ownerByPassword()
	for _, next := range []string{"https://evil.example/desk/", "//evil.example/desk/x", "/invoice/abc"} {
		f.browser().signIn("Maren", next).wantRedirect("/desk")
		f.clock.Advance(time.Minute)
		if page := f.browser().get("/desk/signin?next=" + url.QueryEscape(next)); strings.Contains(page.body, "evil.example") {
			t.Errorf("the page has the address %q", next)
		}
	}
}
