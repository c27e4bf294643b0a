package web

import (
	"bytes"
	"cmp"
	"fmt"
	"net/http"
	"sync"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"chequer/views"
	"chequer/web/present"
)

// buffers holds buffers for reuse. A buffer fits the next page, because all pages have about the same size.
var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// render writes a page. It renders the whole page first, so that after an error no part of the page is
// sent.
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

// frame returns the frame of a page for a reader, in the default theme.
func (h *Handler) frame(c echo.Context, r present.Reader) present.Frame {
	f := h.plainFrame(h.settings(c), r)
	f.Query, f.Modal = c.QueryString(), isModal(c)
	return f
}

// plainFrame returns a frame that does not depend on a request, with the settings of the shop of the page.
func (h *Handler) plainFrame(settings ShopSettings, r present.Reader) present.Frame {
	site := h.config.Site
	site.Storefront, site.Currency = settings.Storefront, cmp.Or(settings.Currency, site.Currency)
	return present.Frame{Site: &site, Reader: r, Multilingual: len(settings.Languages.List()) > 1, Now: h.config.Now()}
}

// developerPage returns a page for developers, which are in English only.
func (h *Handler) developerPage(c echo.Context, title, sheet string) views.Page {
	f := h.plainFrame(h.settings(c), present.English())
	f.Multilingual = false
	return f.Page(title, "", sheet)
}

// path adds the base path to a path of this site.
func (h *Handler) path(path string) string { return h.config.Path(path) }

// toInvoice redirects to the page of an invoice, or to a part of it, and keeps the reader's language and the view in a frame.
func (h *Handler) toInvoice(c echo.Context, path string) error {
	return h.redirect(c, readerFromAddress(c), present.WithModal(path, isModal(c)))
}

// redirect redirects to a path of this site, below the base path, and keeps the reader's language.
func (h *Handler) redirect(c echo.Context, r present.Reader, path string) error {
	return c.Redirect(http.StatusSeeOther, r.WithLanguage(h.path(path)))
}
