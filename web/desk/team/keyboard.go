package team

import (
	"net/http"

	"chequer/views"
	"chequer/views/desk"
)

// keyboardPath is the path of the page of the keys.
const keyboardPath = "/account/keyboard"

// keyboard shows the keys that open places and rows, and the button that enables or disables them for the account.
func (v *page) keyboard() error {
	f, err := v.Frame(v.Text("desk.shortcuts.board"), "/account")
	if err != nil {
		return err
	}
	page := desk.Keyboard{
		Frame: f, Back: views.Link{Text: v.Text("desk.account.own"), URL: v.Below("/account")}, On: !v.Account.Preferences.NoShortcuts,
		Toggle: desk.Button{Action: v.Below(keyboardPath), Text: v.Text("desk.shortcuts.enable"), Hidden: []desk.Hidden{{Name: "shortcuts", Value: "on"}}},
	}
	if page.On {
		page.Toggle.Text, page.Toggle.Hidden[0].Value = v.Text("desk.shortcuts.disable"), "off"
	}
	if f.Search != "" {
		page.Rows = append(page.Rows, desk.Shortcut{Keys: []string{"/"}, Effect: v.Text("desk.search")})
	}
	for _, p := range f.Places {
		page.Rows = append(page.Rows, desk.Shortcut{Keys: []string{"g", p.Key}, Effect: p.Text})
	}
	for _, k := range []struct{ key, effect string }{
		{"j", "desk.shortcuts.next"}, {"k", "desk.shortcuts.previous"}, {"Enter", "desk.shortcuts.open"}, {"Esc", "desk.shortcuts.close"}, {"?", "desk.shortcuts.help"},
	} {
		page.Rows = append(page.Rows, desk.Shortcut{Keys: []string{k.key}, Effect: v.Text(k.effect)})
	}
	return v.Show(http.StatusOK, desk.KeyboardPage(page))
}

// setShortcuts enables or disables the keys for the account.
func (v *page) setShortcuts() error {
	on := v.FormValue("shortcuts") == "on"
	if err := v.Accounts.SetShortcuts(v.Request().Context(), v.Account.ID, on); err != nil {
		return err
	}
	if on {
		return v.Done(v.Below(keyboardPath), "shortcuts-on")
	}
	return v.Done(v.Below(keyboardPath), "shortcuts-off")
}
