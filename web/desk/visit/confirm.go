package visit

import (
	"net/http"
	"net/url"
	"strings"

	"chequer/internal/keys"
	"chequer/views/desk"
)

// maxKept is the largest number of fields of an action that wait for the confirmation of the sign-in.
const maxKept = 100

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

// confirm shows the page that confirms a sign-in before a page.
func (v *Visit) confirm() error {
	return v.showConfirm(http.StatusOK, v.QueryParam("next"), false, nil)
}

// askToConfirm asks the account to confirm its sign-in before the request itself.
func (v *Visit) askToConfirm() error {
	return v.showConfirm(http.StatusForbidden, v.Request().URL.RequestURI(), !isSafe(v.Request()), nil)
}

// showConfirm shows the page that confirms a sign-in. The fields of a pending action wait in it.
func (v *Visit) showConfirm(status int, next string, posts bool, problem error) error {
	if next = v.LocalPath(next); next == "" {
		next = v.Below("")
	}
	hidden := []desk.Hidden{{Name: confirmPrefix + "next", Value: next}}
	if posts {
		hidden = append(hidden, desk.Hidden{Name: confirmPrefix + "post", Value: "yes"})
		hidden = append(hidden, v.kept()...)
	}
	cancel := next
	if posts {
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

// isSecret reports whether a field must not be in the page that confirms a sign-in: a passphrase, or a private key
// that was pasted by mistake.
func isSecret(name, value string) bool {
	return name == "passphrase" || name == "repeated" || keys.LooksPrivate(value)
}

// kept returns the fields of the action that waits, without secrets.
func (v *Visit) kept() []desk.Hidden {
	form, err := v.FormParams()
	if err != nil {
		return nil
	}
	var kept []desk.Hidden
	for name, values := range form {
		if name == formField || name == "offer" || name == "credential" || strings.HasPrefix(name, confirmPrefix) {
			continue
		}
		for _, value := range values {
			if len(kept) < maxKept && !isSecret(name, value) {
				kept = append(kept, desk.Hidden{Name: name, Value: value})
			}
		}
	}
	return kept
}

// confirmPassword confirms the sign-in with a password and a code.
func (v *Visit) confirmPassword() error {
	return v.confirmedBy(v.Accounts.StepUpPassword(v.Request().Context(), v.Account, v.Session, v.FormValue(confirmPrefix+"password"), v.FormValue(confirmPrefix+"code")))
}

// confirmOptions returns the options of the browser's call that confirms the sign-in with a passkey.
func (v *Visit) confirmOptions() error { return v.SendOptions(v.Accounts.OfferStepUp(v.Session)) }

// confirmPasskey confirms the sign-in with a passkey.
func (v *Visit) confirmPasskey() error {
	offer, response := v.Credential()
	return v.confirmedBy(v.Accounts.StepUpPasskey(v.Request().Context(), v.Session, offer, response))
}

// confirmedBy leads to the page or the action that waited for the confirmation. The status 307 makes
// the browser send the form again, to the action.
func (v *Visit) confirmedBy(err error) error {
	next, posts := v.LocalPath(v.FormValue(confirmPrefix+"next")), v.FormValue(confirmPrefix+"post") != ""
	if v.Known(err) {
		return v.showConfirm(v.RetryAfter(err), next, posts, err)
	}
	if err != nil {
		return err
	}
	root := v.Below("/")
	u, parseErr := url.Parse(next)
	switch {
	case parseErr != nil || !strings.HasPrefix(u.Path, root):
		return v.Redirect(http.StatusSeeOther, v.Below(""))
	case posts:
		return v.Redirect(http.StatusTemporaryRedirect, next)
	}
	return v.Redirect(http.StatusSeeOther, next)
}
