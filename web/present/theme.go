package present

import (
	"net/url"
	"path"
	"strings"

	"chequer/internal/theme"
	"chequer/static"
	"chequer/views"
)

// Theme is a merchant's theme with the assets that pages load for it. It is immutable.
type Theme struct {
	theme.Theme
	hash   string
	assets map[string]static.Asset // by the last part of their address
	sheets map[string]string       // the last parts of style sheets' addresses, by their plain names
	logo   string                  // the last part of the logo's address; empty without a logo
}

// NewTheme builds the assets of a theme. Each style sheet is the default sheet followed by the rules that
// the accent colour changes, so that a page loads only one style sheet.
func NewTheme(hash string, t theme.Theme) Theme {
	themed := Theme{Theme: t, hash: hash, assets: map[string]static.Asset{}, sheets: map[string]string{}}
	if end := t.Style(); end != "" {
		for _, name := range []string{"pay.css", "store.css", "shop.css", "pos.css", "counter.css"} {
			asset := static.Extend(name, end)
			themed.sheets[name] = path.Base(asset.Path)
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
func (f Frame) assetPath(name string) string { return f.Path("/look/" + f.Theme.hash + "/" + name) }

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
