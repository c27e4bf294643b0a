package developers

import (
	"cmp"
	"crypto/rand"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"chequer/internal/account"
	"chequer/internal/greenfield"
	"chequer/internal/merchant"
	"chequer/views"
	"chequer/views/desk"
	"chequer/web/desk/visit"
)

// AuthorizePath is the path at which plug-ins made for BTCPay Server ask for a key.
const AuthorizePath = "/api-keys/authorize"

// Paths of the pages that connect a plug-in: the choice of a shop, and the page of the shop below it.
const (
	connectShopsPath = visit.AllShopsPath + "/connect"
	connectPath      = "/connect"
)

// authorize redirects from AuthorizePath to the page that chooses a shop. It keeps only the known parameters.
func (v *page) authorize() error {
	r, err := parsePluginRequest(v.Request().URL.RawQuery)
	if err != nil {
		return v.refuseConnection(http.StatusBadRequest, err)
	}
	return v.Redirect(http.StatusSeeOther, v.Address(connectShopsPath)+"?"+r.query)
}

// chooseShop lists the shops of the account to which the plug-in can be connected. If there is only one, it redirects to the
// page that connects it.
func (v *page) chooseShop() error {
	r, err := parsePluginRequest(v.Request().URL.RawQuery)
	if err != nil {
		return v.refuseConnection(http.StatusBadRequest, err)
	}
	page := desk.ConnectShops{BareFrame: v.BareFrame(v.Text("desk.connect")), Intro: v.connectIntro(r), Cancel: v.cancelLink()}
	for _, m := range v.ShopsWith(account.ManageKeys) {
		page.Shops = append(page.Shops, views.Link{Text: m.Name, URL: v.Address("/desk/"+url.PathEscape(m.ID)+connectPath) + "?" + r.query})
	}
	if len(page.Shops) == 1 {
		return v.Redirect(http.StatusSeeOther, page.Shops[0].URL)
	}
	return v.Show(http.StatusOK, desk.ConnectShopsPage(page))
}

// askToConnect shows the page that asks whether the plug-in may have a key.
func (v *page) askToConnect() error {
	r, err := parsePluginRequest(v.Request().URL.RawQuery)
	if err != nil {
		return v.refuseConnection(http.StatusBadRequest, err)
	}
	return v.showConnect(http.StatusOK, r, "")
}

// showConnect shows the page that asks whether the plug-in may have a key. Its form has a random number, which creates one key
// at most, and a seal of the number and the request.
func (v *page) showConnect(status int, r pluginRequest, problem string) error {
	mode, err := v.modeChoice(merchant.Live, nil)
	if err != nil {
		return err
	}
	number := rand.Text()
	page := desk.Connect{
		BareFrame: v.BareFrame(v.Text("desk.connect")), Problem: problem, Intro: v.connectIntro(r), Receive: v.Text("desk.connect.shown"),
		Action: v.Below(connectPath) + "?" + r.query, Cancel: v.cancelLink(), Mode: mode, Can: v.scopeTexts(r.scopes),
		Hidden: []desk.Hidden{{Name: "number", Value: number}, {Name: "proof", Value: v.Seal(v.consent(r, number))}},
		Facts:  []desk.Fact{{Name: v.Text("desk.connect.shop"), Value: v.Shop.Name}},
	}
	if r.redirect != nil {
		page.Receive, page.Host, page.Address = v.Text("desk.connect.sent"), r.redirect.Host, r.redirect.String()
	}
	page.Mode.Hint = cmp.Or(page.Mode.Hint, v.Text("desk.connect.mode"))
	for _, id := range []string{"desk.connect.never.spends", "desk.connect.never.settles", "desk.connect.never.changes"} {
		page.Cannot = append(page.Cannot, v.Text(id))
	}
	for _, permission := range r.dropped {
		page.Cannot = append(page.Cannot, v.Text("desk.connect.dropped", "Permission", permission))
	}
	if v.hasOtherShops() {
		page.Another = views.Link{Text: v.Text("desk.connect.another"), URL: v.Address(connectShopsPath) + "?" + r.query}
	}
	return v.Show(status, desk.ConnectPage(page))
}

// consent returns the text that the seal in the form covers: the shop, the number of the form, and the request.
func (v *page) consent(r pluginRequest, number string) string {
	return "connect\n" + v.Shop.ID + "\n" + number + "\n" + r.query
}

// hasOtherShops reports whether the account can connect the plug-in to another shop.
func (v *page) hasOtherShops() bool {
	for _, id := range v.Account.Shops() {
		if id != v.Shop.ID && v.Account.Allows(id, account.ManageKeys) != account.Denied {
			return true
		}
	}
	return false
}

// pluginLinks returns the links to the pages that create a key for a plug-in, which the merchant enters in the plug-in.
func (v *page) pluginLinks() (links []views.Link) {
	for _, p := range merchant.Plugins {
		if !p.AcceptsPastedKey() {
			continue
		}
		q := url.Values{}
		for _, s := range p.Scopes {
			q.Add(permissionsParameter, greenfield.Permission(s))
		}
		if p.Title != "" {
			q.Set(nameParameter, p.Title)
		}
		links = append(links, views.Link{Text: cmp.Or(p.Title, v.Text("desk.keys.plugins.other")), URL: v.Below(connectPath) + "?" + q.Encode()})
	}
	return links
}

