package visit

import (
	"slices"
	"strconv"
	"strings"

	"chequer/internal/account"
	"chequer/internal/invoice"
	"chequer/views/desk"
)

// HomePath is the path of the overview.
const HomePath = ""

// AttentionPath is the path of the place with the invoices that wait for a decision.
const AttentionPath = "/attention"

// ReportsPath is the path of the place with the totals of a period.
const ReportsPath = "/reports"

// KeysPath is the path of the place with the API keys and the webhooks.
const KeysPath = "/keys"

// OwnPath is the path of the place with the terminals that the account uses.
const OwnPath = "/own"

// SellPath is the path of the place with the products, the checkout links and the terminals.
const SellPath = "/products"

// WalletsPath is the path of the place with the wallets and the sweeps.
const WalletsPath = "/wallets"

// SweepsPath is the path of the sweeps.
const SweepsPath = "/sweeps"

// ShopPath is the path of the page of the shop's name and of new shops.
const ShopPath = "/shop"

// SetupPath is the path of the second step of the first run.
const SetupPath = "/setup"

// places returns the places that the account may see: the links of the side bar. current is the path of the place of the
// page.
func (v *Visit) places(current string) ([]desk.Place, error) {
	cases, err := v.openCases()
	if err != nil {
		return nil, err
	}
	all := []struct {
		path, text, icon, key string
		visible               bool
	}{
		{HomePath, "desk.overview", "overview", "o", v.May(account.ViewPayments)},
		{OwnPath, "desk.own", "terminal", "o", v.May(account.ViewOwnTerminals)},
		{AttentionPath, "desk.attention", "attention", "n", v.May(account.Decide)},
		{"/payments", "desk.payments", "payments", "p", v.May(account.ViewPayments)},
		{SellPath, "desk.sell", "sell", "s", v.May(account.Sell)},
		{ReportsPath, "desk.reports", "reports", "r", v.May(account.Export)},
		{WalletsPath, "desk.wallets", "wallets", "w", v.May(account.ViewWallets)},
		{KeysPath, "desk.developers", "developers", "d", v.May(account.ManageKeys)},
		{v.SettingsPath(), "desk.settings", "settings", "t", v.SettingsPath() != ""},
		{"/health", "desk.health", "health", "h", v.May(account.ViewHealth)},
	}
	var places []desk.Place
	for _, p := range all {
		if p.visible && (v.Shop.ID != allShops || slices.Contains(placesOfAllShops, p.path)) {
			place := desk.Place{Text: v.Text(p.text), URL: v.Below(p.path), Icon: p.icon, Key: p.key, Current: p.path == current}
			if p.path == AttentionPath {
				place.Count = cases
			}
			places = append(places, place)
		}
	}
	return places, nil
}

// FindPlace returns the address of the place or of the page of the settings whose name is the given one, in upper or
// lower case; "" if the account sees none.
func (v *Visit) FindPlace(name string) (string, error) {
	places, err := v.places("")
	if err != nil {
		return "", err
	}
	for _, p := range places {
		if strings.EqualFold(p.Text, name) {
			return p.URL, nil
		}
	}
	for _, tab := range v.SettingsTabs("") {
		if strings.EqualFold(tab.Text, name) {
			return tab.URL, nil
		}
	}
	if strings.EqualFold(v.Text("desk.account.own"), name) {
		return v.Below("/account"), nil
	}
	return "", nil
}

// placesOfAllShops are the places that show all shops together.
var placesOfAllShops = []string{HomePath, AttentionPath, ReportsPath}

// SettingsPath returns the path of the first page of the settings that the account may see; "" if there is none.
func (v *Visit) SettingsPath() string {
	switch {
	case v.May(account.Configure):
		return "/theme"
	case v.May(account.ManageAccounts):
		return "/accounts"
	case v.May(account.ViewLog):
		return "/log"
	}
	return ""
}

