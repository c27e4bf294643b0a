package desk

import (
	"net/http"
	"net/url"
	"strings"

	"chequer/views/desk"
)

// maxKept is the largest number of fields of an action that wait for the confirmation of the sign-in.
const maxKept = 30

// confirmPrefix begins the names of the fields of the form that confirms a sign-in. The other fields
// are those of the action, which is sent again afterwards.
const confirmPrefix = "confirm-"

// confirm shows the page that confirms a sign-in before a page.
func (v *visit) confirm() error {
	return v.showConfirm(http.StatusOK, v.QueryParam("next"), false, nil)
}

// askToConfirm asks the account to confirm its sign-in before the request itself.
func (v *visit) askToConfirm() error {
	return v.showConfirm(http.StatusForbidden, v.Request().URL.RequestURI(), !reads(v.Request()), nil)
}

// showConfirm shows the page that confirms a sign-in. The fields of a pending action wait in it.
func (v *visit) showConfirm(status int, next string, posts bool, problem error) error {
	if next = v.localPath(next); next == "" {
		next = v.below("")
	}
	hidden := []desk.Hidden{{Name: confirmPrefix + "next", Value: next}}
	if posts {
		hidden = append(hidden, desk.Hidden{Name: confirmPrefix + "post", Value: "yes"})
		hidden = append(hidden, v.kept()...)
	}
	cancel := next
	if posts {
		cancel = v.below("")
	}
	page := desk.StepUp{
		Solo: v.solo(v.text("desk.stepup")), Reason: v.text("desk.stepup.text"), HasPassword: v.account.SignIn.Password != nil,
		Action: v.below("/confirm"), Problem: v.problem(problem), Hidden: hidden, Cancel: cancel,
		Password: v.passwordField(confirmPrefix+"password", "current-password"),
		Code:     v.codeField(confirmPrefix+"code", v.text("desk.stepup.code")),
	}
	if len(v.account.SignIn.Passkeys) > 0 {
		page.Passkey = v.passkey(desk.Passkey{Action: v.below("/confirm/passkey"), Button: v.text("desk.stepup.passkey"), Hidden: hidden})
	}
	return render(v, status, desk.StepUpPage(page))
}

// kept returns the fields of the action that waits.
func (v *visit) kept() []desk.Hidden {
	form, err := v.FormParams()
	if err != nil {
		return nil
	}
	var kept []desk.Hidden
	for name, values := range form {
		if name == "form" || name == "offer" || name == "credential" || strings.HasPrefix(name, confirmPrefix) {
			continue
		}
		for _, value := range values {
			if len(kept) < maxKept {
				kept = append(kept, desk.Hidden{Name: name, Value: value})
			}
		}
	}
	return kept
}

// confirmPassword confirms the sign-in with a password and a code.
func (v *visit) confirmPassword() error {
	return v.confirmedBy(v.Accounts.StepUpPassword(v.Request().Context(), v.account, v.session, v.FormValue(confirmPrefix+"password"), v.FormValue(confirmPrefix+"code")))
}

// confirmOptions returns the options of the browser's call that confirms the sign-in with a passkey.
func (v *visit) confirmOptions() error { return v.sendOptions(v.Accounts.OfferStepUp(v.session)) }

// confirmPasskey confirms the sign-in with a passkey.
func (v *visit) confirmPasskey() error {
	offer, response := v.credential()
	return v.confirmedBy(v.Accounts.StepUpPasskey(v.Request().Context(), v.session, offer, response))
}

// confirmedBy leads to the page or the action that waited for the confirmation. The status 307 makes
// the browser send the form again, to the action.
func (v *visit) confirmedBy(err error) error {
	next, posts := v.localPath(v.FormValue(confirmPrefix+"next")), v.FormValue(confirmPrefix+"post") != ""
	if v.known(err) {
		return v.showConfirm(v.retryAfter(err), next, posts, err)
	}
	if err != nil {
		return err
	}
	root := v.below("/")
	u, parseErr := url.Parse(next)
	switch {
	case parseErr != nil || !strings.HasPrefix(u.Path, root):
		return v.Redirect(seeOther, v.below(""))
	case posts:
		return v.Redirect(http.StatusTemporaryRedirect, next)
	}
	return v.Redirect(seeOther, next)
}
