// Package developers shows the API keys and the webhooks of a shop at the desk, and changes them.
package developers

import (
	"errors"
	"net/http"

	"chequer/internal/account"
	"chequer/internal/merchant"
	"chequer/views/desk"
	"chequer/web/desk/visit"
)

// Screens are the pages of the place Developers.
type Screens struct {
	Endpoints *merchant.Endpoints
}

// page is a visit to one of the screens.
type page struct {
	*visit.Visit
	*Screens
}

// Routes lists the pages and the actions of the screens.
func (s *Screens) Routes() []visit.Route {
	on := visit.Pages(func(v *visit.Visit) *page { return &page{v, s} })
	return []visit.Route{
		{Method: http.MethodGet, Path: AuthorizePath, Needs: visit.Public, Handle: on((*page).authorize)},
		{Method: http.MethodGet, Path: AuthorizePath + "/", Needs: visit.Public, Handle: on((*page).authorize)},
		{Method: http.MethodGet, Path: connectShopsPath, Needs: account.ManageKeys, Handle: on((*page).chooseShop), AllShops: true},
		{Method: http.MethodGet, Path: "/desk/:shop" + connectPath, Needs: account.ManageKeys, Handle: on((*page).askToConnect)},
		{Method: http.MethodPost, Path: "/desk/:shop" + connectPath, Needs: account.ManageKeys, Handle: on((*page).connect)},
		{Method: http.MethodGet, Path: "/desk/:shop/keys", Needs: account.ManageKeys, Handle: on((*page).keys)},
		{Method: http.MethodPost, Path: "/desk/:shop/keys", Needs: account.ManageKeys, Handle: on((*page).createKey)},
		{Method: http.MethodGet, Path: "/desk/:shop/keys/:key", Needs: account.ManageKeys, Handle: on((*page).key)},
		{Method: http.MethodPost, Path: "/desk/:shop/keys/:key/revoke", Needs: account.ManageKeys, Handle: on((*page).revokeKey)},
		{Method: http.MethodGet, Path: "/desk/:shop/webhooks", Needs: account.ManageKeys, Handle: on((*page).webhooks)},
		{Method: http.MethodPost, Path: "/desk/:shop/webhooks", Needs: account.ManageKeys, Handle: on((*page).createWebhook)},
		{Method: http.MethodGet, Path: "/desk/:shop/webhooks/:endpoint", Needs: account.ManageKeys, Handle: on((*page).webhook)},
		{Method: http.MethodGet, Path: "/desk/:shop/webhooks/:endpoint/:change", Needs: account.ManageKeys, Handle: on((*page).askToChange)},
		{Method: http.MethodPost, Path: "/desk/:shop/webhooks/:endpoint/:change", Needs: account.ManageKeys, Handle: on((*page).change)},
		{Method: http.MethodGet, Path: "/desk/:shop/webhooks/:endpoint/deliveries/:event", Needs: account.ManageKeys, Handle: on((*page).delivery)},
		{Method: http.MethodPost, Path: "/desk/:shop/webhooks/:endpoint/deliveries/:event", Needs: account.ManageKeys, Handle: on((*page).resend)},
	}
}

// tabs returns the pages of the place.
func (v *page) tabs(current string) []desk.Tab {
	var tabs []desk.Tab
	for _, t := range []struct{ path, text string }{{visit.KeysPath, "desk.keys"}, {webhooksPath, "desk.webhooks"}} {
		tabs = append(tabs, desk.Tab{Text: v.Text(t.text), URL: v.Below(t.path), Current: t.path == current})
	}
	return tabs
}

// fieldFault returns the fault of a field that a service refused; "" if the error is about another field.
func fieldFault(err error, field string) string {
	if wrong, ok := errors.AsType[*merchant.FieldError](err); ok && wrong.Field == field {
		return wrong.Fault
	}
	return ""
}

// modeNames are the keys of the names of the modes.
var modeNames = map[merchant.Mode]string{merchant.Live: "desk.mode.live", merchant.Test: "desk.mode.test"}

// errDemoMode means that a key or a webhook for live payments was to be created in a demo.
var errDemoMode = errors.New("a demo has no live payments")

// modeChoice returns the list from which the mode of a key or a webhook is chosen. A demo offers only test mode. problem
// is the reason why the form was refused.
func (v *page) modeChoice(chosen merchant.Mode, problem error) (desk.Choice, error) {
	c := desk.Choice{Name: "mode", Label: v.Text("desk.mode")}
	modes := []merchant.Mode{merchant.Live, merchant.Test}
	isDemo, err := v.IsDemo(v.Request().Context())
	if err != nil {
		return c, err
	}
	switch {
	case errors.Is(problem, errDemoMode):
		modes, c.Error = modes[1:], v.Text("desk.keys.demo")
	case isDemo:
		modes, c.Hint = modes[1:], v.Text("desk.keys.demo")
	}
	for _, m := range modes {
		c.Options = append(c.Options, desk.Option{Value: string(m), Text: v.Text(modeNames[m]), Chosen: m == chosen})
	}
	return c, nil
}

// checkMode returns errDemoMode for the live mode of a demo.
func (v *page) checkMode(m merchant.Mode) error {
	isDemo, err := v.IsDemo(v.Request().Context())
	if err == nil && isDemo && m == merchant.Live {
		return errDemoMode
	}
	return err
}

// chosenMode returns the mode that was chosen in a form.
func (v *page) chosenMode() merchant.Mode {
	if v.FormValue("mode") == string(merchant.Test) {
		return merchant.Test
	}
	return merchant.Live
}
