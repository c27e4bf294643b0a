package wallets

import (
	"errors"
	"net/http"
	"strings"

	"chequer/internal/keys"
	"chequer/internal/merchant"
	"chequer/views"
	"chequer/views/desk"
)

// moneroPlace is the path of the form for a Monero wallet.
const moneroPlace = place + "/monero"

// viewKeyField is the name of the field with the private view key. No page contains its value.
const viewKeyField = "view_key"

// moneroEntry holds the values of the form for a Monero wallet, and the errors that the form shows. It has no view key,
// since the form does not show the view key again.
type moneroEntry struct {
	address      string
	addressError string
	keyError     string
}

// hasErrors reports whether a field of the form has an error.
func (e moneroEntry) hasErrors() bool { return e.addressError != "" || e.keyError != "" }

// newMonero shows the form for a Monero wallet. A demo, which accepts none, shows its wallets.
func (v *page) newMonero() error {
	isDemo, err := v.IsDemo(v.Request().Context())
	if err != nil {
		return err
	}
	if isDemo {
		return v.Redirect(http.StatusSeeOther, v.Below(place))
	}
	return v.showMoneroForm(http.StatusOK, moneroEntry{}, "")
}

// showMoneroForm shows the form for a Monero wallet with the errors of its fields and a problem.
func (v *page) showMoneroForm(status int, e moneroEntry, problem string) error {
	active, err := v.active(keys.XMR)
	if err != nil {
		return err
	}
	heading, button := v.Text("desk.monero.heading"), v.Text("desk.wallets.add")
	if active.ID != "" {
		heading, button = v.Text("desk.monero.replace.heading"), v.Text("desk.wallets.replace")
	}
	f, err := v.Frame(heading, place)
	if err != nil {
		return err
	}
	var notes []desk.Result
	if !e.hasErrors() { // otherwise they were shown, and would push the errors off a small screen
		if notes, err = v.moneroNotes(active); err != nil {
			return err
		}
	}
	return v.Show(status, desk.DecisionPage(desk.Decision{
		Frame: f, Back: views.Link{Text: v.Text("desk.wallets"), URL: v.Below(place)}, Heading: heading, Problem: problem, Results: notes,
		Fields: []desk.Field{
			{Name: "address", Label: v.Text("desk.monero.address"), Hint: v.Text("desk.monero.address.hint"), Value: e.address, Error: e.addressError, Kind: "text", Code: true, Complete: "off"},
			// Browsers ignore "off" for passwords, and would enter the password of the account.
			{Name: viewKeyField, Label: v.Text("desk.monero.key"), Hint: v.Text("desk.monero.key.hint"), Error: e.keyError, Kind: "password", Code: true, Complete: "new-password"},
		},
		Action: v.Below(moneroPlace), Button: button, Hidden: []desk.Hidden{{Name: "replaces", Value: active.ID}},
	}))
}

// moneroNotes returns what a merchant should know before it adds a Monero wallet. active is the wallet that it replaces, or
// the zero Wallet.
func (v *page) moneroNotes(active merchant.Wallet) ([]desk.Result, error) {
	about, err := v.Kind(keys.XMR)
	if err != nil {
		return nil, err
	}
	notes := []desk.Result{
		{Shape: "warn", Text: v.Text("desk.monero.sees")},
		{Shape: "ok", Text: v.Text("desk.monero.sealed")},
		{Shape: "warn", Text: v.Text("desk.monero.ahead")},
	}
	methods := desk.Result{Shape: "ok", Text: v.Text("desk.wallets.gives", "Methods", strings.Join(about.Offered, ", "))}
	if len(about.Offered) == 0 {
		methods = desk.Result{Shape: "warn", Text: v.Text("desk.wallets.gives.none")}
	}
	for _, off := range about.Off {
		methods.Text += " " + v.Text("desk.monero.off", "Reason", off)
	}
	notes = append(notes, methods)
	if active.ID != "" {
		notes = append(notes, desk.Result{Shape: "warn", Text: v.Text("desk.wallets.kept")})
	}
	return append(notes, desk.Result{Shape: "ok", Text: v.Text("desk.wallets.event")}), nil
}

// addMonero verifies a Monero wallet and adds it.
func (v *page) addMonero() error {
	isDemo, err := v.IsDemo(v.Request().Context())
	if err != nil {
		return err
	}
	if isDemo {
		return v.showWallets(http.StatusConflict)
	}
	about, err := v.Kind(keys.XMR)
	if err != nil {
		return err
	}
	e := moneroEntry{address: strings.TrimSpace(v.FormValue("address"))}
	key := v.readMonero(&e, about.Network)
	if e.hasErrors() {
		return v.showMoneroForm(http.StatusUnprocessableEntity, e, "")
	}
	change, err := v.Wallets.Add(v.Request().Context(), v.Shop.ID, merchant.Addition{Key: key, Replaces: v.FormValue("replaces")})
	switch {
	case errors.Is(err, merchant.ErrStale):
		return v.showMoneroForm(http.StatusConflict, e, v.Text("desk.wallets.stale"))
	case errors.Is(err, merchant.ErrExists):
		e.addressError = v.Text("desk.monero.same")
		return v.showMoneroForm(http.StatusUnprocessableEntity, e, "")
	case errors.Is(err, merchant.ErrOtherShop):
		e.addressError = v.Text("desk.monero.elsewhere")
		return v.showMoneroForm(http.StatusUnprocessableEntity, e, "")
	case err != nil:
		return err
	}
	v.Log.Warn("wallet changed", "change", change.Change, "merchant", v.Shop.ID, "asset", change.Wallet.Asset, "wallet", change.Wallet.ID, "former", change.Former.ID)
	return v.Done(v.Below(place), "wallet")
}

// readMonero returns the key that the form has, and writes the errors to the entry. Texts that may spend are not kept.
func (v *page) readMonero(e *moneroEntry, network keys.Network) (key keys.Key) {
	viewKey := strings.TrimSpace(v.FormValue(viewKeyField))
	addressErr, keyErr := keys.CheckMoneroAddress(e.address, network), keys.CheckMoneroViewKey(viewKey)
	if addressErr == nil && keyErr == nil {
		key, keyErr = keys.ParseMonero(e.address, viewKey, network)
	}
	e.addressError, e.keyError = v.moneroFault(addressErr, e.address, "desk.monero.address.missing"), v.moneroFault(keyErr, viewKey, "desk.monero.key.missing")
	if errors.Is(keyErr, keys.ErrPrivateKey) || keys.LooksPrivate(e.address) {
		e.address = ""
	}
	return key
}

// moneroFault returns the text about the error of a field, with the text of the key missing if the field is empty; "" if
// there is no error.
func (v *page) moneroFault(err error, value, missing string) string {
	switch {
	case err == nil:
		return ""
	case value == "":
		return v.Text(missing)
	case errors.Is(err, keys.ErrPrivateKey):
		return v.Text("desk.monero.private", "Reason", err.Error())
	}
	return v.Text("desk.wallets.refused", "Reason", err.Error())
}
