package web

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"chequer/internal/locale"
	"chequer/views"
	"chequer/web/present"
)

// reader returns the reader of a page, in one of the languages that the shop offers. In order of preference it is
// the language of "?lang=", the preferred language, which an invoice or a link may name, that of the browser, and
// that of the shop.
func (h *Handler) reader(c echo.Context, preferred string) present.Reader {
	languages := h.settings(c).Languages
	if found, ok := languages.Find(c.QueryParam("lang")); ok {
		return present.Reader{Language: found, Explicit: true}
	}
	if found, ok := languages.Find(preferred); ok {
		return present.Reader{Language: found}
	}
	return present.Reader{Language: languages.Choose(c.Request().Header.Get("Accept-Language"))}
}

// readerFromAddress returns the reader for a redirect to a page whose shop is not known yet. The redirect keeps
// the language of "?lang=" even if the shop does not offer it.
func readerFromAddress(c echo.Context) present.Reader {
	if found, ok := locale.All().Find(c.QueryParam("lang")); ok {
		return present.Reader{Language: found, Explicit: true}
	}
	return present.English()
}

// listLanguages answers a GET of any page with an empty "?lang=" with a page that lists the languages.
// A list on every page would take as many bytes as a payment method takes.
func (h *Handler) listLanguages(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		requested, isRead := c.QueryParams()["lang"], c.Request().Method == http.MethodGet || c.Request().Method == http.MethodHead
		if !isRead || len(requested) == 0 || requested[len(requested)-1] != "" {
			return next(c)
		}
		h.findShop(c)
		f := h.shopFrame(c, h.reader(c, ""))
		if c.Path() == h.path(invoicePath) && isFramed(c) {
			snapshot, err := h.invoice(c)
			if err != nil {
				return err
			}
			h.allowShop(c, &f, snapshot)
		}
		return render(c, http.StatusOK, views.LanguagesPage(f.Languages(h.settings(c).Languages.List())))
	}
}
