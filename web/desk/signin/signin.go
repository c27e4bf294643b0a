package signin

import (
	"errors"
	"net/http"

	"chequer/internal/account"
	"chequer/internal/audit"
	"chequer/views/desk"
)

// signIn shows the sign-in page.
func (v *page) signIn() error {
	isSetUp, err := v.Accounts.SetUp(v.Request().Context())
	if err != nil {
		return err
	}
	if !isSetUp {
		return v.Redirect(http.StatusSeeOther, v.Address("/desk/start"))
	}
	return v.showSignIn(http.StatusOK, nil)
}

// showSignIn shows the sign-in page with the error of the last attempt.
func (v *page) showSignIn(status int, problem error) error {
	next := v.LocalPath(v.FormValue("next"))
	page := desk.SignIn{
		BareFrame: v.BareFrame(v.Text("desk.signin")), Action: v.Address("/desk/signin"), Problem: v.Problem(problem),
		Passkey:  v.Passkey(desk.Passkey{Action: v.Address("/desk/signin/passkey"), Button: v.Text("desk.signin.passkey")}),
		Name:     desk.Field{Name: "name", Label: v.Text("desk.name"), Kind: "text", Complete: "username webauthn", Value: v.FormValue("name")},
		Password: v.PasswordField("password", "current-password"),
		Code:     v.CodeField("code", v.Text("desk.code.hint")),
	}
	if next != "" {
		page.Passkey.Hidden = []desk.Hidden{{Name: "next", Value: next}}
		page.Hidden = page.Passkey.Hidden
	}
	if v.QueryParam("done") == "signedout" {
		page.Notice = v.Text("desk.notice.signedout")
	}
	return v.Show(status, desk.SignInPage(page))
}

// signInPassword signs in with a password and a code.
func (v *page) signInPassword() error {
	in, err := v.Accounts.SignInPassword(v.Request().Context(), v.FormValue("name"), v.FormValue("password"), v.FormValue("code"), v.Client(), v.FormerSession())
	return v.answerSignIn(in, err)
}

// signInOptions returns the options of the browser's call that signs in with a passkey.
func (v *page) signInOptions() error { return v.SendOptions(v.Accounts.OfferSignIn()) }

// signInPasskey signs in with a passkey.
func (v *page) signInPasskey() error {
	offer, response := v.Credential()
	in, err := v.Accounts.SignInPasskey(v.Request().Context(), offer, response, v.Client(), v.FormerSession())
	return v.answerSignIn(in, err)
}

// answerSignIn answers an attempt to sign in, which returned err.
func (v *page) answerSignIn(in account.SignedIn, err error) error {
	if v.IsShownInForm(err) {
		return v.showSignIn(v.RetryAfter(err), err)
	}
	if err != nil {
		return err
	}
	v.SetSession(in)
	next := v.LocalPath(v.FormValue("next"))
	if next == "" {
		next = v.Address("/desk")
	}
	return v.Redirect(http.StatusSeeOther, next)
}

// signOut ends the session. Its route is public, because the button must also work after the session has timed out. The
// origin of the form was checked.
func (v *page) signOut() error {
	token := v.SessionToken()
	ctx := v.Request().Context()
	session, a, err := v.Accounts.Session(ctx, token)
	if err == nil {
		err = v.Accounts.EndSession(audit.WithActor(ctx, v.Accounts.Actor(a, session)), a, session.ID())
	}
	if err != nil && !errors.Is(err, account.ErrNotFound) {
		return err
	}
	v.ForgetSession()
	return v.Done(v.Address("/desk/signin"), "signedout")
}
