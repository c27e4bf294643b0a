package wallets

import (
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"chequer/internal/keys"
	"chequer/internal/merchant"
	"chequer/views"
	"chequer/views/desk"
)

// entry holds the values of the form for a wallet, and the errors that the form shows.
type entry struct {
	kind         keys.Kind
	key, address string
	keyError     string
	addressError string
}

// hasKey reports whether the wallets of a kind are added by an extended public key.
func hasKey(kind keys.Kind) bool {
	return kind != keys.XMR && slices.ContainsFunc(kinds, func(k walletKind) bool { return k.kind == kind })
}

// newWallet shows the form for a wallet. A demo, which accepts none, shows its wallets.
func (v *page) newWallet() error {
	e := entry{kind: keys.Kind(v.QueryParam("asset"))}
	if !hasKey(e.kind) {
		return echo.ErrNotFound
	}
	isDemo, err := v.IsDemo(v.Request().Context())
	if err != nil {
		return err
	}
	if isDemo {
		return v.Redirect(http.StatusSeeOther, v.Below(place))
	}
	return v.showForm(http.StatusOK, e)
}

// showForm shows the form for a wallet with its errors.
func (v *page) showForm(status int, e entry) error {
	heading := v.Text("desk.wallets.add.heading", "Name", v.kindName(e.kind))
	f, err := v.Frame(heading, place)
	if err != nil {
		return err
	}
	hint := v.Text("desk.wallets.key.hint")
	if e.kind == keys.ETH {
		hint = v.Text("desk.wallets.key.hint.eth")
	}
	return v.Show(status, desk.NewWalletPage(desk.NewWallet{
		Frame: f, Back: views.Link{Text: v.Text("desk.wallets"), URL: v.Below(place)}, Heading: heading,
		Action: v.Below(place + "/add"), Hidden: []desk.Hidden{{Name: "asset", Value: string(e.kind)}},
		Key:     desk.Field{Name: "key", Label: v.Text("desk.wallets.key.label"), Hint: hint, Value: e.key, Error: e.keyError, Lines: 3, Code: true, Complete: "off"},
		Address: desk.Field{Name: "address", Label: v.Text("desk.wallets.address"), Hint: v.Text("desk.wallets.address.hint"), Value: e.address, Error: e.addressError, Kind: "text", Code: true, Complete: "off"},
	}))
}

// verifiedWallet is a wallet that was entered and verified.
type verifiedWallet struct {
	entry
	merchant.Addition
	about Kind
	index uint32 // index of the address by which the key was verified
}

// readWallet reads the form and verifies the key by the address. If the wallet is refused, it answers the request and
// returns ok = false.
func (v *page) readWallet() (w verifiedWallet, ok bool, err error) {
	w.entry = entry{kind: keys.Kind(v.FormValue("asset")), key: strings.TrimSpace(v.FormValue("key")), address: strings.TrimSpace(v.FormValue("address"))}
	if !hasKey(w.kind) {
		return w, false, echo.ErrNotFound
	}
	isDemo, err := v.IsDemo(v.Request().Context())
	if err != nil {
		return w, false, err
	}
	if isDemo {
		return w, false, v.showWallets(http.StatusConflict)
	}
	if w.about, err = v.Kind(w.kind); err != nil {
		return w, false, err
	}
	if !v.verify(&w) {
		return w, false, v.showForm(http.StatusUnprocessableEntity, w.entry)
	}
	if w.index > 0 { // addresses up to this one may have been used
		w.Start = w.index + 1
	}
	return w, true, nil
}

// verify verifies the key of an entry by its address, and writes the errors to the entry. A private key is not
// kept.
func (v *page) verify(w *verifiedWallet) bool {
	if keys.LooksPrivate(w.key) || keys.LooksPrivate(w.address) {
		w.key, w.address, w.keyError = "", "", v.Text("desk.wallets.private")
		return false
	}
	if w.address == "" {
		w.addressError = v.Text("desk.wallets.address.missing")
		return false
	}
	if _, _, err := keys.ParseAddress(w.address, w.kind, w.about.Network); err != nil {
		w.addressError = v.Text("desk.wallets.refused", "Reason", err.Error())
		return false
	}
	var err error
	switch w.Key, w.index, err = keys.Match(w.key, w.kind, w.about.Network, w.address); {
	case errors.Is(err, keys.ErrPrivateKey):
		w.key, w.keyError = "", v.Text("desk.wallets.private")
	case errors.Is(err, keys.ErrNoMatch):
		w.addressError = v.Text("desk.wallets.nomatch")
	case err != nil:
		w.keyError = v.Text("desk.wallets.refused", "Reason", err.Error())
	}
	return err == nil
}

// checkWallet verifies a wallet and shows the consequences of adding it.
func (v *page) checkWallet() error {
	w, ok, err := v.readWallet()
	if !ok || err != nil {
		return err
	}
	return v.askToAdd(http.StatusOK, w, "")
}

// askToAdd shows the consequences of adding a wallet.
func (v *page) askToAdd(status int, w verifiedWallet, problem string) error {
	active, err := v.active(w.kind)
	if err != nil {
		return err
	}
	same, err := active.HasAddresses(w.Key)
	if err != nil {
		return err
	}
	if same {
		w.keyError = v.Text("desk.wallets.same", "Name", v.kindName(w.kind))
		return v.showForm(http.StatusUnprocessableEntity, w.entry)
	}
	name := v.kindName(w.kind)
	heading, button := v.Text("desk.wallets.add.ask", "Name", name), v.Text("desk.wallets.add")
	if active.ID != "" {
		heading, button = v.Text("desk.wallets.replace.heading", "Name", name), v.Text("desk.wallets.replace")
	}
	f, err := v.Frame(heading, place)
	if err != nil {
		return err
	}
	return v.Show(status, desk.DecisionPage(desk.Decision{
		Frame: f, Back: views.Link{Text: v.Text("desk.wallets"), URL: v.Below(place)}, Heading: heading, Problem: problem,
		Results: v.consequences(w, active), Action: v.Below(place + "/confirm"), Button: button,
		Hidden: []desk.Hidden{{Name: "asset", Value: string(w.kind)}, {Name: "key", Value: w.key}, {Name: "address", Value: w.address}, {Name: "replaces", Value: active.ID}},
	}))
}