// connectIntro returns the sentence that a plug-in asks for a key, with the name that the plug-in gives itself. If the key is
// shown, the request may also come from the links of the page of the keys.
func (v *page) connectIntro(r pluginRequest) string {
	switch {
	case r.name == "":
		return v.Text("desk.connect.unnamed")
	case r.redirect == nil:
		return v.Text("desk.connect.for", "Name", r.name)
	}
	return v.Text("desk.connect.asks", "Name", r.name)
}

func (v *page) cancelLink() views.Link {
	return views.Link{Text: v.Text("desk.cancel"), URL: v.Address("/desk")}
}

// pluginScopeTexts are the IDs of the texts that describe the scopes of plug-ins.
var pluginScopeTexts = map[merchant.Scope]string{
	merchant.ScopeViewInvoices: "desk.connect.can.view", merchant.ScopeCreateInvoice: "desk.connect.can.create", merchant.ScopeModifyInvoices: "desk.connect.can.modify",
	merchant.ScopeViewStore: "desk.connect.can.store", merchant.ScopeModifyStore: "desk.connect.can.settings",
	merchant.ScopeModifyWebhooks: "desk.connect.can.webhooks", merchant.ScopeOfferRefund: "desk.connect.can.refund",
}

// scopeTexts returns what a key with the scopes can do.
func (v *page) scopeTexts(scopes []merchant.Scope) (texts []string) {
	for _, s := range scopes {
		texts = append(texts, v.Text(pluginScopeTexts[s]))
	}
	return texts
}

// connect creates the key. The answer sends it to the web shop or, if the request has no redirect, shows it once.
func (v *page) connect() error {
	r, err := parsePluginRequest(v.Request().URL.RawQuery)
	if err != nil {
		return v.refuseConnection(http.StatusBadRequest, err)
	}
	number := v.FormValue("number")
	if !v.IsSealed(v.consent(r, number), v.FormValue("proof")) {
		return v.showConnect(http.StatusConflict, r, v.Text("desk.connect.changed"))
	}
	if err := v.checkMode(v.chosenMode()); errors.Is(err, errDemoMode) {
		return v.showConnect(http.StatusConflict, r, v.Text("desk.keys.demo"))
	} else if err != nil {
		return err
	}
	k, token, err := v.Merchants.CreatePluginKey(v.Request().Context(), v.Shop.ID, merchant.PluginKey{
		Plugin: r.plugin, Mode: v.chosenMode(), Scopes: r.scopes, Label: v.connectLabel(r), Request: v.Shop.ID + " " + number,
	})
	if errors.Is(err, merchant.ErrExists) {
		return v.showConnect(http.StatusConflict, r, v.Text("desk.connect.used"))
	}
	if err != nil {
		return err
	}
	if r.redirect == nil {
		return v.showToken(k, token)
	}
	return v.sendKey(r, k, token)
}

// connectLabel returns the label of the key: the name that the plug-in gives itself or, without one, the host of the web shop.
func (v *page) connectLabel(r pluginRequest) string {
	name := r.name
	if name == "" && r.redirect != nil {
		name = r.redirect.Hostname()
	}
	runes := []rune(name)
	return strings.TrimSpace(string(runes[:min(merchant.MaxLabel, len(runes))]))
}

// showToken shows a new key whose request has no redirect.
func (v *page) showToken(k merchant.Key, token string) error {
	return v.showSecret(desk.Secret{
		Heading: v.Text("desk.key.created", "Name", visit.KeyName(k)), Intro: v.Text("desk.connect.copy"),
		Values: []desk.SecretValue{{Name: v.Text("desk.key"), Value: token}, {Name: v.Text("desk.key.store"), Value: k.StoreID()}},
		Done:   views.Link{Text: v.Text("desk.keys"), URL: v.Below(visit.KeysPath)},
	})
}

// sendKey shows the page that sends a new key to the web shop. The field userId is the ID of the key, because a key belongs to
// no account.
func (v *page) sendKey(r pluginRequest, k merchant.Key, token string) error {
	v.AllowFormTo(r.origin())
	page := desk.Connected{
		BareFrame: v.BareFrame(v.Text("desk.connected")), Intro: v.Text("desk.connected.text", "Host", r.redirect.Host), Action: r.redirect.String(),
		Button: v.Text("desk.connected.button", "Host", r.redirect.Host), Hidden: []desk.Hidden{{Name: "apiKey", Value: token}, {Name: "userId", Value: k.ID}},
	}
	for _, permission := range greenfield.Permissions(k) {
		page.Hidden = append(page.Hidden, desk.Hidden{Name: "permissions[]", Value: permission})
	}
	return v.Show(http.StatusOK, desk.ConnectedPage(page))
}

// refuseConnection answers a request of a plug-in that cannot be served.
func (v *page) refuseConnection(status int, err error) error {
	fault, ok := errors.AsType[*pluginFault](err)
	if !ok {
		return err
	}
	subject := cmp.Or(fault.parameter, v.Text("desk.connect.request"))
	return v.Show(status, desk.FaultPage(desk.Fault{
		BareFrame: v.BareFrame(v.Text("desk.connect.refused")), Heading: v.Text("desk.connect.refused"),
		Intro:  v.Text("desk.connect.refused.text", "Subject", subject, "Fault", fault.fault),
		Action: views.Link{Text: v.Text("desk.fault.home"), URL: v.Address("/desk")},
	}))
}
