package team

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
func (v *page) ownAccount() error { return v.showAccount(http.StatusOK, nil) }

func (v *page) showAccount(status int, problem error) error {
	f, err := v.Frame(v.Text("desk.account.own"), "/account")
	if err != nil {
		return err
	}
	sessions, err := v.Accounts.Sessions(v.Request().Context(), v.Account.ID)
	if err != nil {
		return err
	}
	page := desk.Account{Frame: f, Problem: v.Problem(problem), Methods: v.signInMethods(), Keyboard: v.Below(keyboardPath), Password: views.Link{Text: v.Text("desk.password.set"), URL: v.Below("/account/password")}}
	settings, err := v.Notifications.Settings(v.Request().Context(), v.Account.ID)
	if err != nil {
		return err
	}
	if v.receives() || hasDestination(settings) {
		page.Notify = v.Below(notificationsPath)
	}
	if v.Account.SignIn.Password != nil {
		page.Password.Text = v.Text("desk.password.change")
	}
	switch p := v.Passkey(desk.Passkey{Action: v.Below("/account/passkey"), Create: true, Button: v.Text("desk.passkey.add")}); {
	case v.Session.SteppedUp(v.Now()):
		page.Passkey = p
	case v.Accounts.HasPasskeys():
		page.Confirm = v.Below("/confirm") + "?next=" + url.QueryEscape(v.Below("/account"))
	}
	for _, s := range sessions {
		page.Sessions = append(page.Sessions, v.sessionRow(s))
	}
	if len(sessions) > 1 {
		page.EndAll = v.Below("/account/sessions/end")
	}
	return v.Show(status, desk.AccountPage(page))
}

