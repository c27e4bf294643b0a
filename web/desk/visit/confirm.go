package visit

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"chequer/internal/keys"
	"chequer/views/desk"
)

// maxPendingFields is the largest number of fields of an action that are kept while the account confirms its sign-in.
const maxPendingFields = 100

// confirmPrefix begins the names of the fields of the form that confirms a sign-in. The other fields
// are those of the action, which is sent again afterwards.
const confirmPrefix = "confirm-"

// confirmRoutes are the pages and the actions that confirm a sign-in.
var confirmRoutes = []Route{
	{Method: http.MethodGet, Path: "/desk/:shop/confirm", Needs: Member, Handle: (*Visit).confirm},
	{Method: http.MethodPost, Path: "/desk/:shop/confirm", Needs: Member, Handle: (*Visit).confirmPassword},
	{Method: http.MethodPost, Path: "/desk/:shop/confirm/passkey", Needs: Member, Handle: (*Visit).confirmPasskey},
	{Method: http.MethodPost, Path: "/desk/:shop/confirm/passkey/options", Needs: Member, Handle: (*Visit).confirmOptions},
}

// confirm shows the page that confirms a sign-in, and that leads to the page in the parameter next.
func (v *Visit) confirm() error {
	return v.showConfirm(http.StatusOK, v.QueryParam("next"), false, nil)
}

// askToConfirm asks the account to confirm its sign-in, after which the browser makes the present request again.
func (v *Visit) askToConfirm() error {
	return v.showConfirm(http.StatusForbidden, v.Request().URL.RequestURI(), !isSafe(v.Request()), nil)
}

// showConfirm shows the page that confirms a sign-in and then leads to the path next. isPost reports whether next is an
// action; the page then contains the fields of the action as hidden fields.
func (v *Visit) showConfirm(status int, next string, isPost bool, problem error) error {
	if next = v.LocalPath(next); next == "" {
		next = v.Below("")
	}
	hidden := []desk.Hidden{{Name: confirmPrefix + "next", Value: next}}
	if isPost {
		hidden = append(hidden, desk.Hidden{Name: confirmPrefix + "post", Value: "yes"})
		hidden = append(hidden, v.pendingFields()...)
	}
	cancel := next
	if isPost {
		cancel = v.Below("")
	}
	page := desk.StepUp{
		BareFrame: v.BareFrame(v.Text("desk.stepup")), Reason: v.Text("desk.stepup.text"), HasPassword: v.Account.SignIn.Password != nil,
		Action: v.Below("/confirm"), Problem: v.Problem(problem), Hidden: hidden, Cancel: cancel,
		Password: v.PasswordField(confirmPrefix+"password", "current-password"),
		Code:     v.CodeField(confirmPrefix+"code", v.Text("desk.stepup.code")),
	}
	if len(v.Account.SignIn.Passkeys) > 0 {
		page.Passkey = v.Passkey(desk.Passkey{Action: v.Below("/confirm/passkey"), Button: v.Text("desk.stepup.passkey"), Hidden: hidden})
	}
	return v.Show(status, desk.StepUpPage(page))
}

// secretFields are the names of the fields with a passphrase, a connection to Lightning, or the view key of a Monero wallet.
var secretFields = []string{"passphrase", "repeated", "connection", "view_key"}

// isSecret reports whether a field must not be in the page that confirms a sign-in: a secret, or a private key that was
// pasted by mistake.
func isSecret(name, value string) bool {
	return slices.Contains(secretFields, name) || keys.LooksPrivate(value)
}

// pendingFields returns the fields of the action that waits for the confirmation, without secrets.
func (v *Visit) pendingFields() []desk.Hidden {
	form, err := v.FormParams()
	if err != nil {
		return nil
	}
	var hidden []desk.Hidden
	for name, values := range form {
		if name == formField || name == "offer" || name == "credential" || strings.HasPrefix(name, confirmPrefix) {
			continue
		}
		for _, value := range values {
			if len(hidden) < maxPendingFields && !isSecret(name, value) {
				hidden = append(hidden, desk.Hidden{Name: name, Value: value})
			}
		}
	}
	return hidden
}

// confirmPassword confirms the sign-in with a password and a code.
func (v *Visit) confirmPassword() error {
	return v.afterConfirming(v.Accounts.StepUpPassword(v.Request().Context(), v.Account, v.Session, v.FormValue(confirmPrefix+"password"), v.FormValue(confirmPrefix+"code")))
}

// confirmOptions sends the options of the browser's call that confirms the sign-in with a passkey.
func (v *Visit) confirmOptions() error { return v.SendOptions(v.Accounts.OfferStepUp(v.Session)) }

// confirmPasskey confirms the sign-in with a passkey.
func (v *Visit) confirmPasskey() error {
	offer, response := v.Credential()
	return v.afterConfirming(v.Accounts.StepUpPasskey(v.Request().Context(), v.Session, offer, response))
}

// afterConfirming redirects to the page or the action that waited for the confirmation. The status 307 makes
// the browser send the form again, to the action. If the confirmation failed with err, the page shows the problem.
func (v *Visit) afterConfirming(err error) error {
	next, isPost := v.LocalPath(v.FormValue(confirmPrefix+"next")), v.FormValue(confirmPrefix+"post") != ""
	if v.IsShownInForm(err) {
		return v.showConfirm(v.RetryAfter(err), next, isPost, err)
	}
	if err != nil {
		return err
	}
	root := v.Below("/")
	u, parseErr := url.Parse(next)
	switch {
	case parseErr != nil || !strings.HasPrefix(u.Path, root):
		return v.Redirect(http.StatusSeeOther, v.Below(""))
	case isPost:
		return v.Redirect(http.StatusTemporaryRedirect, next)
	}
	return v.Redirect(http.StatusSeeOther, next)
}
