package developers

import (
	"cmp"
	"errors"
	"net/http"
	"slices"
	"strconv"

	"chequer/internal/account"
	"chequer/internal/merchant"
	"chequer/views"
	"chequer/views/desk"
	"chequer/web/desk/visit"
)

// keyForm holds the values of the form that creates a key.
type keyForm struct {
	label  string
	mode   merchant.Mode
	scopes []string
}

// keys lists the API keys of the shop.
func (v *page) keys() error {
	return v.showKeys(http.StatusOK, keyForm{mode: merchant.Live, scopes: []string{string(merchant.ScopeCreate), string(merchant.ScopeRead)}}, nil)
}

func (v *page) showKeys(status int, form keyForm, problem error) error {
	f, err := v.Frame(v.Text("desk.keys"), visit.KeysPath)
	if err != nil {
		return err
	}
	all, err := v.Merchants.Keys(v.Request().Context(), v.Shop.ID)
	if err != nil {
		return err
	}
	page := desk.Keys{
		Frame: f, Tabs: v.tabs(visit.KeysPath), Action: v.Below(visit.KeysPath), Scopes: v.scopeChecks(form.scopes, problem),
		Label:  v.TextField("label", "desk.key.label", "desk.key.label.hint", form.label),
		Manual: views.Link{Text: v.Text("desk.keys.plugins.link"), URL: v.Address("/docs/plugins")}, Plugins: v.pluginLinks(),
	}
	if page.Mode, err = v.modeChoice(form.mode, problem); err != nil {
		return err
	}
	page.Label.Error = v.fieldText("desk.field.label", fieldFault(problem, "label"))
	slices.SortStableFunc(all, func(a, b merchant.Key) int { // active keys before revoked keys, each newest first
		return cmp.Or(cmp.Compare(activeRank(a), activeRank(b)), b.CreatedAt.Compare(a.CreatedAt))
	})
	for _, k := range all {
		page.Rows = append(page.Rows, v.keyRow(k))
	}
	return v.Show(status, desk.KeysPage(page))
}

func activeRank(k merchant.Key) int {
	if k.RevokedAt.IsZero() {
		return 0
	}
	return 1
}

// fieldText returns the sentence about the fault of a field; "" if there is no fault.
func (v *page) fieldText(id, fault string) string {
	if fault == "" {
		return ""
	}
	return v.Text(id, "Fault", fault)
}

func (v *page) keyRow(k merchant.Key) desk.KeyRow {
	row := desk.KeyRow{
		Name: visit.KeyName(k), URL: v.Below(visit.KeysPath + "/" + k.Key), Key: k.Key, Test: k.Mode == merchant.Test, Plugin: k.IsPlugin(),
		Used: v.Ago(k.UsedAt), Created: v.Clock(k.CreatedAt), Revoked: !k.RevokedAt.IsZero(),
	}
	for _, s := range k.Scopes {
		name := string(s)
		if id, isOfPlugin := pluginScopeNames[s]; isOfPlugin {
			name = v.Text(id)
		}
		row.Scopes = append(row.Scopes, desk.Scope{Name: name, Wide: s == merchant.ScopeAdmin || s == merchant.ScopeSettleInvoices})
	}
	return row
}

// pluginScopeNames are the IDs of the names of the scopes of plug-ins.
var pluginScopeNames = map[merchant.Scope]string{
	merchant.ScopeViewInvoices: "desk.scope.view", merchant.ScopeCreateInvoice: "desk.scope.new", merchant.ScopeModifyInvoices: "desk.scope.modify",
	merchant.ScopeViewStore: "desk.scope.shop", merchant.ScopeModifyStore: "desk.scope.shop.settings", merchant.ScopeModifyWebhooks: "desk.scope.webhooks",
	merchant.ScopeOfferRefund: "desk.scope.refund", merchant.ScopeSettleInvoices: "desk.scope.settle",
}

// scopeTexts are the IDs of the texts that describe scopes.
var scopeTexts = map[merchant.Scope]string{
	merchant.ScopeCreate: "desk.scope.create", merchant.ScopeRead: "desk.scope.read", merchant.ScopePage: "desk.scope.page",
	merchant.ScopeLink: "desk.scope.link", merchant.ScopeAdmin: "desk.scope.admin",
}

func (v *page) scopeChecks(chosen []string, problem error) desk.Checks {
	c := desk.Checks{
		Name: "scope", Label: v.Text("desk.key.scopes"), Hint: v.Text("desk.key.scopes.hint"), Error: v.fieldText("desk.field.scopes", fieldFault(problem, "scopes")),
	}
	for _, s := range merchant.AllScopes {
		if s == merchant.ScopeAdmin && !v.grantsAdmin() {
			continue
		}
		c.Options = append(c.Options, desk.CheckOption{Value: string(s), Text: string(s), Hint: v.Text(scopeTexts[s]), Chosen: slices.Contains(chosen, string(s))})
	}
	return c
}

// grantsAdmin reports whether the account may create keys with the scope admin. Such a key can decide about payments and
// change settings, so only a role that may do both can create it.
func (v *page) grantsAdmin() bool { return v.May(account.DecideHighRisk) && v.May(account.Configure) }