// SettingsTabs returns the pages of the settings that the account may see.
func (v *Visit) SettingsTabs(current string) []desk.Tab {
	var tabs []desk.Tab
	if v.May(account.Configure) {
		tabs = append(tabs, desk.Tab{Text: v.Text("desk.theme"), URL: v.Below("/theme"), Current: current == "/theme"})
		tabs = append(tabs, desk.Tab{Text: v.Text("desk.paying"), URL: v.Below("/payment-settings"), Current: current == "/payment-settings"})
	}
	if v.May(account.ManageAccounts) {
		tabs = append(tabs, desk.Tab{Text: v.Text("desk.accounts"), URL: v.Below("/accounts"), Current: current == "/accounts"})
	}
	if v.May(account.ViewLog) {
		tabs = append(tabs, desk.Tab{Text: v.Text("desk.log"), URL: v.Below("/log"), Current: current == "/log"})
	}
	if v.May(account.ManageShops) {
		tabs = append(tabs, desk.Tab{Text: v.Text("desk.shop"), URL: v.Below(ShopPath), Current: current == ShopPath})
	}
	if v.May(account.BackUp) {
		tabs = append(tabs, desk.Tab{Text: v.Text("desk.backup"), URL: v.Below("/backup"), Current: current == "/backup"})
	}
	return tabs
}

// WalletTabs returns the pages of the place with the wallets.
func (v *Visit) WalletTabs(current string) []desk.Tab {
	return []desk.Tab{
		{Text: v.Text("desk.wallets"), URL: v.Below(WalletsPath), Current: current == WalletsPath},
		{Text: v.Text("desk.sweeps"), URL: v.Below(SweepsPath), Current: current == SweepsPath},
	}
}

// searchAddress returns the address of the list that the account searches; "" if it may search none.
func (v *Visit) searchAddress() string {
	switch {
	case v.Shop.ID == allShops:
		return ""
	case v.May(account.ViewPayments):
		return v.Below("/payments")
	case v.May(account.ViewOwnTerminals):
		return v.Below(OwnPath)
	}
	return ""
}

// roleNames are the keys of the names of roles.
var roleNames = map[account.Role]string{
	account.Owner: "desk.role.owner", account.Manager: "desk.role.manager", account.Seller: "desk.role.seller",
	account.Bookkeeper: "desk.role.bookkeeper", account.Developer: "desk.role.developer",
}

// RoleName returns the name of a role; "" for none.
func (v *Visit) RoleName(r account.Role) string {
	if id, ok := roleNames[r]; ok {
		return v.Text(id)
	}
	return ""
}

// permissionNames are the keys of the texts for permissions with which a sentence of the page of a refusal begins.
var permissionNames = map[account.Permission]string{
	account.ViewPayments:   "desk.may.payments",
	account.ManageAccounts: "desk.may.accounts",
	account.ViewLog:        "desk.may.log",
	account.ViewWallets:    "desk.may.wallets",
	account.ManageWallets:  "desk.may.wallets",
	account.ViewHealth:     "desk.may.health",
	account.Configure:      "desk.may.configure",
	account.Export:         "desk.may.export",
	account.ManageShops:    "desk.may.shops",
	account.BackUp:         "desk.may.backup",
	account.Decide:         "desk.may.decide",
	account.DecideHighRisk: "desk.may.decide",
	account.ManageKeys:     "desk.may.keys",
	account.Sell:           "desk.may.sell",
	account.RemoveNotes:    "desk.may.notes",

	account.ViewOwnTerminals: "desk.may.own",
}

// openCases returns the number of live invoices that wait for a decision, as the side bar shows it; "" if
// there is none or the account may not decide.
func (v *Visit) openCases() (string, error) {
	if !v.May(account.Decide) {
		return "", nil
	}
	t, err := v.Tally(invoice.Live)
	if err != nil || t.Open() == 0 {
		return "", err
	}
	return strconv.FormatInt(t.Open(), 10), nil
}
