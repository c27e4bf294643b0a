package wallets

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"chequer/internal/account"
	"chequer/internal/invoice"
	"chequer/internal/keys"
	"chequer/internal/merchant"
	"chequer/internal/report"
	"chequer/views"
	"chequer/views/desk"
)

// place is the path of the list.
const place = "/wallets"

// walletKind is a kind of wallets with the key of its name.
type walletKind struct {
	kind keys.Kind
	name string
}

// kinds are the kinds of wallets from which addresses are derived, in the order of the list.
var kinds = []walletKind{
	{keys.BTC, "desk.wallets.btc"},
	{keys.LTC, "desk.wallets.ltc"},
	{keys.ETH, "desk.wallets.eth"},
	{keys.XMR, "desk.wallets.xmr"},
}

// kindName returns the name of a kind of wallets; "" for an unknown kind.
func (v *page) kindName(kind keys.Kind) string {
	for _, k := range kinds {
		if k.kind == kind {
			return v.Text(k.name)
		}
	}
	if kind == connectionKind {
		return v.Text("desk.connection.name")
	}
	return ""
}

// scriptNames are the keys of the names of scripts.
var scriptNames = map[keys.Script]string{
	keys.P2PKH: "desk.wallets.p2pkh", keys.P2SHP2WPKH: "desk.wallets.p2sh", keys.P2WPKH: "desk.wallets.p2wpkh", keys.P2TR: "desk.wallets.p2tr",
}

// scriptName returns the name of the type of a key's addresses; "" for Ethereum.
func (v *page) scriptName(key keys.Key) string {
	if id, ok := scriptNames[key.Script()]; ok {
		return v.Text(id)
	}
	return ""
}

// wallets lists the wallets of the shop.
func (v *page) wallets() error { return v.showWallets(http.StatusOK) }

// showWallets lists the wallets of the shop. In a demo it states why none can be added.
func (v *page) showWallets(status int) error { return v.showTested(status, desk.Result{}) }

// showTested is showWallets with the result of a test of the active connection.
func (v *page) showTested(status int, tested desk.Result) error {
	f, err := v.Frame(v.Text("desk.wallets"), place)
	if err != nil {
		return err
	}
	all, err := v.Storage.AllWallets(v.Request().Context(), v.Shop.ID, merchant.Live)
	if err != nil {
		return err
	}
	sums, err := v.Storage.Received(v.Request().Context(), v.Shop.ID)
	if err != nil {
		return err
	}
	list := desk.Wallets{Frame: f, Tabs: v.WalletTabs(place), Note: v.Text("desk.wallets.received.text")}
	if !sums.Complete {
		list.Note = v.Text("desk.wallets.received.pending")
	}
	isDemo, err := v.IsDemo(v.Request().Context())
	if err != nil {
		return err
	}
	if isDemo {
		list.Demo = v.Text("desk.wallets.demo")
	}
	for _, k := range kinds {
		if i := activeIndex(all, k.kind); i >= 0 {
			card, err := v.card(all[i], sums)
			if err != nil {
				return err
			}
			list.Cards = append(list.Cards, card)
		} else if v.May(account.ManageWallets) && !isDemo {
			list.Available = append(list.Available, views.Link{Text: v.Text(k.name), URL: v.addURL(k.kind)})
		}
	}
	if err := v.addLightning(&list, all, sums, tested); err != nil {
		return err
	}
	for _, w := range slices.Backward(all) {
		if w.ArchivedAt.IsZero() {
			continue
		}
		former, err := v.former(w, sums)
		if err != nil {
			return err
		}
		list.Former = append(list.Former, former)
	}
	return v.Show(status, desk.WalletsPage(list))
}

// activeIndex returns the index of the active wallet of a kind in a list; -1 if there is none.
func activeIndex(all []merchant.Wallet, kind keys.Kind) int {
	return slices.IndexFunc(all, func(w merchant.Wallet) bool { return w.Asset == string(kind) && w.ArchivedAt.IsZero() })
}

// active returns the active wallet of a kind; the zero Wallet if there is none.
func (v *page) active(kind keys.Kind) (merchant.Wallet, error) {
	all, err := v.Storage.AllWallets(v.Request().Context(), v.Shop.ID, merchant.Live)
	if err != nil {
		return merchant.Wallet{}, err
	}
	if i := activeIndex(all, kind); i >= 0 {
		return all[i], nil
	}
	return merchant.Wallet{}, nil
}