// consequences returns the consequences of adding a wallet. active is the wallet that it replaces, or the zero Wallet.
func (v *page) consequences(w verifiedWallet, active merchant.Wallet) []desk.Result {
	index := strconv.FormatUint(uint64(w.index), 10)
	verified := v.Text("desk.wallets.verified", "Index", index)
	if name := v.scriptName(w.Key); name != "" {
		verified = v.Text("desk.wallets.verified.script", "Index", index, "Script", name)
	}
	results := []desk.Result{{Shape: "ok", Text: verified}}
	if w.Start > 0 {
		results = append(results, desk.Result{Shape: "ok", Text: v.Text("desk.wallets.start", "Index", strconv.FormatUint(uint64(w.Start), 10))})
	}
	if len(w.about.Offered) > 0 {
		results = append(results, desk.Result{Shape: "ok", Text: v.Text("desk.wallets.gives", "Methods", strings.Join(w.about.Offered, ", "))})
	} else {
		results = append(results, desk.Result{Shape: "warn", Text: v.Text("desk.wallets.gives.none")})
	}
	results = append(results, desk.Result{Shape: "ok", Text: v.Text("desk.wallets.event")})
	if active.ID != "" {
		results = append(results, desk.Result{Shape: "warn", Text: v.Text("desk.wallets.kept")})
	}
	for _, warning := range w.Key.Warnings() {
		results = append(results, desk.Result{Shape: "warn", Text: v.Text("desk.wallets.warning", "Warning", warning)})
	}
	if w.Key.IsChange() {
		results = append(results, desk.Result{Shape: "warn", Text: v.Text("desk.wallets.change")})
	}
	return results
}

// addWallet adds a wallet whose consequences the account has seen.
func (v *page) addWallet() error {
	w, ok, err := v.readWallet()
	if !ok || err != nil {
		return err
	}
	w.Replaces = v.FormValue("replaces")
	change, err := v.Wallets.Add(v.Request().Context(), v.Shop.ID, w.Addition)
	switch {
	case errors.Is(err, merchant.ErrStale):
		return v.askToAdd(http.StatusConflict, w, v.Text("desk.wallets.stale"))
	case errors.Is(err, merchant.ErrExists):
		w.keyError = v.Text("desk.wallets.same", "Name", v.kindName(w.kind))
		return v.showForm(http.StatusUnprocessableEntity, w.entry)
	case errors.Is(err, merchant.ErrOtherShop):
		w.keyError = v.Text("desk.wallets.elsewhere")
		return v.showForm(http.StatusUnprocessableEntity, w.entry)
	case err != nil:
		return err
	}
	v.Log.Warn("wallet changed", "change", change.Change, "merchant", v.Shop.ID, "asset", change.Wallet.Asset, "wallet", change.Wallet.ID, "former", change.Former.ID)
	return v.Done(v.Below(place), "wallet")
}

// ownWallet returns the shop's active wallet in the path.
func (v *page) ownWallet() (merchant.Wallet, error) {
	all, err := v.Storage.AllWallets(v.Request().Context(), v.Shop.ID, merchant.Live)
	if err != nil {
		return merchant.Wallet{}, err
	}
	i := slices.IndexFunc(all, func(w merchant.Wallet) bool { return w.ID == v.Param("wallet") && w.ArchivedAt.IsZero() })
	if i < 0 {
		return merchant.Wallet{}, echo.ErrNotFound
	}
	return all[i], nil
}

// askToRemove shows the consequences of removing a wallet.
func (v *page) askToRemove() error {
	w, err := v.ownWallet()
	if err != nil {
		return err
	}
	kind := keys.Kind(w.Asset)
	k, err := v.Kind(kind)
	if err != nil {
		return err
	}
	kept := v.Text("desk.wallets.kept")
	if w.IsConnection() {
		kept = v.Text("desk.connection.kept")
	}
	heading := v.Text("desk.wallets.remove.heading", "Name", v.kindName(kind))
	f, err := v.Frame(heading, place)
	if err != nil {
		return err
	}
	results := []desk.Result{{Shape: "ok", Text: kept}, {Shape: "ok", Text: v.Text("desk.wallets.event")}}
	if len(k.Offered) > 0 {
		results = slices.Insert(results, 0, desk.Result{Shape: "warn", Text: v.Text("desk.wallets.remove.methods", "Methods", strings.Join(k.Offered, ", "))})
	}
	return v.Show(http.StatusOK, desk.DecisionPage(desk.Decision{
		Frame: f, Back: views.Link{Text: v.Text("desk.wallets"), URL: v.Below(place)}, Heading: heading,
		Results: results,
		Action:  v.Below(place + "/" + w.ID + "/remove"), Button: v.Text("desk.wallets.remove"),
	}))
}

// removeWallet removes a wallet.
func (v *page) removeWallet() error {
	w, err := v.ownWallet()
	if err != nil {
		return err
	}
	if _, err := v.Wallets.Remove(v.Request().Context(), v.Shop.ID, keys.Kind(w.Asset), w.ID); err != nil {
		return err
	}
	v.Log.Warn("wallet removed", "merchant", v.Shop.ID, "asset", w.Asset, "wallet", w.ID)
	return v.Done(v.Below(place), "wallet-removed")
}
