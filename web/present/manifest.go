package present

import (
	"fmt"

	"chequer/internal/api"
	"chequer/static"
)

// Manifest is the file that a phone reads to install a page as an app. See W3C, "Web Application
// Manifest".
type Manifest struct {
	Name       string         `json:"name"`
	ShortName  string         `json:"short_name"`
	StartURL   string         `json:"start_url"`
	Scope      string         `json:"scope"`
	ID         string         `json:"id"`
	Display    string         `json:"display"`
	Background string         `json:"background_color"`
	Theme      string         `json:"theme_color"`
	Icons      []ManifestIcon `json:"icons"`
}

// ManifestIcon is an icon of the app.
type ManifestIcon struct {
	Source string `json:"src"`
	Sizes  string `json:"sizes"`
	Type   string `json:"type"`
}

// Manifest returns the manifest of a terminal with the given secret. iconSizes are the sizes of the icons
// in pixels.
func (f Frame) Manifest(terminal api.CheckoutLink, secret string, iconSizes []int) Manifest {
	start, shop := f.Path("/pos/"+secret), f.shop(terminal.MerchantName)
	m := Manifest{
		Name: shop, ShortName: shop,
		StartURL: start, Scope: f.Path("/"), ID: start, Display: "standalone", Background: "#ffffff", Theme: "#f5f6f8",
		Icons: []ManifestIcon{{f.Path(static.Path("icon.svg")), "any", "image/svg+xml"}},
	}
	if name := printable(terminal.Description); name != "" {
		m.Name, m.ShortName = fmt.Sprintf("%s – %s", m.Name, name), name
	}
	for _, size := range iconSizes {
		m.Icons = append(m.Icons, ManifestIcon{f.Path(fmt.Sprintf("/pos/icon-%d.png", size)), fmt.Sprintf("%dx%d", size, size), "image/png"})
	}
	return m
}