// addURL returns the address of the form for a wallet of a kind.
func (v *page) addURL(kind keys.Kind) string {
	if kind == keys.XMR {
		return v.Below(moneroPlace)
	}
	return v.Below(place + "/add?asset=" + string(kind))
}

// card describes an active wallet.
func (v *page) card(w merchant.Wallet, sums report.Received) (desk.Wallet, error) {
	ctx, kind := v.Request().Context(), keys.Kind(w.Asset)
	key, err := keys.Load(w.Derivation())
	if err != nil {
		return desk.Wallet{}, err
	}
	k, err := v.Kind(kind)
	if err != nil {
		return desk.Wallet{}, err
	}
	card := desk.Wallet{ID: w.ID, Name: v.kindName(kind), Methods: strings.Join(k.Offered, ", "), Off: k.Off}
	add := func(name, value string) { card.Facts = append(card.Facts, desk.Fact{Name: v.Text(name), Value: value}) }
	name, gap := "desk.wallets.key", "desk.wallets.gap"
	if kind == keys.XMR {
		name, gap = "desk.monero.address", "desk.monero.gap"
	}
	add(name, shortKey(key))
	if name := v.scriptName(key); name != "" {
		add("desk.wallets.script", name)
	}
	add("desk.wallets.received", v.receivedBy(w, sums))
	next, err := v.Storage.NextIndex(ctx, w.Counter)
	if err != nil {
		return card, err
	}
	add("desk.wallets.next", strconv.FormatUint(uint64(next), 10))
	for _, network := range k.Chains {
		unused, err := v.Storage.UnusedInARow(ctx, w, network)
		if err != nil {
			return card, err
		}
		if unused > kind.GapLimit() {
			card.Warning = v.Words.Count(gap, int(unused))
		}
	}
	add("desk.wallets.added", v.Clock(w.CreatedAt))
	if v.May(account.ManageWallets) {
		card.Replace = views.Link{Text: v.Text("desk.wallets.replace.ask"), URL: v.addURL(kind)}
		card.Remove = views.Link{Text: v.Text("desk.wallets.remove.ask"), URL: v.Below(place + "/" + w.ID + "/remove")}
	}
	return card, nil
}

// former describes a wallet that was replaced or removed.
func (v *page) former(w merchant.Wallet, sums report.Received) (desk.FormerWallet, error) {
	name := w.Key // of the provider
	if !w.IsConnection() {
		key, err := keys.Load(w.Derivation())
		if err != nil {
			return desk.FormerWallet{}, err
		}
		name = shortKey(key)
	}
	return desk.FormerWallet{
		Key: name, Received: v.Text("desk.wallets.former.received", "Amounts", v.receivedBy(w, sums)), Text: v.Text("desk.wallets.former.text", "Name", v.kindName(keys.Kind(w.Asset)), "From", v.Clock(w.CreatedAt), "Until", v.Clock(w.ArchivedAt)),
	}, nil
}

// receivedBy returns what the key of a wallet received, in each asset.
func (v *page) receivedBy(w merchant.Wallet, sums report.Received) string {
	if !sums.Complete {
		return v.Text("desk.wallets.received.unknown")
	}
	var amounts []string
	for _, s := range sums.ByKey[w.Counter] {
		name := s.Asset
		if a, known := v.Invoices.AssetByCode(invoice.Live, s.Asset); known {
			name = a.Symbol
			if a.Contract != "" || a.Symbol != a.Code {
				name = v.Text("desk.methods.on", "Asset", a.Symbol, "Network", a.NetworkName)
			}
		}
		amounts = append(amounts, v.Words.Decimal(s.Amount.String())+" "+name)
	}
	if len(amounts) == 0 {
		return v.Text("desk.wallets.received.none")
	}
	return strings.Join(amounts, ", ")
}

// shortKey returns the first and the last characters of a key, by which a merchant recognises it.
func shortKey(key keys.Key) string {
	text := key.String()
	if i := strings.LastIndexByte(text, ':'); i >= 0 {
		text = text[i+1:]
	}
	text, path, _ := strings.Cut(text, "/")
	if path != "" {
		path = "/" + path
	}
	if len(text) > 20 {
		text = text[:9] + "…" + text[len(text)-6:]
	}
	return text + path
}
