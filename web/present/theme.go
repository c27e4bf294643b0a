package present

import (
	"net/url"
	"strings"
	"time"

	"chequer/internal/api"
	"chequer/internal/client"
	"chequer/internal/theme"
	"chequer/static"
	"chequer/views"
)

// Theme is a merchant's theme with the assets that pages load for it. It is immutable.
type Theme struct {
	theme.Theme
	path   string                  // path below the base path, under which the assets are served
	assets map[string]static.Asset // by the last part of their address
	sheets map[string]string       // the last parts of the addresses of style sheets, by the sheets' names without hash
	logo   string                  // the last part of the logo's address; empty without a logo
}

// NewTheme builds the assets of a theme. Each style sheet is the default sheet followed by the rules that
// the accent colour changes, so that a page loads only one style sheet. The assets are served below path.
func NewTheme(path string, t theme.Theme) Theme {
	themed := Theme{Theme: t, path: path, assets: map[string]static.Asset{}, sheets: map[string]string{}}
	if accentRules := t.Style(); accentRules != "" {
		for _, name := range []string{"pay.css", "store.css", "shop.css", "pos.css", "counter.css"} {
			asset := static.Extend(name, accentRules)
			themed.sheets[name] = asset.Path[strings.LastIndexByte(asset.Path, '/')+1:]
			themed.assets[themed.sheets[name]] = asset
		}
	}
	if len(t.Logo.Body) > 0 {
		themed.logo = "logo" + t.Logo.Ending()
		themed.assets[themed.logo] = static.Asset{ContentType: t.Logo.Type, Body: t.Logo.Body}
	}
	return themed
}

// Asset returns the asset with the given last part of its address. isLogo reports whether it is the
// merchant's logo.
func (t Theme) Asset(name string) (asset static.Asset, isLogo, found bool) {
	asset, found = t.assets[name]
	return asset, name == t.logo, found
}

// assetPath returns the path of an asset of the theme.
func (f Frame) assetPath(name string) string { return f.Path(f.Theme.path + "/" + name) }

// sheet returns the path of a style sheet of the theme or, if the theme has none, of the default sheet.
func (f Frame) sheet(name string) string {
	if file, ok := f.Theme.sheets[name]; ok {
		return f.assetPath(file)
	}
	return f.Path(static.Path(name))
}

// support returns the link to the shop's contact. Its text shows the address, so that it can be read
// from a printed page.
func (f Frame) support() views.Link {
	address := f.Theme.Support
	if address == "" {
		return views.Link{}
	}
	place := strings.TrimPrefix(address, "mailto:")
	if u, err := url.Parse(address); err == nil && u.Scheme == "https" {
		place = u.Host + strings.TrimSuffix(u.Path, "/")
	}
	return views.Link{Text: f.Text("page.contact", "Place", place), URL: address}
}

// Sample returns the page of a made-up paid invoice, which shows the theme of the frame. It has no address that
// could be paid, no script, and no link to a page of an invoice.
func (f Frame) Sample() views.Payment {
	at := f.Now.UTC().Format(api.TimeLayout)
	p := f.Payment(client.Snapshot{Resource: api.Resource{
		ForeignID: "aK3x9QfW", OrderID: "1047", Mode: "live", Status: api.StatusPaid, Description: f.Text("desk.theme.preview.order"),
		CreatedAt: at, ExpiredAt: f.Now.Add(15 * time.Minute).UTC().Format(api.TimeLayout), PaidAt: at, PaidCurrency: "BTC",
		ClientAmount: "120", ClientCurrency: "EUR", PaidAmount: "120", DueAmount: "0", OverpaidAmount: "0",
	}}, "", false)
	p.Script, p.Self, p.Stream, p.PDF, p.Check, p.Auto, p.Proof = "", "", "", views.Link{}, views.Link{}, views.Link{}, views.Proof{}
	p.Return = views.Link{Text: f.Text("link.return", "Shop", f.shopInSentence("")), URL: "#pay"}
	return p
}
