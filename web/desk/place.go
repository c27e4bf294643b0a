package desk

import (
	"chequer/internal/account"
	"chequer/views/desk"
)

// attentionPath is the path of the place with the invoices that wait for a decision.
const attentionPath = "/attention"

// places returns the places of the side bar that the account may see.
func (v *visit) places(current string) ([]desk.Place, error) {
	cases, err := v.openCases()
	if err != nil {
		return nil, err
	}
	all := []struct {
		path, text, icon string
		visible          bool
	}{
		{attentionPath, "desk.attention", "attention", v.may(account.Decide)},
		{"/payments", "desk.payments", "payments", v.may(account.ViewPayments)},
		{v.settings(), "desk.settings", "settings", v.settings() != ""},
		{"/account", "desk.account.own", "accounts", true},
	}
	var places []desk.Place
	for _, p := range all {
		if p.visible {
			place := desk.Place{Text: v.text(p.text), URL: v.below(p.path), Icon: p.icon, Current: p.path == current}
			if p.path == attentionPath {
				place.Count = cases
			}
			places = append(places, place)
		}
	}
	return places, nil
}

// settings returns the first page of the settings that the account may see; "" if there is none.
func (v *visit) settings() string {
	switch {
	case v.may(account.ManageAccounts):
		return "/accounts"
	case v.may(account.ViewLog):
		return "/log"
	}
	return ""
}

// tabs returns the pages of the settings that the account may see.
func (v *visit) tabs(current string) []desk.Tab {
	var tabs []desk.Tab
	if v.may(account.ManageAccounts) {
		tabs = append(tabs, desk.Tab{Text: v.text("desk.accounts"), URL: v.below("/accounts"), Current: current == "/accounts"})
	}
	if v.may(account.ViewLog) {
		tabs = append(tabs, desk.Tab{Text: v.text("desk.log"), URL: v.below("/log"), Current: current == "/log"})
	}
	return tabs
}

// searches reports whether the account may search payments.
func (v *visit) searches() bool { return v.may(account.ViewPayments) }

// roleNames are the keys of the names of roles.
var roleNames = map[account.Role]string{
	account.Owner: "desk.role.owner", account.Manager: "desk.role.manager", account.Seller: "desk.role.seller",
	account.Bookkeeper: "desk.role.bookkeeper", account.Developer: "desk.role.developer",
}

// roleName returns the name of a role; "" for none.
func (v *visit) roleName(r account.Role) string {
	if id, ok := roleNames[r]; ok {
		return v.text(id)
	}
	return ""
}

// permissionNames are the keys of the names of permissions, as the page of a refusal begins with them.
var permissionNames = map[account.Permission]string{
	account.ViewPayments: "desk.may.payments", account.ManageAccounts: "desk.may.accounts", account.ViewLog: "desk.may.log",
	account.Decide: "desk.may.decide", account.DecideHighRisk: "desk.may.decide",
}

// home leads to the first shop of the account, to the sign-in, or to the first run.
func (v *visit) home() error {
	set, err := v.Accounts.SetUp(v.Request().Context())
	if err != nil {
		return err
	}
	if !set {
		return v.Redirect(seeOther, v.path("/desk/start"))
	}
	token := v.sessionToken(v)
	if token == "" {
		return errSignedOut
	}
	_, a, err := v.Accounts.Session(v.Request().Context(), token)
	if isNotFound(err) || err == nil && len(a.Shops()) == 0 {
		return errSignedOut
	}
	if err != nil {
		return err
	}
	return v.Redirect(seeOther, v.path("/desk/"+a.Shops()[0]))
}

// shopHome leads to the first place of the shop that the account may see.
func (v *visit) shopHome() error {
	return v.Redirect(seeOther, v.below(v.first()))
}

// first returns the first place of the shop that the account may see.
func (v *visit) first() string {
	if v.may(account.ViewPayments) {
		return "/payments"
	}
	return "/account"
}
