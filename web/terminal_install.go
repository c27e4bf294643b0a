package web

import (
	"bytes"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"net/http"
	"sync"

	"github.com/labstack/echo/v4"
)

// manifest serves the manifest of a terminal.
func (h *Handler) manifest(c echo.Context) error {
	terminal, err := h.terminal(c)
	if err != nil {
		return err
	}
	c.Response().Header().Set(echo.HeaderContentType, "application/manifest+json")
	return c.JSON(http.StatusOK, h.frame(c, h.reader(c, "")).Manifest(terminal, c.Param("secret"), iconSizes))
}

// iconSizes are the sizes of icons, in pixels, that phones ask for.
var iconSizes = []int{192, 512}

// icons holds, by size, functions that return icon.svg as PNG. Each icon is drawn on first use.
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

// drawIcon draws the four squares of icon.svg on a grid of 32 by 32, and returns them as PNG with the given width in
// pixels. It leaves the corners square, because the phone rounds them.
func drawIcon(size int) []byte {
	blue, white, light := color.RGBA{0x2b, 0x3f, 0xd6, 0xff}, color.RGBA{0xff, 0xff, 0xff, 0xff}, color.RGBA{0x75, 0x82, 0xe4, 0xff}
	picture := image.NewPaletted(image.Rect(0, 0, size, size), color.Palette{blue, white, light})
	square := func(x, y, side int, c color.Color) {
		draw.Draw(picture, image.Rect(x*size/32, y*size/32, (x+side)*size/32, (y+side)*size/32), image.NewUniform(c), image.Point{}, draw.Src)
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