// createKey creates a key and shows its secret, once.
func (v *page) createKey() error {
	values, err := v.FormParams()
	if err != nil {
		return err
	}
	form := keyForm{label: values.Get("label"), mode: v.chosenMode(), scopes: values["scope"]}
	scopes, err := merchant.ParseScopes(form.scopes)
	if err != nil {
		return v.showKeys(http.StatusUnprocessableEntity, form, &merchant.FieldError{Field: "scopes", Fault: err.Error()})
	}
	if slices.Contains(scopes, merchant.ScopeAdmin) && !v.grantsAdmin() {
		return v.showKeys(http.StatusUnprocessableEntity, form, &merchant.FieldError{Field: "scopes", Fault: v.Text("desk.key.scopes.admin")})
	}
	switch err := v.checkMode(form.mode); {
	case errors.Is(err, errDemoMode):
		return v.showKeys(http.StatusConflict, form, err)
	case err != nil:
		return err
	}
	k, err := v.Merchants.CreateKey(v.Request().Context(), v.Shop.ID, form.mode, scopes, form.label)
	if _, isField := errors.AsType[*merchant.FieldError](err); isField {
		return v.showKeys(http.StatusUnprocessableEntity, form, err)
	}
	if err != nil {
		return err
	}
	return v.showSecret(desk.Secret{
		Heading: v.Text("desk.key.created", "Name", visit.KeyName(k)), Intro: v.Text("desk.key.created.text"),
		Values: []desk.SecretValue{{Name: v.Text("desk.key"), Value: k.Key}, {Name: v.Text("desk.secret"), Value: k.Secret}},
		Done:   views.Link{Text: v.Text("desk.keys"), URL: v.Below(visit.KeysPath)},
	})
}

// showSecret shows a new secret. Only the answer to the form that created the secret contains it.
func (v *page) showSecret(s desk.Secret) (err error) {
	if s.Frame, err = v.Frame(s.Heading, visit.KeysPath); err != nil {
		return err
	}
	for i := range s.Values {
		s.Values[i].Copy = v.CopyButton("secret-" + strconv.Itoa(i))
	}
	return v.Show(http.StatusOK, desk.SecretPage(s))
}

// ownKey returns the key in the path, which must be the shop's.
func (v *page) ownKey() (merchant.Key, error) {
	all, err := v.Merchants.Keys(v.Request().Context(), v.Shop.ID)
	if err != nil {
		return merchant.Key{}, err
	}
	i := slices.IndexFunc(all, func(k merchant.Key) bool { return k.Key == v.Param("key") })
	if i < 0 {
		return merchant.Key{}, merchant.ErrNotFound
	}
	return all[i], nil
}

// key shows one key, and the consequences of its revocation.
func (v *page) key() error {
	k, err := v.ownKey()
	if err != nil {
		return err
	}
	return v.showKey(http.StatusOK, k, "")
}

func (v *page) showKey(status int, k merchant.Key, problem string) error {
	f, err := v.Frame(visit.KeyName(k), visit.KeysPath)
	if err != nil {
		return err
	}
	page := desk.Key{
		Frame: f, Back: views.Link{Text: v.Text("desk.keys"), URL: v.Below(visit.KeysPath)}, Problem: problem, Row: v.keyRow(k),
		Facts: []desk.Fact{
			{Name: v.Text("desk.mode"), Value: v.Text(modeNames[k.Mode])},
			{Name: v.Text("desk.key.created.at"), Value: v.Clock(k.CreatedAt)},
			{Name: v.Text("desk.key.used"), Value: v.Ago(k.UsedAt)},
		},
	}
	if k.IsPlugin() {
		page.Facts = append(page.Facts, desk.Fact{Name: v.Text("desk.key.plugin"), Value: k.Plugin}, desk.Fact{Name: v.Text("desk.key.store"), Value: k.StoreID()})
	}
	if k.RevokedAt.IsZero() {
		page.Revoke = v.Below(visit.KeysPath + "/" + k.Key + "/revoke")
		page.Ask = v.Text("desk.key.revoke.heading", "Name", visit.KeyName(k))
		page.Results = []desk.Result{{Shape: "warn", Text: v.Text("desk.key.revoke.calls")}}
		if !k.UsedAt.IsZero() {
			page.Results = append(page.Results, desk.Result{Shape: "warn", Text: v.Text("desk.key.revoke.used", "Time", v.Ago(k.UsedAt))})
		}
		if k.May(merchant.ScopeLink) {
			page.Results = append(page.Results, desk.Result{Shape: "warn", Text: v.Text("desk.key.revoke.links")})
		}
		page.Results = append(page.Results, desk.Result{Shape: "warn", Text: v.Text("desk.key.revoke.final")})
	} else {
		page.Facts = append(page.Facts, desk.Fact{Name: v.Text("desk.key.revoked"), Value: v.Clock(k.RevokedAt)})
	}
	return v.Show(status, desk.KeyPage(page))
}

// revokeKey revokes a key of the shop.
func (v *page) revokeKey() error {
	k, err := v.ownKey()
	if err != nil {
		return err
	}
	if !k.RevokedAt.IsZero() {
		return v.showKey(http.StatusConflict, k, v.Text("desk.problem.revoked"))
	}
	if err := v.Merchants.RevokeKey(v.Request().Context(), v.Shop.ID, k.Key); err != nil {
		return err
	}
	return v.Done(v.Below(visit.KeysPath), "revoked")
}
