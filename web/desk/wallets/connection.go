package wallets

import (
	"errors"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"chequer/internal/account"
	"chequer/internal/chain"
	"chequer/internal/keys"
	"chequer/internal/merchant"
	"chequer/internal/report"
	"chequer/views"
	"chequer/views/desk"
)

// connectionKind is the kind of wallets that are connections. They are not added by a key.
const connectionKind keys.Kind = chain.CodeLightning

// connectionPlace is the path of the form for a connection.
const connectionPlace = place + "/lightning"

// newConnection shows the form for a connection. A demo, which accepts none, shows its wallets.
func (v *page) newConnection() error {
	isDemo, err := v.IsDemo(v.Request().Context())
	if err != nil {
		return err
	}
	if isDemo {
		return v.Redirect(http.StatusSeeOther, v.Below(place))
	}
	return v.showConnectionForm(http.StatusOK, "", "")
}

// showConnectionForm shows the form for a connection, with an error of its field and a problem. The field is empty, since
// a connection is secret.
func (v *page) showConnectionForm(status int, fieldError, problem string) error {
	active, err := v.active(connectionKind)
	if err != nil {
		return err
	}
	heading, button := v.Text("desk.connection.heading"), v.Text("desk.connection.add")
	if active.ID != "" {
		heading, button = v.Text("desk.connection.replace.heading"), v.Text("desk.connection.replace")
	}
	f, err := v.Frame(heading, place)
	if err != nil {
		return err
	}
	var risks []desk.Result
	if fieldError == "" { // otherwise they were shown, and would push the error off a small screen
		risks = v.risks(active)
	}
	return v.Show(status, desk.DecisionPage(desk.Decision{
		Frame: f, Back: views.Link{Text: v.Text("desk.wallets"), URL: v.Below(place)}, Heading: heading, Problem: problem, Results: risks,
		Fields: []desk.Field{{
			Name: "connection", Label: v.Text("desk.connection.label"), Hint: v.Text("desk.connection.hint"), Error: fieldError, Kind: "password", Code: true, Complete: "off",
		}},
		Action: v.Below(connectionPlace), Button: button, Hidden: []desk.Hidden{{Name: "replaces", Value: active.ID}},
	}))
}

// risks returns what a merchant should know before it adds a connection. active is the connection that it replaces, or the
// zero Wallet.
func (v *page) risks(active merchant.Wallet) []desk.Result {
	results := []desk.Result{
		{Shape: "ok", Text: v.Text("desk.connection.final")},
		{Shape: "warn", Text: v.Text("desk.connection.custody")},
		{Shape: "warn", Text: v.Text("desk.connection.liquidity")},
		{Shape: "warn", Text: v.Text("desk.connection.spending")},
		{Shape: "warn", Text: v.Text("desk.connection.sees")},
		{Shape: "ok", Text: v.Text("desk.connection.sealed")},
	}
	if active.ID != "" {
		results = append(results, desk.Result{Shape: "warn", Text: v.Text("desk.connection.former", "Provider", active.Key)})
	}
	return append(results, desk.Result{Shape: "ok", Text: v.Text("desk.wallets.event")})
}

// addConnection examines a connection and adds it.
func (v *page) addConnection() error {
	isDemo, err := v.IsDemo(v.Request().Context())
	if err != nil {
		return err
	}
	if isDemo {
		return v.showWallets(http.StatusConflict)
	}
	text := strings.TrimSpace(v.FormValue("connection"))
	if text == "" {
		return v.showConnectionForm(http.StatusUnprocessableEntity, v.Text("desk.connection.missing"), "")
	}
	change, err := v.Wallets.AddConnection(v.Request().Context(), v.Shop.ID, merchant.ConnectionAddition{Text: text, Replaces: v.FormValue("replaces")})
	switch {
	case errors.Is(err, merchant.ErrStale):
		return v.showConnectionForm(http.StatusConflict, "", v.Text("desk.wallets.stale"))
	case errors.Is(err, merchant.ErrExists):
		return v.showConnectionForm(http.StatusUnprocessableEntity, v.Text("desk.connection.same"), "")
	case errors.Is(err, merchant.ErrNotFound):
		return err
	case err != nil:
		return v.showConnectionForm(http.StatusUnprocessableEntity, v.Text("desk.wallets.refused", "Reason", strings.TrimSuffix(err.Error(), ".")), "")
	}
	v.Log.Warn("wallet changed", "change", change.Change, "merchant", v.Shop.ID, "asset", change.Wallet.Asset, "wallet", change.Wallet.ID, "former", change.Former.ID)
	return v.Done(v.Below(place), "connection")
}

// testConnection examines the active connection, and shows the result at its card.
func (v *page) testConnection() error {
	w, err := v.ownWallet()
	if err != nil {
		return err
	}
	if !w.IsConnection() {
		return echo.ErrNotFound
	}
	access, err := v.Examine(v.Request().Context(), w)
	result := desk.Result{Shape: "ok", Text: v.Text("desk.connection.tested", "Result", access.Describe())}
	switch {
	case err != nil:
		result = desk.Result{Shape: "bad", Text: v.Text("desk.connection.tested", "Result", err.Error())}
	case access.Spending != "":
		result.Shape = "warn"
	}
	return v.showTested(http.StatusOK, result)
}

// connectionCard describes the active connection. tested is the result of its test, if there was one.
func (v *page) connectionCard(w merchant.Wallet, sums report.Received, tested desk.Result) (desk.Wallet, error) {
	k, err := v.Kind(connectionKind)
	if err != nil {
		return desk.Wallet{}, err
	}
	card := desk.Wallet{
		ID: w.ID, Name: v.kindName(connectionKind), Methods: strings.Join(k.Offered, ", "), Off: k.Off, Tested: tested,
		Facts: []desk.Fact{
			{Name: v.Text("desk.connection.provider"), Value: w.Key},
			{Name: v.Text("desk.wallets.received"), Value: v.receivedBy(w, sums)},
			{Name: v.Text("desk.wallets.added"), Value: v.Clock(w.CreatedAt)},
		},
	}
	if v.May(account.ManageWallets) {
		card.Test = v.Below(place + "/" + w.ID + "/test")
		card.Replace = views.Link{Text: v.Text("desk.wallets.replace.ask"), URL: v.Below(connectionPlace)}
		card.Remove = views.Link{Text: v.Text("desk.wallets.remove.ask"), URL: v.Below(place + "/" + w.ID + "/remove")}
	}
	return card, nil
}

// addLightning adds the active connection to the list of wallets, or the address of its form.
func (v *page) addLightning(list *desk.Wallets, all []merchant.Wallet, sums report.Received, tested desk.Result) error {
	i := activeIndex(all, connectionKind)
	if i < 0 {
		if v.May(account.ManageWallets) && list.Demo == "" {
			list.Available = append(list.Available, views.Link{Text: v.kindName(connectionKind), URL: v.Below(connectionPlace)})
		}
		return nil
	}
	card, err := v.connectionCard(all[i], sums, tested)
	list.Cards = append(list.Cards, card)
	return err
}
