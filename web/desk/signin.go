package desk

import (
	"errors"
	"net/http"

	"chequer/internal/account"
	"chequer/internal/audit"
	"chequer/views/desk"
)

// signIn shows the sign-in page.
func (v *visit) signIn() error {
	set, err := v.Accounts.SetUp(v.Request().Context())
	if err != nil {
		return err
	}
	if !set {
		return v.Redirect(seeOther, v.path("/desk/start"))
	}
	return v.showSignIn(http.StatusOK, nil)
}

// showSignIn shows the sign-in page with the error of the last attempt.
func (v *visit) showSignIn(status int, problem error) error {
	next := v.localPath(v.FormValue("next"))
	page := desk.SignIn{
		Solo: v.solo(v.text("desk.signin")), Action: v.path("/desk/signin"), Problem: v.problem(problem),
		Passkey:  v.passkey(desk.Passkey{Action: v.path("/desk/signin/passkey"), Button: v.text("desk.signin.passkey")}),
		Name:     desk.Field{Name: "name", Label: v.text("desk.name"), Kind: "text", Complete: "username webauthn", Value: v.FormValue("name")},
		Password: v.passwordField("password", "current-password"),
		Code:     v.codeField("code", v.text("desk.code.hint")),
	}
	if next != "" {
		page.Passkey.Hidden = []desk.Hidden{{Name: "next", Value: next}}
		page.Hidden = page.Passkey.Hidden
	}
	if v.QueryParam("done") == "signedout" {
		page.Notice = v.text("desk.notice.signedout")
	}
	return render(v, status, desk.SignInPage(page))
}

func (v *visit) passwordField(name, complete string) desk.Field {
	return desk.Field{Name: name, Label: v.text("desk.password"), Kind: "password", Complete: complete}
}

func (v *visit) codeField(name, hint string) desk.Field {
	return desk.Field{Name: name, Label: v.text("desk.code"), Hint: hint, Kind: "text", Complete: "one-time-code", Code: true}
}

// signInPassword signs in with a password and a code.
func (v *visit) signInPassword() error {
	in, err := v.Accounts.SignInPassword(v.Request().Context(), v.FormValue("name"), v.FormValue("password"), v.FormValue("code"), client(v), v.former(v))
	return v.signedIn(in, err)
}

// signInOptions returns the options of the browser's call that signs in with a passkey.
func (v *visit) signInOptions() error { return v.sendOptions(v.Accounts.OfferSignIn()) }

// signInPasskey signs in with a passkey.
func (v *visit) signInPasskey() error {
	offer, response := v.credential()
	in, err := v.Accounts.SignInPasskey(v.Request().Context(), offer, response, client(v), v.former(v))
	return v.signedIn(in, err)
}

// signedIn answers a sign-in.
func (v *visit) signedIn(in account.SignedIn, err error) error {
	if v.known(err) {
		return v.showSignIn(v.retryAfter(err), err)
	}
	if err != nil {
		return err
	}
	v.setSession(v, in)
	next := v.localPath(v.FormValue("next"))
	if next == "" {
		next = v.path("/desk")
	}
	return v.Redirect(seeOther, next)
}

// signOut ends the session. It is public, because a session that has timed out is left in the same
// way; the form's origin was checked.
func (v *visit) signOut() error {
	token := v.sessionToken(v)
	ctx := v.Request().Context()
	session, a, err := v.Accounts.Session(ctx, token)
	if err == nil {
		err = v.Accounts.EndSession(audit.With(ctx, v.Accounts.Actor(a, session)), a, session.ID())
	}
	if err != nil && !errors.Is(err, account.ErrNotFound) {
		return err
	}
	v.forgetSession(v)
	return v.done(v.path("/desk/signin"), "signedout")
}
