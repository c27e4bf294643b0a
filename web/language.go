package web

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"chequer/views"
	"chequer/web/present"
)

// reader chooses the language of a page. In order of preference it is the language of "?lang=", the
// wanted language, which an invoice or a link may name, that of the browser, and that of the shop.
func (h *Handler) reader(c echo.Context, preferred string) present.Reader {
	languages := h.config.Current(c.Request().Context()).Languages
	if found, ok := languages.Find(c.QueryParam("lang")); ok {
		return present.Reader{Language: found, Explicit: true}
	}
	if found, ok := languages.Find(preferred); ok {
		return present.Reader{Language: found}
	}
	return present.Reader{Language: languages.Choose(c.Request().Header.Get("Accept-Language"))}
}

// languages answers a GET of any page with an empty "?lang=" with a page that lists the languages.
// A list on every page would cost as many bytes as a page has for a payment method.
func (h *Handler) languages(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		requested, isRead := c.QueryParams()["lang"], c.Request().Method == http.MethodGet || c.Request().Method == http.MethodHead
		if !isRead || len(requested) == 0 || requested[len(requested)-1] != "" {
			return next(c)
		}
		list := h.config.Current(c.Request().Context()).Languages.List()
		return render(c, http.StatusOK, views.LanguagesPage(h.frame(c, h.reader(c, "")).Languages(list)))
	}
}