// signInMethods returns the sign-in methods of the account.
func (v *page) signInMethods() []desk.Method {
	var list []desk.Method
	for _, p := range v.Account.SignIn.Passkeys {
		kind := v.Text("desk.passkey.bound")
		if p.Synced() {
			kind = v.Text("desk.passkey.synced")
		}
		text := v.Text("desk.passkey.text", "Created", v.Clock(p.CreatedAt), "Used", v.Ago(p.UsedAt), "Kind", kind)
		if p.Host != v.Accounts.Site.Host {
			text = v.Text("desk.passkey.elsewhere", "Host", p.Host)
		}
		list = append(list, desk.Method{
			Name: v.Text("desk.passkey.name", "Name", p.Name), Text: text, Subject: p.Name, Rename: v.Below("/account/passkey/" + p.ID() + "/rename"),
			Remove: desk.Button{Action: v.Below("/account/passkey/remove"), Text: v.Text("desk.remove"), Subject: p.Name, Danger: true, Hidden: []desk.Hidden{{Name: "id", Value: p.ID()}}},
		})
	}
	if p := v.Account.SignIn.Password; p != nil {
		list = append(list, desk.Method{
			Name: v.Text("desk.password.method"), Text: v.Words.Count("desk.password.codes", len(p.RecoveryCodes)),
			Remove: desk.Button{Action: v.Below("/account/password/remove"), Text: v.Text("desk.remove"), Subject: v.Text("desk.password.method"), Danger: true},
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

func (v *page) sessionRow(s account.Session) desk.Session {
	row := desk.Session{
		Browser: s.Client.Browser, Current: s.Hash == v.Session.Hash,
		Text: v.Text("desk.session.text", "Address", s.Client.Address, "Used", v.Ago(s.UsedAt), "Method", v.Text(methodNames[s.Method])),
	}
	if !row.Current {
		row.End = desk.Button{Action: v.Below("/account/session/end"), Text: v.Text("desk.signout"), Subject: s.Client.Browser, Hidden: []desk.Hidden{{Name: "id", Value: s.ID()}}}
	}
	return row
}

// answerAccountChange answers a change of the account's own sign-in methods and sessions, which returned err.
func (v *page) answerAccountChange(err error, result string) error {
	if v.IsShownInForm(err) {
		return v.showAccount(http.StatusUnprocessableEntity, err)
	}
	if err != nil {
		return err
	}
	return v.Done(v.Below("/account"), result)
}

// endSession ends another session of the account.
func (v *page) endSession() error {
	return v.answerAccountChange(v.Accounts.EndSession(v.Request().Context(), v.Account, v.FormValue("id")), "ended")
}

// endSessions ends all other sessions of the account.
func (v *page) endSessions() error {
	_, err := v.Accounts.EndSessions(v.Request().Context(), v.Account, v.Session.Hash)
	return v.answerAccountChange(err, "ended")
}

// addPasskeyOptions sends the options of the browser's call that creates a passkey.
func (v *page) addPasskeyOptions() error { return v.SendOptions(v.Accounts.OfferPasskey(v.Account)) }

// addPasskey adds a passkey.
func (v *page) addPasskey() error {
	offer, response := v.Credential()
	return v.answerAccountChange(v.Accounts.AcceptPasskey(v.Request().Context(), v.Account.ID, offer, response, v.Client().Browser), "added")
}

// passkeyName asks for the name of a passkey.
func (v *page) passkeyName() error {
	p := v.Account.SignIn.Passkey(v.Param("passkey"))
	if p == nil {
		return account.ErrNotFound
	}
	return v.showPasskeyName(http.StatusOK, p.Name, p.Name, nil)
}

// showPasskeyName shows the form for the name of a passkey, with the entered name and the reason why it was refused.
func (v *page) showPasskeyName(status int, current, entered string, problem error) error {
	heading := v.Text("desk.passkey.rename.heading", "Name", current)
	f, err := v.Frame(heading, "/account")
	if err != nil {
		return err
	}
	field := v.TextField("name", "desk.passkey.label", "desk.passkey.label.hint", entered)
	field.Error = v.FieldProblem(problem, "name")
	return v.Show(status, desk.DecisionPage(desk.Decision{
		Frame: f, Back: views.Link{Text: v.Text("desk.account.own"), URL: v.Below("/account")}, Heading: heading,
		Action: v.Below("/account/passkey/" + v.Param("passkey") + "/rename"), Fields: []desk.Field{field}, Button: v.Text("desk.passkey.rename"),
	}))
}

// renamePasskey changes the name of a passkey.
func (v *page) renamePasskey() error {
	p, entered := v.Account.SignIn.Passkey(v.Param("passkey")), v.FormValue("name")
	if p == nil {
		return account.ErrNotFound
	}
	err := v.Accounts.RenamePasskey(v.Request().Context(), v.Account.ID, p.ID(), entered)
	if v.IsShownInForm(err) {
		return v.showPasskeyName(http.StatusUnprocessableEntity, p.Name, entered, err)
	}
	return v.answerAccountChange(err, "passkey-renamed")
}

// removePasskey removes a passkey.
func (v *page) removePasskey() error {
	return v.answerAccountChange(v.Accounts.RemovePasskey(v.Request().Context(), v.Account.ID, v.FormValue("id")), "removed")
}

// removePassword removes the password.
func (v *page) removePassword() error {
	return v.answerAccountChange(v.Accounts.RemovePassword(v.Request().Context(), v.Account.ID), "removed")
}

// newPassword asks for a new password.
func (v *page) newPassword() error { return v.showPassword(http.StatusOK, nil) }

func (v *page) showPassword(status int, problem error) error {
	f, err := v.Frame(v.Text("desk.password.new"), "/account")
	if err != nil {
		return err
	}
	field := v.PasswordField("password", "new-password")
	field.Hint, field.Error = v.Text("desk.password.hint"), v.FieldProblem(problem, "password")
	return v.Show(status, desk.SetPasswordPage(desk.SetPassword{
		Frame: f, Back: views.Link{Text: v.Text("desk.account.own"), URL: v.Below("/account")}, Heading: v.Text("desk.password.new"),
		Problem: v.Problem(problem), Action: v.Below("/account/password"), Password: field,
	}))
}

// offerPassword prepares a password, and shows the secret of the authenticator app.
func (v *page) offerPassword() error {
	offer, err := v.Accounts.OfferPassword(v.Request().Context(), v.Account, v.FormValue("password"))
	if v.IsShownInForm(err) {
		return v.showPassword(http.StatusUnprocessableEntity, err)
	}
	if err != nil {
		return err
	}
	return v.ShowCodes(http.StatusOK, offer, v.Below("/account/password/code"), nil)
}

// acceptPassword sets the password after the authenticator app has shown a code.
func (v *page) acceptPassword() error {
	offer := v.ShownOffer()
	err := v.Accounts.AcceptPassword(v.Request().Context(), v.Account.ID, offer.Sealed, v.FormValue("code"))
	if errors.Is(err, account.ErrCode) {
		return v.ShowCodes(http.StatusUnprocessableEntity, offer, v.Below("/account/password/code"), err)
	}
	return v.answerAccountChange(err, "added")
}

// signInText describes the sign-in methods of an account in a list.
func (v *page) signInText(a account.Account) string {
	n, password := len(a.SignIn.Passkeys), a.SignIn.Password != nil
	switch {
	case n > 0 && password:
		return v.Text("desk.signin.both", "Number", strconv.Itoa(n))
	case n > 0:
		return v.Words.Count("desk.signin.passkeys", n)
	case password:
		return v.Text("desk.password.method")
	}
	return v.Text("desk.signin.none")
}
