package web

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"net/http"
	"sync"

	"github.com/labstack/echo/v4"

	"chequer/static"
)

// manifest is the file that a phone reads to install a page as an app. See W3C, "Web Application
// Manifest".
type manifest struct {
	Name       string         `json:"name"`
	ShortName  string         `json:"short_name"`
	StartURL   string         `json:"start_url"`
	Scope      string         `json:"scope"`
	ID         string         `json:"id"`
	Display    string         `json:"display"`
	Background string         `json:"background_color"`
	Theme      string         `json:"theme_color"`
	Icons      []manifestIcon `json:"icons"`
}

type manifestIcon struct {
	Source string `json:"src"`
	Sizes  string `json:"sizes"`
	Type   string `json:"type"`
}

// install serves the manifest of a terminal.
func (h *Handler) install(c echo.Context) error {
	offer, err := h.terminal(c)
	if err != nil {
		return err
	}
	start := h.path("/pos/" + c.Param("secret"))
	shop := h.shopName(h.reader(c, ""), undirected(offer.MerchantName))
	m := manifest{
		Name: shop, ShortName: shop,
		StartURL: start, Scope: h.path("/"), ID: start, Display: "standalone", Background: "#ffffff", Theme: "#f5f6f8",
		Icons: []manifestIcon{{h.path(static.Path("icon.svg")), "any", "image/svg+xml"}},
	}
	if name := undirected(offer.Description); name != "" {
		m.Name, m.ShortName = fmt.Sprintf("%s – %s", m.Name, name), name
	}
	for _, size := range iconSizes {
		m.Icons = append(m.Icons, manifestIcon{h.path(fmt.Sprintf("/pos/icon-%d.png", size)), fmt.Sprintf("%dx%d", size, size), "image/png"})
	}
	c.Response().Header().Set(echo.HeaderContentType, "application/manifest+json")
	return c.JSON(http.StatusOK, m)
}

// iconSizes are the sizes of icons, in pixels, that phones ask for.
var iconSizes = []int{192, 512}

// icons return icon.svg as PNG, for phones that need pixels. Each is drawn on first use.
var icons = map[int]func() []byte{
	192: sync.OnceValue(func() []byte { return drawIcon(192) }),
	512: sync.OnceValue(func() []byte { return drawIcon(512) }),
}

// appIcon serves the icon of one size.
func (h *Handler) appIcon(size int) echo.HandlerFunc {
	return func(c echo.Context) error {
		c.Response().Header().Set("Cache-Control", "public, max-age=86400")
		return c.Blob(http.StatusOK, "image/png", icons[size]())
	}
}

// drawIcon draws the four squares of icon.svg on a grid of 32 by 32. It leaves the corners square,
// because the phone rounds them.
func drawIcon(size int) []byte {
	blue, white, light := color.RGBA{0x2b, 0x3f, 0xd6, 0xff}, color.RGBA{0xff, 0xff, 0xff, 0xff}, color.RGBA{0x75, 0x82, 0xe4, 0xff}
	picture := image.NewPaletted(image.Rect(0, 0, size, size), color.Palette{blue, white, light})
	square := func(x, y, to int, c color.Color) {
		draw.Draw(picture, image.Rect(x*size/32, y*size/32, (x+to)*size/32, (y+to)*size/32), image.NewUniform(c), image.Point{}, draw.Src)
	}
	square(0, 0, 32, blue)
	square(7, 7, 9, white)
	square(16, 16, 9, white)
	square(16, 7, 9, light)
	square(7, 16, 9, light)
	var b bytes.Buffer
	if err := png.Encode(&b, picture); err != nil {
		panic("web: draw icon: " + err.Error()) // writing to a bytes.Buffer cannot fail
	}
	return b.Bytes()
}
