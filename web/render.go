package web

import (
	"bytes"
	"fmt"
	"sync"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"chequer/static"
	"chequer/views"
)

// buffers holds buffers for reuse. All pages have about the same size.
var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// render writes a page. It renders the whole page first, so that an error never leaves half a page.
func render(c echo.Context, status int, page templ.Component) error {
	b := buffers.Get().(*bytes.Buffer)
	defer buffers.Put(b)
	b.Reset()
	if err := page.Render(c.Request().Context(), b); err != nil {
		return fmt.Errorf("render page: %w", err)
	}
	c.Response().Header().Add("Vary", "Accept-Language")
	return c.HTMLBlob(status, b.Bytes())
}

// page returns the frame of a page without a script.
func (h *Handler) page(r reader, title string) views.Page {
	page := views.Page{
		Language: r.Language,
		Title:    title,
		Shop:     h.shopName(r, ""),
		Style:    h.path(static.Path("store.css")),
		Icon:     h.path(static.Path("icon.svg")),
	}
	if h.config.Storefront {
		page.Home = r.keep(h.path("/"))
	}
	return page
}

// path adds the base path to a path of this site.
func (h *Handler) path(path string) string { return h.config.BasePath + path }

// shopName returns the shop's name as pages show it: the merchant's, the configured one, or a default.
func (h *Handler) shopName(r reader, merchant string) string {
	for _, name := range []string{merchant, h.config.ShopName} {
		if name != "" {
			return name
		}
	}
	return r.Text("shop.none")
}
