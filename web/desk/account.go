package desk

import (
	"errors"
	"net/http"
	"net/url"
	"strconv"

	"chequer/internal/account"
	"chequer/views"
	"chequer/views/desk"
)

// ownAccount shows the sign-in methods and the sessions of the account.
func (v *visit) ownAccount() error { return v.showAccount(http.StatusOK, nil) }

func (v *visit) showAccount(status int, problem error) error {
	f, err := v.frame(v.text("desk.account.own"), "/account")
	if err != nil {
		return err
	}
	sessions, err := v.Accounts.Sessions(v.Request().Context(), v.account.ID)
	if err != nil {
		return err
	}
	page := desk.Account{Frame: f, Problem: v.problem(problem), Methods: v.methods(), Password: views.Link{Text: v.text("desk.password.set"), URL: v.below("/account/password")}}
	if v.account.SignIn.Password != nil {
		page.Password.Text = v.text("desk.password.change")
	}
	switch p := v.passkey(desk.Passkey{Action: v.below("/account/passkey"), Create: true, Button: v.text("desk.passkey.add")}); {
	case v.session.SteppedUp(v.Now()):
		page.Passkey = p
	case p.Action != "":
		page.Confirm = v.below("/confirm") + "?next=" + url.QueryEscape(v.below("/account"))
	}
	for _, s := range sessions {
		page.Sessions = append(page.Sessions, v.sessionRow(s))
	}
	if len(sessions) > 1 {
		page.EndAll = v.below("/account/sessions/end")
	}
	return render(v, status, desk.AccountPage(page))
}

// methods returns the sign-in methods of the account.
func (v *visit) methods() []desk.Method {
	var list []desk.Method
	for _, p := range v.account.SignIn.Passkeys {
		kind := v.text("desk.passkey.bound")
		if p.Synced() {
			kind = v.text("desk.passkey.synced")
		}
		text := v.text("desk.passkey.text", "Created", v.clock(p.CreatedAt), "Used", v.ago(p.UsedAt), "Kind", kind)
		if p.Host != v.Accounts.Site.Host {
			text = v.text("desk.passkey.elsewhere", "Host", p.Host)
		}
		list = append(list, desk.Method{
			Name: v.text("desk.passkey.name", "Name", p.Name), Text: text,
			Remove: desk.Button{Action: v.below("/account/passkey/remove"), Text: v.text("desk.remove"), Whose: p.Name, Danger: true, Hidden: []desk.Hidden{{Name: "id", Value: p.ID()}}},
		})
	}
	if p := v.account.SignIn.Password; p != nil {
		list = append(list, desk.Method{
			Name: v.text("desk.password.method"), Text: v.Words.Count("desk.password.codes", len(p.RecoveryCodes)),
			Remove: desk.Button{Action: v.below("/account/password/remove"), Text: v.text("desk.remove"), Whose: v.text("desk.password.method"), Danger: true},
		})
	}
	if len(list) == 1 {
		list[0].Remove = desk.Button{} // the last method cannot be removed
	}
	return list
}

// methodNames are the keys of the names of a session's sign-in method.
var methodNames = map[account.Method]string{
	account.ByPasskey: "desk.by.passkey", account.ByPassword: "desk.by.password", account.ByRecovery: "desk.by.recovery", account.ByTicket: "desk.by.link",
}

func (v *visit) sessionRow(s account.Session) desk.Session {
	row := desk.Session{
		Browser: s.Client.Browser, Current: s.Hash == v.session.Hash,
		Text: v.text("desk.session.text", "Address", s.Client.Address, "Used", v.ago(s.UsedAt), "Method", v.text(methodNames[s.Method])),
	}
	if !row.Current {
		row.End = desk.Button{Action: v.below("/account/session/end"), Text: v.text("desk.signout"), Whose: s.Client.Browser, Hidden: []desk.Hidden{{Name: "id", Value: s.ID()}}}
	}
	return row
}

// changedAccount answers a change of the account's own sign-in methods and sessions.
func (v *visit) changedAccount(err error, result string) error {
	if v.known(err) {
		return v.showAccount(http.StatusUnprocessableEntity, err)
	}
	if err != nil {
		return err
	}
	return v.done(v.below("/account"), result)
}

// endSession ends another session of the account.
func (v *visit) endSession() error {
	return v.changedAccount(v.Accounts.EndSession(v.Request().Context(), v.account, v.FormValue("id")), "ended")
}

// endSessions ends all other sessions of the account.
func (v *visit) endSessions() error {
	_, err := v.Accounts.EndSessions(v.Request().Context(), v.account, v.session.Hash)
	return v.changedAccount(err, "ended")
}

// addPasskeyOptions returns the options of the browser's call that creates a passkey.
func (v *visit) addPasskeyOptions() error { return v.sendOptions(v.Accounts.OfferPasskey(v.account)) }

// addPasskey adds a passkey.
func (v *visit) addPasskey() error {
	offer, response := v.credential()
	return v.changedAccount(v.Accounts.AcceptPasskey(v.Request().Context(), v.account.ID, offer, response, client(v).Browser), "added")
}

// removePasskey removes a passkey.
func (v *visit) removePasskey() error {
	return v.changedAccount(v.Accounts.RemovePasskey(v.Request().Context(), v.account.ID, v.FormValue("id")), "removed")
}

// removePassword removes the password.
func (v *visit) removePassword() error {
	return v.changedAccount(v.Accounts.RemovePassword(v.Request().Context(), v.account.ID), "removed")
}

// newPassword asks for a new password.
func (v *visit) newPassword() error { return v.showPassword(http.StatusOK, nil) }

func (v *visit) showPassword(status int, problem error) error {
	f, err := v.frame(v.text("desk.password.new"), "/account")
	if err != nil {
		return err
	}
	field := v.passwordField("password", "new-password")
	field.Hint, field.Error = v.text("desk.password.hint"), v.fieldProblem(problem, "password")
	return render(v, status, desk.SetPasswordPage(desk.SetPassword{
		Frame: f, Back: views.Link{Text: v.text("desk.account.own"), URL: v.below("/account")}, Heading: v.text("desk.password.new"),
		Problem: v.problem(problem), Action: v.below("/account/password"), Password: field,
	}))
}

// offerPassword prepares a password, and shows the secret of the authenticator app.
func (v *visit) offerPassword() error {
	offer, err := v.Accounts.OfferPassword(v.Request().Context(), v.account, v.FormValue("password"))
	if v.known(err) {
		return v.showPassword(http.StatusUnprocessableEntity, err)
	}
	if err != nil {
		return err
	}
	return v.showCodes(http.StatusOK, offer, v.below("/account/password/code"), nil)
}

// acceptPassword sets the password after the authenticator app has shown a code.
func (v *visit) acceptPassword() error {
	offer := v.shownOffer()
	err := v.Accounts.AcceptPassword(v.Request().Context(), v.account.ID, offer.Sealed, v.FormValue("code"))
	if errors.Is(err, account.ErrCode) {
		return v.showCodes(http.StatusUnprocessableEntity, offer, v.below("/account/password/code"), err)
	}
	return v.changedAccount(err, "added")
}

// signInText describes the sign-in methods of an account in a list.
func (v *visit) signInText(a account.Account) string {
	n, password := len(a.SignIn.Passkeys), a.SignIn.Password != nil
	switch {
	case n > 0 && password:
		return v.text("desk.signin.both", "Number", strconv.Itoa(n))
	case n > 0:
		return v.Words.Count("desk.signin.passkeys", n)
	case password:
		return v.text("desk.password.method")
	}
	return v.text("desk.signin.none")
}
